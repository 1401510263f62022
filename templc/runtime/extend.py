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
from templc.runtime.codec import Codec
from templc.runtime.encode import encode
from templc.runtime.errors import OptionError, UnstableExtension
from templc.runtime.history import (
    Node,
    State,
    chain,
    emission,
    first_change,
    messages_of,
)
from templc.runtime.messages import Message, Reader
from templc.runtime.pieces import Piece
from templc.runtime.seam import changed_ids
from templc.runtime.tokens import Tokens
from templc.runtime.writer import Writer

if TYPE_CHECKING:
    from templc.runtime.renderer import Renderer

TAIL = 400


@dataclass(frozen=True, slots=True)
class _New:
    """New messages read and summarised: what each sees, and what the last old one now sees."""

    turns: fold.Turns
    seen: list[Any]
    joint: Any
    reader: Reader


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
    if history not in ("faithful", "as_sampled"):
        raise OptionError(f"history is {history!r}", help="one of faithful, as_sampled")
    state = state_of(renderer, previous)
    past = _sealed(renderer, state.past) if history == "as_sampled" else state.past
    new = _read(renderer, state, messages, past, prompt)
    wanted = wants_prompt(new.turns.messages, prompt)
    change = _change(renderer, state, new)
    if history == "faithful":
        if change is not None or "closer" in state.pending or state.differs is not None:
            raise _refusal(renderer, state, previous, new, change, codec, wanted)
        pieces = _faithful(renderer, state, new, wanted)
        if pieces is None:
            raise _refusal(renderer, state, previous, new, state.node, codec, wanted)
        _check_joint(previous, pieces, codec)
    else:
        pieces = _as_sampled(renderer, state, new, wanted)
    found = encode(pieces, codec, renderer.content_specials, at_start=not previous)
    found.state = after = _after(renderer, state, new, wanted)
    if history == "as_sampled":
        differs = state.differs
        if differs is None and not _same(
            renderer, state, previous, new, change, pieces, codec, wanted
        ):
            earlier = previous if before is None else before()
            whole, fresh = earlier + found, fresh_render(renderer, state, new, codec, wanted)
            differs = None if list(whole) == list(fresh) else common(whole, fresh)
        if differs is not None:
            found.state = replace(after, differs=differs)
            found.notes = (f"differs from a fresh render from token {differs} on",)
    return found


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


def written(
    renderer: Renderer, turns: fold.Turns, reader: Reader, tools: fold.Tools, prompt: bool
) -> State:
    """The state after a fresh render."""
    messages = turns.messages
    seen = fold.futures(turns, renderer.future(prompt=prompt)) if messages else []
    return State(
        renderer=renderer.fingerprint(),
        tools=tools,
        lead=messages[0] if messages and messages[0].role == "system" else None,
        node=chain(turns, seen, None, 0),
        past=turns.pasts[-1],
        calls=reader.calls,
        waiting=reader.waiting,
        prompt=prompt,
    )


def same_tools(previous: Tokens, tools: fold.Tools) -> None:
    """OptionError where tools are given again and are not those of the earlier tokens."""
    state = previous.state
    if tools is not None and isinstance(state, State) and list(tools) != list(state.tools or ()):
        raise OptionError(
            "the tools are not those of the earlier tokens",
            help="the tool list stands in the head: start a new conversation, or leave `tools` out to keep it",
        )


def wants_prompt(messages: Sequence[Message], asked: bool | None) -> bool:
    """Whether a generation prompt is added: as asked, else unless the last message is the assistant's."""
    return not (messages and messages[-1].role == "assistant") if asked is None else asked


def _read(
    renderer: Renderer, state: State, raw: Sequence[object], past: Any, prompt: bool | None
) -> _New:
    reader = Reader(renderer.rules, renderer.as_template, state.calls, state.waiting)
    out = Writer(state.tools, state.lead)
    turns = fold.read(renderer, raw, reader, out, past, state.count)
    last = renderer.future(prompt=wants_prompt(turns.messages, prompt))
    seen = fold.futures(turns, last) if turns.messages else []
    joint = seen[0].before(turns.messages[0]) if seen else last
    return _New(turns, seen, joint, reader)


def _change(renderer: Renderer, state: State, new: _New) -> Node | None:
    """The first message before the last one whose text the new messages change."""
    assert state.node is not None
    if _head_changes(renderer, state, new):
        return _first(state.node)
    return first_change(renderer, state, state.node.parent, new.joint.before(state.node.message))


