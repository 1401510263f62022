"""The spellings that people use for messages, and which keys a message may have.

`role_of({"from": "human"})` is `"user"`. A key that nothing reads is refused unless its value is empty, as SDK dumps
have it (`"refusal": None`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from templc.runtime.errors import MessageError
from templc.runtime.text import to_json

_ROLES = ("system", "developer", "user", "assistant", "tool")
ROLE_ALIASES = {
    "human": "user",
    "gpt": "assistant",
    "observation": "tool",
    "function": "tool",
    "model": "assistant",
}
REASONING_KEYS = ("reasoning_content", "reasoning", "thinking")
_WEIGHTS = ("train", "trainable", "loss", "weight")
KEYS = frozenset(
    {
        "role",
        "content",
        "name",
        "tool_calls",
        "tool_call_id",
        "from",
        "value",
        "id",
        "type",
        "created_at",
        "timestamp",
    }
    | {*_WEIGHTS, *REASONING_KEYS}
)
_ONLY_ASSISTANT = ("tool_calls", *REASONING_KEYS)
_ALL = KEYS.difference(_ONLY_ASSISTANT)
# Where each of them stands, and what it should be.
_FORMS = {
    "message": ("", "give mappings with the keys role and content"),
    "tool call": ("tool_calls", "give mappings with the keys name and arguments"),
    "tool": ("tools", "give mappings with the keys name, description and parameters"),
}


def as_mapping(raw: object, what: str = "message") -> Mapping[str, Any]:
    """A message, call or tool (`what`) as a mapping: dicts, dataclasses, pydantic models, plain objects."""
    if type(raw) is dict or isinstance(raw, Mapping):
        return raw
    if dataclasses.is_dataclass(raw) and not isinstance(raw, type):
        return {item.name: getattr(raw, item.name) for item in dataclasses.fields(raw)}
    dump = getattr(raw, "model_dump", None)
    if callable(dump):
        found: Mapping[str, Any] = dump()
        return found
    if hasattr(raw, "__dict__") and not isinstance(raw, type) and not callable(raw):
        return {key: value for key, value in vars(raw).items() if not key.startswith("_")}
    kind = "None" if raw is None else f"a value of type {type(raw).__name__}"
    field, cure = _FORMS[what]
    raise MessageError(f"{kind} is not a {what}", field=field, help=cure)


def role_of(raw: Mapping[str, Any]) -> str:
    """The canonical role."""
    role = raw.get("role", raw.get("from"))
    if not isinstance(role, str) or not role:
        raise MessageError(
            "there is no role",
            field="role",
            help='give "role": "user", "assistant", "system" or "tool"',
        )
    return exact(ROLE_ALIASES.get(role, role) if "role" not in raw else role)


def exact(text: str) -> str:
    """The text itself of a member of an enumeration, or of another kind of text, that is equal to it.

    Such a member may be written otherwise, and what is written of a text is remembered for those that are equal to it.
    """
    return text if type(text) is str else str.__str__(text)


def named_role(role: str) -> str:
    """The role as a spec names it: `other` for one that no format knows by name."""
    return role if role in _ROLES else "other"


def known_keys(raw: Mapping[str, Any], role: str) -> None:
    """Refuse keys that nothing would read."""
    if raw.keys() <= (KEYS if role == "assistant" else _ALL):
        return
    for key, value in raw.items():
        empty = value is None or value in ("", [], {}, ())
        if key not in KEYS and not empty:
            close = get_close_matches(key, KEYS, 1)
            cure = (
                f"did you mean `{close[0]}`?"
                if close
                else 'remove it, or render with unsupported="as_template"'
            )
            raise MessageError(f"a message has no key `{key}`", field=key, help=cure)
        if key in _ONLY_ASSISTANT and not empty and role != "assistant":
            raise MessageError(
                f"a {role} message has no `{key}`",
                field=key,
                help="only assistant messages carry reasoning and calls",
            )


def reasoning_of(raw: Mapping[str, Any], thought: str | None, *, strict: bool) -> str | None:
    """The reasoning of a message: a field under one of its names, or its thinking parts; None when it has none."""
    if raw.keys().isdisjoint(REASONING_KEYS) or all(raw.get(key) is None for key in REASONING_KEYS):
        return thought
    given = {raw[key] for key in REASONING_KEYS if isinstance(raw.get(key), str)}
    other = [
        key for key in REASONING_KEYS if raw.get(key) is not None and not isinstance(raw[key], str)
    ]
    if other and strict:
        raise MessageError(f"{other[0]} is not text", field=other[0])
    given |= set() if thought is None else {thought}
    if len(given) > 1 and strict:
        raise MessageError(
            "reasoning is given twice, and differently",
            field="reasoning_content",
            help=f"give one of {', '.join(REASONING_KEYS)}",
        )
    for key in REASONING_KEYS:
        if isinstance(raw.get(key), str):
            return exact(raw[key])
    return thought


def refuse_apart(raw: Mapping[str, Any], role: str, told_apart: Sequence[str]) -> None:
    """Refuse what is read like something else here, where the published template tells the two apart."""
    calls = raw.get("tool_calls")
    if "calls" in told_apart and calls is not None and not calls:
        raise MessageError(
            "the template does not read an empty list of tool calls as none",
            field="tool_calls",
            help="leave tool_calls out",
        )
    for call in calls or ():
        given = call.get("function") if isinstance(call, Mapping) else call
        if "flat" in told_apart and given is None:
            raise MessageError(
                "a tool call has no `function`",
                field="tool_calls",
                help='give {"type": "function", "function": ...}',
            )
        if (
            "arguments" in told_apart
            and isinstance(given, Mapping)
            and given.get("arguments") == ""
        ):
            raise MessageError(
                "the template does not write empty arguments as they are",
                field="tool_calls",
                help='give {} or "{}"',
            )
    missing = raw.get("content", raw.get("value")) is None and not calls
    if missing and named_role(role) in told_apart:
        raise MessageError(
            "the template does not read missing content as empty",
            field="content",
            help='give a text, if an empty one: ""',
        )


def train_of(raw: Mapping[str, Any]) -> float | None:
    """The message's own training weight: `train`, `trainable`, `loss` or `weight`."""
    if raw.keys().isdisjoint(_WEIGHTS):
        return None
    for key in _WEIGHTS:
        value = raw.get(key)
        if value is not None:
            if isinstance(value, bool | int | float) and 0 <= value <= 1:
                return float(value)
            raise MessageError(
                f"{key} is {to_json(value)}", field=key, help="a weight is true, false or 0 to 1"
            )
    return None
