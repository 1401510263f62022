"""What to make of each row; plain values, so that they cross processes and stand in a manifest.

Settings(max_tokens=4096, too_long="cut_front")
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from templc.runtime.errors import TemplcError

TooLong = Literal["drop", "cut_front", "error"]
OnError = Literal["skip", "stop"]
TrainOn = Literal["all_assistant", "last_assistant", "last_turn", "all_messages"]


class DataError(TemplcError):
    """Rows, files or settings that cannot be used."""


class RowError(DataError):
    """A row that has no conversation, or one that does not fit."""


@dataclass(frozen=True, slots=True)
class Settings:
    """messages: the column of the conversation, "" for one of `messages`, `conversations`, `conversation`.

    max_tokens: the longest example (None: no limit), and too_long what happens to longer ones. pack: the length of
    rows that hold several examples (None: one example a row). weights: a column of weights beside the labels, which
    rows with weights other than 0 and 1 need.
    """

    messages: str = ""
    train_on: TrainOn = "all_assistant"
    max_tokens: int | None = None
    too_long: TooLong = "drop"
    pack: int | None = None
    weights: bool = False
    on_error: OnError = "skip"

    def __post_init__(self) -> None:
        for name, value in (("max_tokens", self.max_tokens), ("pack", self.pack)):
            if value is not None and value < 1:
                raise DataError(f"{name} is {value}", help="give a number above 0")

    @property
    def limit(self) -> int | None:
        """The most tokens that an example may have."""
        given = [size for size in (self.max_tokens, self.pack) if size is not None]
        return min(given, default=None)
