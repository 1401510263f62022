"""Small messages, and every conversation that can be made of them.

Output: cases in a fixed order, simplest first, so that the first difference found is also the
smallest. Bodies are one letter where they can be: what is compared is the format.

    for case in crossed(conversations(2)):
        describe(case)                  # "[user, assistant+reasoning] tools=1 gp"

Messages are shared by all conversations and must not be changed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Message = Mapping[str, Any]
Tools = Sequence[Mapping[str, Any]] | None
Options = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Shape:
    """A message with the short name that tests and reports call it by."""

    name: str
    message: Message


@dataclass(frozen=True, slots=True)
class Case:
    """What one render is given; an option that is not in `options` is undefined."""

    messages: Sequence[Message]
    tools: Tools = None
    add_generation_prompt: bool = False
    options: Options = field(default_factory=dict)


def _call(name: str, arguments: object, call_id: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"type": "function", "id": call_id, "function": function}


# Nine letters and digits: some templates refuse any other id.
_ID, _ID2 = "call00001", "call00002"
_ONE = [_call("f", {"k": "v"}, _ID)]
_TWO = [_call("f", {"n": 1.5, "b": True, "z": None}, _ID), _call("g", {"o": {"l": [1, "é"]}}, _ID2)]
_TEXT = [_call("f", '{"k":"é","n":1}', _ID)]


def _shape(shape: str, role: str, /, **fields: object) -> Shape:
    return Shape(shape, {"role": role, **fields})


SHAPES: tuple[Shape, ...] = (
    _shape("u", "user", content="u"),
    _shape("a", "assistant", content="a"),
    _shape("s", "system", content="s"),
    _shape("a.r", "assistant", content="a", reasoning_content="r"),
    _shape("a.c", "assistant", content="", tool_calls=_ONE),
    _shape("t", "tool", content="t"),
    _shape("t.id", "tool", content="t", name="f", tool_call_id=_ID),
    _shape("t2", "tool", content="t2", tool_call_id=_ID2),
    _shape("a.rc", "assistant", content="", reasoning_content="r", tool_calls=_ONE),
    _shape("a.ac", "assistant", content="a", tool_calls=_ONE),
    _shape("a.cc", "assistant", content="", tool_calls=_TWO),
    _shape("a.empty", "assistant", content=""),
    _shape("a.think", "assistant", content="<think>\nr\n</think>\n\na"),
    _shape("u.empty", "user", content=""),
    _shape("s.empty", "system", content=""),
    _shape("a.c.text", "assistant", content="", tool_calls=_TEXT),
    _shape("a.c.none", "assistant", content=None, tool_calls=_ONE),
    _shape("a.c.blank", "assistant", content="\n\n", tool_calls=_ONE),
    _shape("a.rac", "assistant", content="a", reasoning_content="r", tool_calls=_ONE),
    _shape("a.r.space", "assistant", content="\na", reasoning_content="\n r\n"),
    _shape("a.r.empty", "assistant", content="a", reasoning_content=""),
    _shape("a.space", "assistant", content="\n\na \n"),
    _shape("u.space", "user", content="\u3000 u\t\n"),
    _shape("u.blank", "user", content="\n\n"),
    _shape("u.response", "user", content="<tool_response>\nu\n</tool_response>"),
    _shape("u.name", "user", content="u", name="n"),
    _shape("s.space", "system", content="\ns \n"),
)
"""Every shape, simplest first. A system message that comes late is `s` at a later place."""

CORE: tuple[Shape, ...] = tuple(
    shape
    for shape in SHAPES
    if shape.name
    in {"u", "a", "s", "a.r", "a.c", "t", "a.rc", "a.ac", "a.cc", "a.empty", "a.think"}
    | {"u.empty", "u.response", "t.id"}
)
"""Fourteen shapes that reach most of what a format decides, for longer conversations."""

_FLAT = {
    "type": "function",
    "function": {
        "name": "f",
        "description": "d",
        "parameters": {
            "type": "object",
            "properties": {"k": {"type": "string"}},
            "required": ["k"],
        },
    },
}
_NESTED = {
    "type": "function",
    "function": {
        "name": "g",
        "description": 'dé <b> & "q"\n2',
        "parameters": {
            "type": "object",
            "properties": {
                "o": {
                    "type": "object",
                    "description": "ö",
                    "properties": {"l": {"type": "array", "items": {"type": ["integer", "null"]}}},
                    "required": ["l"],
                },
                "e": {"type": "string", "enum": ["x", "東京"], "default": "x"},
            },
            "required": [],
        },
    },
}
TOOLS: tuple[Tools, ...] = (None, [], [_FLAT], [_FLAT, _NESTED])
"""No tools, an empty list (some formats tell it from None), one tool, two with a nested schema."""

PROMPTS = (False, True)
NO_OPTIONS: tuple[Options, ...] = ({},)


def messages(*names: str) -> list[Message]:
    """The messages of the shapes called so: `messages("u", "a.c", "t")`."""
    known = {shape.name: shape.message for shape in SHAPES}
    return [known[name] for name in names]


def conversations(length: int, shapes: Sequence[Shape] = SHAPES) -> Iterator[tuple[Message, ...]]:
    """All sequences of exactly `length` messages, by the sum of the places of their shapes."""
    table = [shape.message for shape in shapes]
    for total in range(length * (len(table) - 1) + 1):
        for ranks in _summing(length, total, len(table) - 1):
            yield tuple([table[rank] for rank in ranks])


def _summing(length: int, total: int, top: int) -> Iterator[tuple[int, ...]]:
    """All tuples of `length` numbers from 0 to `top` that sum to `total`, in order."""
    if length == 0:
        yield ()
    elif length == 1:
        yield (total,)
    else:
        for first in range(max(0, total - top * (length - 1)), min(top, total) + 1):
            for rest in _summing(length - 1, total - first, top):
                yield (first, *rest)


def crossed(
    conversations: Iterable[Sequence[Message]],
    *,
    tools: Sequence[Tools] = TOOLS,
    prompts: Sequence[bool] = PROMPTS,
    options: Sequence[Options] = NO_OPTIONS,
) -> Iterator[Case]:
    """Each conversation with every choice of tools, generation prompt and options."""
    choices = list(itertools.product(options, tools, prompts))
    for conversation in conversations:
        for option, tool, prompt in choices:
            yield Case(conversation, tool, prompt, option)


def count(
    length: int,
    shapes: Sequence[Shape] = SHAPES,
    *,
    tools: Sequence[Tools] = TOOLS,
    prompts: Sequence[bool] = PROMPTS,
    options: Sequence[Options] = NO_OPTIONS,
) -> int:
    """How many cases `crossed(conversations(length, shapes), ...)` yields."""
    return int(len(shapes) ** length) * len(tools) * len(prompts) * len(options)


def option_grid(**values: Sequence[object]) -> list[Options]:
    """Every combination of values, each also left out: `option_grid(x=(False, True))` has 3."""
    unset = object()
    choices = itertools.product(*((unset, *found) for found in values.values()))
    return [
        {name: value for name, value in zip(values, chosen, strict=True) if value is not unset}
        for chosen in choices
    ]


_REASONING = ("reasoning_content", "reasoning", "thinking")


def describe(case: Case) -> str:
    """One line: `[user, assistant+reasoning, tool] tools=1 gp enable_thinking=False`."""
    keys = ", ".join(message_key(message) for message in case.messages)
    tools = [] if case.tools is None else [f"tools={len(case.tools)}"]
    prompt = ["gp"] if case.add_generation_prompt else []
    options = [f"{name}={value!r}" for name, value in case.options.items()]
    return " ".join([f"[{keys}]", *tools, *prompt, *options])


def message_key(message: Message) -> str:
    """The role of a message and what stands out about it, joined by `+`."""
    calls = message.get("tool_calls") or ()
    content = _content_key(message, bool(calls))
    arguments = [call["function"]["arguments"] for call in calls if "function" in call]
    thoughts = [message[key] for key in _REASONING if key in message]
    marks = {
        "reasoning" if any(thoughts) else "empty reasoning": thoughts,
        content: content,
        f"{len(calls)}calls" if len(calls) > 1 else "call": calls,
        "text": any(isinstance(argument, str) for argument in arguments),
        "name": message.get("name"),
        "id": message.get("tool_call_id"),
    }
    return "+".join([str(message.get("role")), *(mark for mark, holds in marks.items() if holds)])


def _content_key(message: Message, with_calls: bool) -> str:
    """What stands out about the content: next to calls that it is there, else that it is not."""
    if "content" not in message:
        return "missing"
    match message["content"]:
        case None:
            return "none"
        case "":
            return "" if with_calls else "empty"
        case str() as text if "</think>" in text:
            return "think"
        case str() as text if text.startswith("<tool_response>"):
            return "response"
        case str() as text if not text.strip():
            return "blank"
        case str() as text if text != text.strip():
            return "space"
        case str():
            return "content" if with_calls else ""
        case _:
            return "parts"
