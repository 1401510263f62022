"""The local backend: extension equals a full forward, merged data equal turn data, saved states go on as they were."""

from __future__ import annotations

import math
import socket
import time
from pathlib import Path
from typing import Any

import pytest
import torch

import templc
from templc.local import StaleState
from templc.local.losses import LOSSES
from templc.local.policy import Lora, Policy
from templc.local.types import AdamParams, Datum, ModelInput, SamplingParams
from templc.tinker.datum import batch
from tests.support import tiny

PROMPT = [151644, 872, 198, 3838, 374, 17, 151645, 198, 151644, 77091, 198]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A client whose adapter is no longer zero."""
    made = tiny.client(tmp_path_factory.mktemp("saves"))
    with torch.no_grad():
        for parameter in made.policy.trained.values():
            parameter.add_(0.05 * torch.randn(parameter.shape, generator=torch.Generator()))
    return made


def full(client: Any, ids: list[int]) -> list[float]:
    with torch.no_grad():
        found: list[float] = client.policy.logprobs(ids[:-1], ids[1:]).tolist()
    return found


def close(one: Any, other: Any) -> bool:
    return max(abs(a - b) for a, b in zip(one, other, strict=True)) < 1e-5


def test_extension_is_a_full_forward(shared: Any) -> None:
    ids = [*PROMPT, 19, 151645, *PROMPT]
    state = shared.forward(PROMPT)
    for part in ([19], [151645], PROMPT):
        state = shared.forward(part, extends=state)
    assert list(state.tokens) == ids and state.logprobs[0] == 0.0
    assert close(state.logprobs[1:], full(shared, ids))
    assert close(state.last.tolist(), shared.forward(ids).last.tolist())


def test_states_fork_and_stay_as_they_are(shared: Any) -> None:
    base = shared.forward(PROMPT)
    before = base.last.tolist()
    left, right = (shared.forward([token, 151645], extends=base) for token in (19, 20))
    for state in (left, right):
        assert close(state.logprobs[1:], full(shared, list(state.tokens)))
    assert base.last.tolist() == before and base.tokens == tuple(PROMPT)
    assert left.logprobs[-2:] != right.logprobs[-2:]


def test_a_rewound_state_goes_on_as_a_fresh_one(shared: Any) -> None:
    state = shared.forward([*PROMPT, 19, 20, 21])
    start = shared.policy.forwarded
    short = state.rewind(len(PROMPT))
    assert shared.policy.forwarded == start + 1
    more = shared.forward([22, 151645], extends=short)
    assert close(more.logprobs[1:], full(shared, [*PROMPT, 22, 151645]))
    assert len(state.tokens) == len(PROMPT) + 3 and state.rewind(len(state.tokens)) is state
    for keep in (0, 99):
        with pytest.raises(templc.OptionError, match=f"cannot keep {keep}"):
            state.rewind(keep)


def test_states_of_other_weights_are_refused(tmp_path: Path) -> None:
    client = tiny.client(tmp_path)
    state = client.forward(PROMPT)
    with pytest.raises(templc.OptionError, match="another model"):
        tiny.client(tmp_path).forward([1], extends=state)
    client.optim_step(AdamParams()).result()
    for use in (lambda: client.forward([1], extends=state), lambda: state.rewind(2)):
        with pytest.raises(
            StaleState, match="made by version 0 of the weights, which are now at 1"
        ):
            use()


def rollout(client: Any, turns: int = 3) -> Any:
    """A conversation that the model itself sampled; every other turn is cut off."""
    renderer = templc.get_renderer("qwen3_instruct", client.get_tokenizer())
    traj = renderer.start([{"role": "user", "content": "Count."}])
    sampler = client.save_weights_and_get_sampling_client()
    for turn in range(turns):
        params = SamplingParams(max_tokens=2 + 3 * turn, seed=turn, stop=renderer.stop_token_ids())
        prompt = ModelInput.from_ints(tokens=traj.tokens)
        [found] = sampler.sample(prompt, 1, params).result().sequences
        traj.sampled(found.tokens, found.logprobs)
        traj.add([{"role": "user", "content": "Next."}])
    return traj


def gradients(client: Any, data: list[Any], loss: str) -> tuple[float, torch.Tensor]:
    for parameter in client.policy.trained.values():
        parameter.grad = None
    found = client.forward_backward(data, loss).result().metrics["loss:sum"]
    parts = [parameter.grad.flatten() for parameter in client.policy.trained.values()]
    return found, torch.cat(parts)


@pytest.mark.parametrize("loss", LOSSES)
def test_one_merged_datum_is_the_sum_of_its_turns(shared: Any, loss: str) -> None:
    traj, advantages = rollout(shared), [[1.0, -2.0, 0.5]]
    whole, turns = batch([traj], advantages), batch([traj], advantages, merge=False)
    assert (len(whole), len(turns)) == (1, 3)
    (one, slope), (other, slopes) = (gradients(shared, data, loss) for data in (whole, turns))
    assert one == pytest.approx(other, rel=1e-5, abs=1e-5)
    assert float((slope - slopes).norm() / slope.norm()) < 1e-4


def test_a_loss_of_ones_own_has_the_gradient_of_the_same_loss_built_in(shared: Any) -> None:
    data = batch([rollout(shared)], [[1.0, -2.0, 0.5]])

    def own(data: Any, logprobs: list[torch.Tensor]) -> tuple[torch.Tensor, dict[str, float]]:
        [given] = [one.loss_fn_inputs for one in data]
        old, advantages, weights = (
            torch.tensor(given[name].tolist()) for name in ("logprobs", "advantages", "weights")
        )
        ratio = torch.where(weights != 0, logprobs[0] - old, 0.0).exp()
        return -(weights * advantages * ratio).sum(), {"largest": float(ratio.detach().max())}

    _, built_in = gradients(shared, data, "importance_sampling")
    for parameter in shared.policy.trained.values():
        parameter.grad = None
    found = shared.forward_backward_custom(data, own).result()
    slope = torch.cat([parameter.grad.flatten() for parameter in shared.policy.trained.values()])
    assert float((slope - built_in).norm() / built_in.norm()) < 1e-4
    assert (
        found.metrics["largest"] >= 1.0
        and len(found.loss_fn_outputs[0]["logprobs"]) == data[0].model_input.length
    )


def test_sampled_and_trained_log_probabilities_are_the_same(shared: Any) -> None:
    """An off-by-one error anywhere between renderer, datum and loss cannot pass this."""
    [datum] = batch([rollout(shared)], [1.0])
    [found] = shared.forward([datum], "importance_sampling").result().loss_fn_outputs
    columns = {name: column.tolist() for name, column in datum.loss_fn_inputs.items()}
    pairs = zip(found["logprobs"], columns["logprobs"], columns["weights"], strict=True)
    assert max(abs(new - old) for new, old, weight in pairs if weight) < 1e-4


def datum(**columns: list[float]) -> Datum:
    given = {"target_tokens": [2, 3], "logprobs": [-1.0, -2.0], "advantages": [2.0, -1.0]}
    return Datum(ModelInput.from_ints([1, 2]), {**given, **columns})  # type: ignore[arg-type]


def test_the_losses_are_those_that_are_written_down(shared: Any) -> None:
    new = full(shared, [1, 2, 3])
    old = [new[0] - math.log(1.5), new[1] - math.log(0.5)]
    one = datum(logprobs=old, weights=[1.0, 1.0])
    moved = (math.log(1.5), math.log(0.5))
    pairs = list(zip(new, (2.0, -1.0), moved, strict=True))
    expected = {
        "cross_entropy": -sum(new),
        "importance_sampling": -(1.5 * 2.0 - 0.5 * 1.0),
        "ppo": -(1.2 * 2.0 - 0.8 * 1.0),
        "cispo": -(1.2 * 2.0 * new[0] - 0.8 * 1.0 * new[1]),
        "dro": -sum(lp * adv - 0.025 * by**2 for lp, adv, by in pairs),
    }
    for name, value in expected.items():
        metrics = shared.forward([one], name).result().metrics
        assert metrics["loss:sum"] == pytest.approx(value, rel=1e-4), name
    wide = {"clip_low_threshold": 0.1, "clip_high_threshold": 9.0}
    metrics = shared.forward([one], "ppo", wide).result().metrics
    assert metrics["loss:sum"] == pytest.approx(expected["importance_sampling"], rel=1e-4)


@pytest.mark.parametrize(
    ("data", "loss", "message"),
    [
        (datum(advantages=[1.0]), "ppo", "advantages has 1 entries for 2 input tokens"),
        (datum(mask=[1.0, 1.0]), "ppo", "a datum has no column `mask`"),
        (datum(), "cross_entropy", "cross_entropy needs weights"),
        (datum(), "grpo", "there is no loss `grpo`"),
    ],
)
def test_data_that_do_not_fit_are_refused(shared: Any, data: Any, loss: str, message: str) -> None:
    with pytest.raises(templc.OptionError, match=message):
        shared.forward_backward([data], loss)
    with pytest.raises(templc.OptionError, match="ppo has no setting beta"):
        shared.forward_backward([datum()], "ppo", {"beta": 1.0})
    with pytest.raises(templc.OptionError, match="151936"):
        shared.forward([999999])


def test_sampling_is_repeatable_stops_and_keeps_to_its_weights(tmp_path: Path) -> None:
    client = tiny.client(tmp_path)
    prompt = ModelInput.from_ints(PROMPT)
    sampler = client.save_weights_and_get_sampling_client()
    params = SamplingParams(max_tokens=6, seed=3)
    first = sampler.sample(prompt, 2, params).result().sequences
    assert [len(one.tokens) for one in first] == [6, 6] and first[0] != first[1]
    assert {one.stop_reason for one in first} == {"length"}
    for stop in ([first[0].tokens[2]], client.get_tokenizer().decode(first[0].tokens[2:3])):
        ended = SamplingParams(max_tokens=6, seed=3, stop=stop)
        [short] = sampler.sample(prompt, 1, ended).result().sequences
        assert (short.tokens, short.stop_reason) == (first[0].tokens[:3], "stop")
    likeliest = SamplingParams(max_tokens=3, temperature=0.0)
    [greedy] = sampler.sample(prompt, 1, likeliest).result().sequences
    for narrow in ({"top_k": 1}, {"top_p": 1e-6}):
        same = sampler.sample(prompt, 1, SamplingParams(max_tokens=3, **narrow))  # type: ignore[arg-type]
        assert same.result().sequences[0].tokens == greedy.tokens
    client.forward_backward([datum()], "importance_sampling").result()
    client.optim_step(AdamParams(learning_rate=0.1)).result()
    assert sampler.sample(prompt, 2, params).result().sequences == first
    later = client.save_weights_and_get_sampling_client()
    assert later.sample(prompt, 2, params).result().sequences != first


def test_a_saved_state_goes_on_as_it_was(tmp_path: Path) -> None:
    client, other = tiny.client(tmp_path), tiny.client(tmp_path, seed=9)
    step = AdamParams(learning_rate=0.01)
    client.forward_backward([datum()], "importance_sampling").result()
    client.optim_step(step).result()
    path = client.save_state("one").result().path
    other.load_state_with_optimizer(path).result()
    for one in (client, other):
        one.forward_backward([datum()], "importance_sampling").result()
        one.optim_step(step).result()
    assert full(client, PROMPT) == full(other, PROMPT)
    weights = client.save_weights_for_sampler("two").result().path
    with pytest.raises(templc.OptionError, match="holds no optimiser"):
        other.load_state_with_optimizer(weights)
    with pytest.raises(templc.OptionError, match="another model or rank"):
        tiny.client(tmp_path, rank=4).load_state(path)
    with pytest.raises(templc.OptionError, match="cannot be read"):
        client.load_state(str(tmp_path / "none.pt"))


def test_a_conversation_forwards_each_token_once(shared: Any) -> None:
    start = shared.policy.forwarded
    traj = rollout(shared, turns=4)
    last = traj.turns[-1]
    # The last sampled token goes through the layers only when something follows it.
    assert shared.policy.forwarded - start == last.end - 1


def test_a_hub_that_cannot_be_reached_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{port}")
    began = time.monotonic()
    with pytest.raises(
        templc.OptionError,
        match="`no/such` is neither a folder nor in the cache, and the hub cannot",
    ):
        Policy.load("no/such", Lora(rank=8))
    assert time.monotonic() - began < 5


def test_a_model_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(templc.OptionError, match="cannot be loaded"):
        templc.local.ServiceClient(tmp_path).create_lora_training_client(str(tmp_path / "none"))
