"""What a benchmark makes with one engine in place of the one that would be chosen."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import templc
from templc.runtime.codec import codec_of


def with_engine(engine: str, format: str, make: Callable[[], Any]) -> templc.Renderer:
    """A renderer that encodes by the fast engine (`fast`) or the tokenizer's own (`own`), from the first text on.

    make: a tokenizer that nobody has used before.
    """
    before = os.environ.get("TEMPLC_ENGINE")
    os.environ["TEMPLC_ENGINE"] = engine
    try:
        tokenizer = make()
        print(f"{engine}: {codec_of(tokenizer).engine()}")
        return templc.get_renderer(format, tokenizer)
    finally:
        os.environ.pop("TEMPLC_ENGINE")
        if before is not None:
            os.environ["TEMPLC_ENGINE"] = before
