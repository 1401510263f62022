"""Why a message would be written otherwise, in words, and where earlier and fresh tokens part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from templc.runtime import fold
from templc.runtime.codec import Codec
from templc.runtime.encode import ContentSpecials, encode
from templc.runtime.history import Node
from templc.runtime.messages import Message
from templc.runtime.tokens import Tokens

if TYPE_CHECKING:
    from templc.runtime.renderer import Renderer


def explain(renderer: Renderer, node: Node, last: Node, joint: Any) -> tuple[str, int]:
    """Why `node` is written otherwise when `last` sees `joint`, and the line of the spec that decides it (0: none).

    Named are the facts in which what the message sees now differs from what it saw when it was written.
    """
    now = _view(node, last, joint)
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
    renderer: Renderer, messages: Sequence[Message], tools: fold.Tools, codec: Codec, prompt: bool
) -> Tokens:
    """Canonical messages rendered anew, without state."""
    turns = fold.Turns.of(renderer, messages)
    return encode(fold.whole(renderer, turns, tools, prompt), codec, compared_specials(renderer))


def compared_specials(renderer: Renderer) -> ContentSpecials:
    """What is done, in a comparison, where a text spells a control token: a model may have sampled what is refused."""
    return "text" if renderer.content_specials == "error" else renderer.content_specials


def common(first: Sequence[int], second: Sequence[int]) -> int:
    """How many leading tokens two renders share."""
    size = min(len(first), len(second))
    if first[:size] == second[:size]:
        return size
    return next((at for at in range(size) if first[at] != second[at]), size)
