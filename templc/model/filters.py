"""The table of filters: name, what it takes and gives, its spelling in generated code, its inverse.

A filter is a total function on text (or an encoder from a value to text) with a fixed meaning; a spec can add none.
`{0}` in `python` stands for the value, `{1}` for the argument as a literal; a name that `runtime` lists is imported
from `templc.runtime`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "any", "date", "tool", "int", "record"]


@dataclass(frozen=True, slots=True)
class Filter:
    """One row; `takes` is text, a date, a number, a tool, a record or any value, every filter gives text.

    `parts`: the runtime function that gives the text in parts, where it holds control tokens between the bodies.
    """

    name: str
    takes: Kind
    python: str
    doc: str
    argument: bool = False
    runtime: str = ""
    parts: str = ""
    example: str = ""


FILTERS: dict[str, Filter] = {
    row.name: row
    for row in (
        Filter("strip", "text", "{0}.strip()", "white space of every kind off both ends"),
        Filter("lstrip", "text", "{0}.lstrip()", "white space of every kind off the start"),
        Filter("rstrip", "text", "{0}.rstrip()", "white space of every kind off the end"),
        Filter(
            "strip_newlines",
            "text",
            '{0}.strip("\\n")',
            "newlines, and nothing else, off both ends",
        ),
        Filter("lstrip_newlines", "text", '{0}.lstrip("\\n")', "newlines off the start"),
        Filter("rstrip_newlines", "text", '{0}.rstrip("\\n")', "newlines off the end"),
        Filter(
            "after",
            "text",
            "after({0}, {1})",
            "what follows the first X; all of it when X is absent",
            argument=True,
            runtime="after",
        ),
        Filter(
            "after_last",
            "text",
            "after_last({0}, {1})",
            "what follows the last X; all of it when X is absent",
            argument=True,
            runtime="after_last",
        ),
        Filter(
            "before",
            "text",
            "before({0}, {1})",
            "what stands before the first X; all of it when X is absent",
            argument=True,
            runtime="before",
        ),
        Filter(
            "drop_spans",
            "text",
            "drop_spans({0}, {1})",
            "what stands between two marks taken out; they are named with a blank between",
            argument=True,
            runtime="drop_spans",
        ),
        Filter("remove", "text", '{0}.replace({1}, "")', "every X taken out", argument=True),
        Filter(
            "capitalize", "text", "{0}.capitalize()", "first letter upper case, the rest lower case"
        ),
        Filter(
            "json",
            "any",
            "to_json({0})",
            "JSON, default separators, keys as given, non-ASCII kept; a string is quoted",
            runtime="to_json",
        ),
        Filter(
            "json_compact",
            "any",
            'to_json({0}, separators=(",", ":"))',
            "JSON without blanks",
            runtime="to_json",
        ),
        Filter(
            "json_indent",
            "any",
            "to_json({0}, indent=4)",
            "JSON over several lines, four blanks deep",
            runtime="to_json",
        ),
        Filter(
            "json_indent_2",
            "any",
            "to_json({0}, indent=2)",
            "JSON over several lines, two blanks deep",
            runtime="to_json",
        ),
        Filter(
            "json_without",
            "any",
            "json_without({0}, {1})",
            "JSON of a mapping, less the keys that X names with blanks between",
            argument=True,
            runtime="json_without",
            example="strict",
        ),
        Filter(
            "text_or_json",
            "any",
            "text_or_json({0})",
            "a string as it is, anything else as JSON",
            runtime="text_or_json",
        ),
        Filter(
            "text_or_python",
            "any",
            "text_or_python({0})",
            "a string as it is, mappings and lists as JSON, the rest as Python writes it (True, None)",
            runtime="text_or_python",
        ),
        Filter(
            "python",
            "any",
            "to_python({0})",
            "a string as it is, the rest as Python's `str` writes it",
            runtime="to_python",
        ),
        Filter(
            "date",
            "date",
            "date_text({0}, {1})",
            "a date in a form of strftime, in English",
            argument=True,
            runtime="date_text",
            example="%d %B %Y",
        ),
        Filter("decimal", "int", "str({0})", "a number in digits; a hole does this by itself"),
        Filter(
            "coder_xml",
            "tool",
            "coder_xml({0})",
            "a tool as Qwen3-Coder-Next declares it: XML, values that are no text as JSON",
            runtime="coder_xml",
        ),
        Filter(
            "coder_xml_python",
            "tool",
            'coder_xml({0}, scalars="python")',
            "the same as Qwen3-Coder declares it: numbers, booleans and null as Python writes them",
            runtime="coder_xml",
        ),
        Filter(
            "coder_xml_enum",
            "tool",
            'coder_xml({0}, scalars="python", enum=True)',
            "the same as Nemotron 3 declares it: `enum` behind the description, `required` last",
            runtime="coder_xml",
        ),
        Filter(
            "mistral_tool",
            "tool",
            "mistral_tool({0})",
            "a tool as Mistral declared it before 2512: JSON with its top texts unescaped",
            runtime="mistral_tool",
        ),
        Filter(
            "python_def",
            "tool",
            "python_def({0})",
            "a tool as Seed-OSS declares it: a Python function with a docstring",
            runtime="python_def",
        ),
        Filter(
            "signature_json",
            "tool",
            "signature_json({0})",
            "a tool as Hermes 2 Pro declares it: JSON whose description is a Python signature",
            runtime="signature_json",
        ),
        Filter(
            "further_lines",
            "record",
            "further_lines({0}, {1})",
            "the fields of a record that X does not name (blanks between), each on a line",
            argument=True,
            runtime="further_lines",
            example="title text",
        ),
        Filter(
            "tree",
            "any",
            "tree({0}, {1})",
            "a value as a tree of tags with X before each; None is left out",
            argument=True,
            runtime="tree",
            parts="tree_parts",
            example="^",
        ),
        Filter(
            "typescript",
            "tool",
            "typescript({0})",
            "a tool as harmony declares it: a TypeScript function type with comments",
            runtime="typescript",
        ),
        Filter(
            "typescript_closed",
            "tool",
            'typescript({0}, last="")',
            "as `typescript`, without a comma behind the last parameter",
            runtime="typescript",
        ),
        Filter(
            "gemma",
            "any",
            "gemma_value({0})",
            'a value as Gemma 4 writes it: strings in <|"|>, keys sorted',
            runtime="gemma_value",
            parts="gemma_value_parts",
        ),
        Filter(
            "gemma_python",
            "any",
            "gemma_python_value({0})",
            "as `gemma`, with None where JSON has null",
            runtime="gemma_python_value",
            parts="gemma_python_value_parts",
        ),
        Filter(
            "gemma_declaration",
            "tool",
            "gemma_declaration({0})",
            "a tool as Gemma 4 declares it",
            runtime="gemma_declaration",
            parts="gemma_declaration_parts",
        ),
    )
}

STRIPPING = frozenset(
    {"strip", "lstrip", "rstrip", "strip_newlines", "lstrip_newlines", "rstrip_newlines"}
)
"""The filters that take nothing but white space off the ends of a text."""
