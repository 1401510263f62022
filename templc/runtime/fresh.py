"""A fresh render of any messages: their turn methods write it, but for the turns that can be filled in.

by_turn_methods(renderer, messages, codec, None, None).text
    ->  "<|im_start|>user\\nhi<|im_end|>\\n<|im_start|>assistant\\n"
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from templc.runtime import fold
from templc.runtime.codec import Codec
from templc.runtime.encode import encode
from templc.runtime.skeleton import frames_of
from templc.runtime.states import wants_prompt, written
from templc.runtime.tokens import Tokens

if TYPE_CHECKING:
    from templc.runtime.renderer import Renderer


def by_turn_methods(
    renderer: Renderer,
    messages: Sequence[object],
    codec: Codec,
    tools: fold.Tools,
    prompt: bool | None,
) -> Tokens:
    """The tokens of messages, `MessageError` for what the format cannot express."""
    turns, reader = renderer.read(messages, tools)
    prompt = wants_prompt(turns.last_role, prompt)
    items = fold.items_of(renderer, turns, tools, prompt, frames_of(renderer, codec))
    tokens = encode(items, codec, renderer.content_specials)
    tokens.state = partial(written, renderer, turns, reader, tools, prompt)
    return tokens
