"""The data of the client surface, named as in `mint.types` and `tinker.types`; needs no other package.

    ModelInput.from_ints(tokens=[1, 2]), SamplingParams(max_tokens=8, stop=[151645]), AdamParams(learning_rate=1e-3)

`templc.local` takes objects of either family. All of them are plain values; `Tensor` is a list with `tolist`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ModelInput:
    """Token ids of one sequence."""

    tokens: tuple[int, ...]

    @classmethod
    def from_ints(cls, tokens: Sequence[int]) -> ModelInput:
        """A sequence of these ids."""
        return cls(tuple(tokens))

    def to_ints(self) -> list[int]:
        """The ids."""
        return list(self.tokens)

    @property
    def length(self) -> int:
        """How many ids there are."""
        return len(self.tokens)


class Tensor(list[float]):
    """One number a token."""

    def tolist(self) -> list[float]:
        """The numbers."""
        return list(self)

    @property
    def data(self) -> list[float]:
        """The numbers."""
        return list(self)


@dataclass(frozen=True, slots=True)
class Datum:
    """One training sequence; each of `loss_fn_inputs` has one number a token of `model_input`."""

    model_input: ModelInput
    loss_fn_inputs: Mapping[str, Tensor]

    def __post_init__(self) -> None:
        made = {name: Tensor(column) for name, column in self.loss_fn_inputs.items()}
        object.__setattr__(self, "loss_fn_inputs", made)


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingParams:
    """How to sample. stop: token ids, a string or strings; a stop token is part of what is returned."""

    max_tokens: int | None = None
    seed: int | None = None
    stop: str | Sequence[str] | Sequence[int] | None = None
    temperature: float = 1.0
    top_k: int = -1
    top_p: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AdamParams:
    """Settings of one optimiser step; grad_clip_norm 0.0: gradients are not clipped."""

    learning_rate: float = 1e-4
    beta1: float = 0.9
    beta2: float = 0.95
    eps: float = 1e-12
    weight_decay: float = 0.0
    grad_clip_norm: float = 0.0


@dataclass(frozen=True, slots=True)
class SampledSequence:
    """What was sampled. stop_reason: "stop", or "length" where `max_tokens` cut it off."""

    tokens: list[int]
    logprobs: list[float]
    stop_reason: str


@dataclass(frozen=True, slots=True)
class SampleResponse:
    """The sequences of one call."""

    sequences: list[SampledSequence]


@dataclass(frozen=True, slots=True)
class ForwardBackwardOutput:
    """loss_fn_outputs: for each datum its `logprobs`, one a token. metrics: `loss:sum`, `loss:mean`, `tokens`."""

    loss_fn_outputs: list[dict[str, Tensor]]
    metrics: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OptimStepResponse:
    """metrics: `grad_norm` before clipping."""

    metrics: dict[str, float]


@dataclass(frozen=True, slots=True)
class Saved:
    """Where weights were saved."""

    path: str


class Future(Generic[T]):
    """A result that is there already, behind the surface of a remote one."""

    def __init__(self, value: T) -> None:
        self._value = value

    def result(self, timeout: float | None = None) -> T:
        """The result."""
        return self._value

    async def result_async(self, timeout: float | None = None) -> T:
        """The result."""
        return self._value

    def __await__(self):  # type: ignore[no-untyped-def]  # typing of generators adds nothing here
        return self.result_async().__await__()
