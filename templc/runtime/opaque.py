"""What a spec says of a turn that is the same whatever stands in the texts that it copies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LEAD_CLOSELY = "lead_closely"
FIXED = frozenset({"tools", "lead", LEAD_CLOSELY, "systems"})
"""What a turn may read of the conversation, beside messages.

`lead`: the system message that stands first; `lead_closely`: more of its content than a copy, and whether it is there.
"""


class Look:
    """What is asked of a text that is copied.

    strips: white space is taken off its ends. newlines: newlines are. quotes: it is written as JSON. sought: it may
    hold these.
    """

    __slots__ = ("asks", "newlines", "quotes", "sought", "strips")

    def __init__(
        self,
        *,
        strips: bool = False,
        newlines: bool = False,
        quotes: bool = False,
        sought: tuple[str, ...] = (),
    ) -> None:
        self.strips = strips
        self.newlines = newlines
        self.quotes = quotes
        self.sought = sought
        self.asks = bool(strips or newlines or quotes or sought)

    def told(self) -> tuple[Any, ...]:
        """All that it says."""
        return self.strips, self.newlines, self.quotes, self.sought

    def looks(self, text: str) -> bool:
        """Whether this text, which is not empty, is not written as it is, or otherwise than others."""
        if self.quotes:
            return True
        if self.strips and (text[0].isspace() or text[-1].isspace()):
            return True
        if self.newlines and (text[0] == "\n" or text[-1] == "\n"):
            return True
        return any(one in text for one in self.sought)

    def both(self, other: Look) -> Look:
        """What is asked by both."""
        return Look(
            strips=self.strips or other.strips,
            newlines=self.newlines or other.newlines,
            quotes=self.quotes or other.quotes,
            sought=tuple(dict.fromkeys((*self.sought, *other.sought))),
        )


class Opaque(Look):
    """A turn that copies its content and asks little else of it, which is what it says as a `Look`.

    reads: what else it reads, by name: fields of its message (calls, reasoning, name, call_id, answered), and of the
    conversation what must not be there, see `FIXED`. lacks: the fields among them. copies: those of them that it does
    no more with than with the content, other than calls. arguments: where it copies names, ids and arguments of calls,
    the filter that makes a text of the arguments.
    """

    __slots__ = ("arguments", "copies", "lacks", "reads")

    def __init__(
        self,
        *reads: str,
        strips: bool = False,
        newlines: bool = False,
        quotes: bool = False,
        sought: tuple[str, ...] = (),
        copies: Mapping[str, Look] | None = None,
        arguments: str = "",
    ) -> None:
        super().__init__(strips=strips, newlines=newlines, quotes=quotes, sought=sought)
        self.reads = frozenset(reads)
        self.lacks = self.reads - FIXED
        self.copies = copies or {}
        self.arguments = arguments

    def told(self) -> tuple[Any, ...]:
        """All that it says."""
        copies = {name: look.told() for name, look in self.copies.items()}
        return *super().told(), self.reads, copies, self.arguments
