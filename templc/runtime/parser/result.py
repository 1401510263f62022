"""From what the machine found to `Parsed`: the message, the spans by tokens, and whether a render gives it back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from templc.runtime.errors import TemplcError
from templc.runtime.parsed import Again, Parsed, ParsedSpan, ParseIssue, Status
from templc.runtime.parser.calls import ReadCall
from templc.runtime.parser.lexer import Lexer
from templc.runtime.parser.machine import Machine
from templc.runtime.parser.record import Issue
from templc.runtime.parser.rewritten import Rewriter

if TYPE_CHECKING:
    from templc.runtime.renderer import Renderer


def result_of(
    renderer: Renderer,
    machine: Machine,
    lexer: Lexer,
    rewriter: Rewriter,
    turn: str,
    ids: list[int] | None,
) -> Parsed:
    """The result of a finished machine; `turn`: all that it was fed, `ids`: the tokens where there are any."""
    record = machine.record
    message = message_of(renderer, record.text("content"), record.text("reasoning"), record.calls)
    whole = message_of(
        renderer,
        record.text("content", whole=True),
        record.text("reasoning", whole=True),
        [*record.given_calls, *record.calls],
    )

    def again_with(message: dict[str, Any], ids: list[int] | None) -> Again:
        return _again(rewriter, message, machine, lexer, turn, ids)

    if (
        renderer.tells_missing_reasoning
        and machine.reasoned
        and "reasoning_content" not in whole
        and not again_with(whole, None).canonical
    ):
        # Some formats write an empty block where reasoning is there but empty, and none where it is not.
        other = {**whole, "reasoning_content": ""}
        if again_with(other, None).canonical:
            whole, message = other, {**message, "reasoning_content": ""}
    later = _Found(partial(_spans, machine, lexer), partial(again_with, whole, ids))
    return Parsed(
        message=message,
        status=_status(machine),
        errors=tuple(_issue(error, lexer) for error in record.errors),
        notes=_notes(machine, lexer, len(turn)),
        placed=later,
        stop=_stop_id(machine, lexer, ids),
        stop_text=record.alphabet.outside(machine.stopped or ""),
        text=record.alphabet.outside(turn[record.mark :]),
        again=later,
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """What is worked out of a finished machine when somebody asks for it."""

    spans: Callable[[], tuple[ParsedSpan, ...]]
    again: Callable[[], Again]


def message_of(
    renderer: Renderer, content: str, reasoning: str, calls: Sequence[ReadCall]
) -> dict[str, Any]:
    """An OpenAI-style message that renders as these fields."""
    message: dict[str, Any] = {"role": "assistant", "content": content}
    inline = renderer.rules.inline_reasoning
    # Said even where it is empty, if the reader would else take reasoning out of the content.
    if reasoning or (inline is not None and inline.close in content):
        message["reasoning_content"] = reasoning
    if calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": call.type,
                "function": {
                    "name": call.name,
                    "arguments": call.arguments,
                    "raw_arguments": call.raw,
                },
            }
            for call in calls
        ]
    return message


def _status(machine: Machine) -> Status:
    if machine.stopped is None and not machine.finished:
        return "truncated"
    open_at_end = machine.stopped_in_reasoning if machine.stopped else machine.reasoning_open
    if open_at_end:
        return "unclosed_reasoning"
    return "malformed" if machine.record.errors else "ok"


def _issue(issue: Issue, lexer: Lexer) -> ParseIssue:
    return ParseIssue(issue.code, issue.message, *lexer.cover(issue.start, issue.end), issue.raw)


def _notes(machine: Machine, lexer: Lexer, end: int) -> tuple[ParseIssue, ...]:
    found = [_issue(note, lexer) for note in machine.record.notes]
    for offset in lexer.bad[:1]:
        found.append(
            ParseIssue(
                "bad_bytes",
                "some text is not UTF-8, U+FFFD stands for it",
                *lexer.cover(offset, offset + 1),
            )
        )
    for unit in lexer.unknown[:1]:
        found.append(
            ParseIssue("unknown_token", "the vocabulary has no such token", unit, unit + 1)
        )
    if lexer.incomplete:
        start = lexer.boundary(end)
        found.append(
            ParseIssue("incomplete", "the text ends inside a character", start, lexer.count)
        )
    return tuple(found)


def _spans(machine: Machine, lexer: Lexer) -> tuple[ParsedSpan, ...]:
    """Every token in one span: that of its first character."""
    found: list[ParsedSpan] = []
    done = 0
    for _, end, kind in machine.record.spans:
        last = lexer.boundary(end)
        if last == done:
            continue
        if found and found[-1].kind == kind:
            found[-1] = found[-1]._replace(end=last)
        else:
            found.append(ParsedSpan(done, last, kind))
        done = last
    if done < lexer.count:
        found.append(ParsedSpan(done, lexer.count, "incomplete"))
    return tuple(found)


def _stop_id(machine: Machine, lexer: Lexer, ids: list[int] | None) -> int | None:
    if machine.stopped is None or ids is None:
        return None
    match machine.record.spans:
        case [*_, (_, end, "stop")] if end == machine.position and not lexer.incomplete:
            return int(ids[-1])
    span = next((span for span in machine.record.spans if span[2] == "stop"), None)
    if span is None:
        return None
    return int(ids[max(0, min(lexer.boundary(span[1]), len(ids)) - 1)])


def _again(
    rewriter: Rewriter,
    whole: dict[str, Any],
    machine: Machine,
    lexer: Lexer,
    turn: str,
    ids: list[int] | None,
) -> Again:
    broken = [*lexer.bad, *lexer.spelled]
    unknown = lexer.unknown[:1]
    try:
        again = rewriter.compare(whole, turn, machine.stopped, machine.record.mark, ids)
    except TemplcError:
        return Again(False, 0)
    if not again.canonical and again.offset is not None:
        first = min([again.offset, *broken])
        return Again(
            False,
            min([lexer.cover(first, first + 1)[0] if first < len(turn) else lexer.count, *unknown]),
        )
    if broken or unknown:
        first_units = [lexer.cover(offset, offset + 1)[0] for offset in broken[:1]]
        return Again(False, min([*first_units, *unknown]))
    return again
