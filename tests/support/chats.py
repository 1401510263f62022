"""Conversations for data sets: many short ones, each different, and files of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def chat(number: int, turns: int = 1) -> list[dict[str, Any]]:
    """A conversation that no other number gives."""
    found = []
    for turn in range(turns):
        found.append({"role": "user", "content": f"What is {number} + {turn}?"})
        found.append({"role": "assistant", "content": f"It is {number + turn}."})
    return found


def json_lines(path: Path, rows: Iterable[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
