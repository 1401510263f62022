"""Messages without their texts: of what kind they are, and the texts that a format copies.

Two messages of one kind differ by these texts alone, so what is written of one is written of the other.

    taken_apart(Message("assistant", "", "hm", (Call("f", {"a": 1}),)), ())
        ->  (Kind("assistant", frozenset(), ("reasoning",), (("mapping", False, "function"),)), ["hm", "f", '{"a": 1}'])
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from templc.runtime.call import Call
from templc.runtime.messages import Message
from templc.runtime.opaque import Look, Opaque
from templc.runtime.text import Verbatim, to_json

CallKind: TypeAlias = tuple[str, bool, str]
"""What the arguments are (mapping, text, verbatim), whether there is an id, the type."""

_new = tuple.__new__
_UNSEEN = Look()
_FIELDS = ("content", "reasoning", "name", "call_id", "answered")


class Kind(NamedTuple):
    """role, absent: of the message. fields: those that hold a text, in the order of `taken_apart`. calls: of each."""

    role: str
    absent: frozenset[str]
    fields: tuple[str, ...]
    calls: tuple[CallKind, ...] = ()


def taken_apart(message: Message, closely: Collection[str]) -> tuple[Kind, list[str]] | None:
    """Kind and texts: content, reasoning, name, call_id, answered, then of each call its name, arguments and id.

    closely: fields that such a message must not have. None for one that has them, or a text of mere white space, or
    parts, or a weight of its own. MessageError for arguments that JSON cannot hold.
    """
    role, content, reasoning, calls, name, call_id, answered = message[:7]
    _, _, parts, absent, train, media = message[7:]
    if parts or train is not None or media is not None:
        return None
    if closely and any(getattr(message, field) for field in closely):
        return None
    texts: list[str] = []
    fields: tuple[str, ...] = ()
    for field, text in zip(_FIELDS, (content, reasoning, name, call_id, answered), strict=True):
        if text:
            if text.isspace():
                return None
            texts.append(text)
            fields += (field,)
    asked = _calls(calls, texts) if calls else ()
    return None if asked is None else (_new(Kind, (role, absent, fields, asked)), texts)


def _calls(calls: Sequence[Call], texts: list[str]) -> tuple[CallKind, ...] | None:
    """The kinds of calls, whose texts are added; None for arguments that are nothing to copy."""
    found: list[CallKind] = []
    for name, arguments, id, kind, _, _ in calls:
        if type(arguments) is dict:
            what, text = "mapping", to_json(arguments)
        elif isinstance(arguments, str) and arguments:
            what, text = "verbatim" if type(arguments) is Verbatim else "text", str(arguments)
        else:
            return None
        if not kind.isascii():  # it is written as it is, and must not be taken for a mark
            return None
        texts += (name, text, id) if id else (name, text)
        found.append((what, bool(id), kind))
    return tuple(found)


def marked(kind: Kind, marks: Iterator[str]) -> Message:
    """A message of this kind, with marks as its texts, which JSON does not quote."""
    texts: dict[str, Any] = {field: Verbatim(next(marks)) for field in kind.fields}
    calls = [
        Call(next(marks), Verbatim(next(marks)), next(marks) if has_id else "", type)
        for _, has_id, type in kind.calls
    ]
    return Message(kind.role, calls=tuple(calls), absent=kind.absent, **texts)


def looks_at(kind: Kind, turn: Opaque) -> list[Look] | None:
    """What the turn of such a message asks of each text; None where it does more than copy one."""
    found: list[Look] = []
    for field in kind.fields:
        if field == "content":
            look: Look | None = turn
        else:
            look = turn.copies.get(field) if field in turn.reads else _UNSEEN
        if look is None or (look.quotes and (look.strips or look.newlines or look.sought)):
            return None
        found.append(look)
    for what, has_id, _ in kind.calls:
        as_text = turn.arguments == "text_or_json"
        if "calls" in turn.reads and (not turn.arguments or (what == "text" and not as_text)):
            return None
        found += [_UNSEEN] * (3 if has_id else 2)
    return found
