"""The short way to read a completion: one that is written just as the format writes it.

`walk` goes from control token to control token; None is the answer for whatever else comes, and the machine reads
that. What few ask for, spans and the comparison with a render, is left to the machine too.

    usual(renderer, codec, kit, ids, start, False, read).message  ->  {"role": "assistant", "content": "Yes."}
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from templc.runtime.codec import Codec
from templc.runtime.parsed import Again, Parsed, ParsedSpan
from templc.runtime.parser.alphabet import Alphabet
from templc.runtime.parser.calls import Reading
from templc.runtime.parser.kit import Kit
from templc.runtime.parser.lexer import text_at_once
from templc.runtime.parser.machine import Machine
from templc.runtime.parser.record import Record
from templc.runtime.parser.result import message_of
from templc.runtime.parser.shape import table_for
from templc.runtime.parser.start import Start
from templc.runtime.parser.states import Begin, Table
from templc.runtime.parser.walk import Walk

if TYPE_CHECKING:
    from templc.runtime.renderer import Renderer

# Prompts hold the few tails that a format writes, or the beginning of an answer, which is not remembered.
LONGEST, MOST = 64, 64


class Later:
    """What the machine says of a completion: it reads when somebody asks, and once."""

    def __init__(self, read: Callable[[], Parsed]) -> None:
        self._read: Callable[[], Parsed] | None = read
        self._parsed: Parsed | None = None

    def _known(self) -> Parsed:
        read = self._read  # once, for another thread may be done in between
        if read is not None:
            self._parsed = read()
            self._read = None
        assert self._parsed is not None
        return self._parsed

    def spans(self) -> tuple[ParsedSpan, ...]:
        """Every token in one span."""
        return self._known().spans

    def again(self) -> Again:
        """The message rendered again and compared."""
        return self._known().compared


def usual(
    renderer: Renderer,
    codec: Codec,
    kit: Kit,
    ids: list[int],
    start: Start,
    accept: bool,
    read: Callable[[], Parsed],
) -> Parsed | None:
    """What the ids say, None where the machine has to read them. read: by the machine."""
    turn = text_at_once(codec, kit.alphabet, ids)
    if turn is None:
        return None
    table = table_for(renderer, start, kit, accept)
    begin = _begin(table, start.tail, kit.alphabet)
    if begin is None:
        return None
    told = Walk(table, kit.alphabet, renderer.rules.call_id, start.tools).told(begin, turn)
    if told is None:
        return None
    reasoning = told.fields.get("reasoning", "")
    if told.reasoned and renderer.tells_missing_reasoning and not reasoning:
        return None
    later = Later(read)
    return Parsed(
        message=message_of(renderer, told.fields.get("content", ""), reasoning, told.calls),
        status="ok",
        placed=later.spans,
        stop=int(ids[-1]),
        stop_text=told.stop,
        text=told.text,
        again=later.again,
    )


def _begin(table: Table, tail: str, alphabet: Alphabet) -> Begin | None:
    """Where the machine is behind what the prompt holds of the turn; None inside of a text."""
    if len(tail) > LONGEST:
        return None
    known = table.begins
    if tail not in known:
        machine = Machine(table, Record(alphabet), Reading(None, "", alphabet))
        machine.feed(tail)
        if len(known) >= MOST:
            known.clear()
        known[tail] = machine.fresh
    return known.get(tail)
