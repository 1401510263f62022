"""What is refused by default and done as the published template does it with unsupported="as_template"."""

from __future__ import annotations

from typing import Any

import pytest

from templc import get_renderer
from templc.runtime.errors import MessageError, OptionError

SYSTEMS = [
    {"role": "system", "content": "One."},
    {"role": "user", "content": "Hi"},
    {"role": "system", "content": "Two."},
]


def call(name: str, call_id: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": {}}}


CALLS = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "", "tool_calls": [call("f", "1"), call("g", "2")]},
    {"role": "tool", "content": "r", "tool_call_id": "2"},
]


def test_the_last_system_message_replaces_the_others() -> None:
    with pytest.raises(MessageError, match="a system message must stand first"):
        get_renderer("stepfun_formalizer").render_text(SYSTEMS)
    ours = get_renderer("stepfun_formalizer", unsupported="as_template")
    with pytest.warns(UserWarning, match="must stand first"):
        text = ours.render_text(SYSTEMS, add_generation_prompt=False)
    assert text == "<｜begin▁of▁sentence｜>Two.<｜User｜>Hi"


def test_only_the_first_call_is_written() -> None:
    with pytest.raises(MessageError, match="a message can hold one tool call"):
        get_renderer("gpt_oss").render_text(CALLS)
    ours = get_renderer("gpt_oss", unsupported="as_template")
    with pytest.warns(UserWarning, match="only the first tool call"):
        text = ours.render_text(CALLS)
    assert "functions.g" not in text and text.count("functions.f") == 2


def test_a_value_that_is_not_listed_is_taken_for_another() -> None:
    with pytest.raises(OptionError, match="low"):
        get_renderer("glm5_2", reasoning_effort="low")
    ours = get_renderer("glm5_2", unsupported="as_template", reasoning_effort="low")
    assert ours.options["reasoning_effort"] == "max"
    with pytest.raises(OptionError, match="low"):
        get_renderer("qwen3", unsupported="as_template", low="low")
