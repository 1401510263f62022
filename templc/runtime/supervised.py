"""Training examples: one pass over the conversation where that is exact, several where history is rewritten.

A turn is trained behind exactly the tokens that the model would have seen when it sampled the turn. All turns whose
history stands unchanged in the final conversation share one example; a turn whose history a later message rewrites
gets an example of its own, cut behind it, which earlier turns may share. Together the examples train each turn once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from templc.runtime import fold
from templc.runtime.borrowed_stops import borrows_stops, with_stops
from templc.runtime.change import explain
from templc.runtime.codec import Codec
from templc.runtime.encode import encode
from templc.runtime.errors import MessageError, OptionError
from templc.runtime.filling import UNKNOWN, filled
from templc.runtime.history import Node, State, chain, emission, first_change
from templc.runtime.messages import Message
from templc.runtime.pieces import Piece, text_of
from templc.runtime.shape import Shape
from templc.runtime.shapes import MARKS, cares_of, marked, shapes_of
from templc.runtime.skeleton import Filled, Frames, Item, frames_of, unfilled
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


class _Plan(NamedTuple):
    """What is written in an example, without weights, and with weights up to where each trained turn begins."""

    items: Sequence[Item]
    parts: list[list[Item]]
    notes: tuple[str, ...]


def supervised(
    renderer: Renderer,
    messages: Sequence[object],
    codec: Codec,
    tools: Sequence[object] | None,
    train_on: TrainOn,
) -> list[Tokens]:
    """The examples, in order of their length; see `Renderer.supervised`."""
    frames = frames_of(renderer, codec)
    if frames is not None and tools is None and isinstance(train_on, str):
        found = _bare_example(renderer, messages, codec, train_on, frames)
        if found is not None:
            return [found]
    declared = read_tools(tools, as_template=renderer.as_template)
    turns, _ = renderer.read(messages, declared)
    plans = _planned(renderer, turns, declared, train_on, frames)
    return [_tokens(renderer, codec, plan) for plan in plans]


def _planned(
    renderer: Renderer,
    turns: fold.Turns,
    tools: fold.Tools,
    train_on: TrainOn,
    frames: Frames | None,
) -> list[_Plan]:
    """Each example as what is written in it."""
    weights = _weights(turns.messages, train_on)
    wanted = {at for at, m in enumerate(turns.messages) if m.role == "assistant" and weights[at]}
    examples = _examples(renderer, turns, tools, wanted, frames)
    return [_plan(renderer, turns, tools, example, weights, frames) for example in examples]


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
    renderer: Renderer,
    turns: fold.Turns,
    tools: fold.Tools,
    wanted: set[int],
    frames: Frames | None,
) -> list[_Example]:
    """The fewest cuts, from the end, such that every wanted turn stands behind its own history in one of them."""
    if not turns.messages:
        return []
    found: list[_Example] = []
    end, reason = len(turns.messages), ""
    left = set(wanted)
    while True:
        state = _state(renderer, turns, tools, end)
        exact, rewritten = _split(renderer, state, {at for at in left if at < end}, frames)
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


def _split(
    renderer: Renderer, state: State, asked: set[int], frames: Frames | None
) -> tuple[set[int], dict[int, str]]:
    """Which turns stand behind the history that they were sampled from, and why the others do not."""
    live, prompted = renderer.future(prompt=False, live=True), renderer.future(prompt=True)
    exact: set[int] = set()
    rewritten: dict[int, str] = {}
    node: Node | None = state.node
    while node is not None:
        if node.index in asked:
            change = first_change(renderer, state, node.parent, prompted, frames)
            if change is not None and node.parent is not None:
                rewritten[node.index] = explain(renderer, change, node.parent, prompted)[0]
            elif node is state.node or _kept(renderer, state, node, live, frames):
                exact.add(node.index)
            else:
                rewritten[node.index] = explain(renderer, node, node, live)[0]
        node = node.parent
    return exact, rewritten


def _kept(renderer: Renderer, state: State, node: Node, live: Any, frames: Frames | None) -> bool:
    """Whether prompt and sampled text of a turn stand in the conversation as it is written."""
    if frames is not None and frames.kept(renderer, state, node, live):
        return True
    out = Writer(state.tools, state.lead)
    fold.write_end(renderer, out, node.past, True)
    out.pieces.extend(fold.sampled_turn(renderer, out, node.message, node.past, node.index))
    return text_of(out.pieces) == text_of(emission(renderer, state, node, node.seen))


def _plan(
    renderer: Renderer,
    turns: fold.Turns,
    tools: fold.Tools,
    example: _Example,
    weights: Sequence[float],
    frames: Frames | None,
) -> _Plan:
    part = _cut(turns, example.end)
    notes = [f"an example of its own: {example.reason}"] if example.reason else []
    whole = fold.items_of(renderer, part, tools, False, frames)
    items = whole
    if _samples(part):
        items = fold.as_sampled(renderer, part, tools, frames)
        if not text_of(whole).startswith(text_of(items)):
            say = "the last turn is written as it was sampled, which a render does not show"
            notes.append(say)
    weighted = _weighted(renderer, items, part, tools, example, weights)
    return _Plan(items, _parted(weighted), tuple(notes))


def _tokens(renderer: Renderer, codec: Codec, plan: _Plan) -> Tokens:
    """The ids, with a cut where a trained turn begins: its prompt was encoded before anything of it was sampled."""
    specials = renderer.content_specials
    parts = [encode(part, codec, specials, at_start=not at) for at, part in enumerate(plan.parts)]
    tokens = Tokens.joined(parts)
    tokens.notes = plan.notes
    return tokens


def _weighted(
    renderer: Renderer,
    items: Sequence[Item],
    part: fold.Turns,
    tools: fold.Tools,
    example: _Example,
    weights: Sequence[float],
) -> Sequence[Item]:
    """What was written, with the weight of each piece."""
    if borrows_stops(renderer):
        items = with_stops(renderer, part, tools, unfilled(items))
    found: list[Item] = []
    for item in items:
        at = item.message
        message = part.messages[at] if at >= 0 else None
        weight = 0.0 if message is None else _weight(message, at, example, weights)
        if isinstance(item, Filled) and weight == 0.0:
            found.append(item._replace(skeleton=item.skeleton.untrained))
        elif isinstance(item, Filled) and message is not None and weight == _usual(message):
            found.append(item)
        else:
            found += [_weighed(piece, message, weight) for piece in unfilled([item])]
    return found


def _weight(message: Message, at: int, example: _Example, weights: Sequence[float]) -> float:
    """What a message counts: a turn where it is trained, another one in the last example only."""
    if message.role == "assistant":
        return weights[at] if at in example.trained else 0.0
    return 0.0 if example.reason else weights[at]


def _usual(message: Message) -> float:
    """The weight that a turn is written with."""
    if message.role != "assistant":
        return 0.0
    return 1.0 if message.train is None else message.train


def _weighed(piece: Piece, message: Message | None, weight: float) -> Piece:
    """A piece of a message: what is sampled of a turn counts, of others what comes from the message."""
    counts = message is not None and (piece.sampled if message.role == "assistant" else piece.body)
    return piece._replace(weight=weight if counts else 0.0)


def _parted(items: Sequence[Item]) -> list[list[Item]]:
    """The items up to where the first trained turn begins, up to the next, and so on."""
    parts: list[list[Item]] = [[]]
    sampling = True  # nothing stands before the first piece
    for item in items:
        if isinstance(item, Filled) and not item.skeleton.trains:
            parts[-1].append(item)
            pieces = item.skeleton.pieces
            sampling = pieces[-1].sampled if pieces else sampling
        elif isinstance(item, Filled) and item.skeleton.halves is not None:
            first, rest = item.skeleton.halves
            if first.before:
                parts[-1].append(Filled(first, item.message))
                sampling = False
            if not sampling:
                parts.append([])
            parts[-1].append(Filled(rest, item.message, item.content))
            sampling = rest.pieces[-1].sampled
        else:
            for piece in unfilled([item]):
                if piece.sampled and piece.weight and not sampling:
                    parts.append([])
                parts[-1].append(piece)
                sampling = piece.sampled
    return parts


# chats of bare texts


def _bare_example(
    renderer: Renderer, messages: Sequence[object], codec: Codec, train_on: str, frames: Frames
) -> Tokens | None:
    """The one example of bare texts; None where the turn methods have to write it, or where there are several."""
    shapes = shapes_of(renderer, frames, codec)
    read = shapes.read(messages)
    if read is None:
        return None
    roles, contents = read
    key = train_on, roles
    known = shapes.examples.get(key, UNKNOWN)
    if known is UNKNOWN:
        given = renderer, codec, roles, train_on, frames
        known = shapes.learn(shapes.examples, key, lambda: _bare_shapes(*given))
    parts: list[Tokens] = []
    at = 0
    for shape in known or ():
        end = at + len(shape.slots)
        part = filled(shape, contents[at:end], 0)
        if part is None:
            return None
        parts.append(part)
        at = end
    return Tokens.joined(parts) if parts else None


def _bare_shapes(
    renderer: Renderer, codec: Codec, roles: Sequence[str], train_on: Any, frames: Frames
) -> tuple[Shape, ...] | None:
    """The parts of the only example; None where there are several, or remarks on it."""
    try:
        turns, _ = renderer.read(marked(roles), None)
        plans = _planned(renderer, turns, None, train_on, frames)
    except MessageError:
        return None
    out = fold.writer(renderer, turns.messages, None)
    cares = cares_of(renderer, frames, out, plans[0].items, roles)
    if len(plans) > 1 or plans[0].notes or cares is None:
        return None
    found: list[Shape] = []
    at = 0
    for number, part in enumerate(plans[0].parts):
        pieces = unfilled(part)
        end = at + sum(piece.text in MARKS for piece in pieces)
        shape = Shape.of(pieces, MARKS[at:end], cares[at:end], codec, 0, at_start=not number)
        if shape is None:
            return None
        found.append(shape)
        at = end
    return tuple(found) if at == len(roles) else None
