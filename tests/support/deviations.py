"""What the declared deviations of the specs should write.

Most of them take input that a published template drops, garbles or refuses, and write what the template writes for
the same input in plain form: `PLAIN` has that form for each named conversation. The others are in `OTHERWISE`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

Chat = dict[str, Any]
Message = dict[str, Any]

_WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather by city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
_TOOLS = json.dumps([_WEATHER])


def _each(change: Callable[[Message], Message]) -> Callable[[Chat], Chat]:
    return lambda chat: {**chat, "messages": [change(message) for message in chat["messages"]]}


def _as_text(message: Message) -> Message:
    """Parts joined; missing content is empty."""
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(part["text"] for part in content)
    return {**message, "content": content or ""}


def _with_arguments(spell: Callable[[Any], Any]) -> Callable[[Message], Message]:
    """Arguments in one form, content as text."""

    def change(message: Message) -> Message:
        message = _as_text(message)
        if "tool_calls" in message:
            message["tool_calls"] = [
                {**call, "function": {**call["function"], "arguments": spell(call["function"]["arguments"])}}
                for call in message["tool_calls"]
            ]  # fmt: skip
        return message

    return change


def _decoded(arguments: Any) -> Any:
    return json.loads(arguments) if isinstance(arguments, str) else arguments


def _encoded(arguments: Any) -> Any:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _with_ids(chat: Chat) -> Chat:
    """Calls numbered over the conversation, results in the same order."""
    numbers, answers = iter(range(99)), []
    messages = []
    for message in chat["messages"]:
        made = dict(message)
        if calls := message.get("tool_calls"):
            made["tool_calls"] = [
                {**call, "id": f"functions.{call['function']['name']}:{next(numbers)}"}
                for call in calls
            ]
            answers = [call["id"] for call in made["tool_calls"]]
        if message["role"] == "tool" and answers:
            made["tool_call_id"] = answers.pop(0)
        messages.append(made)
    return {**chat, "messages": messages}


def _inline(message: Message) -> Message:
    """Reasoning in front of the content."""
    if thought := message.get("reasoning_content"):
        return {**message, "content": f"<think>\n{thought}\n</think>\n\n{message['content']}"}
    return message


def _tools_as_key(chat: Chat) -> Chat:
    """Tools as text in the first message."""
    first, *rest = chat["messages"]
    return {**chat, "messages": [{**first, "tools": json.dumps(chat["tools"])}, *rest]}


def _bare_tools(chat: Chat) -> Chat:
    """Tools without the wrapper of the OpenAI API."""
    return {**chat, "tools": [tool["function"] for tool in chat["tools"] or ()] or chat["tools"]}


def _no_tools(chat: Chat) -> Chat:
    """An empty list of tools where none is given."""
    return _each(_as_text)({**chat, "tools": chat["tools"] or []})


PLAIN: Mapping[str, Callable[[Chat], Chat]] = {
    "text_parts": _each(_as_text),
    "parts_after_reasoning": _each(_as_text),
    "none_content": _each(_as_text),
    "string_arguments": _each(_with_arguments(_decoded)),
    "mapping_arguments": _each(_with_arguments(_encoded)),
    "missing_call_ids": _with_ids,
    "thinking": _each(_inline),
    "tools": _tools_as_key,
    "tools_without_system": _bare_tools,
    "one_user": _no_tools,
}

_CALLED = (
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>{}\n```json\n{}\n```"
    "<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>"
)
_ANSWERED = (
    "<｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>{}<｜tool▁output▁end｜><｜tool▁outputs▁end｜>"
)
_ROUNDS = (
    "<｜begin▁of▁sentence｜><｜User｜>Weather?<｜Assistant｜>"
    + _CALLED.format("get_weather", '{"city": "Lima"}')
    + _ANSWERED.format("18 C")
    + "18 degrees.<｜end▁of▁sentence｜><｜User｜>And Oslo?<｜Assistant｜>"
    + _CALLED.format("get_weather", '{"city": "Oslo"}')
    + _ANSWERED.format("3 C")
    + "3 degrees.<｜end▁of▁sentence｜>"
)


def _once(text: str) -> str:
    """Without the first of two equal lists of tools; what parts them from a message depends on the version."""
    first = text.index("[AVAILABLE_TOOLS]")
    end = text.index("[/AVAILABLE_TOOLS]") + len("[/AVAILABLE_TOOLS]")
    assert text.count(_TOOLS) == 2
    return text[:first] + text[end:]


def _named(text: str) -> str:
    """Calls by name and arguments under a header, where a template writes their whole mappings without one."""

    def spelled(found: re.Match[str]) -> str:
        calls = [call["function"] for call in json.loads(found[1])]
        lines = (
            f'  {{"name": "{call["name"]}", "arguments": {_encoded(call["arguments"])}}}'
            for call in calls
        )
        return "\n<|assistant|>\n\n<tool_call>\n[\n" + ",\n".join(lines) + "\n]\n</tool_call><"

    return re.sub(r"\n\n<tool_call>\n(\[\n.*?\n\])\n</tool_call><", spelled, text, flags=re.DOTALL)


def _thought(text: str) -> str:
    """The thoughts of the conversation in front of what they lead to."""
    return text.replace("[/INST]", "[/INST][THINK]two and two[/THINK]")


def _numbered(text: str) -> str:
    """Cohere's calls with their arguments decoded, and its results with the numbers that they have in order."""

    def spelled(found: re.Match[str]) -> str:
        return f'"parameters": {json.loads(found[1])}'

    numbers = iter(range(99))
    text = re.sub(r'"parameters": ("(?:[^"\\]|\\.)*")', spelled, text)
    result = r'(?<=\n {8}"tool_call_id": )"0?"'
    return re.sub(result, lambda _: f'"{next(numbers)}"', text)


