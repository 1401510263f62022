"""Messages of the OpenAI SDK go in, and parsed messages come out as the SDK's own objects."""

from __future__ import annotations

from typing import Any

import pytest
from openai.types.chat import ChatCompletionMessage
from openai.types.chat.chat_completion_message_function_tool_call import (
    ChatCompletionMessageFunctionToolCall,
)

from templc import get_renderer
from tests.support.responses import TOOLS

USER = {"role": "user", "content": "Hi"}
CALL = '<tool_call>\n{"name": "f", "arguments": {"k":1}}\n</tool_call>'


def read(text: str) -> Any:
    return get_renderer("qwen3_instruct").parse(text, tools=TOOLS)


def sdk(message: dict[str, Any]) -> ChatCompletionMessage:
    """As the SDK reads it from a server, with every field checked."""
    return ChatCompletionMessage.model_validate(message, strict=True)


def test_an_answer_is_the_message_of_the_sdk() -> None:
    message = sdk(read("Yo<|im_end|>").openai())
    assert (message.role, message.content, message.tool_calls) == ("assistant", "Yo", None)


def test_calls_are_those_of_the_sdk() -> None:
    message = sdk(read(f"{CALL}\n{CALL}<|im_end|>").openai(first_call=3))
    assert message.content is None
    assert message.tool_calls is not None
    for number, call in enumerate(message.tool_calls, 3):
        assert isinstance(call, ChatCompletionMessageFunctionToolCall)
        assert (call.id, call.function.name) == (f"call_{number}", "f")
        assert call.function.arguments == '{"k":1}'


def test_edited_arguments_are_written_anew() -> None:
    parsed = read(f"{CALL}<|im_end|>")
    parsed.message["tool_calls"][0]["function"]["arguments"]["k"] = "é"
    assert parsed.openai()["tool_calls"][0]["function"]["arguments"] == '{"k": "é"}'


@pytest.mark.parametrize("name", ["qwen3_instruct", "qwen3", "gpt_oss", "qwen3_coder", "kimi_k2"])
def test_what_came_out_goes_in_again(name: str) -> None:
    renderer = get_renderer(name)
    call = {"id": "functions.f:0", "function": {"name": "f", "arguments": {"k": "v"}}}
    said = {"role": "assistant", "content": "", "tool_calls": [call]}
    prompt = renderer.render_text([USER], tools=TOOLS, add_generation_prompt=True)
    text = renderer.render_text([USER, said], tools=TOOLS)
    parsed = renderer.parse(text.removeprefix(prompt), prompt=prompt, tools=TOOLS)
    result = {"role": "tool", "content": "t", "tool_call_id": "functions.f:0"}
    wanted = renderer.render_text([USER, said, result], tools=TOOLS)
    again = sdk(parsed.openai())
    if again.tool_calls:
        result = {**result, "tool_call_id": again.tool_calls[0].id}
    assert renderer.render_text([USER, again, result], tools=TOOLS) == wanted


def test_reasoning_of_a_server_goes_in() -> None:
    message = sdk({"role": "assistant", "content": "Yo", "reasoning_content": "hm"})
    text = get_renderer("qwen3").render_text([USER, message])
    assert "<think>\nhm\n</think>\n\nYo" in text
