"""Weights: proved for every format under every setting, and seen in the examples that training gets."""

from __future__ import annotations

import pytest

from templc import list_formats
from templc.ir.settings import telling
from templc.proof.given import Given, options_of_turns
from templc.proof.stability import settings_of
from templc.proof.weights.check import weights
from tests.support.formats import program
from tests.support.responses import USER, answered, cases


@pytest.mark.parametrize("name", list_formats())
def test_weights_are_proved_for_every_setting(name: str) -> None:
    found = weights(program(name))
    declared = {fault.code for fault in program(name).faults}
    assert {flaw.code for flaw in found.flaws} == declared and not found.cut_off
    assert found.apart < found.turns or "prompt-not-prefix" in declared


@pytest.mark.parametrize("name", list_formats())
def test_options_that_no_turn_reads_change_no_turn(name: str) -> None:
    found = program(name)
    keys = {
        Given(found, settings_of(found, {option: value}, tools=False)).key
        for option, values in telling(found).items()
        for value in values
        if option not in options_of_turns(found)
    }
    assert keys <= {Given(found, settings_of(found, {}, tools=False)).key}


@pytest.mark.parametrize("name", list_formats())
def test_the_stop_token_is_trained(name: str) -> None:
    case, answer = answered(name)
    (tokens,) = case.renderer.supervised([USER, answer], case.tokenizer)
    trained = [id for id, weight in zip(tokens, tokens.weights, strict=True) if weight]
    completion = case.completion(answer)
    assert completion is not None
    prompt = case.renderer.render([USER], case.tokenizer, add_generation_prompt=True)
    assert tokens[: len(prompt)] == prompt
    if any(fault.code == "untrained-stop" for fault in program(name).faults):
        # Some of its turns have a stop, or none has.
        assert not set(trained[:-1]) & set(case.renderer.stop_token_ids(case.tokenizer))
    elif case.renderer.info.stop:
        stops = case.renderer.stop_token_ids(case.tokenizer)
        assert trained[-1] in stops and not set(trained[:-1]) & set(stops)
        assert trained == tokens[len(prompt) : len(prompt) + len(trained)]


def test_a_stop_that_opens_the_next_turn_is_trained_with_the_turn_before() -> None:
    case = next(cases("glm4_5"))
    call = {"id": "c", "function": {"name": "f", "arguments": {}}}
    calls = {"role": "assistant", "content": "a", "tool_calls": [call]}
    result = {"role": "tool", "content": "t", "tool_call_id": "c"}
    said = [USER, calls, result, {"role": "assistant", "content": "b"}]
    (tokens,) = case.renderer.supervised(said, case.tokenizer)
    codec = case.renderer.codec(case.tokenizer)
    names = {codec.token_id(text): text for text in ("<|user|>", "<|observation|>")}
    found = [
        (names[id], weight, at)
        for id, weight, at in zip(tokens, tokens.weights, tokens.message_index, strict=True)
        if id in names
    ]
    assert found == [("<|user|>", 0.0, 0), ("<|observation|>", 1.0, 1), ("<|user|>", 1.0, 3)]
    (calling,) = case.renderer.supervised(said[:2], case.tokenizer)
    assert (names[calling[-1]], calling.weights[-1]) == ("<|observation|>", 1.0)
