"""What stands behind earlier tokens, filled in: the shapes of extensions.

An extension is known by the kinds of its messages and by what is known of the earlier ones: then only the texts
differ from one to the next. The turn methods write it once, on marks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from templc.runtime.codec import Codec
from templc.runtime.errors import MessageError
from templc.runtime.filling import LONGEST, UNKNOWN, filled
from templc.runtime.history import Node, State, first_change
from templc.runtime.kinds import Kind, looks_at, marked
from templc.runtime.messages import Message, Reader, bare_message
from templc.runtime.opaque import Opaque
from templc.runtime.pieces import Piece
from templc.runtime.shape import Care
from templc.runtime.shapes import (
    MARKS,
    Known,
    Shapes,
    Written,
    known_of,
    shapes_of,
    state_after,
)
from templc.runtime.skeleton import Frames, frames_of, guard_of, unfilled
from templc.runtime.states import wants_prompt
from templc.runtime.tokens import Tokens
from templc.runtime.waiting import Waiting
from templc.runtime.writer import Writer

if TYPE_CHECKING:
    from templc.runtime.renderer import Renderer

Learning: TypeAlias = (
    "Callable[[Renderer, Tokens, State, Sequence[Message], Codec, bool], Written | None]"
)


class New(NamedTuple):
    """Messages apart from their texts. kinds: of a bare text its role alone. texts: of all of them, in order.

    messages: as they were read, none where all are bare texts. calls, waiting: what the reader knows behind them.
    """

    kinds: tuple[str | Kind, ...]
    texts: list[str]
    last_role: str
    messages: Sequence[Message]
    calls: int
    waiting: Waiting


class Place(NamedTuple):
    """Earlier tokens that messages can be filled in behind. learn: writes messages behind them.

    It gives None where what is written hangs on what an earlier message says. loose: the earlier tokens are known not
    to be those of a fresh render, so that nothing is compared with one.
    """

    renderer: Renderer
    frames: Frames
    shapes: Shapes
    previous: Tokens
    state: State
    codec: Codec
    learn: Learning
    loose: bool

    @classmethod
    def behind(
        cls, renderer: Renderer, previous: Tokens, state: State, codec: Codec, learn: Learning
    ) -> Place | None:
        """Behind these tokens; None where the turn methods have to write what follows."""
        frames = frames_of(renderer, codec)
        if frames is None or not previous or state.overlap:
            return None
        if state.node is None or state.waiting.parted:
            return None
        shapes, loose = shapes_of(renderer, frames, codec), state.apart is not None
        return cls(renderer, frames, shapes, previous, state, codec, learn, loose)

    def bare(self, raw: Sequence[object]) -> New | None:
        """Messages that are a role and a text each; None for others."""
        read = self.shapes.read(raw)
        if read is None:
            return None
        roles, contents = read
        waiting = self.state.waiting
        if self.renderer.rules.parts_alone:
            waiting = waiting.beside(roles[-1])
        return New(roles, contents, roles[-1], (), self.state.calls, waiting)

    def read(self, raw: Sequence[object], reader: Reader) -> list[Message] | None:
        """Messages as they are read; None where one is wrong, or where there is no use in it."""
        if not self.shapes.usable or type(raw) not in (list, tuple):
            return None
        if not 0 < len(raw) <= LONGEST:
            return None
        try:
            return [*reader.each(raw, self.state.size)]
        except MessageError:  # the fold meets it too, and what is wrong before it first
            return None

    def by_kind(self, messages: Sequence[Message], reader: Reader) -> New | None:
        """What was read, apart from its texts; None where a text is looked for in one."""
        try:
            found = self.shapes.by_kind(messages)
        except MessageError:
            return None
        if found is None:
            return None
        return New(*found, messages[-1].role, messages, reader.calls, reader.waiting)

    def filled_in(self, new: New, prompt: bool | None) -> Tokens | None:
        """What the messages add; None where the turn methods have to write it.

        It is what a fresh render of all messages has, unless what stands before is no such render.
        """
        state, shapes = self.state, self.shapes
        node = state.node
        assert node is not None
        prompt = wants_prompt(new.last_role, prompt)
        key = (new.kinds, prompt, state.prompt, state.pending, state.past, *self._there())
        known: Known | None = shapes.known.get(key, UNKNOWN)
        if known is UNKNOWN:
            known = shapes.learn(shapes.known, key, partial(self._learnt, new.kinds, prompt))
        if known is None or not (self.loose or self._stays(known, node)):
            return None
        tokens = filled(known.shape, known.written(new.texts), node.index + 1)
        if tokens is not None:
            messages = new.messages or [*map(bare_message, new.kinds, new.texts)]  # type: ignore[arg-type]
            tokens.state = state_after(state, known, messages, new.calls, new.waiting, prompt)
            if self.loose or state.unchecked is not None:
                tokens.notes_of_state()
        return tokens

    def _stays(self, known: Known, node: Node) -> bool:
        """Whether all earlier tokens, of which the last message is known to stay, stay as they are."""
        if not (known.tied or self.previous[-1] in self.codec.controls.ids):
            return False
        if node.parent is None:
            return True
        earlier = known.joint.before(node.message)
        if node.parent.seen == earlier:
            return True
        return first_change(self.renderer, self.state, node.parent, earlier, self.frames) is None

    def _there(self) -> tuple[object, ...]:
        """What is there before the new messages, beside what is known of the last one."""
        state = self.state
        node = state.node
        assert node is not None
        # Whether the turn of the last message stays as it is may be known by its skeleton.
        role, skeleton = node.message.role, None
        if self.renderer.sees_future(role):
            skeleton = self.frames.written(self.renderer, state, node)
        # What is pending of a sampled turn is written from the past before it, as a skeleton is.
        node_past = node.past if state.pending or skeleton is not None else None
        # Requirements may count the tools.
        tools = None if state.tools is None else len(state.tools)
        return role, node.seen, skeleton, node_past, tools, state.lead is None, self.loose

    def _learnt(self, kinds: Sequence[str | Kind], prompt: bool) -> Known | None:
        """The shape of such messages here."""
        state, codec = self.state, self.codec
        usable = self.frames.usable(Writer(state.tools, state.lead))
        if "closer" in state.pending or (state.pending and "closing" not in usable):
            return None
        marks = iter(MARKS)
        messages = [_marked(kind, marks) for kind in kinds]
        try:
            given = self.renderer, self.previous, state, messages, codec, prompt
            written = self.learn(*given) if "prompt" in usable else None
        except MessageError:
            return None
        cares = None if written is None else self._cares(kinds, written, usable)
        if written is None or cares is None:
            return None
        return known_of(written, messages, cares, codec, state.size)

    def _cares(
        self, kinds: Sequence[str | Kind], written: Written, usable: Mapping[str, Opaque]
    ) -> list[Care] | None:
        """Of each text; None where a turn does more than copy one."""
        renderer, pieces = self.renderer, unfilled(written.items)
        found: list[Care] = []
        for number, (kind, past) in enumerate(
            zip(kinds, written.pasts, strict=False), self.state.size
        ):
            role = kind if isinstance(kind, str) else kind.role
            turn = usable.get(role)
            if turn is None or (role == "system" and renderer.info.hoisting):
                return None
            looks = [turn] if isinstance(kind, str) else looks_at(kind, turn)
            if looks is None:
                return None
            first, guard = "", ""
            if role == "assistant":
                own = [piece for piece in pieces if piece.message == number]
                first, guard = _guarded(renderer, own, past)
            for look in looks:
                found.append(Care(look, guard if MARKS[len(found)] == first else ""))
        return found


def _marked(kind: str | Kind, marks: Iterator[str]) -> Message:
    return bare_message(kind, next(marks)) if isinstance(kind, str) else marked(kind, marks)


def _guarded(renderer: Renderer, pieces: Sequence[Piece], past: Any) -> tuple[str, str]:
    """The mark that stands first in what is sampled, and the character that its text must not begin with."""
    for at, piece in enumerate(pieces):
        if piece.sampled and piece.text in MARKS:
            return piece.text, guard_of(renderer, pieces[:at], past)
    return "", ""
