"""One row of the tables of malformed patterns and conditions.

`Mistake("condition", ".*", r"\\)", "bad-condition", "one bracket too many", ...)` applies where the text before the
place matches `.*` and the rest starts with a bracket.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Start = Literal["pattern", "condition"]


class Mistake(NamedTuple):
    """What a spec author wrote wrongly.

    `marks` says what to show: the word at the place, the hole that is open there, or the last
    character before it. `{word}` in message and help stands for that word. `examples` are texts that
    show the mistake.
    """

    start: Start
    before: str
    rest: str
    code: str
    message: str
    label: str
    help: str
    examples: tuple[str, ...]
    marks: Literal["word", "hole", "end"] = "word"
