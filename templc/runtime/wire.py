"""A parsed message in the shape that goes over the wire: what OpenAI-compatible servers and SDKs take and give.

`parsed.message` keeps arguments decoded, beside their sampled text; on the wire they are text, and every call has an
id. `openai_message({"role": "assistant", "content": "", "tool_calls": [{"id": None, "type": "function", "function":
{"name": "f", "arguments": {"k": 1}, "raw_arguments": '{"k":1}'}}]})` has the id `call_0`, the arguments `'{"k":1}'`,
and content None.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def openai_message(message: Mapping[str, Any], *, first_call: int = 0) -> dict[str, Any]:
    """The message as OpenAI has it; first_call: number of the first call, for ids that no other message has.

    The arguments are the sampled text byte for byte where the format writes JSON, unless they were edited.
    """
    calls = [
        _call(call, first_call + number)
        for number, call in enumerate(message.get("tool_calls") or ())
    ]
    found = {key: value for key, value in message.items() if key != "tool_calls"}
    if not calls:
        return found
    return {**found, "content": message.get("content") or None, "tool_calls": calls}


def _call(call: Mapping[str, Any], number: int) -> dict[str, Any]:
    function = call["function"]
    arguments, raw = function["arguments"], function.get("raw_arguments")
    if not isinstance(arguments, str):
        kept = isinstance(raw, str) and _same(raw, arguments)
        arguments = raw if kept else json.dumps(arguments, ensure_ascii=False)
    return {
        "id": call.get("id") or f"call_{number}",
        "type": "function",
        "function": {"name": function["name"], "arguments": arguments},
    }


def _same(raw: str, arguments: object) -> bool:
    try:
        return bool(json.loads(raw) == arguments)
    except (ValueError, RecursionError):
        return False
