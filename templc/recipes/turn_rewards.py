"""Rewards for each turn of given conversations, centred, ppo: the second recipe of the documents.

    python -m templc.recipes.turn_rewards                       # on a random model, in this process

The documents join the texts of a conversation with spaces; their token counts are printed beside those of the
renderer. What is trained is the renderer's form, with the log probabilities that the policy really gives, instead of
a constant that stands for them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

import templc
from templc.recipes.connect import Service, connect
from templc.recipes.multi_turn_rl import Plan, train
from templc.recipes.run import Run, ended, options
from templc.runtime.trajectory import Trajectory
from templc.tinker.datum import batch


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question, its answer and what the answer was worth."""

    user: str
    assistant: str
    reward: float


CONVERSATIONS: tuple[tuple[Exchange, ...], ...] = (
    (
        Exchange("What is the capital of France?", "The capital of France is Paris.", 1.0),
        Exchange(
            "How many people live there?",
            "Paris has approximately 2.2 million residents in the city proper.",
            0.9,
        ),
    ),
    (
        Exchange(
            "Explain quantum mechanics.",
            "Quantum mechanics is the study of particles at atomic scales.",
            0.7,
        ),
        Exchange(
            "Can you be more precise?",
            "Quantum mechanics uses wave functions and probability amplitudes to describe particle behavior.",
            0.95,
        ),
    ),
)


def joined(conversation: tuple[Exchange, ...], tokenizer: Any) -> Iterator[tuple[int, int]]:
    """For each turn in the documents' form: how many input tokens its datum has, and how many are the response."""
    texts: list[str] = []
    for turn in conversation:
        texts.append(turn.user)
        prompt = len(tokenizer.encode(" ".join(texts)))
        texts.append(turn.assistant)
        whole = len(tokenizer.encode(" ".join(texts)))
        # An input lacks the last token, for which nothing is predicted.
        yield whole - 1, whole - prompt


def written(
    conversation: tuple[Exchange, ...], renderer: templc.Renderer, logprobs: list[float] | None
) -> Trajectory:
    """The conversation as a trajectory, with the log probabilities of its tokens, else with zeros."""
    trajectory: Trajectory | None = None
    for turn in conversation:
        question = {"role": "user", "content": turn.user}
        answer = {"role": "assistant", "content": turn.assistant}
        whole = renderer.render([question, answer])
        ids = [token for token, sampled in zip(whole, whole.sampled, strict=True) if sampled]
        if trajectory is None:
            trajectory = renderer.start([question])
        else:
            trajectory.add([question])
        start = len(trajectory)
        known = logprobs[start : start + len(ids)] if logprobs else [0.0] * len(ids)
        trajectory.sampled(ids, known)
    assert trajectory is not None
    return trajectory


def scored(service: Service, renderer: templc.Renderer) -> list[Trajectory]:
    """All conversations with what the policy thinks of them now: the old policy of the loss."""
    blank = [written(conversation, renderer, None) for conversation in CONVERSATIONS]
    data = batch(blank, [1.0] * len(blank), types=service.types)
    forward = service.training.forward
    found = service.wait("scoring", lambda: forward(data, loss_fn="cross_entropy").result())
    # Entry n is of token n + 1; nothing predicts the first.
    columns = [[0.0, *output["logprobs"].tolist()] for output in found.loss_fn_outputs]
    pairs = zip(CONVERSATIONS, columns, strict=True)
    return [written(conversation, renderer, column) for conversation, column in pairs]


def advantages() -> list[list[float]]:
    """The reward of each turn, less the mean over all turns."""
    rewards = [turn.reward for conversation in CONVERSATIONS for turn in conversation]
    mean = sum(rewards) / len(rewards)
    return [[turn.reward - mean for turn in conversation] for conversation in CONVERSATIONS]


def counts(service: Service, renderer: templc.Renderer) -> str:
    """The token counts of every turn, in the documents' form and in the renderer's."""
    lines = []
    for number, conversation in enumerate(CONVERSATIONS):
        turns = written(conversation, renderer, None).turns
        pairs = zip(joined(conversation, service.tokenizer), turns, strict=True)
        for at, ((tokens, response), turn) in enumerate(pairs):
            lines.append(
                f"conversation {number}, turn {at}: {tokens} tokens, {response} of the response joined with spaces; "
                f"{turn.end - 1} and {turn.end - turn.start} as {renderer.info.name}"
            )
    return "\n".join(lines)


def learn(service: Service, plan: Plan, folder: Path, steps: int) -> Run:
    """The whole run, from where it stopped; the weights for the sampler are saved at its end."""
    renderer = templc.get_renderer(plan.format, service.tokenizer)
    print(counts(service, renderer))
    run = Run(folder, service, steps)
    mean = sum(turn.reward for c in CONVERSATIONS for turn in c) / sum(map(len, CONVERSATIONS))
    for step in run.remaining():
        began = time.monotonic()
        trajectories = scored(service, renderer)
        data = batch(trajectories, advantages(), types=service.types)
        found = train(service, data, plan, plan.loss)
        tokens = sum(datum.model_input.length for datum in data)
        seconds = time.monotonic() - began
        run.finished(step, {"reward": mean, "tokens": tokens, **found, "seconds": seconds})
    save = service.training.save_weights_for_sampler
    saved = service.wait("saving", lambda: save(name="turn-rewards").result())
    print("weights:", saved.path)
    return run


@click.command()
@options
@click.option("--loss", default="ppo", help="or importance_sampling, cispo, dro")
@click.option("--steps", default=2)
def main(base_url: str, base_model: str, name: str, rank: int, learning_rate: float, patience: float, folder: Path,
         loss: str, steps: int) -> None:  # fmt: skip
    """Train on two conversations whose turns have rewards."""
    plan = Plan(name, loss, learning_rate)

    def work() -> None:
        learn(
            connect(base_url, base_model, folder, rank=rank, patience=patience), plan, folder, steps
        )

    ended(work)


if __name__ == "__main__":
    main()
