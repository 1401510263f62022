"""Training a policy: losses over data, optimiser steps, saved states.

    training.forward_backward(data, "importance_sampling").result().metrics["loss:sum"]
    training.optim_step(AdamParams(learning_rate=1e-3)).result()
    state = training.forward(prompt)                       # and what no service has:
    state = training.forward(new_tokens, extends=state)    # only the new tokens go through the layers

Losses are sums over tokens, as in Tinker. Gradients add up until `optim_step`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, overload

import torch

from templc.local import states
from templc.local.losses import LOSSES, SETTINGS, Columns
from templc.local.policy import Policy
from templc.local.sampling import SamplingClient
from templc.local.types import ForwardBackwardOutput, Future, OptimStepResponse, Saved, Tensor
from templc.runtime.errors import OptionError

CustomLoss: TypeAlias = Callable[
    [Sequence[Any], list[torch.Tensor]], tuple[torch.Tensor, Mapping[str, float]]
]

_NEEDED = {"cross_entropy": ("target_tokens", "weights"), "custom": ("target_tokens",)}
_RL_NEEDED = ("target_tokens", "logprobs", "advantages")
_KNOWN = frozenset({"target_tokens", "weights", "logprobs", "advantages"})


class TrainingClient:
    """One LoRA adapter in training; made by `ServiceClient.create_lora_training_client`."""

    def __init__(self, policy: Policy, folder: Path) -> None:
        self.policy = policy
        self._folder = folder
        self._optimiser = torch.optim.AdamW(policy.trained.values(), lr=0.0)

    def get_tokenizer(self) -> Any:
        """The model's tokenizer."""
        return self.policy.tokenizer

    @overload
    def forward(
        self, data: Sequence[int], *, extends: states.State | None = None
    ) -> states.State: ...
    @overload
    def forward(
        self, data: Sequence[Any], loss_fn: str, loss_fn_config: Mapping[str, float] | None = None
    ) -> Future[ForwardBackwardOutput]: ...
    def forward(
        self,
        data: Sequence[Any],
        loss_fn: str | None = None,
        loss_fn_config: Mapping[str, float] | None = None,
        *,
        extends: states.State | None = None,
    ) -> Any:
        """With a loss: the loss over data, without gradient. Without: `data` are token ids, a `State` is the result."""
        if loss_fn is None:
            return states.forward(self.policy, data, extends)
        with torch.no_grad():
            return Future(self._losses(data, loss_fn, loss_fn_config or {}, backward=False))

    def forward_backward(
        self, data: Sequence[Any], loss_fn: str, loss_fn_config: Mapping[str, float] | None = None
    ) -> Future[ForwardBackwardOutput]:
        """Add the gradients of a loss over data; the `logprobs` are 0.0 where a weight is.

        OptionError for data or settings that do not fit the loss.
        """
        return Future(self._losses(data, loss_fn, loss_fn_config or {}, backward=True))

    async def forward_backward_async(
        self, data: Sequence[Any], loss_fn: str, loss_fn_config: Mapping[str, float] | None = None
    ) -> Future[ForwardBackwardOutput]:
        """As `forward_backward`."""
        return self.forward_backward(data, loss_fn, loss_fn_config)

    def forward_backward_custom(
        self, data: Sequence[Any], loss_fn: CustomLoss
    ) -> Future[ForwardBackwardOutput]:
        """Add the gradients of a loss of one's own; its metrics are those of the result.

        `loss_fn(data, logprobs)` gets a tensor a datum, one entry a target token, and gives loss and metrics.
        """
        checked = [(one.model_input.to_ints(), _columns(one, "custom")) for one in data]
        logprobs = [self.policy.logprobs(ids, given["target_tokens"]) for ids, given in checked]
        loss, metrics = loss_fn(data, logprobs)
        loss.backward()  # type: ignore[no-untyped-call]
        outputs = [{"logprobs": Tensor(one.tolist())} for one in logprobs]
        return Future(ForwardBackwardOutput(outputs, dict(metrics)))

    async def forward_backward_custom_async(
        self, data: Sequence[Any], loss_fn: CustomLoss
    ) -> Future[ForwardBackwardOutput]:
        """As `forward_backward_custom`."""
        return self.forward_backward_custom(data, loss_fn)

    def optim_step(self, adam_params: Any) -> Future[OptimStepResponse]:
        """One step of AdamW along the gradients so far; every earlier state becomes stale."""
        parameters = list(self.policy.trained.values())
        limit = getattr(adam_params, "grad_clip_norm", 0.0) or float("inf")
        norm = torch.nn.utils.clip_grad_norm_(parameters, limit)
        for group in self._optimiser.param_groups:
            group["lr"] = adam_params.learning_rate
            group["betas"] = (adam_params.beta1, adam_params.beta2)
            group["eps"], group["weight_decay"] = adam_params.eps, adam_params.weight_decay
        self._optimiser.step()
        self._optimiser.zero_grad()
        self.policy.version += 1
        return Future(OptimStepResponse({"grad_norm": float(norm)}))

    async def optim_step_async(self, adam_params: Any) -> Future[OptimStepResponse]:
        """As `optim_step`."""
        return self.optim_step(adam_params)

    def save_state(self, name: str) -> Future[Saved]:
        """Save weights and optimiser to resume from; where they are."""
        return Future(self._save(name, self._optimiser.state_dict()))

    def save_weights_for_sampler(self, name: str) -> Future[Saved]:
        """Save the weights to sample from; where they are."""
        return Future(self._save(name, None))

    async def save_weights_for_sampler_async(self, name: str) -> Future[Saved]:
        """As `save_weights_for_sampler`."""
        return self.save_weights_for_sampler(name)

    def save_weights_and_get_sampling_client(self, name: str | None = None) -> SamplingClient:
        """A client that samples from the weights as they are now, also after further steps."""
        return SamplingClient(self.policy)

    async def save_weights_and_get_sampling_client_async(
        self, name: str | None = None
    ) -> SamplingClient:
        """As `save_weights_and_get_sampling_client`."""
        return self.save_weights_and_get_sampling_client(name)

    def create_sampling_client(self, model_path: str) -> SamplingClient:
        """A client that samples from saved weights."""
        return SamplingClient(self.policy, saved(model_path)["weights"])

    def load_state(self, path: str) -> Future[Saved]:
        """Take saved weights; the optimiser starts anew."""
        self.policy.restore(saved(path)["weights"])
        self.policy.version += 1
        self._optimiser = torch.optim.AdamW(self.policy.trained.values(), lr=0.0)
        return Future(Saved(path))

    def load_state_with_optimizer(self, path: str) -> Future[Saved]:
        """Take saved weights and optimiser. OptionError where only weights were saved."""
        optimiser = saved(path)["optimiser"]
        if optimiser is None:
            raise OptionError(f"{path} holds no optimiser", help="save it with save_state")
        self.load_state(path)
        self._optimiser.load_state_dict(optimiser)
        return Future(Saved(path))

    # inside

    def _losses(
        self, data: Sequence[Any], name: str, config: Mapping[str, float], *, backward: bool
    ) -> ForwardBackwardOutput:
        if name not in LOSSES:
            raise OptionError(f"there is no loss `{name}`", help=f"one of {', '.join(LOSSES)}")
        unknown = sorted(config.keys() - SETTINGS[name])
        if unknown:
            raise OptionError(f"{name} has no setting {', '.join(unknown)}")
        checked = [(one.model_input.to_ints(), _columns(one, name)) for one in data]
        outputs, total, count = [], 0.0, 0.0
        for ids, columns in checked:
            # The head is most of a small model: when training only what is trained goes through it.
            trained = [at for at, weight in enumerate(columns["weights"]) if weight]
            logprobs = self.policy.logprobs(
                ids, columns["target_tokens"], trained if backward else None
            )
            loss = LOSSES[name](_tensors(logprobs, columns), config)
            if backward:
                loss.backward()  # type: ignore[no-untyped-call]
            outputs.append({"logprobs": Tensor(logprobs.tolist())})
            total, count = total + float(loss.detach()), count + sum(map(bool, columns["weights"]))
        metrics = {"loss:sum": total, "loss:mean": total / max(count, 1), "tokens": count}
        return ForwardBackwardOutput(outputs, metrics)

    def _save(self, name: str, optimiser: Any) -> Saved:
        path = self._folder / f"{name}.pt"
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".draft")
        torch.save({"weights": self.policy.weights(), "optimiser": optimiser}, draft)
        os.replace(draft, path)
        return Saved(str(path))


