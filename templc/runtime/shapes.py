"""Chats of bare texts: messages that have a role and a content and nothing else.

To a format they differ by their roles alone, where their contents hold none of the texts that its facts and checks
look for (`sought` in the generated class). So the turn methods run once for each row of roles, on marks, and what
they write is filled in from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from templc.runtime import fold
from templc.runtime.codec import Codec
from templc.runtime.errors import MessageError
from templc.runtime.filling import LONGEST, Asked, bare
from templc.runtime.history import Node, State
from templc.runtime.kinds import Kind, taken_apart
from templc.runtime.messages import Message, bare_message, bare_roles
from templc.runtime.opaque import LEAD_CLOSELY
from templc.runtime.shape import Care, Shape
from templc.runtime.skeleton import Filled, Frames, Item, Skeleton, keep, unfilled
from templc.runtime.text import FILTERS, to_json
from templc.runtime.waiting import Waiting
from templc.runtime.writer import Writer

if TYPE_CHECKING:
    from templc.runtime.renderer import Renderer

_MOST = 128
MARKS = [chr(0xE001 + at) for at in range(4 * LONGEST)]
"""Private characters, each of which stands for a text; there are no more in a shape."""
_new = tuple.__new__
Made = TypeVar("Made")


class Written(NamedTuple):
    """Turns as they were written on marks. pasts: before each and after the last. seen: the future of each.

    joint: what the last earlier message sees of them.
    """

    items: Sequence[Item]
    pasts: Sequence[Any]
    seen: Sequence[Any]
    joint: Any


class Known(NamedTuple):
    """A shape, with what its messages are to others.

    turns: role, past, future and skeleton of each. past: after the last one. joint: as in `Written`. tied: its first
    token is a control token. quoted: the numbers of texts that are written as JSON.
    """

    shape: Shape
    turns: list[tuple[str, Any, Any, Skeleton | None]]
    past: Any
    joint: Any
    tied: bool
    quoted: tuple[int, ...]

    def written(self, texts: list[str]) -> list[str]:
        """Texts as they are written."""
        if not self.quoted:
            return texts
        return [to_json(text) if at in self.quoted else text for at, text in enumerate(texts)]


class Shapes(Asked):
    """The shapes of one renderer with one tokenizer. Safe to call from several threads.

    known: of renders and extensions. examples: of training examples, cut where trained turns begin. usable: whether
    messages of this renderer can be known by their kinds.
    """

    def __init__(self, renderer: Renderer, frames: Frames, codec: Codec) -> None:
        self._renderer, self._frames, self._codec = renderer, frames, codec
        inline = renderer.rules.inline_reasoning
        asked = renderer.sought or ()
        self.sought = (*asked, inline.close) if inline is not None else asked
        # One search for what they begin with is most often all that is needed.
        self.firsts = tuple({text[0] for text in self.sought})
        # Marks must be nobody's own text.
        given = "".join([str(value) for value in renderer.options.values()])
        plain = renderer.sought is not None and set(MARKS).isdisjoint(given)
        self.usable = plain and not renderer.as_template
        self.roles = bare_roles(renderer.rules) if self.usable else frozenset()
        self._asked, self._closely = asked, _closely(renderer)
        self.filtered = FILTERS[renderer.rules.content] if renderer.rules.content else None
        self._seen: set[tuple[Any, ...]] = set()
        self.known: dict[tuple[Any, ...], Known | None] = {}
        self.written = partial(_written, renderer)
        self.examples: dict[tuple[Any, ...], tuple[Shape, ...] | None] = {}

    def learn_fresh(self, roles: tuple[str, ...], prompt: bool) -> Known | None:
        """The shape of a fresh render, once it has come again."""
        given = self._renderer, self._frames, self._codec
        return self.learn(self.known, (roles, prompt), lambda: _fresh(*given, roles, prompt))

    def read(self, messages: Sequence[object]) -> tuple[tuple[str, ...], list[str]] | None:
        """Roles and contents; None unless these are bare texts in which nothing is looked for."""
        return bare(messages, self.roles, self.filtered, self.firsts, self.sought)

    def by_kind(self, messages: Sequence[Message]) -> tuple[tuple[Kind, ...], list[str]] | None:
        """Kinds and texts; None unless nothing is looked for in these messages.

        MessageError for arguments that JSON cannot hold.
        """
        kinds: list[Kind] = []
        texts: list[str] = []
        for message in messages:
            found = taken_apart(message, self._closely)
            if found is None:
                return None
            for text in self._asked:
                if text in message.content or text in message.reasoning:
                    return None
            kinds.append(found[0])
            texts += found[1]
        return (tuple(kinds), texts) if len(texts) <= len(MARKS) else None

    def learn(
        self,
        table: dict[tuple[Any, ...], Made | None],
        key: tuple[Any, ...],
        make: Callable[[], Made | None],
    ) -> Made | None:
        """What `make` finds, remembered in a table; None at first sight of a key, which may never come again."""
        if key in self._seen:
            return keep(table, key, make(), _MOST)
        if len(self._seen) >= 8 * _MOST:
            self._seen.clear()
        self._seen.add(key)
        return None


def _closely(renderer: Renderer) -> tuple[str, ...]:
    """The fields that a message must not have: more is asked of them than a copy, whatever it is."""
    turn = renderer.opaque.get("assistant")
    copied = turn is not None and (turn.arguments or "calls" not in turn.reads)
    return renderer.asked_closely if copied else (*renderer.asked_closely, "calls")


def shapes_of(renderer: Renderer, frames: Frames, codec: Codec) -> Shapes:
    """The shapes that belong to these frames of the renderer."""
    found = frames.shapes
    if found is None:
        found = frames.shapes = Shapes(renderer, frames, codec)
    return found


def state_after(
    state: State,
    known: Known,
    messages: Sequence[Message],
    calls: int,
    waiting: Waiting,
    prompt: bool,
) -> State:
    """The state behind these messages, which are of a known shape. calls, waiting: what their reader knows then."""
    node = state.node
    number = 0 if node is None else node.index + 1
    for message, (_, past, seen, skeleton) in zip(messages, known.turns, strict=True):
        node = Node(message, number, past, seen, node, None, None, skeleton)
        number += 1
    fixed = state.renderer, state.tools, state.lead
    now = node, known.past, calls, waiting, prompt
    return _new(State, (*fixed, *now, (), "", state.apart, state.unchecked))


def _written(renderer: Renderer, known: Known, prompt: bool, contents: Sequence[str]) -> State:
    """The same where there is nothing before."""
    roles = [role for role, *_ in known.turns]
    messages = [*map(bare_message, roles, contents)]
    lead = messages[0] if roles[0] == "system" else None
    waiting = Waiting()
    if renderer.rules.parts_alone:
        waiting = waiting.beside(roles[-1])
    past = renderer.past_type()
    before = State(renderer.fingerprint(), None, lead, None, past, 0, Waiting(), False)
    return state_after(before, known, messages, 0, waiting, prompt)


# how shapes are learnt


def _fresh(
    renderer: Renderer, frames: Frames, codec: Codec, roles: Sequence[str], prompt: bool
) -> Known | None:
    """The shape of a whole conversation."""
    try:
        turns, _ = renderer.read(marked(roles), None)
        items = fold.items_of(renderer, turns, None, prompt, frames)
    except MessageError:
        return None
    seen = fold.futures(turns, renderer.future(prompt=prompt))
    out = fold.writer(renderer, turns.messages, None)
    cares = cares_of(renderer, frames, out, items, roles)
    if cares is None:
        return None
    return known_of(Written(items, turns.pasts, seen, None), turns.messages, cares, codec, 0)


def marked(roles: Sequence[str]) -> list[dict[str, str]]:
    """Messages whose contents are the first of `MARKS`."""
    return [{"role": role, "content": mark} for role, mark in zip(roles, MARKS, strict=False)]


def known_of(
    written: Written,
    messages: Sequence[Message],
    cares: Sequence[Care],
    codec: Codec,
    start: int,
) -> Known | None:
    """The shape of messages written on marks; None where a mark is not all of a piece, or stands there twice.

    cares: of each text. start: the number of the first message.
    """
    pieces, marks = unfilled(written.items), MARKS[: len(cares)]
    shape = Shape.of(pieces, marks, cares, codec, start, at_start=not start)
    if shape is None:
        return None
    tied = bool(shape.ids) and shape.ids[0] in codec.controls.ids
    by_number = {one.message: one.skeleton for one in written.items if isinstance(one, Filled)}
    skeletons = [by_number.get(number) for number in range(start, start + len(messages))]
    roles = [message.role for message in messages]
    turns = list(zip(roles, written.pasts, written.seen, skeletons, strict=False))
    quoted = tuple(at for at, care in enumerate(cares) if care.look.quotes)
    return Known(shape, turns, written.pasts[-1], written.joint, tied, quoted)


def cares_of(
    renderer: Renderer,
    frames: Frames,
    out: Writer,
    items: Sequence[Item],
    roles: Sequence[str],
) -> list[Care] | None:
    """Of each content; None where a turn, or what stands around all of them, looks into one. out: what is fixed."""
    usable = frames.usable(out)
    guards = {item.message: item.skeleton.guard for item in items if isinstance(item, Filled)}
    head = renderer.opaque.get("head")
    if "prompt" not in usable or head is None or LEAD_CLOSELY in head.reads:
        return None
    if renderer.info.hoisting and "system" in roles:
        return None
    found: list[Care] = []
    for number, role in enumerate(roles):
        leads = not number and role == "system"
        if leads and renderer.info.leading:
            found.append(Care(renderer.opaque["head"]))
        elif role not in usable or number not in guards:
            return None
        else:
            # The head may look into a system message that its role writes.
            turn = usable[role].both(renderer.opaque["head"]) if leads else usable[role]
            found.append(Care(turn, guards[number]))
    return found
