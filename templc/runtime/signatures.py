"""Tool declarations as Python signatures, each as one family of formats writes it.

The names are fixed once published: another spelling is another function. Input: a tool
(`{"type": "function", "function": {...}}` or the inner part); output: text. Nothing here raises: a part of a
declaration that is missing, or of another kind than JSON schema has, is written as if it were empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from templc.runtime.encoders import Json, function_of
from templc.runtime.text import to_json

_NOTHING: Json = {}


def _mapping(value: object) -> Json:
    return value if isinstance(value, Mapping) else _NOTHING


def _properties(schema: object) -> Json:
    return _mapping(_mapping(schema).get("properties"))


# Seed-OSS: a function with a docstring

_SHORT = {"string": "str", "number": "int", "integer": "int", "boolean": "bool", "array": "list"}
_REQUIRED, _OPTIONAL = "[必填]", "[选填]"


def python_def(tool: object) -> str:
    """`def NAME(a: T,b: T):` over a docstring that lists arguments and what is returned; numbers are `int`."""
    function = tool["function"] if isinstance(tool, Mapping) else function_of(tool)
    schema = _mapping(function.get("parameters"))
    properties = _properties(schema)
    named = ",".join(f"{name}: {_short(spec)}" for name, spec in properties.items())
    lines = [f"def {function.get('name', '')}({named}):", '    """']
    lines += [f"    {str(function.get('description', '')).strip()}", ""]
    lines += _arguments(properties, schema.get("required") or ()) if properties else [""]
    returned = _properties(function.get("returns"))
    if returned:
        lines.append("    Returns:")
        lines += [
            f"    - {name} ({_short(spec)}): {_said(spec)}" for name, spec in returned.items()
        ]
    else:
        lines.append("")
    return "\n".join([*lines, '    """'])


def _arguments(properties: Json, required: Sequence[str]) -> list[str]:
    return [
        "    Args:",
        *(
            f"    - {name} ({_short(spec)}) {_REQUIRED if name in required else _OPTIONAL}: {_said(spec)}"
            for name, spec in properties.items()
        ),
    ]


def _short(spec: object) -> str:
    kind = _mapping(spec).get("type")
    return _SHORT.get(kind, "Any") if isinstance(kind, str) else "Any"


def _said(spec: object) -> str:
    return str(_mapping(spec).get("description") or "")


# Hermes 2 Pro: JSON whose description is a signature

_LONG = {"string": "str", "number": "float", "integer": "int", "boolean": "bool"}


def signature_json(tool: object) -> str:
    """`{"type": "function", "function": {"name": ..., "description": "NAME(a: T) - ...", "parameters": ...}`.

    The description is not escaped, and the outer brace is not closed: so the model saw it.
    """
    function = function_of(tool)
    name, schema = function.get("name", ""), _mapping(function.get("parameters"))
    properties = _properties(schema)
    returned = function.get("return")
    typed = ", ".join(f"{key}: {_long(spec)}" for key, spec in properties.items())
    said = f"{name}({typed})"
    said += f" -> {_long(returned)}" if returned is not None else ""
    said += f" - {function.get('description', '')}\n\n"
    said += "    Args:\n" if properties else ""
    said += "".join(
        f"        {key}({_long(spec)}): {str(_mapping(spec).get('description', '')).strip()}"
        for key, spec in properties.items()
    )
    if "description" in _mapping(returned):
        said += f"\n    Returns:\n        {_mapping(returned)['description']}"
    parameters = to_json(schema) if properties else "{}"
    return (
        f'{{"type": "function", "function": {{"name": "{name}", "description": "{said}"'
        f', "parameters": {parameters}}}'
    )


def _long(spec: Any) -> str:
    """A JSON schema as a Python type; what a list holds is never said."""
    kind = _mapping(spec).get("type")
    if isinstance(kind, str) and kind in _LONG:
        return _LONG[kind]
    if kind == "array":
        return "list[Union[]]"
    if kind == "object":
        inner = _mapping(spec).get("additionalProperties")
        return "dict" if inner is None else f"dict[str, {_long(inner)}]"
    if isinstance(kind, str) or kind is None:
        return f"Union[{','.join('Any' for _ in kind or '')}]"
    return f"Union[{','.join(_long({'type': one}) for one in kind)}]"
