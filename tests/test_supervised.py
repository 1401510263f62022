"""Training examples: each assistant turn once, behind its own history, and only on what the model samples."""

from __future__ import annotations

from typing import Any

import pytest

import templc
from tests.extend_cases import VOCABULARIES, tokenizer_for

U = {"role": "user", "content": "Hi"}
A = {"role": "assistant", "content": "Yo", "reasoning_content": "hm"}
P = {"role": "assistant", "content": "Plain"}
CALLS = [
    {"id": "functions.f:0", "type": "function", "function": {"name": "f", "arguments": {"k": 1}}}
]
C = {"role": "assistant", "content": "", "reasoning_content": "look", "tool_calls": CALLS}
D = {"role": "assistant", "content": "", "tool_calls": CALLS}
R = {"role": "tool", "content": "18", "tool_call_id": "functions.f:0"}


def renderer(name: str, **options: Any) -> templc.Renderer:
    return templc.get_renderer(name, tokenizer_for(name), **options)


def marked(one: templc.Renderer, tokens: templc.Tokens) -> list[tuple[str, int]]:
    """Neighbouring tokens of one weight as (text, weight)."""
    codec, found = one.codec(None), []
    for token, weight in zip(tokens, tokens.weights, strict=True):
        if found and found[-1][1] == int(weight):
            found[-1][0].append(token)
        else:
            found.append(([token], int(weight)))
    return [(codec.decode(ids), weight) for ids, weight in found]


MASKS: list[tuple[str, dict[str, Any], list[Any], list[tuple[str, int]]]] = [
    (
        "llama3",
        {},
        [U, P, U, {"role": "assistant", "content": "Ciao. \n"}],
        [
            ("<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
             "<|start_header_id|>assistant<|end_header_id|>\n\n", 0),
            ("Plain<|eot_id|>", 1),
            ("<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
             "<|start_header_id|>assistant<|end_header_id|>\n\n", 0),
            ("Ciao.<|eot_id|>", 1),
        ],
    ),
    (
        "llama3",
        {},
        [P, U],
        [
            ("<|begin_of_text|><|start_header_id|>assistant<|end_header_id|>\n\n", 0),
            ("Plain<|eot_id|>", 1),
            ("<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>", 0),
        ],
    ),
    (
        "qwen2_5",
        {},
        [U, D, R, P],
        [
            ("<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n"
             "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n", 0),
            ('<tool_call>\n{"name": "f", "arguments": {"k": 1}}\n</tool_call><|im_end|>', 1),
            ("\n<|im_start|>user\n<tool_response>\n18\n</tool_response><|im_end|>\n<|im_start|>assistant\n", 0),
            ("Plain<|im_end|>", 1),
            ("\n", 0),
        ],
    ),
    (
        "qwen3",
        {"enable_thinking": False},
        [U, P],
        [
            ("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n", 0),
            ("Plain<|im_end|>", 1),
            ("\n", 0),
        ],
    ),
    (
        "deepseekv3_1",
        {},
        [U, P],
        [("<｜begin▁of▁sentence｜><｜User｜>Hi<｜Assistant｜></think>", 0), ("Plain<｜end▁of▁sentence｜>", 1)],
    ),
    (
        "deepseekv3_1",
        {"thinking": True},
        [U, A],
        [("<｜begin▁of▁sentence｜><｜User｜>Hi<｜Assistant｜><think>", 0), ("hm</think>Yo<｜end▁of▁sentence｜>", 1)],
    ),
    (
        "kimi_k2",
        {},
        [U, A],
        [
            ("<|im_system|>system<|im_middle|>You are Kimi, an AI assistant created by Moonshot AI.<|im_end|>"
             "<|im_user|>user<|im_middle|>Hi<|im_end|><|im_assistant|>assistant<|im_middle|>", 0),
            ("<think>hm</think>Yo<|im_end|>", 1),
        ],
    ),
    ("role_colon", {}, [U, P], [("User: Hi\n\nAssistant:", 0), (" Plain\n\n", 1)]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "messages", "expected"), MASKS)
