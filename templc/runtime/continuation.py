"""Going on with an unfinished answer: the last assistant message is written up to its end and no further.

`render([..., {"role": "assistant", "content": "My pick is "}], continue_final_message=True)` ends in `My pick is `:
no closer, no trailer, white space kept as it is. Reasoning without content stays open, as does a block that the
content opens and does not close (`<think>\\nRed is`); an empty message gives the generation prompt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from templc.runtime import fold
from templc.runtime.aliases import REASONING_KEYS, as_mapping, role_of
from templc.runtime.errors import MessageError
from templc.runtime.messages import Message
from templc.runtime.parser.grammar import Anchor, Hole
from templc.runtime.parser.table import paths_of
from templc.runtime.pieces import Piece
from templc.runtime.writer import Writer

if TYPE_CHECKING:
    from templc.runtime.renderer import Renderer

_MARK = "\ue000"
_BEGUN = ("content", "value", "tool_calls", *REASONING_KEYS)


class _Cut(NamedTuple):
    """A message, and the field that ends it with the text that is there so far."""

    message: Message
    field: str
    text: str


def unfinished(renderer: Renderer, messages: Sequence[object], tools: fold.Tools) -> list[Piece]:
    """The pieces of a conversation whose last message, the assistant's, is still to be completed.

    MessageError unless the last message is the assistant's, where it holds calls, and where the format does not show
    its last field. All of it is prompt, nothing is sampled.
    """
    raw = as_mapping(messages[-1]) if messages else {}
    if not messages or role_of(raw) != "assistant":
        raise MessageError(
            "there is no assistant message to go on with",
            help="end with one, or leave continue_final_message out",
        )
    if not any(raw.get(key) for key in _BEGUN):
        return fold.whole(renderer, renderer.read(messages[:-1], tools)[0], tools, True)
    turns, _ = renderer.read(messages, tools)
    index = len(turns.messages) - 1
    last, past = turns.messages[-1], turns.pasts[-2]
    if last.calls:
        raise MessageError(
            "a message with tool calls is finished", message_index=index, field="tool_calls"
        )
    out = _earlier(renderer, turns, tools)
    found = _cut(renderer, out, past, last, raw)
    out.message = index
    future = renderer.future(prompt=False, live=True)
    renderer.parts["opener"](renderer, out, found.message, past, future)
    start = len(out.pieces)
    renderer.parts["body"](renderer, out, found.message, past, future)
    place = next((at for at in range(start, len(out.pieces)) if _MARK in out.pieces[at].text), None)
    if place is None:
        raise MessageError(
            f"{renderer.info.name} shows no {found.field} here",
            message_index=index,
            field=found.field,
        )
    end = out.pieces[place]
    before = end.text[: end.text.index(_MARK)]
    return [*out.pieces[:place], end._replace(text=before + found.text)]


def _earlier(renderer: Renderer, turns: fold.Turns, tools: fold.Tools) -> Writer:
    """A writer that holds everything before the last message."""
    seen = fold.futures(turns, renderer.future(prompt=False, live=True))
    out = fold.begin(renderer, turns, tools)
    earlier = fold.Turns(turns.messages[:-1], turns.pasts[:-1])
    fold.write_turns(renderer, out, earlier, seen[:-1])
    return out


def _cut(
    renderer: Renderer, out: Writer, past: Any, message: Message, raw: Mapping[str, Any]
) -> _Cut:
    """Where the message ends."""
    content = _as_given(message, raw)
    reasoning = message.reasoning
    if not reasoning:
        reasoning, content, is_open = _block(renderer, out, past, content)
        if is_open:
            return _Cut(message._replace(reasoning=_MARK, content=""), "reasoning", reasoning)
    if reasoning and not content and not _split(message, raw):
        return _Cut(message._replace(reasoning=_MARK, content=""), "reasoning", reasoning)
    whole = message._replace(reasoning=reasoning, content=_MARK)
    return _Cut(whole, "content", content)


def _as_given(message: Message, raw: Mapping[str, Any]) -> str:
    """The content with the white space at its end, which reading may have taken off."""
    given = raw.get("content", raw.get("value"))
    if not isinstance(given, str) or not message.content:
        return "" if _split(message, raw) or not isinstance(given, str) else given
    at = given.rfind(message.content)
    return given[at:] if at >= 0 else message.content


def _split(message: Message, raw: Mapping[str, Any]) -> bool:
    """Whether the reasoning was taken out of the content, so that its block is closed."""
    given = raw.get("content", raw.get("value"))
    return bool(message.reasoning) and isinstance(given, str) and message.reasoning in given


def _block(renderer: Renderer, out: Writer, past: Any, content: str) -> tuple[str, str, bool]:
    """Reasoning that the content spells at its start, the content behind it, and whether its block is open."""
    for opener, closer in _edges(renderer, out, past):
        if not content.lstrip().startswith(opener.core):
            continue
        inside = content.lstrip()[len(opener.core) :].removeprefix(opener.post)
        reasoning, closed, rest = inside.partition(closer.core)
        if not closed:
            return inside, "", True
        return reasoning.removesuffix(closer.pre), rest.removeprefix(closer.post), False
    return "", content, False


def _edges(renderer: Renderer, out: Writer, past: Any) -> list[tuple[Anchor, Anchor]]:
    """What opens and what closes reasoning in a turn after this past."""
    shape = renderer.responds(out, past)
    found = []
    for path in paths_of(shape):
        for before, hole, behind in zip(path, path[1:], path[2:], strict=False):
            if (
                isinstance(before, Anchor)
                and isinstance(hole, Hole)
                and hole.field == "reasoning"
                and isinstance(behind, Anchor)
            ):
                found.append((before, behind))
    return found