def saved(path: str) -> dict[str, Any]:
    """What was saved at a path. OptionError where there is nothing to read."""
    try:
        found: dict[str, Any] = torch.load(path, weights_only=True)
    except OSError as error:
        raise OptionError(f"{path} cannot be read: {error.strerror}") from error
    return found


def _columns(datum: Any, loss: str) -> dict[str, list[Any]]:
    """The columns of a datum, each as long as its input, with weights. OptionError where one does not fit."""
    size = len(datum.model_input.to_ints())
    columns = {name: list(column.tolist()) for name, column in datum.loss_fn_inputs.items()}
    missing = [name for name in _NEEDED.get(loss, _RL_NEEDED) if name not in columns]
    if missing:
        raise OptionError(f"{loss} needs {', '.join(missing)}")
    for name, column in columns.items():
        if name not in _KNOWN:
            raise OptionError(f"a datum has no column `{name}`")
        if len(column) != size:
            raise OptionError(f"{name} has {len(column)} entries for {size} input tokens")
    columns.setdefault("weights", [float(value != 0) for value in columns.get("advantages", [])])
    columns["target_tokens"] = [int(token) for token in columns["target_tokens"]]
    return columns


def _tensors(logprobs: torch.Tensor, columns: Mapping[str, list[float]]) -> Columns:
    def column(name: str) -> torch.Tensor:
        given = columns.get(name, [0.0] * len(logprobs))
        return torch.tensor(given, dtype=logprobs.dtype, device=logprobs.device)

    return Columns(logprobs, column("logprobs"), column("advantages"), column("weights"))