def test_only_what_the_model_samples_is_trained(
    name: str, options: dict[str, Any], messages: list[Any], expected: list[tuple[str, int]]
) -> None:
    one = renderer(name, **options)
    (example,) = one.supervised(messages)
    assert marked(one, example) == expected


@pytest.mark.parametrize("name", VOCABULARIES)
@pytest.mark.parametrize(
    "messages", [[U, A, U, A], [U, C, R, A, U, C, R, A], [U, C, R, C, R], [U, P, U, P, U]]
)
def test_together_the_examples_train_each_turn_once(name: str, messages: list[Any]) -> None:
    one = renderer(name)
    messages = [fitted(name, message) for message in messages]
    examples = one.supervised(messages)
    turns = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
    trained = [
        sorted({owner for owner, weight in zip(x.message_index, x.weights, strict=True) if weight})
        for x in examples
    ]
    assert sorted(turn for mine in trained for turn in mine) == turns
    for example, mine in zip(examples, trained, strict=True):
        for turn in mine:
            prompt = one.render(messages[:turn], add_generation_prompt=True)
            assert list(example[: len(prompt)]) == list(prompt)
            sampled = [
                w for o, w in zip(example.message_index, example.weights, strict=True) if o == turn
            ]
            assert sum(sampled) > 0 and example.weights[: len(prompt)].count(1.0) == sum(
                w for o, w in zip(example.message_index, example.weights, strict=True) if o < turn
            )


NO_REASONING = {
    "qwen3_instruct",
    "qwen2_5",
    "kimi_k2_instruct",
    "deepseekv3",
    "deepseekv3_1",
    "llama3",
    "role_colon",
}


def fitted(name: str, message: dict[str, Any]) -> dict[str, Any]:
    """The message without what the format never shows."""
    lost = {"reasoning_content"} if name in NO_REASONING else set()
    lost |= {"tool_calls"} if name in ("llama3", "role_colon") else set()
    return {key: value for key, value in message.items() if key not in lost}


def test_several_examples_say_why() -> None:
    first, last = renderer("qwen3").supervised([U, A, U, A])
    assert "message 1 (assistant) is written otherwise" in first.notes[0]
    assert last.notes == ()
    assert len(renderer("qwen3").supervised([U, C, R, C, R])) == 1


def test_policies_and_message_flags() -> None:
    one = renderer("qwen3_instruct")
    messages = [U, P, U, D, R, P]

    def turns(**given: Any) -> list[int]:
        return sorted(
            {
                owner
                for example in one.supervised(given.pop("messages", messages), **given)
                for owner, weight in zip(example.message_index, example.weights, strict=True)
                if weight
            }
        )

    assert turns() == [1, 3, 5]
    assert turns(train_on="last_assistant") == [5]
    assert turns(train_on="last_turn") == [3, 5]
    assert turns(train_on="all_messages") == [0, 1, 2, 3, 4, 5]
    assert turns(train_on=lambda message, at: at == 1) == [1]
    assert turns(messages=[U, {**P, "train": False}, U, P]) == [3]
    assert turns(messages=[{**U, "trainable": True}, P]) == [0, 1]
    with pytest.raises(templc.OptionError, match="train_on"):
        turns(train_on="everything")


def test_what_others_say_is_trained_in_the_last_example_only() -> None:
    examples = renderer("qwen3").supervised([U, A, U, A], train_on="all_messages")
    trained = [
        {owner for owner, weight in zip(one.message_index, one.weights, strict=True) if weight}
        for one in examples
    ]
    assert trained == [{1}, {0, 2, 3}]


def test_fractional_weights_and_columns() -> None:
    (example,) = renderer("qwen3_instruct").supervised([U, {**P, "weight": 0.25}])
    assert set(example.weights) == {0.0, 0.25}
    columns = example.columns()
    assert [label for label in columns["labels"] if label != -100] == [
        token for token, weight in zip(example, example.weights, strict=True) if weight
    ]
    assert len({len(column) for column in columns.values()}) == 1


def test_the_last_turn_is_trained_as_it_was_sampled_and_says_so() -> None:
    (example,) = renderer("kimi_k2").supervised([U, A])
    assert "as it was sampled" in example.notes[0]
    assert "<think></think>Yo" in renderer("kimi_k2").render_text([U, A])
