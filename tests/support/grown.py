"""Conversations as a tree, so that what they have in common is read and rendered once.

tree = Tree(stability, agreed("qwen3", {}), raw_messages("u", "a"))
for node in tree.path((0, 1, 0)): ...       [], [user], [user, assistant], [user, assistant, user]
node.text(), node.text(prompt=True), node.sampled()
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from templc.ir.interpret import message_rules
from templc.proof.classes import MessageClass
from templc.proof.stability import Stability
from templc.runtime.errors import TemplcError
from templc.runtime.messages import Reader

Raw = Mapping[str, Any]
Render = Callable[[Sequence[Raw], bool], str | None]
Sampled = Callable[[Sequence[Raw]], str | None]


@dataclass(slots=True, eq=False)
class Node:
    """A conversation, and what the proof reads of it. Its texts are rendered when they are first asked for."""

    tree: Tree
    raw: tuple[Raw, ...]
    word: tuple[MessageClass, ...]
    reader: Reader
    past: tuple[bool, ...]
    below: dict[int, Node | None] = field(default_factory=dict)
    _texts: dict[bool, str | None] = field(default_factory=dict)
    _sampled: list[str | None] = field(default_factory=list)

    def text(self, *, prompt: bool = False) -> str | None:
        """The render, with a generation prompt or without one; None where there is none."""
        if prompt not in self._texts:
            self._texts[prompt] = self.tree.render(self.raw, prompt)
        return self._texts[prompt]

    def sampled(self) -> str | None:
        """What the model samples when the last message is its answer."""
        assert self.tree.sampled is not None
        if not self._sampled:
            self._sampled.append(self.tree.sampled(self.raw))
        return self._sampled[0]


class Tree:
    """The conversations that can be made of some messages."""

    def __init__(
        self,
        stability: Stability,
        render: Render,
        raw: Sequence[Raw],
        sampled: Sampled | None = None,
    ) -> None:
        self.stability, self.render, self.sampled = stability, render, sampled
        self.raw = raw
        reader = Reader(message_rules(stability.program.rules))
        self.root = Node(self, (), (), reader, stability.machine.start)

    def next(self, node: Node, message: Raw) -> Node | None:
        """The conversation with one more message; None where the format refuses that."""
        reader = Reader(node.reader.rules, False, node.reader.calls, node.reader.waiting)
        machine = self.stability.machine
        try:
            found = machine.class_of(reader.read(message, len(node.raw)))
        except (TemplcError, KeyError, StopIteration):
            return None
        if not machine.admits(node.past, found):
            return None
        past = machine.after(node.past, found)
        return Node(self, (*node.raw, message), (*node.word, found), reader, past)

    def grown(self, node: Node, at: int) -> Node | None:
        """`next` with the message at a place, remembered under the node."""
        if at not in node.below:
            node.below[at] = self.next(node, self.raw[at])
        return node.below[at]

    def path(self, places: Iterable[int]) -> list[Node]:
        """The conversation of the messages at these places, by its beginnings, as far as the format takes it."""
        found = [self.root]
        for at in places:
            then = self.grown(found[-1], at)
            if then is None:
                break
            found.append(then)
        return found
