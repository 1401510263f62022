"""The writer: collects the pieces that a renderer writes, with their origin.

A plain `str` is text of the format; text that came from elsewhere is wrapped (`Content(m.content)`), so that it can
never become a control token:

    out.write("<|im_start|>user\\n", Content(m.content), "<|im_end|>\\n")
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from templc.runtime.messages import Message
from templc.runtime.pieces import Piece, text_of

# As `Piece(...)`, in half the time: this is the innermost loop of rendering.
_new = tuple.__new__


class Body(str):
    """Text that came from a message, a tool or an option: `field` says from where, `owner` from which message.

    An owner of None is the message whose turn is being written.
    """

    __slots__ = ()
    field: ClassVar[str] = ""
    owner: ClassVar[int | None] = None


class Content(Body):
    __slots__ = ()
    field = "content"


class LeadContent(Content):
    """Content of the system message that stands first."""

    __slots__ = ()
    owner = 0


class Reasoning(Body):
    __slots__ = ()
    field = "reasoning"


class Arguments(Body):
    __slots__ = ()
    field = "arguments"


class CallId(Body):
    __slots__ = ()
    field = "call_id"


class Name(Body):
    __slots__ = ()
    field = "name"


class ToolText(Body):
    __slots__ = ()
    field = "tools"


class OptionText(Body):
    __slots__ = ()
    field = "option"


class Writer:
    """Pieces in writing order, and what is fixed for the whole conversation.

    tools: the tool declarations, empty when none were given (`tools_given` tells which). lead: the system message
    that stands first, for the head. systems: every system message with its index, for a head that gathers them.
    """

    __slots__ = (
        "lead",
        "message",
        "pieces",
        "sampling",
        "systems",
        "tools",
        "tools_given",
        "weight",
    )

    def __init__(
        self,
        tools: tuple[Mapping[str, Any], ...] | None = None,
        lead: Message | None = None,
        systems: tuple[tuple[int, Message], ...] = (),
    ) -> None:
        self.pieces: list[Piece] = []
        self.tools = tools or ()
        self.tools_given = tools is not None
        self.lead = lead
        self.systems = systems
        self.message = -1
        self.sampling = False
        self.weight = 1.0

    def write(self, *parts: str) -> None:
        """Add text; wrapped parts are bodies."""
        add, message, sampling = self.pieces.append, self.message, self.sampling
        weight = self.weight if sampling else 0.0
        for part in parts:
            if not part:
                continue
            if isinstance(part, Body):
                owner = message if part.owner is None else part.owner
                add(_new(Piece, (str(part), True, owner, part.field, sampling, weight)))
            else:
                add(_new(Piece, (part, False, message, "", sampling, weight)))

    @property
    def lead_content(self) -> str:
        """Content of the system message that stands first, empty when there is none."""
        return self.lead.content if self.lead else ""

    @property
    def lead_name(self) -> str:
        """Name of the system message that stands first."""
        return self.lead.name if self.lead else ""

    @property
    def lead_parts(self) -> bool:
        """Whether the content of the system message that stands first was a list."""
        return bool(self.lead and self.lead.parts)

    def unsample(self, start: int, prefill: str) -> None:
        """Take `prefill` off what was sampled since piece `start`, where the sampled text begins with it."""
        if not prefill or not text_of(self.pieces[start:]).startswith(prefill):
            return
        left = len(prefill)
        for at in range(start, len(self.pieces)):
            piece = self.pieces[at]
            if left <= 0:
                return
            given, rest = piece.text[:left], piece.text[left:]
            self.pieces[at] = piece._replace(text=given, sampled=False, weight=0.0)
            if rest:
                self.pieces.insert(at + 1, piece._replace(text=rest))
                return
            left -= len(given)
