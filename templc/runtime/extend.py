"""Extending: only the new tokens of a longer conversation, or the reason why the old ones would change.

`extension(renderer, previous, messages, ...)` runs the same turn methods as a fresh render, from the summaries that
`previous` carries. With `history="faithful"` the old tokens plus the new ones are a fresh render; with
`"as_sampled"` what was written stays as it is and only what is new is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from templc.runtime import fold
from templc.runtime.behind import Place
from templc.runtime.change import common, explain, fresh_render
from templc.runtime.codec import Codec
from templc.runtime.encode import encode
from templc.runtime.ending import cut, end, tail, write_pending
from templc.runtime.errors import OptionError, UnstableExtension
from templc.runtime.history import Node, State, chain, emission, first_change, messages_of
from templc.runtime.messages import Message, Reader
from templc.runtime.pieces import Piece, text_of
from templc.runtime.seam import changed_ids
from templc.runtime.shapes import Written
from templc.runtime.skeleton import Frames, Item, frames_of, unfilled
from templc.runtime.states import sealed_state, state_of, wants_prompt
from templc.runtime.tokens import Tokens
from templc.runtime.writer import Writer

if TYPE_CHECKING:
    from templc.runtime.renderer import Renderer


def extension(
    renderer: Renderer,
    previous: Tokens,
    messages: Sequence[object],
    codec: Codec,
    *,
    prompt: bool | None,
    history: str,
) -> Tokens:
    """The tokens that `messages` add to `previous`.

    UnstableExtension (faithful only) where old tokens would change; its `keep` is how many of them stay valid.
    """
    state = state_of(renderer, previous)
    match history:
        case "faithful":
            unsure = state.unchecked is not None or state.apart is not None
            begin = _Extension.of if unsure else _begun
            made = begin(renderer, previous, state, messages, codec, prompt)
            return made if isinstance(made, Tokens) else made.faithful()
        case "as_sampled":
            return appended(
                renderer, previous, state, messages, codec, prompt, before=lambda: previous
            )
    raise OptionError(f"history is {history!r}", help="one of faithful, as_sampled")


def appended(
    renderer: Renderer,
    previous: Tokens,
    state: State,
    messages: Sequence[object],
    codec: Codec,
    prompt: bool | None,
    before: Callable[[], Tokens],
) -> Tokens:
    """As `extension`, for tokens that stay as they were sampled, with the state of `previous`.

    `before` gives all earlier tokens, for `previous` may be only the last part of them; it is asked only when the place
    of a difference is looked for.
    """
    sealed = sealed_state(renderer, state)
    made = _begun(renderer, previous, sealed, messages, codec, prompt)
    return made if isinstance(made, Tokens) else made.as_sampled(before)


def _begun(
    renderer: Renderer,
    previous: Tokens,
    state: State,
    raw: Sequence[object],
    codec: Codec,
    prompt: bool | None,
) -> Tokens | _Extension:
    """What the messages add, where that is known to be a shape that is filled in; else what is known so far."""
    place = Place.behind(renderer, previous, state, codec, _Extension.learnt)
    if place is None:
        return _Extension.of(renderer, previous, state, raw, codec, prompt)
    new = place.bare(raw)
    if new is not None and (found := place.filled_in(new, prompt)) is not None:
        return found
    reader = _reader(renderer, state)
    read = None if new is not None else place.read(raw, reader)
    if read is None:
        return _Extension.of(renderer, previous, state, raw, codec, prompt)
    new = place.by_kind(read, reader)
    if new is not None and (found := place.filled_in(new, prompt)) is not None:
        return found
    return _Extension.read(renderer, previous, state, read, reader, codec, prompt)


def _reader(renderer: Renderer, state: State) -> Reader:
    return Reader(renderer.rules, renderer.as_template, state.calls, state.waiting)


@dataclass(slots=True)
class _Extension:
    """New messages read and summarised. `seen`: what each sees; `joint`: what the last old message now sees.

    out: has what is fixed. frames: of the renderer, where turns can be filled in. lapped: the control token that was
    sampled as the stop is the one that the new turns begin with.
    """

    renderer: Renderer
    previous: Tokens
    state: State
    node: Node
    turns: fold.Turns
    seen: list[Any]
    joint: Any
    reader: Reader
    codec: Codec
    prompt: bool
    out: Writer
    frames: Frames | None
    lapped: bool = False

    @classmethod
    def of(
        cls,
        renderer: Renderer,
        previous: Tokens,
        state: State,
        raw: Sequence[object],
        codec: Codec,
        prompt: bool | None,
    ) -> _Extension:
        """What messages come to that nobody has read yet."""
        reader = _reader(renderer, state)
        read = reader.each(raw, state.size)
        return cls.read(renderer, previous, state, read, reader, codec, prompt)

    @classmethod
    def read(
        cls,
        renderer: Renderer,
        previous: Tokens,
        state: State,
        messages: Iterable[Message],
        reader: Reader,
        codec: Codec,
        prompt: bool | None,
    ) -> _Extension:
        """What messages come to that the reader has read, or reads now."""
        out = Writer(state.tools, state.lead)
        turns = fold.checked(renderer, messages, out, state.past, state.size)
        wanted = wants_prompt(turns.last_role, prompt)
        last = renderer.future(prompt=wanted)
        seen = fold.futures(turns, last)
        joint = seen[0].before(turns.messages[0]) if seen else last
        assert state.node is not None
        read = (renderer, previous, state, state.node, turns, seen, joint, reader, codec, wanted)
        return cls(*read, out, frames_of(renderer, codec))

    @classmethod
    def learnt(
        cls,
        renderer: Renderer,
        previous: Tokens,
        state: State,
        marked: Sequence[Message],
        codec: Codec,
        prompt: bool,
    ) -> Written | None:
        """What is written behind the earlier messages, whatever the texts of the last one.

        None where that is not so, or where a fresh render would have it otherwise, unless the earlier tokens are known
        to be apart from one.
        """
        reader = _reader(renderer, state)
        made = cls.read(renderer, previous, state, marked, reader, codec, prompt)
        items = made._items()
        if state.apart is None:
            if made._grown() is None or not made._alike():
                return None
            added = made._added()
            if added is None or text_of(added) != text_of(items):
                return None
        return Written(items, made.turns.pasts, made.seen, made.joint)

    # the two ways

    def faithful(self) -> Tokens:
        change = self._change()
        cut_off = "closer" in self.state.pending or self.state.differs is not None
        added = None if change or cut_off else self._added()
        if added is None:
            raise self._refusal(change or self.node, cut_off)
        text = text_of(added)
        if overlap := self.state.overlap:
            if not text.startswith(overlap):
                raise self._refusal(self.node, True)
            added, text = cut(unfilled(added), len(overlap)), text[len(overlap) :]
        changed = changed_ids(self.codec, self.previous, self.previous.text, text)
        if changed:
            raise UnstableExtension(
                f"the tokenizer merges the end of the earlier text with {text[:4]!r}",
                keep=len(self.previous) - changed,
                help='rewind to `keep` tokens, or extend with history="as_sampled"',
            )
        return self._encoded(added)

    def as_sampled(self, before: Callable[[], Tokens]) -> Tokens:
        found = self._encoded(self._items())
        state = found.state
        assert isinstance(state, State)
        if state.apart is None and not self._same(found):
            whole = before() + found
            messages = (*messages_of(self.node), *self.turns.messages)
            fresh = fresh_render(self.renderer, messages, self.state.tools, self.codec, self.prompt)
            if list(whole) != list(fresh):
                state = found.state = state._replace(apart=common(whole, fresh))
        if state.apart is not None or state.unchecked is not None:
            found.notes_of_state()
        return found

    def _encoded(self, items: Sequence[Item]) -> Tokens:
        specials = self.renderer.content_specials
        found = encode(items, self.codec, specials, at_start=not self.previous)
        old = self.state
        node = chain(self.turns, self.seen, self.node, old.size)
        fixed = old.renderer, old.tools, old.lead
        now = node, self.turns.pasts[-1], self.reader.calls, self.reader.waiting, self.prompt
        # As `_replace` would, in a fifth of the time.
        found.state = tuple.__new__(State, (*fixed, *now, (), "", old.apart, old.unchecked))
        return found

    # what stays

    def _change(self) -> Node | None:
        """The first message before the last one whose text the new messages change."""
        if self._grown() is None:
            node = self.node
            while node.parent is not None:
                node = node.parent
            return node
        earlier = self.joint.before(self.node.message)
        return first_change(self.renderer, self.state, self.node.parent, earlier, self.frames)

    def _grown(self) -> list[Piece] | None:
        """What new system messages add to a head that reads them all; None where they change what was written.

        Where nothing stands behind the head yet, more of it may follow.
        """
        gathers = self.renderer.info.hoisting
        if not gathers or all(message.role != "system" for message in self.turns.messages):
            return []
        messages = messages_of(self.node)
        old, now = (self._head(found) for found in (messages, (*messages, *self.turns.messages)))
        before, after = text_of(old), text_of(now)
        if before == after:
            return []
        return cut(now, len(before)) if after.startswith(before) and self._bare() else None

    def _head(self, messages: Sequence[Message]) -> list[Piece]:
        return fold.head(self.renderer, messages, self.state.tools, self.state.lead).pieces

    def _bare(self) -> bool:
        """Whether the head is all that was written."""
        node: Node | None = self.node
        while node is not None:
            # Other roles count as written, whatever their messages hold: so does the proof.
            system = node.message.role == "system"
            if not system or emission(self.renderer, self.state, node, node.seen):
                return False
            node = node.parent
        return not (self.state.pending or end(self.renderer, self.state))

    def _same(self, found: Tokens) -> bool:
        """Whether a fresh render surely has the same tokens, found without rendering anew. found: those added."""
        state = self.state
        overlap = state.overlap
        if self._change() is not None or "closer" in state.pending or (overlap and not self.lapped):
            return False
        # Where nothing was written behind the last message, what was added is what a fresh render adds.
        bare = bool(state.pending) or not (state.prompt or end(self.renderer, state))
        if not (bare and self._alike()):
            faithful = self._added()
            if faithful is None or text_of(faithful) != overlap + found.text:
                return False
        if found and found[0] in self.codec.controls.ids:  # no merge goes across it
            return True
        return not changed_ids(self.codec, self.previous, self.previous.text, found.text)

    def _refusal(self, change: Node, cut_off: bool) -> UnstableExtension:
        messages = messages_of(self.node)
        whole = (*messages, *self.turns.messages)
        fresh = fresh_render(self.renderer, whole, self.state.tools, self.codec, self.prompt)
        keep = common(self.previous, fresh)
        if cut_off:
            reason, line = "the earlier tokens were kept as sampled, a fresh render has others", 0
        elif self._grown() is None:
            reason = "a later system message changes the head"
            line = self.renderer.info.head_line
        else:
            reason, line = explain(self.renderer, change, self.node, self.joint)
        return UnstableExtension(
            reason,
            spec_line=line,
            keep=keep,
            witness=(tuple(messages), self.turns.messages),
            help=f"rewind to the first {keep} of {len(self.previous)} tokens, start anew, "
            'or extend with history="as_sampled"',
        )

    # what is written

    def _added(self) -> Sequence[Item] | None:
        """What is new, or None where the last message, the finish or the prompt would be rewritten.

        At the end a prefix is enough: what the last message gains by its new future is part of the extension.
        """
        renderer, state, out = self.renderer, self.state, self.out
        out.pieces = list(self._grown() or ())
        if self._alike():
            old = "" if state.pending else end(renderer, state)
            write_pending(renderer, out, self.node, state.pending, self.joint)
        else:
            old = tail(renderer, state, self.node)
            out.pieces.extend(emission(renderer, state, self.node, self.joint))
        if not old:
            return self._followed(out)
        self._follow(out)
        return cut(out.pieces, len(old)) if text_of(out.pieces).startswith(old) else None

    def _alike(self) -> bool:
        """Whether the last message is surely written as it was, whatever it sees now."""
        reads = self.renderer.sees_future(self.node.message.role)
        if not reads or self.joint == self.node.seen:
            return True
        frames = self.frames
        return frames is not None and frames.alike(self.renderer, self.state, self.node, self.joint)

    def _items(self) -> Sequence[Item]:
        """What ends the turn that stands last, whatever was written of it, and the new turns."""
        state, renderer, out = self.state, self.renderer, self.out
        out.pieces = list((None if state.prompt else self._grown()) or ())
        if state.pending and self.frames and self.previous and not (out.pieces or state.overlap):
            closing = self.frames.pending(renderer, out, self.node, state.pending, self.joint)
            if closing is not None:
                return [closing, *self._filled(self.frames)]
        self._close(out)
        given = state.overlap
        if state.prompt and self._answered:
            given = fold.end_text(renderer, state.tools, state.lead, state.past)
        if not given:
            return self._followed(out)
        start = len(out.pieces)
        self._follow(out)
        # What the new turns have in common with what was written is not written twice.
        if text_of(out.pieces[start:]).startswith(given):
            out.pieces[start:] = cut(out.pieces[start:], len(given))
            self.lapped = bool(state.overlap) and not renderer.stop_strings
        return out.pieces

    def _close(self, out: Writer) -> None:
        """Write what ends the turn that stands last."""
        state = self.state
        if state.prompt and not self._answered:
            # a prompt that nothing answered is an empty turn that was cut off
            empty = Node(fold.PROMPT, self.node.index, state.past, None, self.node)
            write_pending(self.renderer, out, empty, ("closer", "trailer"), self.joint)
        if state.pending:
            write_pending(self.renderer, out, self.node, state.pending, self.joint)

    def _followed(self, out: Writer) -> Sequence[Item]:
        """What was written, the new turns and what stands behind them, as skeletons where that can be."""
        frames = self.frames
        if frames is None or not self.previous:
            self._follow(out)
            return out.pieces
        return frames.closing(out.pieces) + self._filled(frames)

    def _filled(self, frames: Frames) -> list[Item]:
        """The new turns and what stands behind them."""
        given = self.renderer, self.out, self.turns, self.seen, self.prompt, frames
        return fold.followed(*given, self.state.size)

    def _follow(self, out: Writer) -> None:
        """Write the new turns and what stands behind them."""
        fold.write_turns(self.renderer, out, self.turns, self.seen, self.state.size)
        fold.write_end(self.renderer, out, self.turns.pasts[-1], self.prompt)

    @property
    def _answered(self) -> bool:
        return bool(self.turns.messages) and self.turns.messages[0].role == "assistant"
