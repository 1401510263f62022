"""What a spec says of a turn that is the same whatever stands in its content."""

from __future__ import annotations

LEAD_CLOSELY = "lead_closely"
FIXED = frozenset({"tools", "lead", LEAD_CLOSELY, "systems"})
"""What a turn may read of the conversation, beside messages.

`lead`: the system message that stands first; `lead_closely`: more of its content than a copy, and whether it is there.
"""


class Opaque:
    """A turn that copies its content and asks little else of it.

    reads: what else it reads, by name: fields that a message must lack then (calls, reasoning, name, call_id), and
    what the conversation must not have, see `FIXED`. strips: it takes white space off its content. sought: texts that
    it looks for in its content.
    """

    __slots__ = ("lacks", "reads", "sought", "strips")

    def __init__(self, *reads: str, strips: bool = False, sought: tuple[str, ...] = ()) -> None:
        self.reads = frozenset(reads)
        self.lacks = self.reads - FIXED
        self.strips = strips
        self.sought = sought

    def beside(self, other: Opaque) -> Opaque:
        """A turn that asks of its content what both ask of theirs."""
        texts = tuple(dict.fromkeys((*self.sought, *other.sought)))
        return Opaque(*self.reads, strips=self.strips or other.strips, sought=texts)

    def looks(self, content: str) -> bool:
        """Whether it writes this content, which is not empty, otherwise than others."""
        if self.strips and (content[0].isspace() or content[-1].isspace()):
            return True
        return any(text in content for text in self.sought)
