"""Rollouts to training data: what was sampled, shifted, checked and merged, as `types.Datum`.

    datum(trajectory, [0.5, -0.5])                       # one advantage a turn, one datum
    batch(trajectories, advantages, merge=False)         # one datum a turn, for comparison
    merged(samples, advantages)                          # turns of a loop of one's own, merged where they extend

A datum holds `model_input` (all tokens but the last) and, each of that length, `target_tokens` (all but the first),
`logprobs`, `advantages` and `weights` (1.0 where the target was sampled, else all three are 0.0). Services do not
check lengths, so it is done here: OptionError.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from templc.runtime.change import common
from templc.runtime.errors import OptionError
from templc.runtime.trajectory import Trajectory

Advantages: TypeAlias = "float | Sequence[float | Sequence[float]]"
Normalisation: TypeAlias = Literal["sum", "mean"]


@dataclass(frozen=True, slots=True)
class Sample:
    """One sampled turn of a loop: the ids sent, the ids that came back and their log probabilities."""

    prompt: Sequence[int]
    ids: Sequence[int]
    logprobs: Sequence[float]


@dataclass(slots=True)
class Row:
    """One training sequence before the shift; the columns are aligned with `tokens`, 0.0 where nothing was sampled.

    reason: why it is not part of the row before, empty for the first.
    """

    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    advantages: list[float] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    reason: str = ""

    def context(self, ids: Sequence[int]) -> None:
        """Add tokens that were not sampled."""
        self.tokens.extend(ids)
        for column in (self.logprobs, self.advantages, self.weights):
            column.extend([0.0] * len(ids))

    def sampled(
        self, ids: Sequence[int], logprobs: Sequence[float], advantages: Sequence[float]
    ) -> None:
        """Add sampled tokens. OptionError where the lengths differ or a number is not finite."""
        for name, column in (("logprobs", logprobs), ("advantages", advantages)):
            if len(column) != len(ids):
                raise OptionError(f"{len(column)} {name} for {len(ids)} sampled tokens")
            if not all(map(math.isfinite, column)):
                raise OptionError(f"{name} hold a number that is not finite")
        self.tokens.extend(ids)
        self.logprobs.extend(logprobs)
        self.advantages.extend(advantages)
        self.weights.extend([1.0] * len(ids))

    def scaled(self, factor: float) -> Row:
        """The same row with every advantage multiplied."""
        advantages = [factor * value for value in self.advantages]
        return Row(self.tokens, self.logprobs, advantages, self.weights, self.reason)


@dataclass(frozen=True, slots=True)
class Merged:
    """Data of one conversation; `reasons[i]` says why `data[i]` is not part of the one before, "" for the first."""

    data: list[Any]
    reasons: list[str]


def datum(trajectory: Trajectory, advantages: Advantages, *, types: Any = None) -> Any:
    """The whole trajectory as one `types.Datum`: everything in it was appended, so one pass is exact.

    advantages: one number for all turns, one a turn, or for each turn a list with one a sampled token.
    types: the module whose `Datum` and `ModelInput` are made; see `known_types`.
    """
    return shifted(_row(trajectory, advantages), types or known_types())


def batch(
    trajectories: Sequence[Trajectory],
    advantages: Sequence[Advantages],
    *,
    merge: bool = True,
    normalised: Normalisation = "sum",
    types: Any = None,
) -> list[Any]:
    """All data of a training step: one datum a trajectory, or with merge=False one a turn.

    normalised: what the service does with the token losses. "sum" adds them up (Tinker, `templc.local`); "mean"
    divides each datum by its weights and averages over data (SkyRL), and then advantages of single turns are scaled
    so that loss and gradient equal the merged ones, for losses that are linear in the advantage (all but dro).
    """
    if len(trajectories) != len(advantages):
        raise OptionError(f"{len(advantages)} advantages for {len(trajectories)} trajectories")
    module = types or known_types()
    pairs = zip(trajectories, advantages, strict=True)
    rows = [_row(trajectory, given) for trajectory, given in pairs]
    if merge:
        return [shifted(row, module) for row in rows]
    groups = [
        _turn_rows(trajectory, row) for trajectory, row in zip(trajectories, rows, strict=True)
    ]
    if normalised == "mean":
        groups = _balanced(groups)
    return [shifted(row, module) for group in groups for row in group]


def merged(samples: Sequence[Sample], advantages: Advantages, *, types: Any = None) -> Merged:
    """The data of a loop that renders anew at each turn: one as long as each prompt extends what came before.

    Where a prompt changes earlier tokens a new datum starts, and its reason names the first token that differs.
    """
    sizes = [len(sample.ids) for sample in samples]
    rows: list[Row] = []
    for sample, given in zip(samples, _per_token(advantages, sizes), strict=True):
        row = _extended(rows, sample)
        row.sampled(sample.ids, sample.logprobs, given)
    module = types or known_types()
    return Merged([shifted(row, module) for row in rows], [row.reason for row in rows])


def shifted(row: Row, types: Any) -> Any:
    """The datum of a row. OptionError unless it has context and a sampled token behind it."""
    size = len(row.tokens)
    if size < 2 or row.weights[0] or not any(row.weights):
        raise OptionError(
            "a datum needs a prompt and at least one sampled token",
            help="leave out trajectories that sampled nothing",
        )
    columns: dict[str, list[Any]] = {
        "target_tokens": list(row.tokens[1:]),
        "logprobs": row.logprobs[1:],
        "advantages": row.advantages[1:],
        "weights": row.weights[1:],
    }
    wrong = [name for name, column in columns.items() if len(column) != size - 1]
    if wrong:
        raise OptionError(f"{', '.join(wrong)} must have {size - 1} entries, one an input token")
    return types.Datum(
        model_input=types.ModelInput.from_ints(tokens=list(row.tokens[:-1])),
        loss_fn_inputs=columns,
    )


def known_types() -> Any:
    """The `types` module in use: mint's where mint is imported, else tinker's, else that of `templc.local`."""
    if "mint" in sys.modules:
        return sys.modules["mint"].types
    name = "tinker" if importlib.util.find_spec("tinker") else "templc.local"
    return importlib.import_module(f"{name}.types")


def _row(trajectory: Trajectory, advantages: Advantages) -> Row:
    """Everything up to the last sampled token."""
    turns = trajectory.turns
    _scored(trajectory)
    tokens, logprobs = trajectory.tokens, trajectory.logprobs
    row = Row()
    given = _per_token(advantages, [turn.end - turn.start for turn in turns])
    for turn, values in zip(turns, given, strict=True):
        row.context(tokens[len(row.tokens) : turn.start])
        row.sampled(tokens[turn.start : turn.end], logprobs[turn.start : turn.end], values)
    return row


def _scored(trajectory: Trajectory) -> None:
    for number, turn in enumerate(trajectory.turns):
        if not turn.scored and turn.end > turn.start:
            raise OptionError(
                f"turn {number} was sampled without log probabilities",
                help="give them to `sampled(ids, logprobs)`: the loss compares the policy with them",
            )


def _turn_rows(trajectory: Trajectory, row: Row) -> list[Row]:
    """One row a turn: the tokens up to its end, of which only its own are trained."""
    rows = []
    for turn in trajectory.turns:
        if turn.end > turn.start:
            one = Row()
            one.context(row.tokens[: turn.start])
            place = slice(turn.start, turn.end)
            one.sampled(row.tokens[place], row.logprobs[place], row.advantages[place])
            rows.append(one)
    return rows


def _balanced(groups: list[list[Row]]) -> list[list[Row]]:
    """Rows whose mean over data of means over tokens is what the merged rows would give."""
    count = sum(map(len, groups))
    balanced = []
    for group in groups:
        total = sum(sum(row.weights) for row in group) * len(groups)
        balanced.append([row.scaled(count * sum(row.weights) / total) for row in group])
    return balanced


def _extended(rows: list[Row], sample: Sample) -> Row:
    """The row that a sample belongs to, with its prompt written: the last one where the prompt extends it."""
    known = rows[-1].tokens if rows else []
    prompt = list(sample.prompt)
    if rows and prompt[: len(known)] == known:
        rows[-1].context(prompt[len(known) :])
        return rows[-1]
    reason = ""
    if rows:
        at = common(known, prompt)
        reason = f"the prompt differs from what was sent and sampled before from token {at} on"
    rows.append(Row(reason=reason))
    rows[-1].context(prompt)
    return rows[-1]


def _per_token(advantages: Advantages, sizes: Sequence[int]) -> list[list[float]]:
    """An advantage for each sampled token, from one number, one a turn or one a token."""
    if isinstance(advantages, (int, float)):
        return [[float(advantages)] * size for size in sizes]
    if len(advantages) != len(sizes):
        raise OptionError(f"{len(advantages)} advantages for {len(sizes)} turns")
    found = []
    for number, (given, size) in enumerate(zip(advantages, sizes, strict=True)):
        values = [float(given)] * size if isinstance(given, (int, float)) else list(given)
        if len(values) != size:
            raise OptionError(f"turn {number} has {len(values)} advantages for {size} tokens")
        found.append(values)
    return found
