"""A base model with one LoRA adapter: what is trained, sampled from and saved.

    policy = Policy.load("path/of/model", Lora(rank=8, seed=0))
    logprobs = policy.logprobs([151644, 872], [872, 198])     # a tensor, with gradient

`version` changes with the weights, `forwarded` counts the tokens that went through the layers.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import urllib.error
import urllib.request
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import torch
from huggingface_hub import constants, try_to_load_from_cache
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

from templc.runtime.errors import OptionError

Weights: TypeAlias = "dict[str, torch.Tensor]"

_ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
_MLP = ("gate_proj", "up_proj", "down_proj")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lora:
    """Which matrices get an adapter, of what rank; seed None: random. An embedding that is tied gets none."""

    rank: int = 32
    seed: int | None = None
    train_mlp: bool = True
    train_attn: bool = True
    train_unembed: bool = True

    def targets(self, *, tied: bool) -> list[str]:
        """Names of the linear layers; OptionError where none is left."""
        names = [*_ATTENTION] if self.train_attn else []
        names += _MLP if self.train_mlp else ()
        names += ["lm_head"] if self.train_unembed and not tied else []
        if not names:
            raise OptionError("nothing is left to train", help="train_attn=True or train_mlp=True")
        return names


class Policy:
    """The model and its adapter, in one process; float32 on the CPU, else on the GPU that is there."""

    def __init__(self, model: Any, tokenizer: Any, name: str) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.name = name
        self.version = 0
        self.forwarded = 0
        # transformers 5.24 renamed the argument that takes the cache.
        names = inspect.signature(model.get_base_model().forward).parameters
        self._held = "cache" if "cache" in names else "past_key_values"

    @classmethod
    def load(cls, name: str, lora: Lora) -> Policy:
        """From a folder or a hub name. OptionError where there is no such model."""
        _findable(name)
        try:
            base = AutoModelForCausalLM.from_pretrained(name, dtype=torch.float32)
            tokenizer = _tokenizer(name)
        except (OSError, ValueError) as error:
            raise OptionError(
                f"the model `{name}` cannot be loaded: {str(error).splitlines()[0]}",
                help="give the folder of a saved model, or a hub name that is in the cache",
            ) from error
        tied = bool(base.config.tie_word_embeddings)
        config = LoraConfig(
            r=lora.rank, lora_alpha=32, lora_dropout=0.0, target_modules=lora.targets(tied=tied)
        )
        with torch.random.fork_rng(), warnings.catch_warnings():
            # peft reads an attribute that transformers has renamed.
            warnings.simplefilter("ignore", FutureWarning)
            torch.manual_seed(torch.seed() if lora.seed is None else lora.seed)
            model = get_peft_model(base, config)
        device = "cuda" if torch.cuda.is_available() else "cpu"
        return cls(model.to(device).eval(), tokenizer, name)

    @property
    def trained(self) -> dict[str, torch.nn.Parameter]:
        """The adapter's parameters by name."""
        return {name: p for name, p in self.model.named_parameters() if p.requires_grad}

    def run(
        self, ids: Sequence[int], cache: Any = None, rows: Sequence[int] | None = None
    ) -> torch.Tensor:
        """Logits, one row a token, behind what `cache` holds, which is extended; rows: only of these places.

        OptionError for an unknown id.
        """
        size = self.model.config.vocab_size
        wrong = [token for token in ids if not 0 <= token < size]
        if wrong or not ids:
            raise OptionError(
                f"token id {wrong[0]} is not below {size}" if wrong else "there are no tokens"
            )
        self.forwarded += len(ids)
        given = torch.tensor([list(ids)], device=self.model.device)
        held: dict[str, Any] = {} if cache is None else {self._held: cache}
        if rows is not None:
            held["logits_to_keep"] = torch.tensor(list(rows), device=self.model.device)
        out = self.model(input_ids=given, use_cache=cache is not None, **held)
        logits: torch.Tensor = out.logits[0]
        return logits

    def logprobs(
        self, ids: Sequence[int], targets: Sequence[int], rows: Sequence[int] | None = None
    ) -> torch.Tensor:
        """The log probability of each target behind the ids up to its place; rows: 0.0 but at these places."""
        if rows is None:
            return picked(self.run(ids), targets)
        found = picked(self.run(ids, rows=rows), [targets[row] for row in rows])
        places = torch.tensor(list(rows), device=found.device)
        return torch.zeros(len(ids), device=found.device).index_put((places,), found)

    def weights(self) -> Weights:
        """A copy of the adapter."""
        return {name: p.detach().clone() for name, p in self.trained.items()}

    def restore(self, weights: Weights) -> None:
        """Take these adapter weights; the version stays. OptionError where they are of another shape."""
        trained = self.trained
        if {name: p.shape for name, p in trained.items()} != {
            n: w.shape for n, w in weights.items()
        }:
            raise OptionError(
                "the saved weights are of another model or rank",
                help="load them with the model and rank that they were saved with",
            )
        with torch.no_grad():
            for name, parameter in trained.items():
                parameter.copy_(weights[name])

    @contextlib.contextmanager
    def using(self, weights: Weights | None) -> Iterator[None]:
        """The policy with other adapter weights, for a while; None: as it is."""
        if weights is None:
            yield
            return
        own = self.weights()
        self.restore(weights)
        try:
            yield
        finally:
            self.restore(own)


def _findable(name: str) -> None:
    """OptionError for a hub name that is neither cached nor to be had: the hub's client would try for a minute."""
    if Path(name).exists() or constants.HF_HUB_OFFLINE:
        return
    try:
        if try_to_load_from_cache(name, "config.json") is not None:
            return
        urllib.request.urlopen(constants.ENDPOINT, timeout=5).close()
    except (urllib.error.HTTPError, ValueError):
        return  # the hub answers, or this is no name of it: loading says the rest
    except OSError as error:
        raise OptionError(
            f"the model `{name}` is neither a folder nor in the cache, and the hub cannot be reached: {error}",
            help="give the folder of a saved model, or a hub name that is in the cache",
        ) from error


@functools.lru_cache(maxsize=4)
def _tokenizer(name: str) -> Any:
    """Read once: with a large vocabulary it takes seconds."""
    return AutoTokenizer.from_pretrained(name)


def picked(logits: torch.Tensor, targets: Sequence[int]) -> torch.Tensor:
    """The log probability of one target a row."""
    chosen = torch.tensor(list(targets), device=logits.device)
    return logits.gather(1, chosen[:, None])[:, 0] - logits.logsumexp(dim=-1)
