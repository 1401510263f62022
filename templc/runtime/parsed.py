"""What a completion was read as: the message, how it ended, and where each token went."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple, Protocol

from templc.runtime.wire import openai_message

# Several threads may ask for what is worked out late. One lock, for most completions are never asked.
_lock = threading.RLock()
Status = Literal["ok", "truncated", "malformed", "unclosed_reasoning"]


class ParsedSpan(NamedTuple):
    """Tokens `start` to `end` (exclusive) of the completion, and what they are.

    kind: reasoning, content, tool_call, stop, after_stop, incomplete (bytes of a character that never ended), or
    scaffold, which is what the format writes around the fields. A token belongs to the kind of its first character.
    For a completion given as text, characters are counted in place of tokens.
    """

    start: int
    end: int
    kind: str


class ParseIssue(NamedTuple):
    """Something wrong (an error) or odd (a note): a code, words, the tokens that it is about, the raw text."""

    code: str
    message: str
    start: int
    end: int
    raw: str = ""


class Delta(NamedTuple):
    """What a streaming parser gives out: never taken back.

    kind: reasoning, content, tool_name or tool_arguments. text: what is added to the field; for arguments their
    sampled text (empty where the format writes them one by one). call: which one, -1 for text. value: the decoded
    arguments.
    """

    kind: str
    text: str
    call: int = -1
    value: Any = None


class Again(NamedTuple):
    """What rendering a message again gave: whether the texts are equal, the first token that is not given back.

    offset: the first differing character, where the texts differ.
    """

    canonical: bool
    differs: int | None = None
    offset: int | None = None


class Later(Protocol):
    """What is worked out when somebody asks for it, for most completions need it never."""

    def spans(self) -> tuple[ParsedSpan, ...]:
        """Every token in one span."""
        ...

    def again(self) -> Again:
        """The message rendered again and compared."""
        ...


# Not frozen: one is made for each completion, and setting the fields of a frozen one takes four times as long.
@dataclass(slots=True, eq=False)
class Parsed:
    """The message that a completion says, to be read only.

    message: OpenAI-style; each tool call keeps the sampled text of its arguments under `function.raw_arguments`
    beside the decoded `function.arguments`. status: the first that applies of truncated, unclosed_reasoning,
    malformed, ok. canonical: rendering the message again gives the sampled text, but for the stop where it is
    missing. differs: the first token that the rendering would not have; None where it gives all of them. spans: every
    token of the completion, in order, in exactly one span. stop: the id that ended it, for a text that ends sampling
    the last id; None where it was cut off, and for completions given as text. text: the completion as text.
    """

    message: dict[str, Any]
    status: Status
    errors: tuple[ParseIssue, ...] = ()
    notes: tuple[ParseIssue, ...] = ()
    placed: tuple[ParsedSpan, ...] | Later = field(default=(), repr=False)
    stop: int | None = None
    stop_text: str = ""
    text: str = ""
    again: Again | Later = field(default=Again(True), repr=False)

    @property
    def spans(self) -> tuple[ParsedSpan, ...]:
        """Worked out when it is first asked for, like `canonical`."""
        if not isinstance(self.placed, tuple):
            with _lock:
                if not isinstance(self.placed, tuple):
                    self.placed = self.placed.spans()
        return self.placed

    @property
    def canonical(self) -> bool:
        return self.compared.canonical

    @property
    def differs(self) -> int | None:
        return self.compared.differs

    @property
    def compared(self) -> Again:
        """The message rendered again and compared."""
        if not isinstance(self.again, Again):
            with _lock:
                if not isinstance(self.again, Again):
                    self.again = self.again.again()
        return self.again

    def _all(self) -> tuple[Any, ...]:
        assert self.compared is not None
        assert self.spans is not None
        return tuple(getattr(self, each.name) for each in fields(self))

    def __eq__(self, other: object) -> bool:
        return self._all() == other._all() if isinstance(other, Parsed) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return Parsed, self._all()

    def openai(self, *, first_call: int = 0) -> dict[str, Any]:
        """The message as it goes over the wire: arguments as text, an id for each call, numbered from `first_call`."""
        return openai_message(self.message, first_call=first_call)
