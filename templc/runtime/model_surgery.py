"""Changed copies of parts of a `tokenizers` tokenizer, made through their JSON form.

Owns two operations: a model without some entries, and a pre-tokenizer that puts no blank before the first word. Both
return new objects and leave their input alone. Example:

    model_without(tokenizer.model, ["<s>"])  ->  a model that spells `<s>` with other entries
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection
from typing import Any

from templc.runtime.token_bytes import part_settings


def model_without(model: Any, texts: Collection[str]) -> Any:
    """A model with the ids of `model` that gives none of the entries `texts`."""
    tokenizer_class = _tokenizer_class(model)
    settings = json.loads(tokenizer_class(model).to_str())["model"]
    match settings["type"]:
        case "BPE":
            _drop_from_bpe(settings, texts)
        case "Unigram":
            _rename_in_unigram(settings, texts)
        case _:
            settings["vocab"] = {t: i for t, i in settings["vocab"].items() if t not in texts}
    return tokenizer_class.from_str(json.dumps({"model": settings, "added_tokens": []})).model


def _tokenizer_class(model: Any) -> Any:
    # The caller has a model of this library, so the import is only a look-up.
    from tokenizers import Tokenizer

    return Tokenizer


def _drop_from_bpe(settings: dict[str, Any], texts: Collection[str]) -> None:
    prefix = len(settings.get("continuing_subword_prefix") or "")
    settings["vocab"] = {t: i for t, i in settings["vocab"].items() if t not in texts}
    settings["merges"] = [
        pair for pair in settings["merges"] if {*pair, pair[0] + pair[1][prefix:]}.isdisjoint(texts)
    ]


def _rename_in_unigram(settings: dict[str, Any], texts: Collection[str]) -> None:
    # Ids are places in the list, so an entry stays in its place under a name that no text can guess.
    settings["vocab"] = [
        [secrets.token_hex(16) if text in texts else text, score]
        for text, score in settings["vocab"]
    ]


def prepends_first(tokenizer: Any) -> bool:
    """Whether its pre-tokenizer puts a blank before the first word of a text and before no other."""
    return '"first"' in part_settings(tokenizer, "pre_tokenizer")


def never_prepending(tokenizer: Any) -> Any:
    """Its pre-tokenizer, without that blank."""
    settings = part_settings(tokenizer, "pre_tokenizer").replace('"first"', '"never"')
    whole = {
        "model": {"type": "BPE", "vocab": {}, "merges": []},
        "added_tokens": [],
        "pre_tokenizer": json.loads(settings),
    }
    return type(tokenizer).from_str(json.dumps(whole)).pre_tokenizer