def _head_changes(renderer: Renderer, state: State, new: _New) -> bool:
    """Whether new system messages change a head that gathers them all."""
    if not renderer.info.hoisting or all(
        message.role != "system" for message in new.turns.messages
    ):
        return False
    old = messages_of(state.node)
    before, after = (
        [m for m in messages if m.role == "system"]
        for messages in (old, [*old, *new.turns.messages])
    )
    return _head(renderer, state, before) != _head(renderer, state, after)


def _head(renderer: Renderer, state: State, systems: list[Message]) -> str:
    out = Writer(state.tools, state.lead, tuple((0, message) for message in systems))
    renderer.parts["head"](renderer, out, fold.PROMPT, None, None)
    return _text(out.pieces)


def _first(node: Node) -> Node:
    while node.parent is not None:
        node = node.parent
    return node


def _faithful(renderer: Renderer, state: State, new: _New, prompt: bool) -> list[Piece] | None:
    """The new pieces, or None where the last message, the finish or the prompt would be rewritten.

    At the end a prefix is enough: what the last message gains by its new future is part of the extension.
    """
    old = _text(tail(renderer, state))
    assert state.node is not None
    out = Writer(state.tools, state.lead)
    out.pieces.extend(emission(renderer, state, state.node, new.joint))
    fold.write_turns(renderer, out, new.turns, new.seen, state.count)
    fold.write_end(renderer, out, new.turns.pasts[-1], prompt)
    return cut(out.pieces, len(old)) if _text(out.pieces).startswith(old) else None


def tail(renderer: Renderer, state: State) -> list[Piece]:
    """What was written from the last message on: its turn, the finish, the prompt."""
    assert state.node is not None
    out = Writer(state.tools, state.lead)
    out.pieces.extend(emission(renderer, state, state.node, state.node.seen))
    if state.pending:
        waiting = Writer(state.tools, state.lead)
        write_pending(renderer, waiting, state, state.node.seen)
        return _without_end(out.pieces, len(_text(waiting.pieces)))
    fold.write_end(renderer, out, state.past, state.prompt)
    return out.pieces


def _without_end(pieces: list[Piece], length: int) -> list[Piece]:
    """The pieces before the last `length` characters."""
    left = len(_text(pieces)) - length
    found: list[Piece] = []
    for piece in pieces:
        found.append(piece._replace(text=piece.text[:left]))
        left -= len(piece.text)
        if left <= 0:
            break
    return found


def cut(pieces: list[Piece], length: int) -> list[Piece]:
    """The pieces behind the first `length` characters."""
    for at, piece in enumerate(pieces):
        if length < len(piece.text):
            return [piece._replace(text=piece.text[length:]), *pieces[at + 1 :]]
        length -= len(piece.text)
    return []


def _as_sampled(renderer: Renderer, state: State, new: _New, prompt: bool) -> list[Piece]:
    """The new pieces behind whatever was written: an open turn is closed first, a used prompt not written twice."""
    assert state.node is not None
    out = Writer(state.tools, state.lead)
    answered = bool(new.turns.messages) and new.turns.messages[0].role == "assistant"
    if state.prompt and not answered:
        state = _with_empty_turn(state)
    write_pending(renderer, out, state, new.joint)
    start = len(out.pieces)
    fold.write_turns(renderer, out, new.turns, new.seen, state.count)
    given = _text(_prompt(renderer, state)) if state.prompt and answered else state.overlap
    if _text(out.pieces[start:]).startswith(given):
        out.pieces[start:] = cut(out.pieces[start:], len(given))
    fold.write_end(renderer, out, new.turns.pasts[-1], prompt)
    return out.pieces


def _with_empty_turn(state: State) -> State:
    """A prompt that nothing answered, taken for an empty turn that was cut off."""
    node = state.node
    assert node is not None
    empty = Node(fold.PROMPT, node.index, state.past, None, node)
    return replace(state, node=empty, pending=("closer", "trailer"), prompt=False)


def write_pending(renderer: Renderer, out: Writer, state: State, future: Any) -> None:
    """Write what is missing of a sampled turn: the closer that the model did not write, and the trailer."""
    if not state.pending or state.node is None:
        return
    out.message = state.node.index
    for name in state.pending:
        if name in renderer.parts:
            renderer.parts[name](renderer, out, state.node.message, state.node.past, future)
    out.message = -1


def _prompt(renderer: Renderer, state: State) -> list[Piece]:
    out = Writer(state.tools, state.lead)
    fold.write_end(renderer, out, state.past, True)
    return out.pieces


def _sealed(renderer: Renderer, past: Any) -> Any:
    """The past with every run closed: what has been written stays written, so a new result opens its own run."""
    return past._replace(**dict.fromkeys(renderer.runs, False)) if renderer.runs else past


