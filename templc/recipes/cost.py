"""What a conversation of T turns costs in tokens: rendered anew at each turn, or extended. A benchmark and a picture.

    python -m templc.recipes.cost --picture cost.svg
    python -m templc.recipes.cost --seconds              # also the time of forwarding, on a random model

Counts are exact and do not depend on a model. Naive forwards prompt and answer of every turn from the start; with
turns of one size that is (T + 1) / 2 times the tokens of extension. A format that rewrites history (qwen3) keeps, when
it is rendered faithfully, only the tokens before the first that differs.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

import templc
from templc.demo import vocabulary
from templc.recipes.picture import chart
from templc.tinker.datum import Sample, batch, merged

QUESTION = {"role": "user", "content": "Take the next step, say what you see, and stop there."}
TURNS = (1, 2, 4, 8, 16, 32)


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens of all turns together. data: how many training sequences the turns become."""

    rendered: int
    tokenized: int
    forwarded: int
    trained: int
    data: int


@dataclass(frozen=True, slots=True)
class Table:
    """One conversation length: rendered anew, rendered anew on a KV cache that is kept where it fits, extended."""

    turns: int
    naive: Cost
    faithful: Cost
    extended: Cost

    @property
    def ratio(self) -> float:
        """Tokens forwarded naively for each that extension forwards."""
        return self.naive.forwarded / self.extended.forwarded


def table(format: str, answer: str, turns: int) -> Table:
    """The costs of a conversation in which the model gives the same answer at every turn, stop token included."""
    tokenizer = vocabulary("qwen3")
    renderer = templc.get_renderer(format, tokenizer)
    ids = tokenizer.encode(answer, allowed_special="all")
    trajectory = renderer.start([QUESTION])
    messages: list[Any] = [QUESTION]
    prompts: list[list[int]] = []
    written = len(trajectory)
    for turn in range(turns):
        prompts.append(list(renderer.render(messages)))
        messages += [trajectory.sampled(ids, [-0.5] * len(ids)).message, QUESTION]
        if turn + 1 < turns:
            written += len(trajectory.add([QUESTION]))
    samples = [Sample(prompt, ids, [-0.5] * len(ids)) for prompt in prompts]
    rendered = sum(map(len, prompts))
    whole = rendered + turns * len(ids)
    faithful = merged(samples, 1.0).data
    [datum] = batch([trajectory], [1.0])
    return Table(
        turns,
        Cost(rendered, rendered, whole, whole, turns),
        Cost(rendered, rendered, _kept(prompts, ids), _lengths(faithful), len(faithful)),
        Cost(written, written, len(trajectory), _lengths([datum]), 1),
    )


def _lengths(data: Sequence[Any]) -> int:
    """Tokens of training sequences, the last of each included."""
    return sum(one.model_input.length + 1 for one in data)


def _kept(prompts: Sequence[Sequence[int]], ids: Sequence[int]) -> int:
    """Tokens forwarded where each prompt keeps what it shares with the sequence before it."""
    total = 0
    known: list[int] = []
    for prompt in prompts:
        pairs = zip(known, prompt, strict=False)
        same = next((at for at, (old, new) in enumerate(pairs) if old != new), len(known))
        total += len(prompt) - min(same, len(prompt)) + len(ids)
        known = [*prompt, *ids]
    return total


ANSWERS = {
    "qwen3_instruct": "I see a door on the left and go on to it.<|im_end|>",
    "qwen3": "<think>\nLeft or right?\n</think>\n\nI see a door on the left and go on to it.<|im_end|>",
}


def report(tables: Sequence[Table]) -> str:
    """The counts as a table in text."""
    lines = ["turns  naive forwarded  faithful  extended  ratio  data faithful / extended"]
    for one in tables:
        lines.append(
            f"{one.turns:5}  {one.naive.forwarded:15}  {one.faithful.forwarded:8}  {one.extended.forwarded:8}  "
            f"{one.ratio:5.2f}  {one.faithful.data} / {one.extended.data}"
        )
    return "\n".join(lines)


def picture() -> str:
    """The ratio of forwarded tokens over 1 to 32 turns, and the tokens that each way forwards."""
    tables = [table("qwen3_instruct", ANSWERS["qwen3_instruct"], 1 + turns) for turns in range(32)]
    return chart(
        {
            "tokens forwarded, rendered anew at each turn": [t.naive.forwarded for t in tables],
            "tokens forwarded, extended": [t.extended.forwarded for t in tables],
            "ratio": [t.ratio for t in tables],
        },
        "turns behind the first",
    )


def timed(folder: Path, turns: int) -> tuple[float, float]:
    """Seconds to score all answers of a conversation on a random model: anew at each turn, and extended."""
    from templc.local import ServiceClient
    from templc.local.tiny import tiny

    client = ServiceClient(folder, threads=1).create_lora_training_client(
        str(tiny(folder / "tiny"))
    )
    renderer = templc.get_renderer("qwen3_instruct", client.get_tokenizer())
    ids = client.get_tokenizer().encode(ANSWERS["qwen3_instruct"])
    trajectory = renderer.start([QUESTION])
    parts = [list(trajectory.tokens)]
    for _ in range(turns):
        trajectory.sampled(ids)
        parts[-1] += ids
        parts.append(list(trajectory.add([QUESTION])))
    start = time.perf_counter()
    for turn in range(turns):
        client.forward([token for part in parts[: turn + 1] for token in part])
    middle, state = time.perf_counter(), None
    for part in parts[:turns]:
        state = client.forward(part, extends=state)
    return middle - start, time.perf_counter() - middle


@click.command()
@click.option("--picture", "path", type=click.Path(path_type=Path), help="write an SVG file")
@click.option("--seconds", is_flag=True, help="measure time too")
@click.option("--folder", type=click.Path(path_type=Path), default=Path("run"))
def main(path: Path | None, seconds: bool, folder: Path) -> None:
    """Count what conversations of 1 to 32 turns cost."""
    for format, answer in ANSWERS.items():
        print(f"{format}\n{report([table(format, answer, turns) for turns in TURNS])}\n")
    if path:
        path.write_text(picture(), encoding="utf-8")
    for turns in TURNS if seconds else ():
        naive, extended = timed(folder, turns)
        print(
            f"{turns:2} turns: {naive:.2f} s anew, {extended:.2f} s extended, {naive / extended:.2f}x"
        )


if __name__ == "__main__":
    main()
