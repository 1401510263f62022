"""One call while it is read: where it began, what came so far, and what happens when it ends.

A call that ends badly is cut at the first closer or opener that stood inside a string; the rest is read again, and
for the remainder of the turn every closer counts. So no text is read more than twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from templc.runtime.parser.calls import BadCall, ReadCall
from templc.runtime.parser.grammar import BareCall, CallShape
from templc.runtime.parser.scan import Scan, scan_for
from templc.runtime.parser.states import Exit

if TYPE_CHECKING:
    from templc.runtime.parser.machine import Machine


@dataclass(slots=True)
class CallRun:
    """`start`: offset of the opener; `body`: offset of what follows it; `target`: the state behind the call.
    others: accepted shapes.

    held: white space before a bare object, which is content if the object is.
    """

    shape: CallShape
    start: int
    body: int
    target: int
    scan: Scan
    parts: list[str] = field(default_factory=list)
    held: str = ""
    others: Sequence[CallShape] = ()


def opened(machine: Machine, way: Exit, held: str) -> CallRun:
    """A call whose opener stands at the read position."""
    assert way.calls is not None
    calls = way.calls
    shape = calls.call
    cores = {shape.open.core, shape.close.core}
    cores |= {anchor.core for anchor in (calls.open, calls.close) if anchor}
    scan = scan_for(shape, machine.definite)(cores - {""}, machine.table.stops)
    start = machine.position
    return CallRun(
        shape, start, start + len(way.core), way.target, scan, held=held, others=way.others
    )


def ended(machine: Machine, call: CallRun, core: str | None) -> bool:
    """A call has come to `core`, which stands at the read position, or to the end of the text."""
    text = "".join(call.parts)
    if isinstance(call.shape, BareCall):
        return _bare(machine, call, text, core)
    if not call.shape.close.core and (core is not None or machine.finished):
        problem = _read(machine, call, text)
        if problem is not None:
            _error(machine, call, text, problem, machine.position)
        machine.enter(call.target)
        return True
    if core == call.shape.close.core:
        problem = _read(machine, call, text)
        if problem is None or call.scan.tentative is None:
            _finish(machine, call, text, problem, len(core))
            return True
    if call.scan.tentative is not None:
        _cut(machine, call, text)
        return True
    if core is None:
        code = "unclosed_tool_call" if machine.finished else "truncated_tool_call"
        _error(machine, call, text, (code, "the text ends inside the call"), machine.position)
    else:
        problem = (
            "unclosed_tool_call",
            f"the call ends at {machine.record.alphabet.outside(core)}",
        )
        _error(machine, call, text, problem, machine.position)
    machine.enter(call.target)
    return True


def _bare(machine: Machine, call: CallRun, text: str, core: str | None) -> bool:
    """A bare object has ended: a call if it names a tool and maps its arguments, else text like any other."""
    known = machine.reading.schemas
    assert isinstance(call.shape, BareCall)
    if core == call.shape.close.core:
        try:
            found = machine.reading.read(call.shape, text)
        except BadCall:
            found = None
        if found is not None and (known is None or found.name in known):
            end = machine.position + len(core)
            machine.record.span(call.start - len(call.held), call.start, "scaffold")
            machine.record.span(call.start, end, "tool_call")
            machine.record.call(found, call.start, end, "{" + text + "}")
            machine.at += len(core)
            machine.enter(call.target)
            return True
    machine.as_text(call.held + "{" + text, call.start - len(call.held))
    return True


def _read(machine: Machine, call: CallRun, text: str) -> tuple[str, str] | None:
    """Read and record a call; what is wrong with it."""
    try:
        found = _in_any_shape(machine, call, text)
    except BadCall as error:
        return error.code, error.message
    end = call.body + len(text) + len(call.shape.close.core)
    machine.record.span(call.start, end, "tool_call")
    for one in found:
        machine.record.call(one, call.start, end, machine.reading.body(call.shape, text))
    return None


def _in_any_shape(machine: Machine, call: CallRun, text: str) -> list[ReadCall]:
    """The calls in the shape that the format writes, else in the first accepted one that it has."""
    try:
        return machine.reading.read_all(call.shape, text)
    except BadCall:
        for shape in call.others:
            with suppress(BadCall):
                return machine.reading.read_all(shape, text)
        raise


def _finish(
    machine: Machine, call: CallRun, text: str, problem: tuple[str, str] | None, size: int
) -> None:
    end = call.body + len(text) + size
    if problem is not None:
        _error(machine, call, text, problem, end)
    machine.at += size
    machine.enter(call.target, call.shape.close.post)


def _error(machine: Machine, call: CallRun, text: str, problem: tuple[str, str], end: int) -> None:
    machine.record.span(call.start, end, "tool_call")
    machine.record.error(*problem, call.start, end, machine.reading.body(call.shape, text))


def _cut(machine: Machine, call: CallRun, text: str) -> None:
    """End the call at its first doubtful anchor and read what follows again."""
    assert call.scan.tentative is not None
    place, core = call.scan.tentative
    machine.definite = True
    machine.buffer = text + machine.buffer[machine.at :]
    machine.base, machine.at = call.body, place - call.body
    text = text[: machine.at]
    if core == call.shape.close.core:
        _finish(machine, call, text, _read(machine, call, text), len(core))
        return
    problem = ("unclosed_tool_call", f"the call ends at {machine.record.alphabet.outside(core)}")
    _error(machine, call, text, problem, machine.position)
    machine.enter(call.target)
