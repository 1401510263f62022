"""What a reader of messages remembers of the earlier ones: calls that wait for results, ids, and counts of parts.

It is all plain tuples, so that every conversation that goes on from the same place has its own.
"""

from __future__ import annotations

from typing import NamedTuple


class Asked(NamedTuple):
    """What a result needs to know of the call that it answers."""

    id: str = ""
    name: str = ""
    number: str = ""


class Waiting(NamedTuple):
    """The latest message with tool calls: its calls, those without a result yet, its text.

    `ids`: the id of every call of the conversation so far, by number, for formats that write numbers. `media`: how
    many parts of each text there were. `neighbour`: role of the message before, and whether it had such parts, for
    formats that ask.
    """

    calls: tuple[Asked, ...] = ()
    left: tuple[Asked, ...] = ()
    content: str = ""
    ids: tuple[str, ...] = ()
    media: tuple[tuple[str, int], ...] = ()
    neighbour: tuple[str, bool] | None = None

    @property
    def parted(self) -> bool:
        """Whether the message before had such parts, so that the next one has to be looked at."""
        return self.neighbour is not None and self.neighbour[1]

    def beside(self, role: str) -> Waiting:
        """The same behind a message of this role without such parts."""
        return self._replace(neighbour=(role, False))
