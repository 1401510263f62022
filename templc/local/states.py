"""Forwarded tokens that can be gone on from: immutable states on the KV cache.

    first = forward(policy, prompt)
    left, right = forward(policy, [5], extends=first), forward(policy, [6], extends=first)
    shorter = right.rewind(3)                    # the first three tokens, for an extension that was refused

A state belongs to the weights that made it: after an optimiser step it is refused with `StaleState`. States serve
scoring and sampling. They carry no gradient, for a loss behind a detached cache would not reach the earlier turns;
what is trained in one pass is the merged datum.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from templc.local.policy import Policy, picked
from templc.runtime.errors import OptionError


class StaleState(OptionError):
    """A state that was made with weights that the policy no longer has."""


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """tokens: all ids so far. logprobs: of each behind the ones before it, 0.0 for the first."""

    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]
    version: int
    last: torch.Tensor = field(repr=False)
    _policy: Policy = field(repr=False)
    _cache: DynamicCache = field(repr=False)

    def rewind(self, keep: int) -> State:
        """The state of the first `keep` tokens; forwards one token. OptionError unless 1 <= keep <= len(tokens)."""
        if not 1 <= keep <= len(self.tokens):
            raise OptionError(f"cannot keep {keep} of {len(self.tokens)} tokens")
        _fresh(self)
        if keep == len(self.tokens):
            return self
        cache = _shared(self._cache, keep - 1)
        last = _forwarded(self._policy, [self.tokens[keep - 1]], cache)[-1]
        return State(
            self.tokens[:keep], self.logprobs[:keep], self.version, last, self._policy, cache
        )


def forward(policy: Policy, tokens: Sequence[int], extends: State | None = None) -> State:
    """The state behind `tokens`, going on from `extends`, which stays as it is.

    StaleState where the weights have changed since; OptionError for a state of another policy or for no tokens.
    """
    if extends is None:
        cache = DynamicCache(config=policy.model.config)
        logits = _forwarded(policy, tokens, cache)
        scored = (0.0, *_scores(logits[:-1], tokens[1:]))
        return State(tuple(tokens), scored, policy.version, logits[-1].clone(), policy, cache)
    if extends._policy is not policy:
        raise OptionError("the state belongs to another model")
    _fresh(extends)
    cache = _shared(extends._cache, len(extends.tokens))
    logits = _forwarded(policy, tokens, cache)
    new = _scores(torch.cat([extends.last[None], logits[:-1]]), tokens)
    return State(
        (*extends.tokens, *tokens),
        (*extends.logprobs, *new),
        policy.version,
        # A copy, so that the logits of the other tokens are not kept alive.
        logits[-1].clone(),
        policy,
        cache,
    )


def _scores(logits: torch.Tensor, tokens: Sequence[int]) -> list[float]:
    return list(picked(logits, tokens).tolist()) if len(tokens) else []


def _forwarded(policy: Policy, tokens: Sequence[int], cache: Any) -> torch.Tensor:
    with torch.no_grad():
        return policy.run(tokens, cache)


def _fresh(state: State) -> None:
    now = state._policy.version
    if state.version != now:
        raise StaleState(
            f"the state was made by version {state.version} of the weights, which are now at {now}",
            help="forward the tokens anew after an optimiser step",
        )


def _shared(cache: DynamicCache, keep: int) -> DynamicCache:
    """A cache of the first `keep` tokens that shares the tensors: a layer that grows makes new ones."""
    made = copy.copy(cache)
    made.layers = []
    for layer in cache.layers:
        if type(layer) is not DynamicLayer:
            raise OptionError(
                f"layers of the kind {type(layer).__name__} cannot be extended",
                help="use a model with full attention",
            )
        one = copy.copy(layer)
        keys, values = layer.keys, layer.values
        assert keys is not None and values is not None
        one.keys, one.values = keys[..., :keep, :], values[..., :keep, :]
        made.layers.append(one)
    return made
