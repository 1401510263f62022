"""What a conversation of T turns costs in tokens: rendered anew at each turn, or extended. Tables and a picture.

    python -m templc.recipes.cost --picture cost.svg

Counts are exact and do not depend on a model. Naive forwards prompt and answer of every turn from the start; with
turns of one size that is (T + 1) / 2 times the tokens of extension. A format that rewrites history (qwen3) keeps, when
it is rendered faithfully, only the tokens before the first that differs.
"""

from __future__ import annotations

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
MOST = 32


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

# Ways to go on, as fields of `Table`: what is compared for each format.
WAYS = {
    "qwen3_instruct": {"anew": "naive", "extended": "extended"},
    "qwen3": {"anew": "naive", "faithful": "faithful", "as sampled": "extended"},
}


def report(format: str, tables: Sequence[Table]) -> str:
    """The counts as a Markdown table; a cell has one count for each way to go on."""
    ways = WAYS[format]
    measures = {
        "rendered and tokenized": "rendered",
        "forwarded": "forwarded",
        "trained": "trained",
        "data": "data",
    }
    head = ["turns", *measures, "forwarded anew to extended"]
    lines = [
        f"{format}: {' / '.join(ways)}",
        "",
        f"| {' | '.join(head)} |",
        "| --- " * len(head) + "|",
    ]
    for one in tables:
        costs = [getattr(one, name) for name in ways.values()]
        cells = [
            " / ".join(str(getattr(cost, name)) for cost in costs) for name in measures.values()
        ]
        lines.append(f"| {one.turns} | {' | '.join(cells)} | {one.ratio:.2f} |")
    return "\n".join(lines)


def picture() -> str:
    """The tokens that each way forwards over 1 to 32 turns, and how many times as many rendering anew does."""
    found = {
        name: [table(name, answer, 1 + n) for n in range(MOST)] for name, answer in ANSWERS.items()
    }
    panels: dict[str, Any] = {
        f"tokens forwarded, {name}": {
            way: [getattr(one, known).forwarded for one in found[name]]
            for way, known in ways.items()
        }
        for name, ways in WAYS.items()
    }
    panels["forwarded anew for each that is forwarded extended, qwen3_instruct"] = [
        one.ratio for one in found["qwen3_instruct"]
    ]
    return chart(panels, "turns", first=1)


@click.command()
@click.option("--picture", "path", type=click.Path(path_type=Path), help="write an SVG file")
def main(path: Path | None) -> None:
    """Count what conversations of 1 to 32 turns cost."""
    for format, answer in ANSWERS.items():
        tables = [table(format, answer, 1 + turns) for turns in range(MOST)]
        print(report(format, tables), end="\n\n")
    if path:
        path.write_text(picture(), encoding="utf-8")


if __name__ == "__main__":
    main()
