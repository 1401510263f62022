"""The second kind of engine: tiktoken, given the entries of the vocabulary and one pattern.

encode, _ = encoder(tokenizer, ranks)
encode("hello")  ->  [14990]
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from templc.runtime.engine.fast import Encoder
from templc.runtime.engine.merges import Table, merge_table
from templc.runtime.engine.pattern import one_pattern
from templc.runtime.engine.reasons import Unfit
from templc.runtime.token_bytes import part_settings

NAME = "tiktoken"


def version() -> str:
    """Of the library; `Unfit` where there is none."""
    try:
        return importlib.import_module(NAME).__version__  # type: ignore[no-any-return]
    except ImportError:
        raise Unfit('tiktoken is not installed: pip install "templc[fast]"') from None


def table(settings: Mapping[str, Any]) -> Table:
    """The entries of the vocabulary; `Unfit` where tiktoken would cut or merge otherwise."""
    one_pattern(settings["pre_tokenizer"])
    return merge_table(settings["model"])


def encoder(tokenizer: Any, ranks: Callable[[], dict[bytes, int]]) -> Encoder:
    """Text to ids, without normalisation; `Unfit` where tiktoken refuses the pattern."""
    try:
        encoding = importlib.import_module("tiktoken").Encoding(
            "templc",
            pat_str=one_pattern(json.loads(part_settings(tokenizer, "pre_tokenizer"))),
            mergeable_ranks=ranks(),
            special_tokens={},
        )
    except ValueError as error:
        raise Unfit(f"tiktoken refuses the pattern ({str(error)[:200]})") from None
    return encoding.encode_ordinary, None
