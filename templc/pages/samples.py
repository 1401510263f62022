"""Small conversations that show a format: the longest that it takes of a few.

shown(renderer)     # [("plain", "<|im_start|>user\\n...")]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from templc.runtime.errors import TemplcError
from templc.runtime.renderer import Renderer

_ASK, _ANSWER = "What is the capital of France?", "The capital of France is Paris."
_SYSTEM = {"role": "system", "content": "Answer in one sentence."}
_USER = {"role": "user", "content": _ASK}
_NEXT = {"role": "user", "content": "And of Japan?"}
_SAID = {"role": "assistant", "content": _ANSWER}
_THOUGHT = {**_SAID, "reasoning_content": "A capital is asked for."}
_CALL = {
    "id": "call00001",
    "type": "function",
    "function": {"name": "lookup", "arguments": {"country": "France"}},
}
_RESULT = {"role": "tool", "name": "lookup", "tool_call_id": "call00001", "content": "Paris"}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "lookup",
            "description": "The capital of a country",
            "parameters": {
                "type": "object",
                "properties": {"country": {"type": "string"}},
                "required": ["country"],
            },
        },
    }
]
Chat = tuple[list[dict[str, Any]], list[dict[str, Any]] | None]
SAMPLES: dict[str, tuple[Chat, ...]] = {
    "plain": (([_SYSTEM, _USER, _SAID, _NEXT], None), ([_USER, _SAID, _NEXT], None)),
    "thinking": (([_USER, _THOUGHT], None),),
    "tools": (
        ([_USER, {"role": "assistant", "content": "", "tool_calls": [_CALL]}, _RESULT], TOOLS),
    ),
}


def shown(renderer: Renderer) -> Iterator[tuple[str, str]]:
    """The name and the text of each sample that the format takes."""
    for name, chats in SAMPLES.items():
        for messages, tools in chats:
            try:
                yield name, renderer.render_text(messages, tools=tools)
            except TemplcError:
                continue
            break
