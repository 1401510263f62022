"""Training examples: one pass over the conversation where that is exact, several where history is rewritten.

A turn is trained behind exactly the tokens that the model would have seen when it sampled the turn. All turns whose
history stands unchanged in the final conversation share one example; a turn whose history a later message rewrites
gets an example of its own, cut behind it, which earlier turns may share. Together the examples train each turn once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from templc.runtime import fold
from templc.runtime.borrowed_stops import with_stops
from templc.runtime.change import explain
from templc.runtime.codec import Codec
from templc.runtime.encode import encode
from templc.runtime.errors import OptionError
from templc.runtime.history import Node, State, chain, emission, first_change
from templc.runtime.messages import Message
from templc.runtime.pieces import Piece, text_of
from templc.runtime.tokens import Tokens
from templc.runtime.tools import read_tools
from templc.runtime.waiting import Waiting
from templc.runtime.writer import Writer

if TYPE_CHECKING:
    from templc.runtime.renderer import Renderer

TrainOn = (
    Literal["all_assistant", "last_assistant", "last_turn", "all_messages"]
    | Callable[[Message, int], float | bool]
)


@dataclass(frozen=True, slots=True)
class _Example:
    """A conversation cut behind `end` messages, and the turns of it that are trained there."""

    end: int
    trained: frozenset[int]
    reason: str


def supervised(
    renderer: Renderer,
    messages: Sequence[object],
    codec: Codec,
    tools: Sequence[object] | None,
    train_on: TrainOn,
) -> list[Tokens]:
    """The examples, in order of their length; see `Renderer.supervised`."""
    declared = read_tools(tools, as_template=renderer.as_template)
    turns, _ = renderer.read(messages, declared)
    weights = _weights(turns.messages, train_on)
    wanted = {at for at, m in enumerate(turns.messages) if m.role == "assistant" and weights[at]}
    examples = _examples(renderer, turns, declared, wanted)
    return [_tokens(renderer, turns, declared, codec, example, weights) for example in examples]


def _weights(messages: Sequence[Message], train_on: TrainOn) -> list[float]:
    """The weight of each message: its own, or what the policy says."""
    chosen = _policy(messages, train_on)
    return [chosen(m, at) if m.train is None else m.train for at, m in enumerate(messages)]


def _policy(messages: Sequence[Message], train_on: TrainOn) -> Callable[[Message, int], float]:
    assistants = [at for at, message in enumerate(messages) if message.role == "assistant"]
    last = assistants[-1] if assistants else -1
    users = [at for at, message in enumerate(messages) if message.role == "user"]
    match train_on:
        case "all_assistant":
            return lambda message, at: float(message.role == "assistant")
        case "last_assistant":
            return lambda message, at: float(at == last)
        case "last_turn":
            start = max((at for at in users if at < last), default=-1)
            return lambda message, at: float(message.role == "assistant" and at > start)
        case "all_messages":
            return lambda message, at: 1.0
        case _ if callable(train_on):
            return lambda message, at: float(train_on(message, at))
    raise OptionError(
        f"train_on is {train_on!r}",
        help="one of all_assistant, last_assistant, last_turn, all_messages, or a function of message and index",
    )


def _examples(
    renderer: Renderer, turns: fold.Turns, tools: fold.Tools, wanted: set[int]
) -> list[_Example]:
    """The fewest cuts, from the end, such that every wanted turn stands behind its own history in one of them."""
    if not turns.messages:
        return []
    found: list[_Example] = []
    end, reason = len(turns.messages), ""
    left = set(wanted)
    while True:
        state = _state(renderer, turns, tools, end)
        exact, rewritten = _split(renderer, state, {at for at in left if at < end})
        found.append(_Example(end, frozenset(exact), reason))
        left -= exact
        if not rewritten:
            break
        end = max(rewritten) + 1
        reason = rewritten[end - 1]
    kept = [example for example in found if example.trained] or found[:1]
    return kept[::-1]


def _state(renderer: Renderer, turns: fold.Turns, tools: fold.Tools, end: int) -> State:
    """The first `end` messages as written: a last turn of the assistant as it was sampled, behind its prompt."""
    part = _cut(turns, end)
    if _samples(part):
        seen = fold.futures(_cut(turns, end - 1), renderer.future(prompt=True))
        seen.append(renderer.future(prompt=False, live=True))
    else:
        seen = fold.futures(part, renderer.future(prompt=False))
    lead = part.messages[0] if part.messages[0].role == "system" else None
    node = chain(part, seen, None, 0)
    return State(renderer.fingerprint(), tools, lead, node, part.pasts[-1], 0, Waiting(), False)


def _cut(turns: fold.Turns, end: int) -> fold.Turns:
    return fold.Turns(turns.messages[:end], turns.pasts[: end + 1])


def _samples(turns: fold.Turns) -> bool:
    return turns.messages[-1].role == "assistant"


def _split(renderer: Renderer, state: State, asked: set[int]) -> tuple[set[int], dict[int, str]]:
    """Which turns stand behind the history that they were sampled from, and why the others do not."""
    live, prompted = renderer.future(prompt=False, live=True), renderer.future(prompt=True)
    exact: set[int] = set()
    rewritten: dict[int, str] = {}
    node: Node | None = state.node
    while node is not None:
        if node.index in asked:
            change = first_change(renderer, state, node.parent, prompted)
            if change is not None and node.parent is not None:
                rewritten[node.index] = explain(renderer, change, node.parent, prompted)[0]
            elif node is state.node or _kept(renderer, state, node):
                exact.add(node.index)
            else:
                rewritten[node.index] = explain(renderer, node, node, live)[0]
        node = node.parent
    return exact, rewritten


def _kept(renderer: Renderer, state: State, node: Node) -> bool:
    """Whether prompt and sampled text of a turn stand in the conversation as it is written."""
    out = Writer(state.tools, state.lead)
    fold.write_end(renderer, out, node.past, True)
    out.pieces.extend(fold.sampled_turn(renderer, out, node.message, node.past, node.index))
    return text_of(out.pieces) == text_of(emission(renderer, state, node, node.seen))


def _tokens(
    renderer: Renderer,
    turns: fold.Turns,
    tools: fold.Tools,
    codec: Codec,
    example: _Example,
    weights: Sequence[float],
) -> Tokens:
    part = _cut(turns, example.end)
    sampled = _samples(part)
    pieces = (
        fold.as_sampled(renderer, part, tools)
        if sampled
        else fold.whole(renderer, part, tools, False)
    )
    stopped = with_stops(renderer, part, tools, pieces)
    weighted = [piece._replace(weight=_weight(piece, part, example, weights)) for piece in stopped]
    tokens = _encoded(renderer, codec, weighted)
    notes = [f"an example of its own: {example.reason}"] if example.reason else []
    if sampled and not text_of(fold.whole(renderer, part, tools, False)).startswith(
        text_of(pieces)
    ):
        notes.append("the last turn is written as it was sampled, which a render does not show")
    tokens.notes = tuple(notes)
    return tokens


def _weight(piece: Piece, part: fold.Turns, example: _Example, weights: Sequence[float]) -> float:
    """What one piece counts: sampled text of a turn that is trained here, body text of other trained messages."""
    at = piece.message
    if at < 0:
        return 0.0
    if part.messages[at].role == "assistant":
        return weights[at] if piece.sampled and at in example.trained else 0.0
    last = not example.reason
    return weights[at] if piece.body and last else 0.0


def _encoded(renderer: Renderer, codec: Codec, pieces: list[Piece]) -> Tokens:
    """The ids, with a cut where a trained turn begins: its prompt was encoded before anything of it was sampled."""
    starts = [
        at
        for at, (before, piece) in enumerate(itertools.pairwise(pieces), 1)
        if piece.sampled and piece.weight and not before.sampled
    ]
    tokens = Tokens()
    for start, end in itertools.pairwise([0, *starts, len(pieces)]):
        tokens = tokens + encode(
            pieces[start:end], codec, renderer.content_specials, at_start=start == 0
        )
    return tokens
