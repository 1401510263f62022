"""The settings of a tokenizer's JSON: sequences of steps, nested or not, as one row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def steps(settings: Any, inner: str) -> Iterator[Any]:
    """Each single step of a normaliser or pre-tokenizer; `inner` is where a sequence keeps its steps."""
    if settings is None:
        return
    if settings["type"] != "Sequence":
        yield settings
        return
    for step in settings[inner]:
        yield from steps(step, inner)
