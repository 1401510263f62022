"""What a spec says of a turn that is the same whatever stands in its content."""

from __future__ import annotations

FIXED = frozenset({"tools", "lead", "systems"})
"""What a turn may read of the conversation, beside messages."""


class Opaque:
    """A turn that copies its content and asks no more of it than whether it is there.

    reads: what else it reads, by name: fields that a message must lack then (calls, reasoning, name, call_id), and
    what the conversation must not have (tools, lead, systems). strips: it takes white space off its content.
    """

    __slots__ = ("lacks", "reads", "strips")

    def __init__(self, *reads: str, strips: bool = False) -> None:
        self.reads = frozenset(reads)
        self.lacks = self.reads - FIXED
        self.strips = strips
