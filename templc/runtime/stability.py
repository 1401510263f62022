"""The stability table of a format, as it was proved: what may follow what without rewriting earlier text.

print(renderer.stability)
renderer.stability.at(after="assistant", then="user").verdict
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class StableCell:
    """One cell. verdict: stable, stable if, never, refused (the format takes no such extension), or not proved.

    condition: what must hold for `stable if`. reason: what the earlier text depends on. lines: where the spec
    decides it, as file:line:column.
    """

    after: str
    then: str
    verdict: str
    condition: str | None
    reason: str | None
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """The verdict in words."""
        return f"stable if {self.condition}" if self.condition else self.verdict


@dataclass(frozen=True, slots=True)
class StabilityTable:
    """A proved table: rows are what a conversation ends with, columns the role of the next message.

    The rows `prompt` and `completion` are a generation prompt, and a prompt with a sampled completion; the column
    `end` asks whether a finished render keeps what was there.
    """

    data: Mapping[str, Any]

    @property
    def cells(self) -> tuple[StableCell, ...]:
        """Every cell, row by row."""
        return tuple(
            StableCell(
                cell["after"],
                cell["then"],
                cell["verdict"],
                cell["condition"],
                cell["reason"],
                tuple(decider["at"] for decider in cell["deciders"]),
            )
            for cell in self.data["cells"]
        )

    def at(self, after: str, then: str) -> StableCell:
        """The cell for what a conversation ends with and what comes next; KeyError where there is none."""
        for cell in self.cells:
            if (cell.after, cell.then) == (after, then):
                return cell
        raise KeyError(f"no cell for {then} after {after}")

    def to_json(self) -> dict[str, Any]:
        """Plain data: settings and cells."""
        return {key: value for key, value in self.data.items() if key != "certificate"}

    def __str__(self) -> str:
        return str(self.data["text"]).rstrip("\n")
