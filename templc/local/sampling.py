"""Sampling from a frozen copy of the weights, over prompts that share what they share.

    client.sample(ModelInput.from_ints(prompt), 1, SamplingParams(max_tokens=8, stop=[151645])).result()

Prompts that extend what was forwarded before go on from there, so a conversation of T turns costs O(T). A stop token
is part of what is returned. Log probabilities are the model's own, whatever temperature, top_k and top_p are.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import torch

from templc.local.policy import Policy, Weights
from templc.local.states import State, forward
from templc.local.types import Future, SampledSequence, SampleResponse
from templc.runtime.errors import OptionError

KEPT = 64
MAX_TOKENS = 256


class SamplingClient:
    """Samples from the weights that the policy had when this was made."""

    def __init__(self, policy: Policy, weights: Weights | None = None) -> None:
        self.policy = policy
        self._weights = policy.weights() if weights is None else weights
        self._version = policy.version if weights is None else -1
        self._states: OrderedDict[tuple[int, ...], State] = OrderedDict()

    def get_tokenizer(self) -> Any:
        """The model's tokenizer."""
        return self.policy.tokenizer

    def sample(
        self,
        prompt: Any,
        num_samples: int = 1,
        sampling_params: Any = None,
    ) -> Future[SampleResponse]:
        """`num_samples` completions of a prompt. OptionError for an empty prompt or settings that mean nothing."""
        settings = _Settings(sampling_params, self.policy.tokenizer)
        ids = prompt.to_ints()
        if not ids:
            raise OptionError("the prompt is empty")
        with self.policy.using(self._frozen()):
            state = self._state(ids)
            found = [self._one(state, settings, number) for number in range(num_samples)]
        return Future(SampleResponse(found))

    async def sample_async(
        self, prompt: Any, num_samples: int = 1, sampling_params: Any = None
    ) -> SampleResponse:
        """As `sample`."""
        return self.sample(prompt, num_samples, sampling_params).result()

    def compute_logprobs(self, prompt: Any) -> Future[list[float | None]]:
        """The log probability of each token of a prompt behind the ones before it, None for the first."""
        with self.policy.using(self._frozen()):
            state = self._state(prompt.to_ints())
        return Future([None, *state.logprobs[1:]])

    def _frozen(self) -> Weights | None:
        """The weights to sample with; None where the policy still has them. States of others are dropped."""
        if self.policy.version == self._version:
            return None
        stale = [key for key, at in self._states.items() if at.version != self.policy.version]
        for key in stale:
            del self._states[key]
        return self._weights

    def _state(self, ids: Sequence[int]) -> State:
        """The state of a prompt, from the longest known one that it extends."""
        known = max(
            (key for key in self._states if tuple(ids[: len(key)]) == key), key=len, default=None
        )
        if known is None:
            return self._keep(forward(self.policy, ids))
        self._states.move_to_end(known)
        state = self._states[known]
        rest = ids[len(known) :]
        return self._keep(forward(self.policy, rest, extends=state)) if rest else state

    def _keep(self, state: State) -> State:
        self._states[state.tokens] = state
        while len(self._states) > KEPT:
            self._states.popitem(last=False)
        return state

    def _one(self, state: State, settings: _Settings, number: int) -> SampledSequence:
        ids: list[int] = []
        logprobs: list[float] = []
        generator = settings.generator(number, state.last.device)
        while True:
            token = settings.choose(state.last, generator)
            ids.append(token)
            logprobs.append(float(state.last[token] - state.last.logsumexp(0)))
            if settings.stops(ids):
                reason = "stop"
                break
            if len(ids) == settings.max_tokens:
                reason = "length"
                break
            state = forward(self.policy, [token], extends=state)
        self._keep(state)
        return SampledSequence(ids, logprobs, reason)


class _Settings:
    """`SamplingParams` of any family, read once."""

    def __init__(self, params: Any, tokenizer: Any) -> None:
        self.max_tokens = getattr(params, "max_tokens", None) or MAX_TOKENS
        self.temperature = getattr(params, "temperature", 1.0)
        self.top_k, self.top_p = getattr(params, "top_k", -1), getattr(params, "top_p", 1.0)
        self.seed = getattr(params, "seed", None)
        stop = getattr(params, "stop", None) or []
        stops = [stop] if isinstance(stop, str) else list(stop)
        self._ids = {one for one in stops if isinstance(one, int)}
        self._texts = [one for one in stops if isinstance(one, str)]
        self._tokenizer = tokenizer
        if self.temperature < 0 or not 0 < self.top_p <= 1:
            raise OptionError("temperature must not be negative, and top_p in (0, 1]")

    def generator(self, number: int, device: torch.device) -> torch.Generator:
        """The random numbers of one sequence."""
        made = torch.Generator(device=device)
        if self.seed is None:
            made.seed()
        else:
            made.manual_seed(self.seed + number)
        return made

    def choose(self, logits: torch.Tensor, generator: torch.Generator) -> int:
        """One token; temperature 0 takes the likeliest."""
        if self.temperature == 0:
            return int(logits.argmax())
        probabilities = (logits / self.temperature).softmax(0)
        if self.top_k > 0 or self.top_p < 1:
            probabilities = self._filtered(probabilities)
        return int(torch.multinomial(probabilities, 1, generator=generator))

    def _filtered(self, probabilities: torch.Tensor) -> torch.Tensor:
        ordered, places = probabilities.sort(descending=True)
        dropped = ordered.cumsum(0) - ordered >= self.top_p
        if self.top_k > 0:
            dropped[self.top_k :] = True
        return torch.zeros_like(probabilities).scatter(0, places, ordered.masked_fill(dropped, 0))

    def stops(self, ids: Sequence[int]) -> bool:
        """Whether the sequence ends here."""
        if ids[-1] in self._ids:
            return True
        if not self._texts:
            return False
        text = self._tokenizer.decode(list(ids))
        return any(stop in text for stop in self._texts)
