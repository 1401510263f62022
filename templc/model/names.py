"""The names of the language: what each stands for, who may use them, and names made from conditions.

`taken("after", "predicate")` is the reason why no predicate may be called so, None for a free name.
`fact_name("previous", RoleIs("tool"), None)` is `previous_tool`.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable
from typing import Literal

from templc import runtime
from templc.model import expr
from templc.model.filters import FILTERS
from templc.runtime.renderer import Renderer

Place = Literal["head", "turn", "opener", "prompt", "predicate", "requirement", "finish"]
Type = Literal[
    "text",
    "maybe",
    "flag",
    "list",
    "calls",
    "any",
    "present",
    "token",
    "date",
    "number",
    "tool",
    "int",
    "values",
    "mapping",
    "key",
    "records",
    "record",
]
Use = Literal["option", "predicate", "loop variable"]

ROLES = ("system", "developer", "user", "assistant", "tool")
MESSAGE_FIELDS: dict[str, Type] = {
    "content": "text",
    "reasoning": "text",
    "name": "text",
    "call_id": "text",
    "answered": "text",
    "answered_number": "number",
    "caller_content": "text",
    "calls": "calls",
    "parts": "flag",
    "role": "text",
}
ITEM_FIELDS: dict[str, dict[str, Type]] = {
    "calls": {
        "name": "text",
        "arguments": "any",
        "id": "text",
        "type": "text",
        "number": "number",
        "ordinal": "number",
    },
    "arguments": {"name": "text", "value": "any"},
    "tools": {
        "": "tool",
        "function": "tool",
        "function.name": "text",
        "function.description": "text",
        "function.parameters": "any",
    },
    "systems": {"content": "text"},
}
LEAD_FIELDS: dict[str, Type] = {"": "present", "content": "text", "name": "text", "parts": "flag"}
FACT_WORDS = ("first", "last", "end", "live")
_WORDS = (
    *("previous", "next", "earlier", "later", "some", "every", "count", "among"),
    *("and", "or", "not", "is", "true", "false", "unset", "starts", "ends", "with", "contains"),
    *("text", "mapping", "kept", "as_template", "tools", "systems", "other"),
)
RESERVED = frozenset({*ROLES, *MESSAGE_FIELDS, *FACT_WORDS, *_WORDS})

# Names that generated functions use for themselves.
_LOCALS = frozenset({"m", "self", "out", "past", "future", "i", "j", "k", "cls"})
_RUNTIME = frozenset(
    name for row in FILTERS.values() for name in (row.runtime, row.parts) if name is not None
) | {"tool_parameters", "tool_text"}
_MODULE = frozenset(name.lower() for name in (*dir(builtins), *keyword.kwlist, *keyword.softkwlist))
_CLASSES = frozenset({"Past", "Future", "NamedTuple"}) | {
    name for name in vars(runtime) if name[0].isupper()
}
_ATTRIBUTES = frozenset(dir(Renderer)) | {
    *(
        "head",
        "opener",
        "prefill",
        "body",
        "closer",
        "trailer",
        "prompt",
        "finish",
        "info",
        "rules",
    ),
    *("tokenizer", "options", "content_specials", "unsupported", "format", "messages", "history"),
}


def taken(name: str, use: Use) -> str | None:
    """Why a name cannot be given to an option, a predicate or a loop variable; None when it can."""
    if name in RESERVED:
        return "a word of the language"
    if name in keyword.kwlist:
        return "a word of Python"
    if name in _LOCALS:
        return "a name that generated code uses itself"
    if use == "option":
        used = name in _ATTRIBUTES or name.startswith("check_")
        return "what every renderer has already" if used else None
    if name in _RUNTIME or name in _MODULE:
        return "a name that generated code uses itself"
    return None


def taken_class(name: str) -> str | None:
    """Why a generated class cannot have this name; None when it can."""
    if name in keyword.kwlist:
        return "a word of Python"
    return (
        "a name that generated modules import"
        if name in _CLASSES or hasattr(builtins, name)
        else None
    )


def class_name(format_name: str) -> str:
    """The class of a format, as `emit` names it: `qwen3_instruct` is `Qwen3Instruct`."""
    return "".join(part.capitalize() for part in format_name.split("_"))


def fact_name(time: str, term: expr.Cond | None, among: expr.Cond | None) -> str:
    """A Python identifier for a fact: `previous(tool)` is `previous_tool`."""
    words = [time] if term is None else [time, words_of(term)]
    if among is not None:
        words += ["among", words_of(among)]
    return re.sub(r"_+", "_", "_".join(words)).strip("_")


def words_of(cond: expr.Cond) -> str:
    """A condition as words joined by underscores, for names; ASCII only."""
    match cond:
        case expr.Or(terms):
            return "_or_".join(words_of(term) for term in terms)
        case expr.And(terms):
            return "_and_".join(words_of(term) for term in terms)
        case expr.Not(term):
            return f"not_{words_of(term)}"
        case expr.RoleIs(role):
            return role
        case expr.Predicate(name):
            return name
        case expr.Test(kind, value, argument):
            tail = "" if kind == "truth" else f"_{kind}_{argument}"
            return _ascii(f"{value.ref.name}_{value.ref.part}{tail}")
        case expr.Counted(value, _, number):
            return f"count_{value.ref.name}_{number}"
        case expr.Quantified(quantifier, _, term):
            return f"{quantifier}_{words_of(term)}"
        case expr.Const(value):
            return str(value).lower()
        case expr.Fact(name=name):
            return name


def _ascii(text: str) -> str:
    """Anything else is no identifier everywhere, or another one after normalisation."""
    return re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")


def listed(names: Iterable[str]) -> str:
    """Names as a list for a message."""
    return ", ".join(f"`{name}`" for name in names)


TYPES: dict[Type, str] = {
    "text": "text",
    "maybe": "a text that may be unset",
    "flag": "true or false",
    "list": "a list",
    "calls": "a list of tool calls",
    "any": "a value of any kind",
    "present": "a whole message",
    "token": "a control token",
    "date": "a date",
    "number": "a running number",
    "tool": "a tool",
    "int": "a number",
    "values": "a list of values",
    "mapping": "a mapping",
    "key": "what stands under a key",
    "records": "a list of records",
    "record": "a record",
}
PLACES: dict[Place, str] = {
    "head": "the head",
    "turn": "a turn",
    "opener": "an opener or prefill",
    "prompt": "the generation prompt",
    "predicate": "a predicate",
    "requirement": "a requirement",
    "finish": "the finish",
}
