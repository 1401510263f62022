"""Verdicts on disk, so that a vocabulary is tried once on each machine.

Owns `$XDG_CACHE_HOME/templc/engine/KEY.json` (by default under `~/.cache`). A folder that cannot be read or written
only means that the trial runs again.

    store.write(key, Verdict(reason="", unused=(0, 1), strange=""))
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import NamedTuple


class Verdict(NamedTuple):
    """reason: why not, empty where the engine is fit. unused: ids left out. strange: characters left to the other."""

    reason: str
    unused: tuple[int, ...] = ()
    strange: str = ""


def folder() -> Path:
    """Where verdicts are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "templc" / "engine"


def read(key: str) -> Verdict | None:
    """The verdict, None where there is none that can be read."""
    try:
        found = json.loads((folder() / f"{key}.json").read_text(encoding="utf-8"))
        return Verdict(str(found["reason"]), tuple(map(int, found["unused"])), found["strange"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write(key: str, verdict: Verdict) -> None:
    """Keep a verdict; other processes see all of it or nothing."""
    try:
        folder().mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", dir=folder(), suffix=".part", delete=False, encoding="utf-8"
        ) as file:
            json.dump(verdict._asdict(), file)
        os.replace(file.name, folder() / f"{key}.json")
    except OSError:
        return
