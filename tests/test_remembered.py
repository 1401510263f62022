"""What is remembered is for what it was made of: tokenizers that change, and texts equal to others."""

from __future__ import annotations

from enum import Enum
from types import SimpleNamespace
from typing import Any

import pytest
from tokenizers import Tokenizer

import templc
from templc.runtime.codec import codec_anew, codec_of
from templc.runtime.errors import TokenizerError
from templc.runtime.messages import Reader
from templc.runtime.rules import MessageRules
from tests.support import vocabularies
from tests.test_codec import small_bpe


class Text(str, Enum):  # noqa: UP042 - a StrEnum is written as its text
    """Texts whose `str` is another one, as enumerations of roles are in many programs."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    ID = "functions.f:0"
    HI = "hi"


def test_an_entry_that_is_made_a_control_token_is_seen_once_it_is_missed() -> None:
    tokenizer = small_bpe(("<|im_start|>", "<|im_end|>"))
    renderer, chat = templc.get_renderer("chatml", tokenizer), [{"role": "user", "content": "a"}]
    with pytest.raises(TokenizerError, match="no control token"):
        renderer.render(chat)
    codec = codec_of(tokenizer)
    assert codec_anew(tokenizer) is codec and codec_anew(codec) is codec
    tokenizer.add_special_tokens(["<|im_start|>", "<|im_end|>"])
    start = tokenizer.token_to_id("<|im_start|>")
    assert renderer.render(chat)[0] == start
    assert codec_of(tokenizer).control("<|im_start|>") == [start]


def test_a_wrapper_may_wrap_another_tokenizer_and_name_other_tokens() -> None:
    encodings = [vocabularies.tiktoken_encoding(name) for name in ("kimi-k2", "gpt-oss")]
    around = SimpleNamespace(model=encodings[0], bos_token="[BOS]", eos_token="[EOS]")
    assert codec_of(around) is codec_of(around)
    around.eos_token = "<|im_end|>"
    assert codec_of(around).eos_token == "<|im_end|>"
    around.model = encodings[1]
    assert codec_of(around).plain("hi there") == encodings[1].encode_ordinary("hi there")


def test_a_wrapped_tokenizer_is_not_taken_for_one_that_is_gone() -> None:
    first, second = (small_bpe((text,)).model for text in ("ab", "cd"))
    around = SimpleNamespace(backend_tokenizer=Tokenizer(first), bos_token=None, eos_token=None)
    codec_of(around)
    was = id(around.backend_tokenizer)
    around.backend_tokenizer = None
    others = [Tokenizer(second) for _ in range(100)]  # one has the place that the first one had
    around.backend_tokenizer = next((one for one in others if id(one) == was), others[0])
    assert codec_of(around).plain("cd") == around.backend_tokenizer.encode("cd").ids


def test_members_of_enumerations_are_their_texts() -> None:
    call = {"id": "c1", "function": {"name": Text.HI, "arguments": {}}}
    chat: list[dict[str, Any]] = [
        {"role": Text.USER, "content": Text.HI},
        {"role": Text.ASSISTANT, "content": None, "reasoning": Text.HI, "tool_calls": [call]},
        {"role": Text.TOOL, "content": Text.HI, "tool_call_id": "c1", "name": Text.HI},
        {"from": Text.USER, "value": Text.HI},
    ]
    reader = Reader(MessageRules())
    for number, raw in enumerate(chat):
        message = reader.read(raw, number)
        found = [message.role, message.content, message.reasoning, message.name, message.answered]
        assert {type(one) for one in (*found, *(one.name for one in message.calls))} == {str}
        assert message.role == raw.get("role", raw.get("from"))


def test_what_was_written_for_a_member_of_an_enumeration_is_written_for_its_text() -> None:
    tokenizer = vocabularies.backend("qwen3")
    for role in (Text.USER, "user"):
        renderer = templc.get_renderer("chatml", tokenizer)
        for _ in range(4):
            tokens = renderer.render([{"role": role, "content": "hi"}])
            assert tokens.text.startswith("<|im_start|>user\nhi<|im_end|>")
