"""What a real service does with our data: reward rises, log probabilities agree, tokens arrive as they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import templc.mint
from templc.recipes import multi_turn_rl, turn_rewards
from templc.recipes.connect import Service
from templc.recipes.multi_turn_rl import Episode, Plan
from templc.recipes.serving import Server
from templc.tinker.datum import batch
from tests.server.conftest import PLAN, requests, tokens_of


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[Episode]:
    """Every episode that a run plays."""
    known: list[Episode] = []
    rollout = multi_turn_rl.rollout

    def recorded(*given: Any, **options: Any) -> list[Episode]:
        episodes = rollout(*given, **options)
        known.extend(episodes)
        return episodes

    monkeypatch.setattr(multi_turn_rl, "rollout", recorded)
    return known


def test_reward_rises_to_the_top_and_tokens_arrive_as_they_are(
    service: Service, server: Server, tmp_path: Path, played: list[Episode]
) -> None:
    rows = multi_turn_rl.learn(service, PLAN, tmp_path, 4).rows
    assert rows[0]["reward"] < 0.7 and max(row["reward"] for row in rows) >= 0.95
    # An entry that is one place off is off by far more.
    assert max(row["gap"] for row in rows) < 1e-4

    trained = [one for sent in requests(server, "forward_backward") for one in sent["data"]]
    whole = [
        (*tokens_of(one["model_input"]), one["loss_fn_inputs"]["target_tokens"]["data"][-1])
        for one in trained
    ]
    assert whole == [tuple(episode.trajectory.tokens) for episode in played]
    prompts = {tuple(tokens_of(sent["prompt"])) for sent in requests(server, "sample")}
    turns = [(episode.trajectory, turn) for episode in played for turn in episode.trajectory.turns]
    assert prompts == {tuple(trajectory.tokens[: turn.start]) for trajectory, turn in turns}


def test_turns_that_are_cut_off_are_trained_as_they_were_sampled(
    service: Service, tmp_path: Path, played: list[Episode]
) -> None:
    plan = replace(PLAN, max_tokens=1)
    [row] = multi_turn_rl.learn(service, plan, tmp_path, 1).rows
    assert row["gap"] < 1e-4 and row["reward"] == 0.0
    turns = [turn for episode in played for turn in episode.trajectory.turns]
    assert not any(turn.closed for turn in turns) and {turn.end - turn.start for turn in turns} == {
        1
    }
    for episode in played:
        weights = episode.trajectory.datum(1.0).loss_fn_inputs["weights"].tolist()
        assert sum(weights) == row["trained"] / len(played) == PLAN.turns
        assert episode.trajectory.differs is None


def test_data_of_single_turns_give_the_gradient_of_the_merged_ones(
    service: Service, tmp_path: Path, played: list[Episode]
) -> None:
    """The server divides by weights and averages over data, which the advantages make up for."""
    sampler = service.wait("saving", service.training.save_weights_and_get_sampling_client)
    multi_turn_rl.rollout(service, sampler, PLAN, seed=9)
    trajectories = [episode.trajectory for episode in played]
    advantages = [[0.5 * (number + 1), -1.0] for number in range(len(trajectories))]
    norms = []
    for merge in (True, False):
        data = batch(trajectories, advantages, merge=merge, normalised="mean", types=service.types)
        service.training.forward_backward(data, "importance_sampling").result()
        still = service.types.AdamParams(learning_rate=0.0)
        norms.append(service.training.optim_step(still).result().metrics["skyrl.ai/grad_norm"])
    assert norms[0] > 1e-3 and norms[1] == pytest.approx(norms[0], rel=1e-3)


def test_the_second_recipe_runs_on_the_server(
    service: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [row] = turn_rewards.learn(service, Plan(loss="ppo"), tmp_path, 1).rows
    assert row["gap"] < 1e-4 and row["reward"] == pytest.approx(0.8875)
    said = capsys.readouterr().out
    assert "13 tokens, 7 of the response joined with spaces" in said
    assert said.rsplit("weights: ", 1)[1].startswith("tinker://")


# The documents name the weights, which the client has stopped to do.
@pytest.mark.filterwarnings("ignore:The 'name' parameter:DeprecationWarning")
def test_the_loop_of_the_documents_runs_as_written(server: Server) -> None:
    assert templc.mint.install()
    import mint
    from mint import types
    from mint.renderers import get_renderer

    service_client = mint.ServiceClient(base_url=server.url)
    training_client = service_client.create_lora_training_client(base_model=server.model, rank=8)
    tokenizer = training_client.get_tokenizer()
    sampling_client = training_client.save_weights_and_get_sampling_client(name="loop")
    renderer = get_renderer("qwen3_instruct")
    messages = [{"role": "user", "content": "What comes after 1?"}]
    for question in ("What comes after 2?", "What comes after 3?"):
        tokens = renderer.render(messages, tokenizer)
        prompt = types.ModelInput.from_ints(tokens=tokens)
        params = types.SamplingParams(max_tokens=4, seed=3, stop=renderer.stop_token_ids(tokenizer))
        result = sampling_client.sample(prompt, num_samples=1, sampling_params=params).result()
        sampled = result.sequences[0].tokens
        assert 0 < len(sampled) == len(result.sequences[0].logprobs) <= 4
        answer = tokenizer.decode(sampled, skip_special_tokens=True)
        messages.append({"role": "assistant", "content": answer})
        messages.append({"role": "user", "content": question})
    last = requests(server, "sample")[-1]
    assert tokens_of(last["prompt"]) == list(tokens)
    assert last["sampling_params"]["stop_tokens"] == [151645, 151643]
