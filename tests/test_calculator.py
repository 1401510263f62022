"""Tools and reasoning in the loop: several calls a turn, malformed calls, a budget, turns that are cut off."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import templc
from templc.local.types import AdamParams, ModelInput, SamplingParams
from templc.recipes.calculator import Calculator, Played, Sampler, calculate, play
from tests.support import tiny, vocabularies

ENV = Calculator("What is 12 * 7 + 5?", 89)
END = "<|im_end|>"


def call(expression: str, name: str = "calculate") -> str:
    return f'<tool_call>\n{{"name": "{name}", "arguments": {{"expression": "{expression}"}}}}\n</tool_call>'


def thought(text: str) -> str:
    return f"<think>\nhm\n</think>\n\n{text}{END}"


def saying(*completions: str) -> Sampler:
    """A sampler that says these things, one a turn, cut off where there is no room."""
    rest = iter(completions)

    def sample(prompt: Sequence[int], room: int) -> tuple[list[int], list[float]]:
        ids = vocabularies.hf("qwen3").encode(next(rest))[:room]
        return ids, [-0.25] * len(ids)

    return sample


def played(*completions: str, budget: int = 900, env: Calculator = ENV) -> Played:
    tokenizer = vocabularies.hf("qwen3")
    return play(env, templc.get_renderer("qwen3"), tokenizer, saying(*completions), budget=budget)


def test_calls_are_answered_and_the_answer_is_rewarded() -> None:
    found = played(
        thought(f"{call('12*7')}\n{call('1+1')}"), thought(call("84+5")), thought("It is 89.")
    )
    assert (found.reward, found.ending, found.calls) == (1.0, "answered", 3)
    text = found.trajectory.tokens.text
    block = "<tool_response>\n84\n</tool_response>\n<tool_response>\n2\n</tool_response>"
    assert block in text and "<tool_response>\n89\n</tool_response>" in text
    assert found.trajectory.differs is None
    made = found.trajectory.datum(found.reward)
    sampled = sum(turn.end - turn.start for turn in found.trajectory.turns)
    assert sum(made.loss_fn_inputs["weights"].tolist()) == sampled


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (
            '<tool_call>\n{"name": "calculate", "argu\n</tool_call>',
            "error: the call cannot be read: ",
        ),
        (call("1", "evaluate"), "error: there is no tool evaluate, only calculate"),
        (call("__import__"), "error: only numbers with"),
        (call("1/0"), "error: division by zero"),
    ],
)
def test_a_bad_call_is_answered_with_an_error(said: str, error: str) -> None:
    found = played(thought(said), thought("I do not know"))
    assert (found.reward, found.ending, found.calls) == (0.0, "answered", 1)
    assert f"<tool_response>\n{error}" in found.trajectory.tokens.text


def test_a_turn_that_is_cut_off_ends_the_episode() -> None:
    found = played("<think>\nlet me")
    assert (found.reward, found.ending) == (0.0, "truncated")
    assert found.trajectory.turns[0].parsed.status == "truncated"


def test_a_budget_ends_the_episode() -> None:
    turn = thought(call("1+1"))
    start = len(
        templc.get_renderer("qwen3").start(
            [{"role": "user", "content": "x"}], vocabularies.hf("qwen3")
        )
    )
    found = played(*[turn] * 40, budget=start + 400)
    assert found.reward == 0.0 and found.ending in ("budget", "truncated")
    assert found.calls >= 2 and len(found.trajectory) < start + 450


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2*(3+4)", "14"), ("-3/2", "-1.5"), (" 7 ", "7"), ("2**9", "error"), ("x", "error"), ("1+", "error"),
        (None, "error"), ("9" * 201, "error"), ("1e308*10", "error"), ("True", "error"),
    ],
)  # fmt: skip
def test_only_arithmetic_is_worked_out(expression: Any, value: str) -> None:
    found = calculate(expression)
    assert found == value if value != "error" else found.startswith("error: ")


def test_the_local_backend_plays_and_trains(tmp_path: Path) -> None:
    """What a random model says is neither an answer nor a call, but every ending can be trained."""
    client = tiny.client(tmp_path)
    renderer = templc.get_renderer("qwen3", client.get_tokenizer())
    sampler = client.save_weights_and_get_sampling_client()

    def sample(prompt: Sequence[int], room: int) -> tuple[list[int], list[float]]:
        params = SamplingParams(max_tokens=min(room, 8), seed=5, stop=renderer.stop_token_ids())
        made = sampler.sample(ModelInput.from_ints(prompt), 1, params).result().sequences[0]
        return made.tokens, made.logprobs

    found = play(ENV, renderer, client.get_tokenizer(), sample, budget=400)
    assert (found.ending, len(found.trajectory.turns)) == ("truncated", 1)
    before = found.trajectory.datum(-1.0)
    work = client.forward_backward([before], "ppo").result()
    given = {name: column.tolist() for name, column in before.loss_fn_inputs.items()}
    new = work.loss_fn_outputs[0]["logprobs"]
    pairs = zip(new, given["logprobs"], given["weights"], strict=True)
    assert max(abs(a - b) for a, b, weight in pairs if weight) < 1e-4
    assert client.optim_step(AdamParams()).result().metrics["grad_norm"] > 0
