"""Seconds for conversations of T turns, anew at each turn and extended: `python -m tests.benchmarks.turn_time`.

    python -m tests.benchmarks.turn_time --hidden 256 --layers 12 1 2 4 8

Rendering is text to ids (extending also reads each completion back), scoring the log probabilities of each answer as
the conversation grows (a forward pass over everything, or only over what is new behind the KV cache), training one
datum a turn or the merged one. The model is a random one with the vocabulary of Qwen3: the smaller its layers are, the
more its head hides what they save. Times are the best of some rounds; what is exact, the counts of tokens,
`templc.recipes.cost` prints.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

import templc
from templc.local import ServiceClient, types
from templc.local.tiny import tiny
from templc.recipes.cost import ANSWERS, QUESTION
from templc.runtime.trajectory import Trajectory
from templc.tinker.datum import batch

FORMAT = "qwen3_instruct"


def best(works: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """The least time that each took, one after the other in every round."""
    times = [float("inf")] * len(works)
    for _ in range(rounds):
        for at, work in enumerate(works):
            began = time.perf_counter()
            work()
            times[at] = min(times[at], time.perf_counter() - began)
    return times


def extended(renderer: Any, ids: Sequence[int], turns: int) -> Trajectory:
    """A conversation in which only what is new is rendered."""
    made = renderer.start([QUESTION])
    for turn in range(turns):
        made.sampled(ids, [-0.5] * len(ids))
        if turn + 1 < turns:
            made.add([QUESTION])
    return made


def anew(renderer: Any, answer: dict[str, Any], turns: int) -> None:
    """The same prompts, each rendered from the start."""
    messages: list[Any] = [QUESTION]
    for _ in range(turns):
        renderer.render(messages)
        messages += [answer, QUESTION]


def scored(client: Any, conversation: Trajectory, *, extends: bool) -> None:
    """Forward up to the end of each turn."""
    state, known = None, 0
    for turn in conversation.turns:
        ids = conversation.tokens[known : turn.end]
        state = client.forward(list(ids), extends=state)
        known = turn.end if extends else 0
        state = state if extends else None


@click.command()
@click.argument("turns", nargs=-1, type=int)
@click.option("--hidden", default=64, help="width of the layers, a multiple of 64")
@click.option("--layers", default=2)
@click.option("--rounds", default=3)
@click.option("--threads", default=1, help="of torch; more are slower where cores are shared")
def main(turns: Sequence[int], hidden: int, layers: int, rounds: int, threads: int) -> None:
    """Print seconds anew, seconds extended and their ratio."""
    with tempfile.TemporaryDirectory() as folder:
        model = str(tiny(Path(folder, "model"), hidden=hidden, layers=layers))
        client = ServiceClient(folder, threads=threads).create_lora_training_client(
            model, rank=8, seed=0
        )
        renderer = templc.get_renderer(FORMAT, client.get_tokenizer())
    ids = client.get_tokenizer().encode(ANSWERS[FORMAT])
    answer = {"role": "assistant", "content": ANSWERS[FORMAT].removesuffix("<|im_end|>")}
    print(f"{hidden} wide, {layers} layers: seconds anew / extended = ratio")
    print("turns  rendering                    scoring                      training")
    for count in turns or (1, 2, 4, 8, 16, 32):
        made = extended(renderer, ids, count)
        print(f"{count:5}  {'  '.join(cells(client, renderer, made, answer, rounds))}", flush=True)


def cells(
    client: Any, renderer: Any, made: Trajectory, answer: dict[str, Any], rounds: int
) -> Iterator[str]:
    """The times of rendering, scoring and training one conversation."""
    turns, first = len(made.turns), made.turns[0]
    ids = made.tokens[first.start : first.end]
    apart, merged = (batch([made], [1.0], merge=merge, types=types) for merge in (False, True))
    pairs: list[tuple[Callable[[], object], Callable[[], object]]] = [
        (lambda: anew(renderer, answer, turns), lambda: extended(renderer, ids, turns)),
        (lambda: scored(client, made, extends=False), lambda: scored(client, made, extends=True)),
        (lambda: client.forward_backward(apart, "ppo"), lambda: client.forward_backward(merged, "ppo")),
    ]  # fmt: skip
    for pair in pairs:
        slow, fast = best(pair, rounds)
        yield f"{slow:8.4f} / {fast:8.4f} = {slow / fast:5.2f}x"


if __name__ == "__main__":
    main()
