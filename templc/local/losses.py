"""The losses of the Tinker API, summed over tokens.

    loss = LOSSES["ppo"](Columns(logprobs, old, advantages, weights), {"clip_low_threshold": 0.8})

Each takes tensors of one entry a token; a token of weight 0.0 takes no part, whatever its other columns say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import torch

Config: TypeAlias = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Columns:
    """logprobs: of the trained policy, with gradient; old: of the policy that sampled."""

    logprobs: torch.Tensor
    old: torch.Tensor
    advantages: torch.Tensor
    weights: torch.Tensor

    @property
    def ratio(self) -> torch.Tensor:
        """How much likelier each token has become; 1.0 where it is not trained."""
        return torch.where(self.weights != 0, self.logprobs - self.old, 0.0).exp()

    def total(self, values: torch.Tensor) -> torch.Tensor:
        """The weighted sum, as a loss to make small."""
        return -(self.weights * values).sum()


def _clipped(ratio: torch.Tensor, config: Config) -> torch.Tensor:
    low = config.get("clip_low_threshold", 0.8)
    return ratio.clamp(low, config.get("clip_high_threshold", 1.2))


def _cross_entropy(given: Columns, config: Config) -> torch.Tensor:
    return given.total(given.logprobs)


def _importance_sampling(given: Columns, config: Config) -> torch.Tensor:
    return given.total(given.ratio * given.advantages)


def _ppo(given: Columns, config: Config) -> torch.Tensor:
    ratio = given.ratio
    plain, clipped = ratio * given.advantages, _clipped(ratio, config) * given.advantages
    return given.total(torch.minimum(plain, clipped))


def _cispo(given: Columns, config: Config) -> torch.Tensor:
    clipped = _clipped(given.ratio, config).detach()
    return given.total(clipped * given.advantages * given.logprobs)


def _dro(given: Columns, config: Config) -> torch.Tensor:
    moved = given.logprobs - given.old
    return given.total(
        given.logprobs * given.advantages - 0.5 * config.get("beta", 0.05) * moved**2
    )


LOSSES: Mapping[str, Callable[[Columns, Config], torch.Tensor]] = {
    "cross_entropy": _cross_entropy,
    "importance_sampling": _importance_sampling,
    "ppo": _ppo,
    "cispo": _cispo,
    "dro": _dro,
}
SETTINGS: Mapping[str, frozenset[str]] = {
    "cross_entropy": frozenset(),
    "importance_sampling": frozenset(),
    "ppo": frozenset({"clip_low_threshold", "clip_high_threshold"}),
    "cispo": frozenset({"clip_low_threshold", "clip_high_threshold"}),
    "dro": frozenset({"beta"}),
}
