"""Extending: only the new tokens of a longer conversation, or the reason why the old ones would change.

`extension(renderer, previous, messages, ...)` runs the same turn methods as a fresh render, from the summaries that
`previous` carries. With `history="faithful"` the old tokens plus the new ones are a fresh render; with
`"as_sampled"` what was written stays as it is and only what is new is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from templc.runtime import fold
from templc.runtime.change import common, explain, fresh_render
from templc.runtime.codec import Codec
from templc.runtime.encode import encode
from templc.runtime.errors import OptionError, UnstableExtension
from templc.runtime.history import Node, State, chain, emission, first_change, messages_of
from templc.runtime.messages import Message, Reader
from templc.runtime.pieces import Piece, text_of
from templc.runtime.seam import changed_ids
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
    before: Callable[[], Tokens] | None = None,
) -> Tokens:
    """The tokens that `messages` add to `previous`.

    `before` gives all earlier tokens where `previous` is only the last part of them; it is asked only when the place
    of a difference is looked for. UnstableExtension (faithful only) where old tokens would change; its `keep` is how
    many of them stay valid.
    """
    state = state_of(renderer, previous)
    match history:
        case "faithful":
            return _Extension.of(renderer, previous, state, messages, codec, prompt).faithful()
        case "as_sampled":
            sealed = replace(state, past=_sealed(renderer, state.past))
            made = _Extension.of(renderer, previous, sealed, messages, codec, prompt)
            return made.as_sampled(before or (lambda: previous))
    raise OptionError(f"history is {history!r}", help="one of faithful, as_sampled")


def written(
    renderer: Renderer, turns: fold.Turns, reader: Reader, tools: fold.Tools, prompt: bool
) -> State:
    """The state after a fresh render."""
    messages = turns.messages
    return State(
        renderer=renderer.fingerprint(),
        tools=tools,
        lead=messages[0] if messages and messages[0].role == "system" else None,
        node=chain(turns, fold.futures(turns, renderer.future(prompt=prompt)), None, 0),
        past=turns.pasts[-1],
        calls=reader.calls,
        waiting=reader.waiting,
        prompt=prompt,
    )


def state_of(renderer: Renderer, previous: Tokens) -> State:
    """The state of earlier tokens; OptionError unless this renderer, with these options, made them."""
    state = previous.state if isinstance(previous, Tokens) else None
    if not isinstance(state, State) or state.node is None:
        raise OptionError(
            "these tokens carry no conversation to extend",
            help="extend what render, extend or a trajectory returned",
        )
    if state.renderer != renderer.fingerprint():
        raise OptionError(
            f"the earlier tokens were written by {state.renderer}",
            help="format and options must stay the same: the head or earlier turns may depend on them",
        )
    return state


def same_tools(previous: Tokens, tools: fold.Tools) -> None:
    """OptionError where tools are given again and are not those of the earlier tokens."""
    state = previous.state
    if tools is not None and isinstance(state, State) and list(tools) != list(state.tools or ()):
        raise OptionError(
            "the tools are not those of the earlier tokens",
            help="the tool list stands in the head: start anew, or leave `tools` out to keep it",
        )


def wants_prompt(messages: Sequence[Message], asked: bool | None) -> bool:
    """Whether a generation prompt is added: as asked, else unless the last message is the assistant's."""
    return not (messages and messages[-1].role == "assistant") if asked is None else asked


def _sealed(renderer: Renderer, past: Any) -> Any:
    """The past with every run closed: what is written stays written, so a new result opens its own run."""
    return past._replace(**dict.fromkeys(renderer.runs, False)) if renderer.runs else past


