"""The conversations of the coverage report, in six kinds; each is rendered with and without a generation prompt.

Conversations are written with the names of `templc.verify.SHAPES`:

    BATTERY[0].messages        # ({"role": "user", "content": "u"},)
    BATTERY[0].kind            # "plain"
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from templc.verify.shapes import TOOLS, Message, Tools, messages

KINDS = ("plain", "edge", "thinking", "tools", "tools with thinking", "options")

_NO_TOOLS: Mapping[str, tuple[str, ...]] = {
    "plain": (
        "u",
        "u a",
        "u a u",
        "u a u a",
        "u a u a u",
        "s u",
        "s u a",
        "s u a u",
        "s u a u a",
        "s u a u a u a u",
    ),
    "edge": (
        "s",
        "a",
        "a u",
        "u u",
        "u u a",
        "u a a",
        "s s u",
        "u s u",
        "u a s u",
        "s u a s u a",
        "s.empty u",
        "s.space u a",
        "u.empty",
        "u.empty a",
        "u.blank a u",
        "u.space a.space u",
        "u a.empty",
        "u a.empty u",
        "u.response a",
        "u a u.response",
        "u.name a u",
    ),
    "thinking": (
        "u a.r",
        "u a.r u",
        "u a.r u a",
        "u a u a.r",
        "u a.r u a.r",
        "u a.r u a.r u",
        "s u a.r u a.r",
        "u a.think",
        "u a.think u",
        "u a.think u a.think",
        "u a.r.space",
        "u a.r.space u a",
        "u a.r.empty",
        "s u a.r.empty u",
    ),
}
_ONE, _TWO = TOOLS[2], TOOLS[3]
_WITH_TOOLS: Mapping[str, tuple[tuple[str, Tools], ...]] = {
    "tools": (
        ("u", _ONE),
        ("u", _TWO),
        ("s u", _TWO),
        ("s u a", _ONE),
        ("s.empty u", _ONE),
        ("u a u", _ONE),
        ("u a", []),
        ("s u", []),
        ("u a.c", _ONE),
        ("u a.c t.id", _ONE),
        ("u a.c t.id a", _ONE),
        ("u a.c t.id a u", _TWO),
        ("s u a.c t.id a u", _TWO),
        ("u a.c t.id a u a.c t.id a", _ONE),
        ("u a.c t.id a.c t.id a", _ONE),
        ("u a.ac t.id", _ONE),
        ("u a.ac t.id a u", _ONE),
        ("u a.cc t.id t2", _TWO),
        ("u a.cc t.id t2 a u a", _TWO),
        ("u a.c.text t.id a", _TWO),
        ("u a.c.none t.id a", _ONE),
        ("u a.c t.id a", None),
    ),
    "tools with thinking": (
        ("u a.rc", _ONE),
        ("u a.rc t.id", _ONE),
        ("u a.rc t.id a", _ONE),
        ("u a.rc t.id a.r", _ONE),
        ("u a.rc t.id a.r u", _ONE),
        ("u a.rac t.id a.r u a.r", _ONE),
        ("s u a.rc t.id a.rc t.id a.r u", _TWO),
        ("u a.r u a.rc t.id", _ONE),
        ("u a.rc t.id a u a.rc t.id a.r", _ONE),
    ),
}
_OPTIONS: tuple[Mapping[str, Any], ...] = (
    {"enable_thinking": False},
    {"enable_thinking": True},
    {"thinking": False},
    {"thinking": True},
    {"preserve_thinking": True},
    {"clear_thinking": False},
    {"reasoning_effort": "low"},
    {"reasoning_effort": "high"},
)
_OPTIONED: tuple[tuple[str, Tools], ...] = (
    ("u", None),
    ("s u a.r u a.r", None),
    ("u a.rc t.id a.r u", _ONE),
)


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation: its kind, the names of its shapes, and the arguments of its renders."""

    kind: str
    name: str
    messages: tuple[Message, ...]
    tools: Tools
    options: Mapping[str, Any]
    prompt: bool

    def __str__(self) -> str:
        tools = "" if self.tools is None else f" tools={len(self.tools)}"
        options = "".join(f" {key}={value!r}" for key, value in self.options.items())
        return f"[{self.name}]{tools}{options}{' gp' if self.prompt else ''}"


def _battery() -> Iterator[Conversation]:
    for kind, names in _NO_TOOLS.items():
        for name in names:
            yield from _both(kind, name, None, {})
    for kind, pairs in _WITH_TOOLS.items():
        for name, tools in pairs:
            yield from _both(kind, name, tools, {})
    for options in _OPTIONS:
        for name, tools in _OPTIONED:
            yield from _both("options", name, tools, options)


def _both(kind: str, name: str, tools: Tools, options: Mapping[str, Any]) -> Iterator[Conversation]:
    found = tuple(_told_apart(messages(*name.split())))
    for prompt in (False, True):
        yield Conversation(kind, name, found, tools, options, prompt)


def _told_apart(found: Iterable[Message]) -> Iterator[Message]:
    """Messages with the number of those that were equal behind their text: people rarely say the same twice."""
    seen: list[Message] = []
    for message in found:
        equal = seen.count(message)
        seen.append(message)
        yield {**message, "content": f"{message['content']}{equal}"} if equal else message


BATTERY = tuple(_battery())


def digest() -> str:
    """Of the whole battery: renders of another one are of no use."""
    rows = [(str(row), list(row.messages), row.tools) for row in BATTERY]
    return hashlib.sha256(json.dumps(rows, default=dict).encode()).hexdigest()[:16]
