"""Training data: shifted by one, every length checked, one datum while history is only appended to."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import pytest
import tinker

import templc
from templc.demo import vocabulary
from templc.local import types as local_types
from templc.tinker.datum import Merged, Sample, batch, merged

USER = {"role": "user", "content": "Count up from 3."}
TURNS = ([19, 151645], [20, 21, 22, 151645])


def rolled(*turns: list[int], name: str = "qwen3_instruct", scored: bool = True) -> Any:
    traj = templc.get_renderer(name, vocabulary("qwen3")).start([USER])
    for number, ids in enumerate(turns):
        traj.sampled(ids, [-0.5 - number] * len(ids) if scored else None)
        traj.add([{"role": "user", "content": "Next."}])
    return traj


def columns(datum: Any) -> dict[str, list[Any]]:
    return {name: value.tolist() for name, value in datum.loss_fn_inputs.items()}


def test_a_datum_is_the_trajectory_shifted_by_one() -> None:
    traj = rolled(*TURNS)
    made = traj.datum(advantages=[1.0, -2.0])
    assert isinstance(made, tinker.types.Datum)
    found, ids = columns(made), made.model_input.to_ints()
    assert {len(column) for column in found.values()} == {len(ids)} == {traj.turns[1].end - 1}
    assert [*ids, 151645] == list(traj.tokens[: traj.turns[1].end])
    assert found["target_tokens"] == list(traj.tokens[1 : traj.turns[1].end])
    trained = [at for at, weight in enumerate(found["weights"]) if weight]
    assert [found["target_tokens"][at] for at in trained] == TURNS[0] + TURNS[1]
    assert [found["logprobs"][at] for at in trained] == [-0.5] * 2 + [-1.5] * 4
    assert [found["advantages"][at] for at in trained] == [1.0] * 2 + [-2.0] * 4
    assert sum(found["advantages"]) == -6.0 and sum(map(abs, found["logprobs"])) == 7.0


def test_advantages_for_each_token() -> None:
    found = columns(rolled(*TURNS).datum(advantages=[[1.0, 2.0], [3.0, 4.0, 5.0, 6.0]]))
    given = zip(found["advantages"], found["weights"], strict=True)
    assert [value for value, weight in given if weight] == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


@pytest.mark.parametrize("types", [tinker.types, local_types])
def test_every_types_module_gets_the_same_data(types: ModuleType) -> None:
    made = rolled(*TURNS).datum(0.5, types=types)
    assert isinstance(made, types.Datum)
    assert columns(made) == columns(rolled(*TURNS).datum(0.5))


@pytest.mark.parametrize(
    ("advantages", "message"),
    [
        ([1.0], "1 advantages for 2 turns"),
        ([1.0, [1.0]], "turn 1 has 1 advantages for 4 tokens"),
        ([1.0, math.nan], "not finite"),
    ],
)
def test_wrong_advantages_are_refused(advantages: Any, message: str) -> None:
    with pytest.raises(templc.OptionError, match=message):
        rolled(*TURNS).datum(advantages)


def test_what_cannot_be_trained_is_refused() -> None:
    with pytest.raises(templc.OptionError, match="turn 0 was sampled without log prob"):
        rolled(*TURNS, scored=False).datum(1.0)
    with pytest.raises(templc.OptionError, match="at least one sampled token"):
        rolled().datum(1.0)
    with pytest.raises(templc.OptionError, match="1 advantages for 2 trajectories"):
        batch([rolled(*TURNS)] * 2, [1.0])
    with pytest.raises(templc.OptionError, match="1 logprobs for 2 sampled tokens"):
        merged([Sample([1], [2, 3], [0.0])], 1.0)


def loop(name: str, history: str) -> Merged:
    """Turns of a reasoning format, the prompt of each rendered anew or extended."""
    renderer = templc.get_renderer(name, vocabulary("qwen3"))
    traj, samples = renderer.start([USER]), []
    messages: list[Any] = [USER]
    more = {"role": "user", "content": "Next."}
    for answer in ("<think>\nhm\n</think>\n\n4<|im_end|>", "<think>\nha\n</think>\n\n5<|im_end|>"):
        ids = vocabulary("qwen3").encode(answer, allowed_special="all")
        prompt = renderer.render(messages) if history == "faithful" else traj.tokens
        samples.append(Sample(list(prompt), ids, [-0.5] * len(ids)))
        messages += [traj.sampled(ids, samples[-1].logprobs).message, more]
        traj.add([more])
    return merged(samples, [1.0, 2.0])


def test_turns_merge_while_prompts_extend_and_split_with_a_reason() -> None:
    appended, faithful = loop("qwen3", "as_sampled"), loop("qwen3", "faithful")
    assert appended.reasons == [""] and len(appended.data) == 1
    assert len(faithful.data) == 2 and faithful.reasons[0] == ""
    assert faithful.reasons[1].startswith("the prompt differs from what was sent and sampled")
    at = int(faithful.reasons[1].split()[-2])
    first, second = (one.model_input.to_ints() for one in faithful.data)
    assert first[:at] == second[:at] and first[at] != second[at]
    assert [sum(columns(one)["weights"]) for one in faithful.data] == [8.0, 8.0]


def mean_loss(data: list[Any]) -> float:
    """What a service that divides by weights and averages over data makes of losses -advantage x id."""
    losses = []
    for one in data:
        found = columns(one)
        pairs = zip(found["advantages"], found["target_tokens"], strict=True)
        losses.append(-sum(value * token for value, token in pairs) / sum(found["weights"]))
    return sum(losses) / len(losses)


def test_turn_data_weigh_as_merged_data_under_either_normalisation() -> None:
    trajs, advantages = [rolled(*TURNS), rolled(TURNS[0])], [[1.0, -0.25], [0.5]]
    whole = batch(trajs, advantages)
    for way, equal in (("mean", True), ("sum", False)):
        turns = batch(trajs, advantages, merge=False, normalised=way)  # type: ignore[arg-type]
        assert (len(whole), len(turns)) == (2, 3)
        assert (mean_loss(turns) == pytest.approx(mean_loss(whole), rel=1e-6)) is equal
    total = sum(sum(columns(one)["advantages"]) for one in turns)
    assert total == sum(sum(columns(one)["advantages"]) for one in whole)
