"""Verdicts on disk, so that a vocabulary is tried once on each machine.

write(key, Verdict(reason="", unused=(0, 1), strange=""))
"""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import NamedTuple

from templc.runtime import cache

KIND = "engine"


class Verdict(NamedTuple):
    """reason: why not, empty where the engine is fit. unused: ids left out. strange: characters left to the other.

    composes: text is brought to NFC. sizes: how many bytes each id stands for. With these two an engine is made again
    without reading the settings of its tokenizer, megabytes of JSON.
    """

    reason: str
    unused: tuple[int, ...] = ()
    strange: str = ""
    composes: bool = False
    sizes: array[int] = array("H")


def folder() -> Path:
    """Where verdicts are kept."""
    return cache.folder(KIND)


def read(key: str) -> Verdict | None:
    """The verdict, None where there is none that can be read."""
    found = cache.kept(KIND, key)
    try:
        return Verdict(
            str(found["reason"]),
            tuple(map(int, found["unused"])),
            str(found["strange"]),
            bool(found["composes"]),
            array("H", found["sizes"]),
        )
    except (ValueError, KeyError, TypeError, OverflowError):
        return None


def write(key: str, verdict: Verdict) -> None:
    """Keep a verdict; other processes see all of it or nothing."""
    cache.keep(KIND, key, {**verdict._asdict(), "sizes": list(verdict.sizes)})
