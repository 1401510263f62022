"""The verbs of the Tinker cookbook on renderers, with the real package `tinker`."""

from __future__ import annotations

import sys
from typing import Any

import numpy
import pytest
import tinker

from templc import OptionError, list_formats
from templc.tinker.cookbook import CookbookRenderer, ParseTermination, get_renderer
from tests.support.responses import TOOLS, tokenizer_for

USER = {"role": "user", "content": "Hi"}
ANSWER = {"role": "assistant", "content": "Yo"}
THOUGHT = {"role": "assistant", "content": "Yo", "reasoning_content": "hm"}


def made(name: str, **options: Any) -> CookbookRenderer:
    return get_renderer(name, tokenizer_for(name), **options)


def test_a_prompt_is_a_model_input() -> None:
    renderer = made("qwen3_instruct")
    prompt = renderer.build_generation_prompt([USER], tools=TOOLS)
    assert isinstance(prompt, tinker.ModelInput)
    assert prompt.to_ints() == renderer.renderer.render([USER], tools=TOOLS)


def test_a_prefill_is_gone_on_with() -> None:
    renderer = made("qwen3_instruct")
    prompt = renderer.build_generation_prompt([USER], prefill="Yo")
    assert renderer.renderer.codec(None).decode(prompt.to_ints()).endswith("assistant\nYo")


def test_only_the_assistant_is_sampled() -> None:
    with pytest.raises(OptionError, match="role 'user'"):
        made("qwen3_instruct").build_generation_prompt([USER], role="user")


def test_an_example_has_a_weight_for_each_token() -> None:
    renderer = made("qwen3_instruct")
    given, weights = renderer.build_supervised_example([USER, ANSWER])
    assert isinstance(given, tinker.ModelInput)
    assert (weights.dtype, weights.shape) == (numpy.float32, (given.length,))
    trained = [id for id, weight in zip(given.to_ints(), weights, strict=True) if weight]
    assert renderer.renderer.codec(None).decode(trained) == "Yo<|im_end|>"
    datum = tinker.Datum(
        model_input=tinker.ModelInput.from_ints(given.to_ints()[:-1]),
        loss_fn_inputs={
            "target_tokens": tinker.TensorData.from_numpy(numpy.asarray(given.to_ints()[1:])),
            "weights": tinker.TensorData.from_numpy(weights[1:]),
        },
    )
    assert datum.loss_fn_inputs["weights"].tolist() == weights[1:].tolist()


CONVERSATION = [USER, ANSWER, USER, {**ANSWER, "content": "So"}]
TRAINED = {
    "last_assistant_message": "So<|im_end|>",
    "last_assistant_turn": "So<|im_end|>",
    "all_assistant_messages": "Yo<|im_end|>So<|im_end|>",
    "all_messages": "HiYo<|im_end|>HiSo<|im_end|>",
    "all_user_and_system_messages": "HiHi",
    "customized": "",
}


@pytest.mark.parametrize("what", TRAINED)
def test_what_is_trained(what: str) -> None:
    renderer = made("qwen3_instruct")
    given, weights = renderer.build_supervised_example(CONVERSATION, what)
    trained = [id for id, weight in zip(given.to_ints(), weights, strict=True) if weight]
    assert renderer.renderer.codec(None).decode(trained) == TRAINED[what]


def test_customized_takes_what_messages_say() -> None:
    renderer = made("qwen3_instruct")
    said = [USER, {**ANSWER, "trainable": True}, USER, {**ANSWER, "trainable": False}]
    _, weights = renderer.build_supervised_example(said, "customized")
    assert sum(weights) == 2
    _, every = renderer.build_supervised_example(said, "all_tokens")
    assert every.tolist() == [1.0] * len(weights)


def test_unknown_words_for_training_are_refused() -> None:
    with pytest.raises(OptionError, match="one of last_assistant_message"):
        made("qwen3_instruct").build_supervised_example([USER, ANSWER], "all")


def test_rewritten_history_needs_several_examples() -> None:
    renderer = made("qwen3")
    said = [USER, THOUGHT, USER, THOUGHT]
    with pytest.raises(OptionError, match="2 examples are needed"):
        renderer.build_supervised_example(said, "all_assistant_messages")
    examples = renderer.build_supervised_examples(said, "all_assistant_messages")
    texts = [
        renderer.renderer.codec(None).decode(
            [id for id, weight in zip(given.to_ints(), weights, strict=True) if weight]
        )
        for given, weights in examples
    ]
    assert texts == ["<think>\nhm\n</think>\n\nYo<|im_end|>"] * 2


ENDS = [
    ("qwen3_instruct", "Yo<|im_end|>", ParseTermination.STOP_SEQUENCE),
    ("qwen3_instruct", "Yo<|endoftext|>", ParseTermination.EOS),
    ("qwen3_instruct", "Yo", ParseTermination.MALFORMED),
    ("qwen3_instruct", "<tool_call>\n{</tool_call><|im_end|>", ParseTermination.MALFORMED),
    ("gpt_oss", "<|channel|>final<|message|>Yo<|return|>", ParseTermination.STOP_SEQUENCE),
    ("role_colon", " Yo\n\nUser:", ParseTermination.STOP_SEQUENCE),
]


@pytest.mark.parametrize(("name", "text", "end"), ENDS)
def test_how_a_completion_ended(name: str, text: str, end: ParseTermination) -> None:
    renderer = made(name)
    message, found = renderer.parse_response(renderer.renderer.codec(None).control(text))
    assert found is end
    assert bool(found) == found.is_clean == (end is not ParseTermination.MALFORMED)
    assert found.is_stop_sequence == (end is ParseTermination.STOP_SEQUENCE)
    if found:
        assert message["content"].strip() == "Yo"


def test_calls_come_back_as_openai_has_them() -> None:
    renderer = made("qwen3_instruct")
    text = '<tool_call>\n{"name": "f", "arguments": {"k":1}}\n</tool_call><|im_end|>'
    message, _ = renderer.parse_response(renderer.renderer.codec(None).control(text), tools=TOOLS)
    call = renderer.to_openai_message(message)["tool_calls"][0]
    assert call == {
        "id": "call_0",
        "type": "function",
        "function": {"name": "f", "arguments": '{"k":1}'},
    }


@pytest.mark.parametrize("name", list_formats())
def test_every_format_has_a_stop(name: str) -> None:
    stops = made(name).get_stop_sequences()
    assert stops and len({type(stop) for stop in stops}) == 1


EXTENDS = {"qwen3_instruct": True, "qwen3": False, "llama3": True, "nemotron3_nano": False}


@pytest.mark.parametrize("name", EXTENDS)
def test_the_extension_property_is_the_proved_one(name: str) -> None:
    assert made(name).has_extension_property is EXTENDS[name]


def test_without_the_package_the_ids_stand_for_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tinker", None)
    monkeypatch.setitem(sys.modules, "numpy", None)
    given, weights = made("qwen3_instruct").build_supervised_example([USER, ANSWER])
    assert isinstance(given, list) and isinstance(weights, list)
    assert len(given) == len(weights)