def _after(renderer: Renderer, state: State, new: _New, prompt: bool) -> State:
    return replace(
        state,
        node=chain(new.turns, new.seen, state.node, state.count),
        past=new.turns.pasts[-1],
        calls=new.reader.calls,
        waiting=new.reader.waiting,
        prompt=prompt,
        pending=(),
        overlap="",
    )


def _check_joint(previous: Tokens, pieces: list[Piece], codec: Codec) -> None:
    """UnstableExtension where a merge of the tokenizer crosses from the old text into the new."""
    text = _text(pieces)
    changed = changed_ids(codec, previous, previous.text[-TAIL:], text)
    if changed:
        raise UnstableExtension(
            f"the tokenizer merges the end of the earlier text with {text[:4]!r}",
            keep=len(previous) - changed,
            help='rewind to `keep` tokens, or extend with history="as_sampled"',
        )


def _refusal(
    renderer: Renderer,
    state: State,
    previous: Tokens,
    new: _New,
    change: Node | None,
    codec: Codec,
    prompt: bool,
) -> UnstableExtension:
    fresh = fresh_render(renderer, state, new, codec, prompt)
    keep = common(previous, fresh)
    reason, line = _reason(renderer, state, new, change)
    return UnstableExtension(
        reason,
        spec_line=line,
        keep=keep,
        witness=(tuple(messages_of(state.node)), new.turns.messages),
        help=f'rewind to the first {keep} of {len(previous)} tokens, start anew, or extend with history="as_sampled"',
    )


def _reason(renderer: Renderer, state: State, new: _New, change: Node | None) -> tuple[str, int]:
    """Why, and the line of the spec that decides it."""
    if "closer" in state.pending or state.differs is not None:
        return "the earlier tokens are not what a fresh render has: they were kept as sampled", 0
    assert state.node is not None
    node = change or state.node
    if _head_changes(renderer, state, new):
        return "a later system message is written in the head", renderer.info.head_line
    return _dependence(renderer, node, _view(node, state.node, new.joint))


def explain_change(renderer: Renderer, node: Node, last: Node, joint: Any) -> str:
    """Why `node` is written otherwise when `last` sees `joint`."""
    return _dependence(renderer, node, _view(node, last, joint))[0]


def _dependence(renderer: Renderer, node: Node, now: Any) -> tuple[str, int]:
    """The facts in which what a message sees now differs from what it saw, in words, and the line of the first."""
    fields = getattr(now, "_fields", ())
    changed = [name for name in fields if getattr(now, name) != getattr(node.seen, name)]
    words = [renderer.info.facts[name] for name in changed if name in renderer.info.facts]
    what = f"message {node.index} ({node.message.role})"
    if not words:
        return f"the end of {what} is written otherwise", 0
    why = " and ".join(text for text, _ in words)
    return f"{what} is written otherwise, since it depends on {why}", words[0][1]


def _view(node: Node, last: Node, joint: Any) -> Any:
    """What a node sees when the last one sees `joint`."""
    at: Node | None = last
    while at is not None and at is not node:
        joint, at = joint.before(at.message), at.parent
    return joint


def fresh_render(
    renderer: Renderer, state: State, new: _New | None, codec: Codec, prompt: bool
) -> Tokens:
    """The whole conversation rendered anew, for the places where old and new differ."""
    old = messages_of(state.node)
    messages = (*old, *(new.turns.messages if new else ()))
    pasts = [renderer.past_type()]
    for message in messages:
        pasts.append(pasts[-1].after(message))
    turns = fold.Turns(messages, tuple(pasts))
    return encode(
        fold.whole(renderer, turns, state.tools, prompt), codec, renderer.content_specials
    )


def common(first: Sequence[int], second: Sequence[int]) -> int:
    """How many leading tokens two renders share."""
    size = min(len(first), len(second))
    return next((at for at in range(size) if first[at] != second[at]), size)


def _same(
    renderer: Renderer,
    state: State,
    previous: Tokens,
    new: _New,
    change: Node | None,
    pieces: list[Piece],
    codec: Codec,
    prompt: bool,
) -> bool:
    """Whether a fresh render surely has the same tokens, found without rendering anew."""
    if change is not None or "closer" in state.pending or state.overlap:
        return False
    faithful = _faithful(renderer, state, new, prompt)
    text = _text(pieces)
    same = faithful is not None and _text(faithful) == text
    return same and not changed_ids(codec, previous, previous.text[-TAIL:], text)


def _text(pieces: list[Piece]) -> str:
    return "".join([piece.text for piece in pieces])
