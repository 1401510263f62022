"""Canonical messages: what people have, made into the one form that renderers read.

`Reader(rules).read({"role": "user", "content": None}, 0)` is `Message("user", content="", absent={"content", ...})`.
Accepted are mappings, dataclasses and pydantic objects; OpenAI keys and the common aliases. What cannot be
understood is refused with a `MessageError` that names the message and the field; nothing is dropped in silence.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from templc.runtime.aliases import (
    as_mapping,
    exact,
    known_keys,
    named_role,
    reasoning_of,
    refuse_apart,
    role_of,
    train_of,
)
from templc.runtime.call import Argument as Argument
from templc.runtime.call import Call as Call
from templc.runtime.call import owned
from templc.runtime.errors import MessageError
from templc.runtime.parts import ALONE, Joined, Media, join_parts
from templc.runtime.rules import MessageRules
from templc.runtime.spelled import holds
from templc.runtime.text import FILTERS, Verbatim
from templc.runtime.waiting import Asked, Waiting


class Message(NamedTuple):
    """One message as renderers read it.

    `parts`: content was a list that the published template does not read as text; `media`: what the format wrote in the
    place of pictures and the like; `absent`: the fields that were
    missing or None; `train`: the message's own training weight, None when it says nothing. For a tool result,
    `answered`: the name of the function whose call it answers, `answered_number`: the number of that call,
    `caller_content`: the text next to it.
    """

    role: str
    content: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    name: str = ""
    call_id: str = ""
    answered: str = ""
    answered_number: str = ""
    caller_content: str = ""
    parts: bool = False
    absent: frozenset[str] = frozenset()
    train: float | None = None
    media: Media | None = None


# As `Message(...)` and the like, in a third of the time: messages are read more often than anything else is done.
_new = tuple.__new__
_TALKING = ("user", "assistant", "system")
_USUAL = frozenset({*_TALKING, "tool"})
# Every set of fields that a message may lack, by the bits that `_absent` gives them.
_FIELDS = ("content", "name", "calls", "call_id", "reasoning")
_ABSENT = [
    frozenset(field for bit, field in enumerate(_FIELDS) if bits >> bit & 1)
    for bits in range(1 << len(_FIELDS))
]
_BUT_CONTENT = _ABSENT[0b11110]
_A_RESULT = _ABSENT[0b10110]


_NOTHING = Asked()
_AS_GIVEN: Mapping[str, str] = {}


def bare_message(role: str, content: str) -> Message:
    """A message with a role and a content and nothing else, as it is read."""
    return _new(
        Message, (role, content, "", (), "", "", "", "", "", False, _BUT_CONTENT, None, None)
    )


def bare_roles(rules: MessageRules) -> frozenset[str]:
    """The roles of such messages that are read as they are, but for what the rules say of contents."""
    return frozenset(_TALKING) - {*rules.roles}


@dataclass(slots=True)
class Reader:
    """Reads the messages of one conversation in order; counts calls, so that ids can be made up.

    `as_template`: read like the published template under transformers 5, which ignores unknown keys.
    """

    rules: MessageRules
    as_template: bool = False
    calls: int = 0
    waiting: Waiting = field(default_factory=Waiting)

    def read(self, raw: object, index: int) -> Message:
        """The canonical form of message `index`."""
        if type(raw) is dict:
            if len(raw) == 2 and (plain := self.plain(raw)) is not None:
                return plain
            if len(raw) == 3 and (result := self.result(raw)) is not None:
                return result
        try:
            return self._read(as_mapping(raw), index)
        except MessageError as error:
            if error.message_index < 0:
                error.message_index = index
            raise

    def each(self, raw: Iterable[object], start: int = 0) -> Iterator[Message]:
        """The canonical forms of messages, from number `start` on, each as it is asked for."""
        return (self.read(item, number) for number, item in enumerate(raw, start))

    def plain(self, raw: Mapping[str, Any]) -> Message | None:
        """What `_read` makes of a role and a text, in a third of the time; None where a closer look is needed."""
        role, content = raw.get("role"), raw.get("content")
        if type(content) is not str or type(role) is not str or role not in _TALKING:
            return None
        if role in self.rules.roles:
            return None
        if self.rules.content and FILTERS[self.rules.content](content) != content:
            return None
        inline = self.rules.inline_reasoning
        if role == "assistant" and inline is not None and inline.close in content:
            return None
        if self.rules.parts_alone:
            if self.waiting.parted:
                return None
            self.waiting = self.waiting.beside(role)
        return bare_message(role, content)

    def result(self, raw: Mapping[str, Any]) -> Message | None:
        """As `plain`, for a tool result that names its call."""
        rules, content, call_id = self.rules, raw.get("content"), raw.get("tool_call_id")
        if raw.get("role") != "tool" or type(content) is not str or type(call_id) is not str:
            return None
        if rules.content or rules.parts_alone or rules.first_roles or "tool" in rules.roles:
            return None
        call_id, (_, name, number) = self._answered(call_id)
        answered = (name, number, self.waiting.content)
        rest = (False, _A_RESULT, None, None)
        return _new(Message, ("tool", content, "", (), "", call_id, *answered, *rest))

    def said(self, message: dict[str, Any], index: int) -> Message:
        """What `read` makes of a message as a completion was read: its keys and types are known.

        The sampled text of arguments says what the decoded ones do.
        """
        rules = self.rules
        if (
            self.as_template
            or rules.content
            or rules.parts_alone
            or rules.roles
            or rules.first_roles
        ):
            return self.read(message, index)
        content, reasoning = message["content"], message.get("reasoning_content")
        if reasoning is None:
            content, reasoning = self._split(content)
        given = message.get("tool_calls")
        calls: tuple[Call, ...] = ()
        if given:
            calls = tuple([self._call(one, unedited=True) for one in given])
            self._asked(calls, content)
        lacks = 0b01010 | (0 if given else 0b00100) | (0b10000 if reasoning is None else 0)
        rest = ("", "", "", "", "", False, _ABSENT[lacks], None, None)
        return _new(Message, ("assistant", content, reasoning or "", calls, *rest))

    def _asked(self, calls: Sequence[Call], content: str) -> None:
        """Remember the calls of a message."""
        left = tuple([_new(Asked, (call.id, call.name, call.number)) for call in calls])
        _, _, _, ids, seen, neighbour = self.waiting
        if self.rules.numbered:
            ids = (*ids, *[call.id for call in calls])
        self.waiting = _new(Waiting, (left, left, content, ids, seen, neighbour))

    def _read(self, raw: Mapping[str, Any], index: int) -> Message:
        rules, role = self.rules, raw.get("role")
        if type(role) is not str or role not in _USUAL or role in rules.roles or rules.first_roles:
            role = self._role(role_of(raw), index)
        if not self.as_template:
            known_keys(raw, role)
        elif rules.told_apart:
            refuse_apart(raw, role, rules.told_apart)
        content, unread, thought, media = self._content(raw.get("content", raw.get("value")), role)
        if rules.parts_alone:
            self._alone(role, media is not None)
        reasoning = reasoning_of(raw, thought, strict=not self.as_template)
        calls: tuple[Call, ...] = ()
        if role == "assistant":
            calls = self._calls(raw.get("tool_calls"))
            if reasoning is None or self._taken_over():
                content, inline = self._split(content)
                reasoning = reasoning if inline is None else inline
        if rules.content:
            content = FILTERS[rules.content](content)
        if calls:
            self._asked(calls, content)
        call_id, asked = _text(raw, "tool_call_id"), _NOTHING
        if role == "tool":
            call_id, asked = self._answered(call_id)
        return Message(
            role,
            content,
            reasoning or "" if role == "assistant" else "",
            calls,
            _text(raw, "name"),
            call_id,
            asked.name,
            asked.number,
            self.waiting.content if role == "tool" else "",
            unread,
            _absent(raw, reasoning),
            train_of(raw),
            media,
        )

    def _role(self, role: str, index: int) -> str:
        """The role that a role of message `index` is read as."""
        if index and role in self.rules.first_roles and not self.as_template:
            raise MessageError(f"a {role} message must stand first", field="role")
        also = {} if index else self.rules.first_roles
        return also.get(role, self.rules.roles.get(role, role))

    def _content(self, content: object, role: str) -> Joined:
        """Content as text, and what is known of its parts."""
        match content:
            case None:
                # Where a template takes what is no text for nothing, missing content is no text either.
                return Joined("", self.as_template and self._lists(role) == "drop")
            case str():
                return Joined(exact(content))
            case list() | tuple():
                found = self._lists(role) if self.as_template else "join"
                counts = dict(self.waiting.media)
                joined = join_parts(
                    content, self.rules, found, counts, role, as_template=self.as_template
                )
                if counts:
                    self.waiting = self.waiting._replace(media=tuple(counts.items()))
                return joined
        raise MessageError(
            f"content is a value of type {type(content).__name__}",
            field="content",
            help="give a text, None or a list of parts",
        )

    def _alone(self, role: str, media: bool) -> None:
        """Refuse a message with such parts next to another one of its role, where none may be."""
        before, self.waiting = (
            self.waiting.neighbour,
            self.waiting._replace(neighbour=(role, media)),
        )
        if before and before[0] == role in self.rules.parts_alone and (media or before[1]):
            raise MessageError(ALONE, field="content", help="put them into one message")

    def _lists(self, role: str) -> str:
        """What the published template does with a list in a message of this role."""
        return self.rules.lists_by_role.get(named_role(role), self.rules.lists)

    def _taken_over(self) -> bool:
        """Whether reasoning inside content takes the place of the message's own."""
        inline = self.rules.inline_reasoning
        return self.as_template and inline is not None and inline.over_field

    def _split(self, content: str) -> tuple[str, str | None]:
        """Content and reasoning of an assistant message that carries its reasoning inline."""
        inline = self.rules.inline_reasoning
        if inline is None or inline.close not in content:
            return content, None
        if self.as_template and not inline.in_template:
            return content, None
        before = content.partition(inline.close)[0]
        if inline.reasoning == "whole":
            thought = before.rpartition(inline.open)[2]
        else:
            thought = before.rstrip("\n").rpartition(inline.open)[2].lstrip("\n")
        return FILTERS[inline.content](content.rpartition(inline.close)[2]), thought

    def _calls(self, raw: object) -> tuple[Call, ...]:
        if raw is None:
            return ()
        if not isinstance(raw, list | tuple) and (
            not isinstance(raw, Sequence) or isinstance(raw, str)
        ):
            raise MessageError("tool_calls is not a list", field="tool_calls")
        seen = raw[:1] if self._first_call else raw
        if len(raw) > len(seen):
            say = "the template writes only the first tool call of a message, the others are lost"
            warnings.warn(say, stacklevel=2)
        return tuple([self._call(as_mapping(item, "tool call")) for item in seen])

    @property
    def _first_call(self) -> bool:
        """Whether only the first call of a message is read, and every result is one of it."""
        return self.as_template and self.rules.calls == "first"

    def _call(self, raw: Mapping[str, Any], *, unedited: bool = False) -> Call:
        function = as_mapping(raw["function"], "tool call") if raw.get("function") else raw
        name = function.get("name")
        if not isinstance(name, str) or not name:
            raise MessageError(
                "a tool call has no name", field="tool_calls", help="give function.name"
            )
        call_id = raw.get("id") or ""
        if not call_id and self.rules.call_id and not self.as_template:
            call_id = self.rules.call_id.replace("{name}", name).replace("{index}", str(self.calls))
        number, self.calls = str(self.calls), self.calls + 1
        arguments, sampled = function.get("arguments"), function.get("raw_arguments")
        if unedited and type(sampled) is Verbatim:
            arguments = sampled
        elif isinstance(sampled, str) and holds(sampled, arguments):
            arguments = Verbatim(sampled)
        name, kind = exact(name), str(raw.get("type") or "function")
        spelled = sampled if isinstance(sampled, Mapping) else _AS_GIVEN
        given = self._arguments(arguments, name)
        return _new(Call, (name, given, str(call_id), kind, spelled, number))

    def _arguments(self, arguments: object, name: str) -> Any:
        if arguments is None or (not self.as_template and arguments in ("", "null")):
            if self.as_template:
                raise MessageError(f"the call to `{name}` has no arguments", field="tool_calls")
            return {}
        if isinstance(arguments, str):
            return arguments
        if isinstance(arguments, Mapping):
            return owned(arguments)
        if self.as_template:
            return arguments
        raise MessageError(
            f"the arguments of the call to `{name}` are a value of type {type(arguments).__name__}",
            field="tool_calls",
            help="give a mapping, or the JSON text of an object",
        )

    def _answered(self, found: str) -> tuple[str, Asked]:
        """Id of a tool message and the call that it answers: by its id, without one the next that is open.

        The id is made up only where those of calls are. The number is that of the first call of the conversation
        with this id, for formats that write it. found: the id that the message has.
        """
        calls, left, content, ids, media, neighbour = self.waiting
        answer = _NOTHING
        if self._first_call:
            answer = calls[0] if calls else answer
        elif not found:
            answer = left[0] if left else answer
        else:
            for call in calls:  # the last one that has it
                if call.id == found:
                    answer = call
        if answer in left:
            at = left.index(answer)
            rest = left[:at] + left[at + 1 :]
            self.waiting = _new(Waiting, (calls, rest, content, ids, media, neighbour))
        made_up = bool(self.rules.call_id) and not self.as_template
        call_id = answer.id if made_up and not found else found
        if self.rules.numbered and (found or self.as_template):
            number = str(ids.index(found)) if found in ids else ""
            answer = _new(Asked, (answer.id, answer.name, number))
        return call_id, answer


def _absent(raw: Mapping[str, Any], reasoning: str | None) -> frozenset[str]:
    """The fields that were missing or None."""
    get = raw.get
    bits = 1 if get("content") is None and get("value") is None else 0
    bits |= 2 if get("name") is None else 0
    bits |= 4 if get("tool_calls") is None else 0
    bits |= 8 if get("tool_call_id") is None else 0
    bits |= 16 if reasoning is None else 0
    return _ABSENT[bits]


def _text(raw: Mapping[str, Any], key: str) -> str:
    value = raw.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise MessageError(f"{key} is a value of type {type(value).__name__}, not text", field=key)
    return exact(value)