_COHERE_PROMPT = "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|><|START_THINKING|><|END_THINKING|>"
_GREETING = "<|im_start|>assistant\nWelcome.<|im_end|>\n"
OTHERWISE: Mapping[tuple[str, str], Callable[[str], str]] = {
    ("deepseekv3", "tool_loop"): lambda _: _ROUNDS,
    ("deepseek_r1", "tool_loop"): lambda _: _ROUNDS,
    ("deepseek_r1_distill", "tool_loop"): lambda _: _ROUNDS,
    ("deepseek_v2_5", "tool_loop"): lambda _: _ROUNDS,
    ("stepfun_formalizer", "tool_loop"): lambda _: _ROUNDS,
    ("deepseekv3", "none_content"): lambda _: (
        "<｜begin▁of▁sentence｜><｜User｜>time?<｜Assistant｜>"
        + _CALLED.format("now", "{}")
        + _ANSWERED.format("09:00")
    ),
    **{
        (name, "only_system"): lambda text: text + "<|start_of_role|>assistant<|end_of_role|>"
        for name in ("granite_3_1", "granite_3_3", "granite_speech_3_2", "granite_speech_3_3")
    },
    ("mistral_v0_3", "equal_users"): _once,
    ("mistral_nemo", "equal_users"): _once,
    ("mistral_small_3_2", "equal_users"): _once,
    ("falcon3", "tool_loop"): _named,
    ("command_r7b", "two_turns"): lambda text: text.removesuffix(_COHERE_PROMPT),
    ("command_r7b", "string_arguments"): (
        lambda text: _numbered(text).removesuffix(_COHERE_PROMPT)
    ),
    ("ministral3_14b_reasoning", "thinking"): _thought,
    **{
        (name, "missing_call_ids"): _numbered
        for name in ("command_r7b", "command_a_plus", "north_mini_code")
    },
    ("seed_oss", "empty_answer"): (
        lambda text: text.replace(
            "<seed:bos>assistant<seed:bos>", "<seed:bos>assistant\n<seed:eos><seed:bos>"
        )
    ),
    ("seed_oss_unsloth", "empty_answer"): (
        lambda text: text.replace(
            "<seed:bos>assistant<seed:bos>", "<seed:bos>assistant\n<seed:eos><seed:bos>"
        )
    ),
    ("hermes4", "empty_answer"): (
        lambda text: text.replace("assistant<|im_start|>", "assistant\n<|im_end|>\n<|im_start|>")
    ),
    ("hunyuan_a13b", "assistant_first"): lambda text: text.replace("Hi", "<|startoftext|>Hi"),
    ("nemotron_nano_v2", "only_system"): lambda _: (
        "<SPECIAL_10>System\nBe brief.\n<SPECIAL_11>Assistant\n<think>\n"
    ),
    ("nemotron_nano_v2", "call_then_prompt"): lambda _: (
        "<SPECIAL_10>System\n\n<SPECIAL_11>User\nWeather?\n<SPECIAL_11>Assistant\n<think>\n</think>"
        '<TOOLCALL>[{"name": "get_weather", "arguments": {"city": "Lima"}}]</TOOLCALL>\n<SPECIAL_12>\n'
        "<SPECIAL_11>Assistant\n<think>\n"
    ),
    ("kanana1_5", "empty_answer"): (
        lambda text: text.replace(
            "Hello!<|eot_id|>",
            "Hello!<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n<|eot_id|>",
        )
    ),
    ("qwen3_5", "no_query"): lambda _: _GREETING,
    ("qwen3_5_small", "no_query"): lambda _: _GREETING,
    ("qwen3_6", "no_query"): lambda _: _GREETING,
    ("tmax", "no_query"): lambda _: _GREETING,
    ("ornith", "no_query"): lambda _: (
        "<|im_start|>assistant\n<think>\n\n</think>\n\nWelcome.<|im_end|>\n"
    ),
}
"""What is written, made from what the template writes, where no plain form of the input gives it."""

APART: Mapping[str, frozenset[str]] = {
    # These write tools by where a message stands among others that it is equal to.
    "equal_users": frozenset({"mistral_nemo", "mistral_v0_3", "mistral_small_3_2"}),
}
"""Conversations that these formats do not write as their template does even when asked to, by name."""


def _roles(messages: list[Message]) -> list[str]:
    return [message["role"] for message in messages]


def causes(chat: Chat) -> set[str]:
    """The conversations whose deviation may show in this one too, by what it holds."""
    messages = chat["messages"]
    holds = {
        "tool_loop": any("tool_calls" in message for message in messages),
        "string_arguments": any("tool_calls" in message for message in messages),
        "thinking": any(message.get("reasoning_content") for message in messages),
        "no_query": all(message["role"] != "user" for message in messages),
        "only_system": all(message["role"] == "system" for message in messages),
        "tools": bool(chat["tools"]),
        "tools_without_system": bool(chat["tools"]),
        "assistant_first": messages[0]["role"] in ("assistant", "tool")
        or _roles(messages)[:2] == ["user", "user"],
        "two_turns": not chat["add_generation_prompt"],
        "call_then_prompt": messages[-1]["role"] == "assistant",
        "empty_answer": any(
            not message["content"] for message in messages if message["role"] == "assistant"
        ),
    }
    return {name for name, held in holds.items() if held}