@dataclass(frozen=True, slots=True)
class _Extension:
    """New messages read and summarised. `seen`: what each sees; `joint`: what the last old message now sees."""

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
        reader = Reader(renderer.rules, renderer.as_template, state.calls, state.waiting)
        out = Writer(state.tools, state.lead)
        turns = fold.read(renderer, raw, reader, out, state.past, state.count)
        wanted = wants_prompt(turns.messages, prompt)
        last = renderer.future(prompt=wanted)
        seen = fold.futures(turns, last)
        joint = seen[0].before(turns.messages[0]) if seen else last
        assert state.node is not None
        return cls(renderer, previous, state, state.node, turns, seen, joint, reader, codec, wanted)

    # the two ways

    def faithful(self) -> Tokens:
        change = self._change()
        cut_off = "closer" in self.state.pending or self.state.differs is not None
        pieces = None if change or cut_off else self._pieces()
        if pieces is None:
            raise self._refusal(change or self.node, cut_off)
        text = text_of(pieces)
        changed = changed_ids(self.codec, self.previous, self.previous.text, text)
        if changed:
            raise UnstableExtension(
                f"the tokenizer merges the end of the earlier text with {text[:4]!r}",
                keep=len(self.previous) - changed,
                help='rewind to `keep` tokens, or extend with history="as_sampled"',
            )
        return self._encoded(pieces)

    def as_sampled(self, before: Callable[[], Tokens]) -> Tokens:
        pieces = self._appended()
        found = self._encoded(pieces)
        differs = self.state.differs
        if differs is None and not self._same(pieces):
            whole = before() + found
            messages = (*messages_of(self.node), *self.turns.messages)
            fresh = fresh_render(self.renderer, messages, self.state.tools, self.codec, self.prompt)
            differs = None if list(whole) == list(fresh) else common(whole, fresh)
        if differs is not None:
            assert isinstance(found.state, State)
            found.state = replace(found.state, differs=differs)
            found.notes = (f"differs from a fresh render from token {differs} on",)
        return found

    def _encoded(self, pieces: list[Piece]) -> Tokens:
        specials = self.renderer.content_specials
        found = encode(pieces, self.codec, specials, at_start=not self.previous)
        found.state = replace(
            self.state,
            node=chain(self.turns, self.seen, self.node, self.state.count),
            past=self.turns.pasts[-1],
            calls=self.reader.calls,
            waiting=self.reader.waiting,
            prompt=self.prompt,
            pending=(),
            overlap="",
        )
        return found

    # what stays

    def _change(self) -> Node | None:
        """The first message before the last one whose text the new messages change."""
        if self._head_changes():
            node = self.node
            while node.parent is not None:
                node = node.parent
            return node
        earlier = self.joint.before(self.node.message)
        return first_change(self.renderer, self.state, self.node.parent, earlier)

    def _head_changes(self) -> bool:
        """Whether new system messages change a head that reads them all."""
        new = [m for m in self.turns.messages if m.role == "system"]
        if not self.renderer.info.hoisting or not new:
            return False
        old = [m for m in messages_of(self.node) if m.role == "system"]
        return self._head(old) != self._head([*old, *new])

    def _head(self, systems: list[Message]) -> str:
        gathered = fold.hoisted(self.renderer, tuple((0, m) for m in systems))
        out = Writer(self.state.tools, self.state.lead, gathered)
        self.renderer.parts["head"](self.renderer, out, fold.PROMPT, None, None)
        return text_of(out.pieces)

    def _same(self, pieces: list[Piece]) -> bool:
        """Whether a fresh render surely has the same tokens, found without rendering anew."""
        if self._change() is not None or "closer" in self.state.pending or self.state.overlap:
            return False
        faithful, text = self._pieces(), text_of(pieces)
        same = faithful is not None and text_of(faithful) == text
        return same and not changed_ids(self.codec, self.previous, self.previous.text, text)

    def _refusal(self, change: Node, cut_off: bool) -> UnstableExtension:
        messages = messages_of(self.node)
        whole = (*messages, *self.turns.messages)
        fresh = fresh_render(self.renderer, whole, self.state.tools, self.codec, self.prompt)
        keep = common(self.previous, fresh)
        if cut_off:
            reason, line = "the earlier tokens were kept as sampled, a fresh render has others", 0
        elif self._head_changes():
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

    def _pieces(self) -> list[Piece] | None:
        """The new pieces, or None where the last message, the finish or the prompt would be rewritten.

        At the end a prefix is enough: what the last message gains by its new future is part of the extension.
        """
        old = tail(self.renderer, self.state, self.node)
        out = Writer(self.state.tools, self.state.lead)
        out.pieces.extend(emission(self.renderer, self.state, self.node, self.joint))
        fold.write_turns(self.renderer, out, self.turns, self.seen, self.state.count)
        fold.write_end(self.renderer, out, self.turns.pasts[-1], self.prompt)
        return cut(out.pieces, len(old)) if text_of(out.pieces).startswith(old) else None

    def _appended(self) -> list[Piece]:
        """The new pieces behind whatever was written: an open turn is closed, a used prompt not written twice."""
        state, renderer = self.state, self.renderer
        out = Writer(state.tools, state.lead)
        answered = bool(self.turns.messages) and self.turns.messages[0].role == "assistant"
        if state.prompt and not answered:
            # a prompt that nothing answered is an empty turn that was cut off
            empty = Node(fold.PROMPT, self.node.index, state.past, None, self.node)
            write_pending(renderer, out, empty, ("closer", "trailer"), self.joint)
        write_pending(renderer, out, self.node, state.pending, self.joint)
        start = len(out.pieces)
        fold.write_turns(renderer, out, self.turns, self.seen, state.count)
        prompted = state.prompt and answered
        given = (
            fold.end_text(renderer, state.tools, state.lead, state.past)
            if prompted
            else state.overlap
        )
        if text_of(out.pieces[start:]).startswith(given):
            out.pieces[start:] = cut(out.pieces[start:], len(given))
        fold.write_end(renderer, out, self.turns.pasts[-1], self.prompt)
        return out.pieces


def tail(renderer: Renderer, state: State, node: Node) -> str:
    """What was written from the last message on: its turn less what is pending, or the finish and the prompt."""
    out = Writer(state.tools, state.lead)
    out.pieces.extend(emission(renderer, state, node, node.seen))
    if not state.pending:
        fold.write_end(renderer, out, state.past, state.prompt)
        return text_of(out.pieces)
    waiting = Writer(state.tools, state.lead)
    write_pending(renderer, waiting, node, state.pending, node.seen)
    return text_of(out.pieces).removesuffix(text_of(waiting.pieces))


def cut(pieces: list[Piece], length: int) -> list[Piece]:
    """The pieces behind the first `length` characters."""
    for at, piece in enumerate(pieces):
        if length < len(piece.text):
            return [piece._replace(text=piece.text[length:]), *pieces[at + 1 :]]
        length -= len(piece.text)
    return []


def write_pending(
    renderer: Renderer, out: Writer, node: Node, pending: tuple[str, ...], future: Any
) -> None:
    """Write what is missing of a sampled turn: the closer that the model did not write, and the trailer."""
    out.message = node.index
    for name in pending:
        if name in renderer.parts:
            renderer.parts[name](renderer, out, node.message, node.past, future)
    out.message = -1
