"""What each filter and each test of the language does with a value.

Filters are functions of a value and the filter's argument ("" without one).

`FUNCTIONS["strip"](" a ", "")` is `"a"`. The interpreter and the prover run these; generated code spells the same
filters as `model/filters.py` has them, and a test holds the two against each other.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from templc.model.expr import Test
from templc.runtime.encoders import (
    GEMMA_MARK,
    coder_xml,
    drop_spans,
    gemma_declaration,
    gemma_declaration_parts,
    gemma_python_value,
    gemma_python_value_parts,
    gemma_value,
    gemma_value_parts,
    mistral_tool,
    typescript,
)
from templc.runtime.records import further_lines
from templc.runtime.signatures import python_def, signature_json
from templc.runtime.text import (
    after,
    after_last,
    before,
    date_text,
    json_without,
    text_or_json,
    text_or_python,
    to_json,
    to_python,
)
from templc.runtime.trees import tree, tree_parts

FUNCTIONS: dict[str, Callable[[Any, str], str]] = {
    "strip": lambda value, _: value.strip(),
    "lstrip": lambda value, _: value.lstrip(),
    "rstrip": lambda value, _: value.rstrip(),
    "strip_newlines": lambda value, _: value.strip("\n"),
    "lstrip_newlines": lambda value, _: value.lstrip("\n"),
    "rstrip_newlines": lambda value, _: value.rstrip("\n"),
    "after": after,
    "after_last": after_last,
    "before": before,
    "drop_spans": drop_spans,
    "remove": lambda value, mark: value.replace(mark, ""),
    "capitalize": lambda value, _: value.capitalize(),
    "json": lambda value, _: to_json(value),
    "json_compact": lambda value, _: to_json(value, separators=(",", ":")),
    "json_indent": lambda value, _: to_json(value, indent=4),
    "json_indent_2": lambda value, _: to_json(value, indent=2),
    "json_without": json_without,
    "text_or_json": lambda value, _: text_or_json(value),
    "text_or_python": lambda value, _: text_or_python(value),
    "python": lambda value, _: to_python(value),
    "date": date_text,
    "decimal": lambda value, _: str(value),
    "coder_xml": lambda value, _: coder_xml(value),
    "coder_xml_python": lambda value, _: coder_xml(value, scalars="python"),
    "coder_xml_enum": lambda value, _: coder_xml(value, scalars="python", enum=True),
    "mistral_tool": lambda value, _: mistral_tool(value),
    "python_def": lambda value, _: python_def(value),
    "signature_json": lambda value, _: signature_json(value),
    "tree": tree,
    "further_lines": further_lines,
    "typescript": lambda value, _: typescript(value),
    "typescript_closed": lambda value, _: typescript(value, last=""),
    "gemma": lambda value, _: gemma_value(value),
    "gemma_python": lambda value, _: gemma_python_value(value),
    "gemma_declaration": lambda value, _: gemma_declaration(value),
}


PARTS: dict[str, Callable[[Callable[[str], str], Any, str], list[str]]] = {
    "gemma": lambda kind, value, _: gemma_value_parts(kind, value),
    "gemma_python": lambda kind, value, _: gemma_python_value_parts(kind, value),
    "gemma_declaration": lambda kind, value, _: gemma_declaration_parts(kind, value),
    "tree": tree_parts,
}
"""The filters whose text holds control tokens, in parts."""


MARKS = {"gemma": GEMMA_MARK, "gemma_python": GEMMA_MARK}
"""The filters that put a text between two marks, each with its mark."""


COMPARED: Mapping[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
"""What the signs between numbers mean."""


_HOLDS = (list, tuple, dict)


def passes(test: Test, value: Any) -> bool:
    """Whether a value passes a test; whether it is unset is for the caller to know."""
    argument = test.argument
    match test.kind:
        case "truth":
            return bool(value)
        case "is_text":
            return isinstance(value, str)
        case "is_mapping":
            return isinstance(value, Mapping)
        case "starts":
            return str(value).startswith(str(argument))
        case "ends":
            return str(value).endswith(str(argument))
        case "contains":
            return str(argument) in (value if isinstance(value, _HOLDS) else str(value))
        case kind if kind in COMPARED:
            return COMPARED[kind](value, int(str(argument)))
        case _:
            return bool(value is argument or (isinstance(argument, str) and value == argument))
