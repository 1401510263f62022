"""Tool declarations and values in languages of their own, each as one family of formats writes it.

The names are fixed once published: another spelling is another function or another argument. Input: a tool
(`{"type": "function", "function": {...}}` or the inner part), or a value; output: text. Only declarations and the
values of calls are written here; `gemma_value` is the one that a model samples, and its inverse reads `<|"|>` quotes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from templc.runtime.text import text_or_json, text_or_python, to_json

Json = Mapping[str, Any]
_EMPTY: Json = {}


def function_of(tool: object) -> Json:
    """The inner part of a tool declaration, whichever part was given."""
    found = tool if isinstance(tool, Mapping) else _EMPTY
    inner = found.get("function", found)
    return inner if isinstance(inner, Mapping) else _EMPTY


def tool_parameters(tool: object) -> object:
    """The schema of the parameters, as it is given; an empty mapping where there is none."""
    return function_of(tool).get("parameters", {})


def tool_text(tool: object, key: str) -> str:
    """A text of the inner part, such as its description; empty where it is missing or no text."""
    found = function_of(tool).get(key)
    return found if isinstance(found, str) else ""


# Qwen3-Coder and Nemotron 3: XML


def coder_xml(
    tool: object, *, scalars: Literal["json", "python"] = "json", enum: bool = False
) -> str:
    """One `<function>`; `scalars`: how numbers, booleans and null stand in keys that have no tag of their own.

    enum: `enum` stands as JSON behind the description of a parameter, and `required` behind the parameters.
    """
    text = text_or_python if scalars == "python" else text_or_json
    function = function_of(tool)
    parameters = function.get("parameters", _EMPTY)
    parts = ["<function>\n<name>", str(function.get("name", "")), "</name>"]
    parts += _described(function)
    parts.append("\n<parameters>")
    properties = parameters.get("properties", _EMPTY) if isinstance(parameters, Mapping) else _EMPTY
    own: tuple[str, ...] = ("name", "type", "description", *(("enum",) if enum else ()))
    for name, given in properties.items() if isinstance(properties, Mapping) else ():
        spec = given if isinstance(given, Mapping) else _EMPTY
        parts.append(f"\n<parameter>\n<name>{name}</name>")
        parts += [f"\n<type>{spec['type']}</type>"] if "type" in spec else []
        parts += _described(spec)
        parts += [f"\n<enum>{to_json(spec['enum'])}</enum>"] if enum and "enum" in spec else []
        parts += _others(spec, own, text)
        parts.append("\n</parameter>")
    known = ("type", "properties", "required") if enum else ("type", "properties")
    parts += _others(parameters, known, text)
    if enum and isinstance(parameters, Mapping) and "required" in parameters:
        parts.append(f"\n<required>{to_json(parameters['required'])}</required>")
    parts.append("\n</parameters>")
    parts += _others(function, ("type", "name", "description", "parameters"), text)
    return "".join([*parts, "\n</function>"])


def _described(spec: Json) -> list[str]:
    if "description" not in spec:
        return []
    return [f"\n<description>{str(spec['description']).strip()}</description>"]


def _others(spec: object, known: Sequence[str], text: Any) -> list[str]:
    """Keys that have no place of their own, each in a tag of its name."""
    if not isinstance(spec, Mapping):
        return []
    return [f"\n<{key}>{text(value)}</{key}>" for key, value in spec.items() if key not in known]


# Mistral before 2512


def mistral_tool(tool: object) -> str:
    """A tool as JSON whose top texts are quoted and nothing more: their quotes and line ends stay as they are."""
    entries = [
        f'"{key}": "{value}"' if isinstance(value, str) else f'"{key}": {to_json(value)}'
        for key, value in function_of(tool).items()
        if key != "return"
    ]
    return '{"type": "function", "function": {' + ", ".join(entries) + "}}"


# harmony: TypeScript


def typescript(tool: object, *, last: str = ",") -> str:
    """`// description`, then `type NAME = (_: {...}) => any;` with one parameter a line; `last` ends the last one."""
    function = function_of(tool)
    parameters = function.get("parameters") or _EMPTY
    head = f"// {function.get('description', '')}\ntype {function.get('name', '')} = "
    properties = parameters.get("properties") or _EMPTY
    if not properties:
        return f"{head}() => any;"
    required = parameters.get("required") or ()
    lines = ",\n".join(_parameter(name, spec, required) for name, spec in properties.items())
    return f"{head}(_: {{\n{lines}{last}\n}}) => any;"


def _parameter(name: str, spec: Json, required: Sequence[str]) -> str:
    comment = f"// {spec['description']}\n" if spec.get("description") else ""
    return f"{comment}{name}{_mark(name, required)}: {_type(spec)}{_default(spec)}"


def _mark(name: str, required: Sequence[str]) -> str:
    return "" if name in required else "?"


def _default(spec: Json) -> str:
    if "default" not in spec:
        return ""
    if spec.get("enum"):
        return f", // default: {spec['default']}"
    if spec.get("oneOf"):
        return f"// default: {spec['default']}"
    return f", // default: {to_json(spec['default'])}"


_SIMPLE = {"number": "number", "integer": "number", "boolean": "boolean"}


def _type(spec: Json) -> str:
    """A JSON schema as a TypeScript type."""
    kind = spec.get("type")
    if kind == "array":
        return _array(spec) + (" | null" if spec.get("nullable") else "")
    if isinstance(kind, Sequence) and not isinstance(kind, str) and kind:
        return " | ".join(str(one) for one in kind)
    if spec.get("oneOf"):
        return _one_of(spec["oneOf"])
    if kind == "string":
        if spec.get("enum"):
            return '"' + '" | "'.join(str(value) for value in spec["enum"]) + '"'
        return "string" + (" | null" if spec.get("nullable") else "")
    if kind == "object":
        return _object(spec)
    return _SIMPLE.get(str(kind), "any")


def _array(spec: Json) -> str:
    items = spec.get("items")
    if not items:
        return "any[]"
    if items.get("type") in ("string", *_SIMPLE):
        return f"{_SIMPLE.get(items['type'], 'string')}[]"
    inner = _type(items)
    return "any[]" if inner == "object | object" or len(inner) > 50 else f"{inner}[]"


def _one_of(variants: Sequence[Json]) -> str:
    if len(variants) > 1 and any(variant.get("type") == "object" for variant in variants):
        return "any"
    texts = []
    for variant in variants:
        note = f"// {variant['description']}" if variant.get("description") else ""
        given = "default" in variant
        default = f"{' ' * 20}// default: {to_json(variant['default'])}" if given else ""
        texts.append(_type(variant) + note + default)
    return " | \n".join(texts)


def _object(spec: Json) -> str:
    properties, required = spec.get("properties"), spec.get("required") or ()
    if not properties:
        return "object"
    # The line break and the blanks are in the published text: models have read nothing else.
    lines = [
        f"{name}{_mark(name, required)}: \n{' ' * 16}{_type(inner)}"
        for name, inner in properties.items()
    ]
    return "{\n" + ", ".join(lines) + "}"


# Gemma 4


# Stands for the quote while a text is built: a lone surrogate, which no text that can be encoded holds.
_MARK = "\udc00"
GEMMA_MARK = '<|"|>'


def gemma_value(value: object) -> str:
    """A value of a call or result: strings in `<|"|>`, keys sorted without regard to case."""
    return _value(value).replace(_MARK, GEMMA_MARK)


def gemma_value_parts(kind: Callable[[str], str], value: object) -> list[str]:
    """The same in parts: the quotes, which are control tokens, and what `kind` wraps."""
    return _parts(kind, _value(value))


def gemma_python_value(value: object) -> str:
    """As `gemma_value`, with None where JSON has null."""
    return _value(value, null="None").replace(_MARK, GEMMA_MARK)


def gemma_python_value_parts(kind: Callable[[str], str], value: object) -> list[str]:
    """The same in parts: the quotes, which are control tokens, and what `kind` wraps."""
    return _parts(kind, _value(value, null="None"))


def _parts(kind: Callable[[str], str], text: str) -> list[str]:
    first, *rest = (kind(part) for part in text.split(_MARK))
    return [first, *(part for one in rest for part in (GEMMA_MARK, one))]


def _value(value: object, *, quoted_keys: bool = False, null: str = "null") -> str:
    match value:
        case None:
            return null
        case str():
            return _quoted(value)
        case bool():
            return "true" if value else "false"
        case Mapping():
            entries = [
                f"{_value(key) if quoted_keys else key}:{_value(inner, quoted_keys=quoted_keys, null=null)}"
                for key, inner in dictsort(value)
            ]
            return "{" + ",".join(entries) + "}"
        case list() | tuple():
            return (
                "["
                + ",".join(_value(one, quoted_keys=quoted_keys, null=null) for one in value)
                + "]"
            )
        case _:
            return str(value)


def dictsort(value: Json) -> Iterable[tuple[str, Any]]:
    """Entries by key, without regard to case."""
    return sorted(value.items(), key=lambda entry: str(entry[0]).lower())


def gemma_declaration(tool: object) -> str:
    """`declaration:NAME{description:...,parameters:{...}}`."""
    return _declaration(tool).replace(_MARK, GEMMA_MARK)


def gemma_declaration_parts(kind: Callable[[str], str], tool: object) -> list[str]:
    """The same in parts: the quotes, which are control tokens, and what `kind` wraps."""
    return _parts(kind, _declaration(tool))


def _declaration(tool: object) -> str:
    function = function_of(tool)
    text = f"declaration:{function.get('name', '')}{{description:{_quoted(function.get('description', ''))}"
    parameters = function.get("parameters")
    if parameters:
        text += ",parameters:{"
        if parameters.get("properties"):
            text += f"properties:{{{_parameters(parameters['properties'])}}},"
        if parameters.get("required"):
            text += f"{_required(parameters)},"
        if parameters.get("type"):
            text += f"type:{_upper(parameters['type'])}}}"
    return text + _response(function) + "}"


def _response(function: Json) -> str:
    if "response" not in function:
        return ""
    response = function["response"]
    text = ",response:{"
    if response.get("description"):
        text += f"description:{_quoted(response['description'])},"
    return text + (f"type:{_quoted('OBJECT')}}}" if _upper_text(response) == "OBJECT" else "")


def _parameters(properties: Json, *, filtered: bool = False) -> str:
    found = []
    for key, given in dictsort(properties):
        if filtered and key in ("description", "type", "properties", "required", "nullable"):
            continue
        spec = given if isinstance(given, Mapping) else _EMPTY
        found.append(f"{key}:{{{','.join(_entries(spec, isinstance(given, Mapping)))}}}")
    return ",".join(found)


def _entries(spec: Json, mapping: bool) -> list[str]:
    kind = _upper_text(spec)
    entries = [f"description:{_quoted(spec['description'])}"] if spec.get("description") else []
    if kind == "STRING" and spec.get("enum"):
        entries.append(f"enum:{_value(spec['enum'], quoted_keys=True)}")
    if kind == "ARRAY" and isinstance(spec.get("items"), Mapping) and spec["items"]:
        entries.append(f"items:{{{','.join(_items(spec['items']))}}}")
    if spec.get("nullable"):
        entries.append("nullable:true")
    if kind == "OBJECT":
        inner = spec.get("properties")
        if isinstance(inner, Mapping):
            entries.append(f"properties:{{{_parameters(inner)}}}")
        elif mapping:
            entries.append(f"properties:{{{_parameters(spec, filtered=True)}}}")
        entries += [_required(spec)] if spec.get("required") else []
    return [*entries, f"type:{_quoted(kind)}"]


def _items(items: Json) -> list[str]:
    found = []
    for key, value in dictsort(items):
        match key:
            case _ if value is None:
                continue
            case "properties":
                inner = _parameters(value) if isinstance(value, Mapping) else ""
                found.append(f"properties:{{{inner}}}")
            case "required":
                found.append(_required(items))
            case "type":
                found.append(f"type:{_upper(value)}")
            case _:
                found.append(f"{key}:{_value(value, quoted_keys=True)}")
    return found


def _required(spec: Json) -> str:
    return "required:[" + ",".join(_quoted(name) for name in spec["required"]) + "]"


def _upper(kind: object) -> str:
    if isinstance(kind, list):
        return _value([str(one).upper() for one in kind])
    return _quoted(str(kind).upper())


def _upper_text(spec: Json) -> str:
    return str(spec.get("type", "")).upper()


def _quoted(text: object) -> str:
    return f"{_MARK}{text}{_MARK}"


def drop_spans(text: str, marks: str) -> str:
    """Text without what stands between two marks, which `marks` names with a blank between them."""
    opening, _, closing = marks.partition(" ")
    return "".join(part.partition(opening)[0] for part in text.split(closing))
