"""Reinforcement learning over several turns: count on from a number, one step a turn.

    python -m templc.recipes.multi_turn_rl                                      # a random model, in this process
    python -m templc.recipes.multi_turn_rl --base-url http://127.0.0.1:8000 --base-model Qwen/Qwen3-0.6B --warm-up 0

Each turn asks for the number after N and gives 1.0 for the right answer. Episodes of a group share their numbers; the
advantage of a turn is its reward less the mean of the group at that turn. A conversation is one trajectory: only what
is new is rendered, sampled ids are trained exactly as sampled, in one datum.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from math import exp
from pathlib import Path
from typing import Any

import click

import templc
from templc.recipes.connect import Service, connect
from templc.recipes.run import Run, ended, options
from templc.runtime.trajectory import Trajectory
from templc.tinker.datum import batch


@dataclass(frozen=True, slots=True)
class Counting:
    """The environment: what is asked at each turn, and what an answer is worth."""

    start: int

    def question(self, turn: int) -> dict[str, str]:
        """The user's message of a turn."""
        return {"role": "user", "content": f"What comes after {self.start + turn}?"}

    def reward(self, turn: int, answer: str) -> float:
        """1.0 for the right number, else 0.0."""
        return float(answer.strip() == str(self.start + turn + 1))


@dataclass(slots=True)
class Episode:
    """One conversation and what its turns were worth."""

    env: Counting
    trajectory: Trajectory
    rewards: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run does: sizes of a step, and how it samples and learns."""

    format: str = "qwen3_instruct"
    loss: str = "importance_sampling"
    learning_rate: float = 4e-3
    groups: int = 1
    group_size: int = 16
    turns: int = 3
    max_tokens: int = 8
    warm_up: int = 0


def rollout(service: Service, sampler: Any, plan: Plan, seed: int) -> list[Episode]:
    """All episodes of a step, turn by turn; the samples of a turn are asked for at once."""
    renderer = templc.get_renderer(plan.format, service.tokenizer)
    envs = [Counting(1 + number) for number in range(plan.groups) for _ in range(plan.group_size)]
    episodes = [Episode(env, renderer.start([env.question(0)])) for env in envs]
    # Tinker's SamplingParams has no stop_token_ids and drops it in silence: stops go into `stop`.
    stop = renderer.stop_token_ids() or renderer.stop_strings
    for turn in range(plan.turns):
        futures = []
        for number, episode in enumerate(episodes):
            own = seed + 1000 * turn + number
            params = service.types.SamplingParams(
                max_tokens=plan.max_tokens, stop=list(stop), seed=own
            )
            prompt = service.types.ModelInput.from_ints(tokens=list(episode.trajectory.tokens))
            futures.append(sampler.sample(prompt, num_samples=1, sampling_params=params))
        for episode, future in zip(episodes, futures, strict=True):
            found = service.wait("sampling", future.result).sequences[0]
            parsed = episode.trajectory.sampled(found.tokens, found.logprobs)
            answer = str(parsed.message.get("content") or "")
            # What was cut off is no answer, even if it starts like one.
            closed = episode.trajectory.turns[-1].closed
            episode.rewards.append(episode.env.reward(turn, answer) if closed else 0.0)
            if turn + 1 < plan.turns:
                episode.trajectory.add([episode.env.question(turn + 1)])
    return episodes


def centred(episodes: Sequence[Episode], group_size: int) -> list[list[float]]:
    """The advantage of each turn: its reward less the mean of its group at that turn."""
    found = []
    for at in range(0, len(episodes), group_size):
        group = [episode.rewards for episode in episodes[at : at + group_size]]
        means = [sum(column) / len(group) for column in zip(*group, strict=True)]
        found += [[r - mean for r, mean in zip(row, means, strict=True)] for row in group]
    return found


def train(service: Service, data: list[Any], plan: Plan, loss: str) -> dict[str, float]:
    """One step over data. gap: the largest difference between sampled and trained log probabilities."""
    training, adam = service.training, service.types.AdamParams(learning_rate=plan.learning_rate)
    work = service.wait("training", lambda: training.forward_backward(data, loss_fn=loss).result())
    service.wait("the optimiser step", lambda: training.optim_step(adam).result())
    total, gap, count = 0.0, 0.0, 0.0
    # Worked out here, for some services return no metrics.
    for datum, output in zip(data, work.loss_fn_outputs, strict=True):
        given = {name: column.tolist() for name, column in datum.loss_fn_inputs.items()}
        old, advantages, weights = given["logprobs"], given["advantages"], given["weights"]
        new = output["logprobs"].tolist()
        for at in [at for at, weight in enumerate(weights) if weight]:
            total, count = total - exp(new[at] - old[at]) * advantages[at], count + 1
            gap = max(gap, abs(new[at] - old[at]))
    return {"loss": total / count, "gap": gap, "trained": count}


def warm_up(service: Service, plan: Plan) -> None:
    """Teach a model that knows nothing to close its turn behind a number: the right one or one that is two less."""
    renderer = templc.get_renderer(plan.format, service.tokenizer)
    starts = range(1, plan.groups + 1)
    answers = [(start, steps) for start in starts for steps in product((1, -1), repeat=plan.turns)]
    made = []
    for start, steps in answers:
        traj = renderer.start([Counting(start).question(0)])
        for turn in range(plan.turns):
            answer = {"role": "assistant", "content": str(start + turn + steps[turn])}
            whole = renderer.render([Counting(start).question(turn), answer])
            ids = [token for token, sampled in zip(whole, whole.sampled, strict=True) if sampled]
            traj.sampled(ids, [0.0] * len(ids))
            if turn + 1 < plan.turns:
                traj.add([Counting(start).question(turn + 1)])
        made.append(traj)
    data = batch(made, [1.0] * len(made), types=service.types)
    for _ in range(plan.warm_up):
        train(service, data, plan, "cross_entropy")


def learn(service: Service, plan: Plan, folder: Path, steps: int) -> Run:
    """The whole run, from where it stopped."""
    run = Run(folder, service, steps)
    if run.done == 0:
        warm_up(service, plan)
    for step in run.remaining():
        began = time.monotonic()
        save = service.training.save_weights_and_get_sampling_client
        sampler = service.wait("saving the weights", save)
        episodes = rollout(service, sampler, plan, seed=100_000 * (step + 1))
        trajectories = [episode.trajectory for episode in episodes]
        data = batch(trajectories, centred(episodes, plan.group_size), types=service.types)
        found = train(service, data, plan, plan.loss)
        rewards = [reward for episode in episodes for reward in episode.rewards]
        tokens = sum(datum.model_input.length for datum in data)
        run.finished(step, {
            "reward": sum(rewards) / len(rewards), "tokens": tokens, **found, "seconds": time.monotonic() - began,
        })  # fmt: skip
    return run


@click.command()
@options
@click.option("--loss", default="importance_sampling", help="or ppo, cispo, dro")
@click.option("--steps", default=16)
@click.option("--groups", default=1, help="numbers to count from")
@click.option("--group-size", default=16, help="episodes for each")
@click.option("--turns", default=3)
@click.option("--warm-up", default=40, help="supervised steps first; 0 for a model that can count")
def main(base_url: str, base_model: str, name: str, rank: int, learning_rate: float, patience: float, folder: Path,
         loss: str, steps: int, groups: int, group_size: int, turns: int, warm_up: int) -> None:  # fmt: skip
    """Train a model to count on, several turns an episode."""
    plan = Plan(name, loss, learning_rate, groups, group_size, turns, warm_up=warm_up)

    def work() -> None:
        service = connect(base_url, base_model, folder, rank=rank, patience=patience)
        print(learn(service, plan, folder, steps).rows[-1])

    ended(work)


if __name__ == "__main__":
    main()
