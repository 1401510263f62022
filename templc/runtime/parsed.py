"""What a completion was read as: the message, how it ended, and where each token went."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

Status = Literal["ok", "truncated", "malformed", "unclosed_reasoning"]


class ParsedSpan(NamedTuple):
    """Tokens `start` to `end` (exclusive) of the completion, and what they are.

    kind: reasoning, content, tool_call, stop, scaffold, incomplete or after_stop.
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


@dataclass(frozen=True, slots=True)
class Parsed:
    """The message that a completion says.

    message: OpenAI-style; each tool call keeps the sampled text of its arguments under `function.raw_arguments`
    beside the decoded `function.arguments`. status: the first that applies of truncated, unclosed_reasoning,
    malformed, ok. canonical: rendering the message again gives the sampled text. spans: every token of the completion,
    in order, in exactly one span. stop: the id that ended it, None where it was cut off.
    """

    message: dict[str, Any]
    status: Status
    errors: tuple[ParseIssue, ...] = ()
    notes: tuple[ParseIssue, ...] = ()
    canonical: bool = True
    spans: tuple[ParsedSpan, ...] = ()
    stop: int | None = None
    text: str = ""
    fields: dict[str, Any] = field(default_factory=dict)
