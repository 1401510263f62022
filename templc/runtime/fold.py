"""The fold: messages to pieces, one turn at a time, from the past summary and the future summary.

`render` and `extend` both run it, and it runs the generated turn methods: there is no second way to write a turn.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from templc.runtime.errors import MessageError
from templc.runtime.messages import Message, Reader
from templc.runtime.pieces import Piece, text_of
from templc.runtime.writer import Content, ToolText, Writer

if TYPE_CHECKING:
    from templc.runtime.renderer import Renderer
    from templc.runtime.skeleton import Frames, Item

Tools = tuple[Mapping[str, Any], ...] | None
PROMPT = Message(
    "assistant", absent=frozenset({"content", "reasoning", "calls", "name", "call_id"})
)


class Turns(NamedTuple):
    """Canonical messages with the past summary before each of them, and after the last."""

    messages: tuple[Message, ...]
    pasts: tuple[Any, ...]

    @property
    def last_role(self) -> str:
        """The role of the last message, empty where there is none."""
        return self.messages[-1].role if self.messages else ""

    @classmethod
    def of(cls, renderer: Renderer, messages: Sequence[Message]) -> Turns:
        """Messages that are canonical already, with the pasts that they lead to."""
        pasts = [renderer.past_type()]
        for message in messages:
            pasts.append(pasts[-1].after(message))
        return cls(tuple(messages), tuple(pasts))


def read(
    renderer: Renderer,
    raw: Sequence[object],
    reader: Reader,
    out: Writer,
    past: Any,
    start: int = 0,
) -> Turns:
    """Canonical messages, each checked against the requirements of the format; MessageError names the message."""
    return checked(renderer, reader.each(raw, start), out, past, start)


def checked(
    renderer: Renderer, read: Iterable[Message], out: Writer, past: Any, start: int = 0
) -> Turns:
    """As `read`, for messages as a reader has read them."""
    messages: list[Message] = []
    pasts = [past]
    for number, message in enumerate(read, start):
        try:
            renderer.check(out, message, pasts[-1])
        except MessageError as error:
            error.message_index = number
            raise
        messages.append(message)
        pasts.append(pasts[-1].after(message))
    return Turns(tuple(messages), tuple(pasts))


def futures(turns: Turns, last: Any) -> list[Any]:
    """The future summary that each message sees, `last` being what the last one sees; none for no message."""
    if not turns.messages:
        return []
    found = [last]
    for message in reversed(turns.messages[1:]):
        found.append(found[-1].before(message))
    return found[::-1]


def write_turns(
    renderer: Renderer, out: Writer, turns: Turns, seen: Sequence[Any], start: int = 0
) -> None:
    """Write every turn."""
    number = start
    for message, past, future in zip(turns.messages, turns.pasts, seen, strict=False):
        write_numbered(renderer, out, number, message, past, future)
        number += 1
    out.message = -1


def write_numbered(
    renderer: Renderer, out: Writer, number: int, message: Message, past: Any, future: Any
) -> None:
    """Write the turn of message `number`; nothing for a system message that the head wrote."""
    out.message = number
    if number == 0 and renderer.info.leading and message.role == "system":
        return
    try:
        write_turn(renderer, out, message, past, future)
    except MessageError as error:
        error.message_index = number if error.message_index < 0 else error.message_index
        raise


def write_turn(renderer: Renderer, out: Writer, message: Message, past: Any, future: Any) -> None:
    """Write one turn; what the prompt already holds of a sampled turn is not sampled."""
    start = len(out.pieces)
    _write_turn(renderer, out, message, past, future)
    if message.media is not None:
        _place(out, start, {out.message: message})


def _place(out: Writer, start: int, messages: Mapping[int, Message]) -> None:
    """Make what stands for media text of the format, in the contents written since piece `start`."""
    written, out.pieces[start:] = out.pieces[start:], []
    for piece in written:
        message = messages.get(piece.message) if piece.field == Content.field else None
        media = message.media if message is not None else None
        out.pieces += [piece] if media is None else media.split(piece)


def _write_turn(renderer: Renderer, out: Writer, message: Message, past: Any, future: Any) -> None:
    write = renderer.turns.get(message.role)
    if write is not None:
        write(renderer, out, message, past, future)
        return
    if message.role != "assistant":
        renderer.turns["other"](renderer, out, message, past, future)
        return
    parts = renderer.parts
    parts["opener"](renderer, out, message, past, future)
    out.sampling, start = True, len(out.pieces)
    out.weight = 1.0 if message.train is None else message.train
    parts["body"](renderer, out, message, past, future)
    if "closer" in parts:
        parts["closer"](renderer, out, message, past, future)
    out.sampling = False
    if "prefill" in parts:
        tools = out.tools if out.tools_given else None
        out.unsample(start, prefill_text(renderer, past, tools, out.lead))
    if "trailer" in parts:
        parts["trailer"](renderer, out, message, past, future)


def prefill_text(renderer: Renderer, past: Any, tools: Tools, lead: Message | None = None) -> str:
    """What the generation prompt holds beyond the opener."""
    scratch = Writer(tools, lead)
    renderer.parts["prefill"](renderer, scratch, PROMPT, past, None)
    return text_of(scratch.pieces)


def write_end(renderer: Renderer, out: Writer, past: Any, prompt: bool) -> None:
    """Write what follows the last message: the finish, and the generation prompt where one is wanted."""
    out.message = -1
    parts = renderer.parts
    if "finish" in parts:
        parts["finish"](renderer, out, PROMPT, past, None)
    if not prompt:
        return
    if "prompt" in parts:
        parts["prompt"](renderer, out, PROMPT, past, None)
        return
    parts["opener"](renderer, out, PROMPT, past, None)
    if "prefill" in parts:
        parts["prefill"](renderer, out, PROMPT, past, None)


def end_text(renderer: Renderer, tools: Tools, lead: Message | None, past: Any) -> str:
    """What follows the last message where a generation prompt is wanted."""
    return text_of(end_pieces(renderer, tools, lead, past))


def end_pieces(renderer: Renderer, tools: Tools, lead: Message | None, past: Any) -> list[Piece]:
    """The pieces of it."""
    scratch = Writer(tools, lead)
    write_end(renderer, scratch, past, True)
    return scratch.pieces


def whole(renderer: Renderer, turns: Turns, tools: Tools, prompt: bool) -> list[Piece]:
    """Every piece of a conversation."""
    out = begin(renderer, turns, tools)
    write_turns(renderer, out, turns, futures(turns, renderer.future(prompt=prompt)))
    write_end(renderer, out, turns.pasts[-1], prompt)
    if tools and not any(piece.field == ToolText.field for piece in out.pieces):
        _warn_of_tools(renderer)
    return out.pieces


def items_of(
    renderer: Renderer, turns: Turns, tools: Tools, prompt: bool, frames: Frames | None
) -> list[Item]:
    """As `whole`, with skeletons where `frames` has them."""
    if frames is None or not turns.messages:
        return list(whole(renderer, turns, tools, prompt))
    out = writer(renderer, turns.messages, tools)
    items = _head_items(renderer, out, frames)
    told = not tools or any(item.field == ToolText.field for item in items)
    seen = futures(turns, renderer.future(prompt=prompt))
    items += followed(renderer, out, turns, seen, prompt, frames)
    if not told and not any(item.field == ToolText.field for item in items):
        _warn_of_tools(renderer)
    return items


def _head_items(renderer: Renderer, out: Writer, frames: Frames) -> list[Item]:
    if "head" in frames.usable(out):
        return [frames.head(renderer, out)]
    _head(renderer, out)
    return list(out.pieces)


def followed(
    renderer: Renderer,
    out: Writer,
    turns: Turns,
    seen: Sequence[Any],
    prompt: bool,
    frames: Frames,
    start: int = 0,
) -> list[Item]:
    """Every turn and what stands behind them, as skeletons where they are opaque; `out` has what is fixed."""
    items: list[Item] = []
    opaque = frames.usable(out)
    number = start
    for message, past, future in zip(turns.messages, turns.pasts, seen, strict=False):
        filled = frames.filled(renderer, opaque, number, message, past, future)
        if filled is not None:
            items.append(filled)
        else:
            out.pieces = []
            write_numbered(renderer, out, number, message, past, future)
            items += out.pieces
        number += 1
    if "prompt" in opaque:
        items.append(frames.end(renderer, turns.pasts[-1], prompt))
    else:
        out.pieces = []
        write_end(renderer, out, turns.pasts[-1], prompt)
        items += out.pieces
    return items


def _warn_of_tools(renderer: Renderer) -> None:
    """Say once that the model does not see the tools which the caller gives."""
    if not renderer.told_of_tools:
        renderer.told_of_tools = True
        say = f"{renderer.info.name} declares no tools here: describe them in a system message"
        warnings.warn(say, stacklevel=2)


def begin(renderer: Renderer, turns: Turns, tools: Tools) -> Writer:
    """A writer that has written the head."""
    out = writer(renderer, turns.messages, tools)
    _head(renderer, out)
    return out


def head(
    renderer: Renderer, messages: Sequence[Message], tools: Tools, lead: Message | None
) -> Writer:
    """A writer that has written the head of these messages; `lead`: the system message that stands first."""
    out = Writer(tools, lead, hoisted(renderer, messages))
    _head(renderer, out)
    return out


def writer(renderer: Renderer, messages: Sequence[Message], tools: Tools) -> Writer:
    """A writer that knows what is fixed for a conversation, and has written nothing."""
    leads = bool(messages) and messages[0].role == "system"
    return Writer(tools, messages[0] if leads else None, hoisted(renderer, messages))


def _head(renderer: Renderer, out: Writer) -> None:
    renderer.parts["head"](renderer, out, PROMPT, None, None)
    told = dict(out.systems) if out.lead is None else {**dict(out.systems), 0: out.lead}
    if any(message.media is not None for message in told.values()):
        _place(out, 0, told)


def hoisted(renderer: Renderer, messages: Sequence[Message]) -> tuple[tuple[int, Message], ...]:
    """The system messages that the head walks, each with its place: all, only the last one, or none."""
    if not renderer.info.hoisting:
        return ()
    systems = tuple((at, m) for at, m in enumerate(messages) if m.role == "system")
    return systems[-1:] if renderer.info.replacing else systems


def as_sampled(
    renderer: Renderer, turns: Turns, tools: Tools, frames: Frames | None = None
) -> list[Item]:
    """A whole conversation whose last turn has just been sampled: the prompt for it, and what was sampled.

    The earlier turns are as the prompt had them, which a render of the whole conversation may write otherwise.
    """
    history = Turns(turns.messages[:-1], turns.pasts[:-1])
    seen = futures(history, renderer.future(prompt=True))
    out = writer(renderer, turns.messages, tools)
    if frames is None:
        _head(renderer, out)
        write_turns(renderer, out, history, seen)
        write_end(renderer, out, history.pasts[-1], True)
        items: list[Item] = list(out.pieces)
    else:
        items = _head_items(renderer, out, frames)
        found = followed(renderer, out, history, seen, True, frames)
        items += found[:-1]
        # An item without a content has to stand last, but what is sampled goes on with the text of the prompt.
        for end in found[-1:]:
            items += [end] if isinstance(end, Piece) else end.pieces()
    last, past, at = turns.messages[-1], history.pasts[-1], len(history.messages)
    live = renderer.future(prompt=False, live=True)
    filled = None if frames is None else frames.sampled(renderer, out, at, last, past, live)
    items += sampled_turn(renderer, out, last, past, at) if filled is None else [filled]
    return items


def sampled_turn(
    renderer: Renderer, context: Writer, message: Message, past: Any, index: int
) -> list[Piece]:
    """What the model samples of a turn behind its prompt, and the trailer."""
    out = Writer(context.tools if context.tools_given else None, context.lead)
    out.message = index
    write_turn(renderer, out, message, past, renderer.future(prompt=False, live=True))
    first = next((at for at, piece in enumerate(out.pieces) if piece.sampled), len(out.pieces))
    return out.pieces[first:]
