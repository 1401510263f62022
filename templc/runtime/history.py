"""What a conversation was written as, and what a longer one would change of it.

Each written message is a `Node`: the message, the past before it, and the future that it saw when it was written.
Nodes are shared by all conversations that go on from them, so a fork costs nothing. `first_change(node, future)` is
the first message whose text would differ if `node` saw `future`; what it finds is remembered, so that asking after
each turn of a long conversation costs the same at every length.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from templc.runtime import fold
from templc.runtime.messages import Message
from templc.runtime.pieces import Piece, text_of
from templc.runtime.waiting import Waiting
from templc.runtime.writer import Writer

if TYPE_CHECKING:
    from templc.runtime.renderer import Renderer
    from templc.runtime.skeleton import Frames, Skeleton


@dataclass(slots=True, eq=False)
class Node:
    """One written message; `known` maps a future that it might see to the first message that this would change.

    text: what it was written as, once somebody has asked. skeleton: what was filled in for it, where that is known.
    """

    message: Message
    index: int
    past: Any
    seen: Any
    parent: Node | None
    known: dict[Any, Node | None] | None = None
    text: str | None = None
    skeleton: Skeleton | None = None


class Sampled:
    """A sampled turn, compared with a fresh render when somebody asks: it takes as long as reading the turn does.

    check: the index of the first token that a fresh render would not have, if there is one, found with what is given.
    before: the sampled turn before it.
    """

    __slots__ = ("_before", "_check", "_found", "_given")

    def __init__(
        self, check: Callable[..., int | None], given: tuple[Any, ...], before: Sampled | None
    ) -> None:
        self._check: Callable[..., int | None] | None = check
        self._given = given
        self._before = before
        self._found: int | None = None

    def differs(self) -> int | None:
        """The first index of this turn and those before it; without recursion, for there may be thousands."""
        row: list[Sampled] = []
        at: Sampled | None = self
        while at is not None:
            row.append(at)
            at = at._before
        found: int | None = None
        for one in reversed(row):
            if one._check is not None:
                one._found = one._check(*one._given) if found is None else found
                one._check, one._given, one._before = None, (), None
            found = one._found
        return found


class State(NamedTuple):
    """What `extend` starts from: the written messages and the summaries after the last one.

    `renderer` names format and options, `tools` the declarations; both must stay what they were. `prompt`: a
    generation prompt stands at the end. `pending`: the parts of a sampled turn that are still to be written, its
    closer where it was cut off and its trailer. `overlap`: text of the next turn that was sampled as the stop.
    `apart`: index of the first token that a fresh render is known not to have. `unchecked`: the last sampled turn of
    those that nobody has compared with a fresh render yet.
    """

    renderer: str
    tools: fold.Tools
    lead: Message | None
    node: Node | None
    past: Any
    calls: int
    waiting: Waiting
    prompt: bool
    pending: tuple[str, ...] = ()
    overlap: str = ""
    apart: int | None = None
    unchecked: Sampled | None = None

    @property
    def differs(self) -> int | None:
        """Index of the first token that a fresh render would not have, None as long as there is none."""
        found = None if self.unchecked is None else self.unchecked.differs()
        return min((at for at in (found, self.apart) if at is not None), default=None)

    def notes(self) -> tuple[str, ...]:
        """Where the tokens part from a fresh render, in words."""
        at = self.differs
        return () if at is None else (f"differs from a fresh render from token {at} on",)

    @property
    def size(self) -> int:
        """How many messages have been written."""
        return 0 if self.node is None else self.node.index + 1

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled with the nodes in a row: a chain of hundreds would be too deep."""
        row: list[tuple[Any, ...]] = []
        node = self.node
        while node is not None:
            row.append((node.message, node.index, node.past, node.seen))
            node = node.parent
        rest = (
            self.past,
            self.calls,
            self.waiting,
            self.prompt,
            self.pending,
            self.overlap,
            self.differs,
        )
        return _restored, (self.renderer, self.tools, self.lead, row[::-1], rest)


def _restored(
    renderer: str,
    tools: fold.Tools,
    lead: Message | None,
    row: list[tuple[Any, ...]],
    rest: tuple[Any, ...],
) -> State:
    node: Node | None = None
    for message, index, past, seen in row:
        node = Node(message, index, past, seen, node)
    return State(renderer, tools, lead, node, *rest)


def chain(turns: fold.Turns, seen: list[Any], parent: Node | None, start: int) -> Node | None:
    """The nodes of written turns, on top of `parent`; the last one."""
    node = parent
    for number, (message, past, future) in enumerate(
        zip(turns.messages, turns.pasts, seen, strict=False), start
    ):
        node = Node(message, number, past, future, node)
    return node


def messages_of(node: Node | None) -> list[Message]:
    """All messages up to a node, in order."""
    found: list[Message] = []
    while node is not None:
        found.append(node.message)
        node = node.parent
    return found[::-1]


def emission(renderer: Renderer, state: State, node: Node, future: Any) -> list[Piece]:
    """The pieces of one message when it sees `future`; none for a system message that the head wrote."""
    out = Writer(state.tools, state.lead)
    fold.write_numbered(renderer, out, node.index, node.message, node.past, future)
    return out.pieces


def first_change(
    renderer: Renderer,
    state: State,
    node: Node | None,
    future: Any,
    frames: Frames | None = None,
) -> Node | None:
    """The first message, up to `node`, that would be written otherwise if `node` saw `future`; None if none would.

    frames: of the renderer, where there are any; what is opaque need not be written to be compared.
    """
    asked: list[tuple[Node, Any]] = []
    found: Node | None = None
    while node is not None and node.seen != future:
        if node.known is not None and future in node.known:
            found = node.known[future]
            break
        asked.append((node, future))
        future = future.before(node.message)
        node = node.parent
    for at, view in reversed(asked):
        if found is None and _differs(renderer, state, at, view, frames):
            found = at
        if at.known is None:
            at.known = {}
        at.known[view] = found
    return found


def _differs(
    renderer: Renderer, state: State, node: Node, future: Any, frames: Frames | None
) -> bool:
    if not renderer.sees_future(node.message.role):
        return False
    if frames is not None and frames.alike(renderer, state, node, future):
        return False
    if node.text is None:
        node.text = text_of(emission(renderer, state, node, node.seen))
    return text_of(emission(renderer, state, node, future)) != node.text
