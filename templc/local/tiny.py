"""A random model of the Qwen3 architecture with the real Qwen3 vocabulary, to try things on: 20 million weights.

path = tiny("models/tiny")        # a folder that `from_pretrained` reads; needs the extras `local` and `demo`
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from templc.demo import vocabulary

VOCABULARY = 151936
# Of the published tokenizer's added tokens those that decoding does not leave out stand behind this id.
_FIRST_PLAIN = 151657


def tiny(
    folder: str | Path, *, seed: int = 0, tokenizer: Any = None, hidden: int = 64, layers: int = 2
) -> Path:
    """Make the model in a folder, unless it is there; tokenizer: a fast one to save instead of building it.

    hidden: width of the layers, a multiple of 64.
    """
    path = Path(folder)
    if not (path / "config.json").exists():
        (tokenizer or _tokenizer()).save_pretrained(str(path))
        _model(seed, hidden, layers).save_pretrained(str(path))
    return path


def _model(seed: int, hidden: int, layers: int) -> Any:
    config = Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=hidden // 16,
        num_key_value_heads=hidden // 32,
        head_dim=16,
        max_position_embeddings=4096,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=151645,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model: Any = Qwen3ForCausalLM(config)
        # With the usual 0.02 no logit of so small a model could become large enough to learn anything.
        for layer in (model.model.embed_tokens, model.lm_head):
            torch.nn.init.normal_(layer.weight, std=0.3)
    return model


def _tokenizer() -> Any:
    source = vocabulary("qwen3")
    ranks = source._mergeable_ranks
    letters = _letters()
    text = {token: "".join(letters[byte] for byte in token) for token in ranks}
    merges = [(text[left], text[right]) for token in ranks for left, right in _halves(token, ranks)]
    made: Any = Tokenizer(
        models.BPE({text[token]: rank for token, rank in ranks.items()}, merges, ignore_merges=True)
    )
    made.normalizer = normalizers.NFC()
    cut = pre_tokenizers.Split(Regex(source._pat_str), "isolated")
    as_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.pre_tokenizer = pre_tokenizers.Sequence([cut, as_bytes])
    made.decoder = decoders.ByteLevel()
    for name, number in source._special_tokens.items():
        special = number < _FIRST_PLAIN
        add = made.add_special_tokens if special else made.add_tokens
        add([AddedToken(name, special=special, normalized=False)])
    fast: Any = PreTrainedTokenizerFast
    return fast(tokenizer_object=made, eos_token="<|im_end|>")


def _letters() -> dict[int, str]:
    """The letter that stands for each byte in a byte-level vocabulary."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {byte: chr(byte) for byte in shown} | {
        byte: chr(256 + place) for place, byte in enumerate(hidden)
    }


def _halves(token: bytes, ranks: Mapping[bytes, int]) -> list[tuple[bytes, bytes]]:
    """Each way to put a token together from two others, the most frequent first."""
    cuts = [(token[:at], token[at:]) for at in range(1, len(token))]
    known = [(left, right) for left, right in cuts if left in ranks and right in ranks]
    return sorted(known, key=lambda pair: (ranks[pair[0]], ranks[pair[1]]))
