"""Turns that are the same whatever stands in their content: written once, then only filled in.

The spec says by role which turns copy their content without a look into it. Such a turn, for one past and future, is
a `Skeleton`: what stands before its content and behind it. It is found by running the turn method on a mark.

    frames.filled(renderer, frames.usable(out), 0, Message("user", "hi"), past, future).text
        ->  "<|im_start|>user\\nhi<|im_end|>\\n"
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from templc.runtime import fold
from templc.runtime.ending import write_pending
from templc.runtime.history import Node, State
from templc.runtime.messages import Message
from templc.runtime.opaque import Opaque
from templc.runtime.pieces import Piece, text_of
from templc.runtime.writer import Writer

if TYPE_CHECKING:
    from templc.runtime.codec import Codec
    from templc.runtime.renderer import Renderer
    from templc.runtime.rows import Row
    from templc.runtime.shapes import Shapes

Key = TypeVar("Key")
Made = TypeVar("Made")
# A private character, which no filter takes off.
_MARK = "\ue000"
# What stands beside turns in `opaque`, for a template's own roles may have these names too.
_AROUND = frozenset({"head", "prompt", "closing"})
# A caller with options without end must not fill the memory.
_MOST, _MOST_RENDERERS = 4096, 64
# As `Filled(...)`, in half the time.
_new = tuple.__new__


class Skeleton:
    """before, behind: the pieces around the content, as of message 0. hole: the piece of the content, if there is one.

    opening, closing: the texts of both. guard: the first character of a content that might go on with the prefill, or
    "". rows: what stands between this content and the one that follows, once encoded. at_start: nothing comes before.
    trains: whether anything of it is sampled and counts.
    """

    __slots__ = (
        "_halves",
        "_untrained",
        "at_start",
        "before",
        "behind",
        "closing",
        "guard",
        "hole",
        "opening",
        "rows",
        "trains",
    )

    def __init__(
        self,
        before: Sequence[Piece],
        hole: Piece | None = None,
        behind: Sequence[Piece] = (),
        guard: str = "",
        *,
        at_start: bool = False,
    ) -> None:
        self.before, self.hole, self.behind = tuple(before), hole, tuple(behind)
        self.opening, self.closing = text_of(before), text_of(behind)
        self.guard, self.at_start = guard, at_start
        self.rows: dict[Skeleton, Row] = {}
        self.trains = any(piece.sampled and piece.weight for piece in self.pieces)
        self._halves: tuple[Skeleton, Skeleton] | None = None
        self._untrained: Skeleton | None = None

    @property
    def untrained(self) -> Skeleton:
        """The same with no weight at all."""
        if not self.trains:
            return self
        if self._untrained is None:
            before, behind = (_weightless(part) for part in (self.before, self.behind))
            hole = None if self.hole is None else self.hole._replace(weight=0.0)
            self._untrained = Skeleton(before, hole, behind, self.guard, at_start=self.at_start)
        return self._untrained

    @property
    def pieces(self) -> list[Piece]:
        """All of them."""
        return [*self.before, *([] if self.hole is None else [self.hole]), *self.behind]

    @property
    def halves(self) -> tuple[Skeleton, Skeleton] | None:
        """What stands before the sampled pieces, and the rest; None unless these are one stretch around the content."""
        if self._halves is None and self.hole is not None and self.hole.sampled:
            sampled = [piece.sampled for piece in self.pieces]
            cut = sampled.index(True)
            if all(sampled[cut : cut + sum(sampled)]):
                first = Skeleton(self.before[:cut], at_start=self.at_start)
                rest = Skeleton(self.before[cut:], self.hole, self.behind, self.guard)
                self._halves = first, rest
        return self._halves

    def like(self, other: Skeleton | None) -> bool:
        """Whether the other one writes the same."""
        if other is None:
            return False
        mine = (self.before, self.hole, self.behind, self.guard, self.at_start)
        return mine == (other.before, other.hole, other.behind, other.guard, other.at_start)


class Filled(NamedTuple):
    """A skeleton as the turn of a message, with its content."""

    skeleton: Skeleton
    message: int
    content: str = ""

    @property
    def text(self) -> str:
        """All of it."""
        return self.skeleton.opening + self.content + self.skeleton.closing

    @property
    def field(self) -> str:
        """Of many: there is none that stands for all."""
        return ""

    def pieces(self) -> list[Piece]:
        """What the turn method writes."""
        return [*self.before(), *self.hole(), *self.behind()]

    def before(self) -> list[Piece]:
        """What it writes before the content."""
        return [piece._replace(message=self.message) for piece in self.skeleton.before]

    def behind(self) -> list[Piece]:
        """What it writes behind the content."""
        return [piece._replace(message=self.message) for piece in self.skeleton.behind]

    def hole(self) -> list[Piece]:
        """The content, where there is one."""
        hole = self.skeleton.hole
        return [] if hole is None else [hole._replace(text=self.content, message=self.message)]


Item = Piece | Filled


def unfilled(items: Iterable[Item]) -> list[Piece]:
    """The pieces of all items."""
    found: list[Piece] = []
    for item in items:
        if isinstance(item, Filled):
            found += item.pieces()
        else:
            found.append(item)
    return found


class Frames:
    """The skeletons of one renderer with one tokenizer. Safe to call from several threads.

    shapes: of the same renderer, once somebody has asked for one.
    """

    def __init__(self, turns: Mapping[str, Opaque]) -> None:
        self._turns = turns
        self.shapes: Shapes | None = None
        self._usable: dict[tuple[bool, bool, bool], dict[str, Opaque]] = {}
        self._known: dict[tuple[Any, ...], Skeleton | None] = {}
        self._head: Skeleton | None = None
        self._closings: dict[tuple[Any, ...], Skeleton] = {}
        self._pending: dict[tuple[Any, ...], Skeleton] = {}
        self._ends: dict[tuple[Any, bool], Skeleton] = {}

    def usable(self, out: Writer) -> dict[str, Opaque]:
        """The opaque turns, by role, that read nothing of the tools and system messages of this conversation."""
        return self._without(out.tools_given, out.lead is not None, bool(out.systems))

    def _usable_behind(self, state: State) -> dict[str, Opaque]:
        """The same for earlier tokens, whose head is written."""
        return self._without(state.tools is not None, state.lead is not None, False)

    def _without(self, tools: bool, lead: bool, systems: bool) -> dict[str, Opaque]:
        """The opaque turns that read nothing of what there is."""
        there = (tools, lead, systems)
        found = self._usable.get(there)
        if found is None:
            given = {
                name for name, one in zip(("tools", "lead", "systems"), there, strict=True) if one
            }
            found = {name: one for name, one in self._turns.items() if not one.reads & given}
            self._usable[there] = found
        return found

    def alike(self, renderer: Renderer, state: State, node: Node, future: Any) -> bool:
        """Whether the turn of a message that sees another future is surely the same."""
        known = self.written(renderer, state, node)
        if known is None:
            return False
        return known is self.skeleton(renderer, node.message, node.past, future)

    def written(self, renderer: Renderer, state: State, node: Node) -> Skeleton | None:
        """The skeleton that an earlier turn was written as; None where its method had to write it."""
        if node.skeleton is None:
            usable = self._usable_behind(state)
            given = node.index, node.message, node.past, node.seen
            filled = self.filled(renderer, usable, *given)
            node.skeleton = None if filled is None else filled.skeleton
        return node.skeleton

    def kept(self, renderer: Renderer, state: State, node: Node, live: Any) -> bool:
        """Whether the turn of a message surely is its prompt and what was sampled, as it was written then."""
        if "prompt" not in self._usable_behind(state):
            return False
        if not self.alike(renderer, state, node, live):
            return False
        assert node.skeleton is not None
        halves = node.skeleton.halves
        return halves is not None and self.end(renderer, node.past, True).text == halves[0].opening

    def filled(
        self,
        renderer: Renderer,
        usable: Mapping[str, Opaque],
        number: int,
        message: Message,
        past: Any,
        future: Any,
    ) -> Filled | None:
        """The turn of a message; None where its method has to write it. usable: the opaque turns of here, by role."""
        role, content = message.role, message.content
        turn = usable.get(role)
        if turn is None:
            return None
        if not number and role == "system" and renderer.info.leading:
            return None  # the head writes a system message that stands first
        if not content or not turn.lacks <= message.absent or message.parts:
            return None
        if message.train is not None or message.media is not None:
            return None
        if message.call_id and "call_id" in turn.lacks:
            return None  # made up for a message that names none
        skeleton = self.skeleton(renderer, message, past, future)
        first = content[0]
        if skeleton is None or first == skeleton.guard:
            return None
        if turn.asks and turn.looks(content):
            return None
        return _new(Filled, (skeleton, number, content))

    def sampled(
        self,
        renderer: Renderer,
        out: Writer,
        number: int,
        message: Message,
        past: Any,
        live: Any,
    ) -> Filled | None:
        """What the model samples of a turn and what follows, seeing `live`; None where its method has to write it."""
        filled = self.filled(renderer, self.usable(out), number, message, past, live)
        if filled is None or filled.skeleton.halves is None:
            return None
        return filled._replace(skeleton=filled.skeleton.halves[1])

    def skeleton(
        self, renderer: Renderer, message: Message, past: Any, future: Any
    ) -> Skeleton | None:
        """Of a message of this role, where its turn can be filled in; the same one where as much is written."""
        role = message.role
        key = (role, past, future) if role in renderer.reads_future else (role, past)
        try:
            return self._known[key]
        except KeyError:
            found = None if role in _AROUND else _learnt(renderer, message, past, future)
            like = (one for one in [*self._known.values()] if one is not None and one.like(found))
            found = next(like, found)
            return keep(self._known, key, found)

    def head(self, renderer: Renderer, out: Writer) -> Filled:
        """What stands before the first message, where it reads nothing of this conversation."""
        skeleton = self._head
        if skeleton is None:
            renderer.parts["head"](renderer, out, fold.PROMPT, None, None)
            skeleton = self._head = Skeleton((), None, out.pieces, at_start=True)
            out.pieces = []
        return _new(Filled, (skeleton, -1, ""))

    def pending(
        self,
        renderer: Renderer,
        out: Writer,
        node: Node,
        names: tuple[str, ...],
        future: Any,
    ) -> Filled | None:
        """The parts that a sampled turn still lacks; None where they may read its message. out: what is fixed."""
        if "closing" not in self.usable(out):
            return None
        key = names, node.past, future
        try:
            skeleton = self._pending[key]
        except KeyError:
            scratch = Writer()
            nobody = Node(fold.PROMPT, 0, node.past, None, None)
            write_pending(renderer, scratch, nobody, names, future)
            skeleton = keep(self._pending, key, Skeleton((), None, scratch.pieces))
        return _new(Filled, (skeleton, node.index, ""))

    def closing(self, pieces: Sequence[Piece]) -> list[Item]:
        """What ends an earlier turn: as one item where the format wrote all of it, in the name of one message."""
        number = pieces[0].message if pieces else -1
        key: tuple[Any, ...] = ()
        for text, body, message, _, sampled, weight in pieces:
            if body or message != number:
                return list(pieces)
            key = (*key, text, sampled, weight)
        try:
            skeleton = self._closings[key]
        except KeyError:
            skeleton = keep(self._closings, key, Skeleton((), None, pieces))
        return [_new(Filled, (skeleton, number, ""))]

    def end(self, renderer: Renderer, past: Any, prompt: bool) -> Filled:
        """What stands behind the last message."""
        key = past, prompt
        try:
            skeleton = self._ends[key]
        except KeyError:
            out = Writer()
            fold.write_end(renderer, out, past, prompt)
            skeleton = keep(self._ends, key, Skeleton(out.pieces))
        return _new(Filled, (skeleton, -1, ""))


def keep(known: dict[Key, Made], key: Key, made: Made, most: int = _MOST) -> Made:
    """What was made, remembered with at most so many others."""
    if len(known) >= most:
        known.clear()
    known[key] = made
    return made


def _weightless(pieces: Sequence[Piece]) -> list[Piece]:
    return [piece._replace(weight=0.0) for piece in pieces]


def _learnt(renderer: Renderer, message: Message, past: Any, future: Any) -> Skeleton | None:
    """The skeleton of a turn; None where it writes its content not once, or another text in its name."""
    out = Writer()
    out.message = 1  # one in the middle: message 0 may be the head's
    fold.write_turn(renderer, out, message._replace(content=_MARK), past, future)
    pieces = [piece._replace(message=0) for piece in out.pieces]
    holes = [at for at, piece in enumerate(pieces) if _MARK in piece.text]
    if len(holes) != 1 or pieces[holes[0]].text != _MARK:
        return None
    at = holes[0]
    guard = guard_of(renderer, pieces[:at], past) if message.role == "assistant" else ""
    return Skeleton(pieces[:at], pieces[at], pieces[at + 1 :], guard)


def guard_of(renderer: Renderer, before: Sequence[Piece], past: Any) -> str:
    """The character with which a text would go on with a prefill that the turn has begun to write, or none."""
    if "prefill" not in renderer.parts:
        return ""
    prefill = fold.prefill_text(renderer, past, None)
    begun = text_of(piece for piece in before if piece.sampled)
    unlike = begun.startswith(prefill) or not prefill.startswith(begun)
    return "" if unlike else prefill[len(begun)]


def frames_of(renderer: Renderer, codec: Codec) -> Frames | None:
    """The frames of a renderer; None where control tokens hang on the text around them, or may be spelled in it."""
    known = renderer.frames
    if known is None or known[0] is not codec:
        known = renderer.frames = codec, _frames(renderer, codec)
    return known[1]


def _frames(renderer: Renderer, codec: Codec) -> Frames | None:
    if not renderer.opaque or renderer.content_specials != "text" or codec.controls.flagged:
        return None
    known = codec.scaffold.frames
    key = (type(renderer), renderer.fingerprint())
    found = known.get(key)
    if found is None:
        if len(known) >= _MOST_RENDERERS:
            known.clear()
        found = known[key] = Frames(renderer.opaque)
    return found
