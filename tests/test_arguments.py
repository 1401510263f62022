"""Arguments of calls as JSON text, the form that they have on the wire, and as a mapping: one and the same call."""

from __future__ import annotations

import json
from typing import Any

import pytest

import templc
from templc.runtime.errors import TemplcError
from tests.support.formats import FORMATS

ARGUMENTS = {"city": "São Paulo", "days": 2, "exact": True, "tags": ["a", "b"], "more": {"x": "y"}}
TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}


def conversation(arguments: object) -> list[dict[str, Any]]:
    function = {"name": "weather", "arguments": arguments}
    call = {"id": "call00001", "type": "function", "function": function}
    return [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call00001", "name": "weather", "content": "18"},
    ]


def written(name: str, arguments: object, tools: list[Any] | None) -> str | None:
    try:
        return templc.get_renderer(name).render_text(conversation(arguments), tools=tools)
    except TemplcError:
        return None


@pytest.mark.parametrize("tools", [None, [TOOL]], ids=["", "tools"])
@pytest.mark.parametrize("name", FORMATS)
def test_json_text_is_written_as_the_mapping_is(name: str, tools: list[Any] | None) -> None:
    text = json.dumps(ARGUMENTS, ensure_ascii=False)
    assert written(name, text, tools) == written(name, ARGUMENTS, tools)


def test_most_formats_write_calls() -> None:
    assert sum(written(name, ARGUMENTS, [TOOL]) is not None for name in FORMATS) > len(FORMATS) / 2
