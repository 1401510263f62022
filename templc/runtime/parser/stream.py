"""The parser of one completion: fed in any pieces, or all at once.

parser = renderer.parser(prompt=tokens)
for ids in stream:
    for delta in parser.feed(ids):
        show(delta)
parsed = parser.finish()
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from templc.runtime import fold
from templc.runtime.codec import Codec
from templc.runtime.history import State
from templc.runtime.parsed import Delta, Parsed
from templc.runtime.parser.alphabet import Alphabet
from templc.runtime.parser.calls import Reading
from templc.runtime.parser.kit import kit_of
from templc.runtime.parser.lexer import Lexer, TextLexer, TokenLexer
from templc.runtime.parser.machine import Machine
from templc.runtime.parser.record import Record
from templc.runtime.parser.result import result_of
from templc.runtime.parser.rewritten import Rewriter
from templc.runtime.parser.shape import table_for
from templc.runtime.parser.start import Prompt, Start, start_of, state_of
from templc.runtime.parser.usual import Later, Plan, plan_of, usual
from templc.runtime.parser.vocabulary import vocabulary_of
from templc.runtime.tools import parameters_of

if TYPE_CHECKING:
    from templc.runtime.renderer import Renderer

Given = tuple[Prompt, fold.Tools, State | None]


def read_whole(
    renderer: Renderer,
    codec: Codec | None,
    completion: Sequence[int] | str,
    given: Given,
    accept: bool,
    finished: bool,
) -> Parsed:
    """What a whole completion says. accept: calls inside reasoning are calls."""

    if codec is None or len(completion) == 0:
        return _read_by(Parser(renderer, codec, *given, accept), completion, finished)
    # Copied, for what is found out later must be of what was given, whatever becomes of the list.
    kind = type(completion)
    ids: Any = tuple(completion if kind is list or kind is tuple else map(int, completion))
    prompt, tools, state = given
    state, begins = state_of(prompt, state), None
    if prompt is None or state is not None:
        plan = plan_of(renderer, codec, state, tools, accept)
    else:
        # Only a prompt given as ids or text has control tokens of its own.
        kit = kit_of(renderer.info, codec)
        alphabet = kit.alphabet.copy()
        begins = alphabet, start_of(renderer, codec, alphabet, prompt, None, tools)
        plan = Plan(renderer, vocabulary_of(codec), kit, begins[1], accept)
    job = renderer, codec, ids, begins, tools, state, accept, finished
    if tools is None and state is not None:
        tools = state.tools
    return usual(plan, renderer, codec, ids, tools, Later(_by_machine, job)) or _by_machine(*job)


def _by_machine(
    renderer: Renderer,
    codec: Codec,
    ids: tuple[int, ...],
    begins: tuple[Alphabet, Start] | None,
    tools: fold.Tools,
    state: State | None,
    accept: bool,
    finished: bool,
) -> Parsed:
    begun = None if begins is None else (begins[0].copy(), begins[1])
    parser = Parser(renderer, codec, None, tools, state, accept, begun)
    return _read_by(parser, list(ids), finished)


def _read_by(parser: Parser, completion: Sequence[int] | str, finished: bool) -> Parsed:
    parser.feed(completion)
    return parser.finish(finished=finished)


class Parser:
    """Reads one completion; made by `renderer.parser`. Tokens need a codec, text needs none; the two do not mix."""

    def __init__(
        self,
        renderer: Renderer,
        codec: Codec | None,
        prompt: Prompt,
        tools: fold.Tools,
        state: State | None,
        calls_in_reasoning: bool,
        begins: tuple[Alphabet, Start] | None = None,
    ) -> None:
        self._renderer = renderer
        self._given = (prompt, tools, state)
        self._begins = begins
        self._codec = codec
        self._accept = calls_in_reasoning
        self._machine: Machine | None = None
        self._lexer: Lexer
        self._rewriter: Rewriter
        self._turn: list[str] = []
        self._ids: list[int] | None = None
        self._parsed: Parsed | None = None
        self.last: tuple[Delta, ...] = ()

    def feed(self, given: Sequence[int] | str | int) -> list[Delta]:
        """What this much more of the completion says for certain: deltas that are never taken back.

        given: token ids, one id, or text. TypeError where tokens and text are mixed; ValueError after `finish`.
        """
        if self._parsed is not None:
            raise ValueError("the completion is finished: make a new parser for the next one")
        given = [given] if isinstance(given, int) else given
        if len(given) == 0:
            return []
        machine = self._begun(text=isinstance(given, str))
        if isinstance(given, str) != (self._ids is None):
            raise TypeError("tokens and text cannot be mixed in one completion")
        if self._ids is not None:
            given = given if type(given) is list else list(map(int, given))
            self._ids += given
        self._read(machine, self._lexer.feed(given))
        return machine.record.taken()

    def finish(self, *, finished: bool = False) -> Parsed:
        """The result; the deltas that were still held back are in `last`.

        finished: the engine ended the turn and left the stop out, so that it is not truncated.
        """
        if self._parsed is None:
            machine = self._begun(text=self._codec is None)
            self._read(machine, self._lexer.finish())
            machine.finish(finished)
            self.last = tuple(machine.record.taken())
            turn = "".join(self._turn)
            self._parsed = result_of(
                self._renderer, machine, self._lexer, self._rewriter, turn, self._ids
            )
        return self._parsed

    def _read(self, machine: Machine, text: str) -> None:
        if text:
            self._turn.append(text)
            machine.feed(text)

    def _begun(self, *, text: bool) -> Machine:
        if self._machine is None:
            self._machine = self._begin(None if text else self._codec)
            self._ids = None if text else []
        return self._machine

    def _begin(self, codec: Codec | None) -> Machine:
        renderer, kit = self._renderer, kit_of(self._renderer.info, codec)
        alphabet, start = self._begins or self._start(kit.alphabet.copy(), codec)
        table = table_for(renderer, start, kit, self._accept)
        reading = Reading(parameters_of(start.tools), renderer.rules.call_id, alphabet)
        machine = Machine(table, Record(alphabet), reading)
        tail = start.tail
        machine.feed(tail)
        if (
            machine.stopped is not None
        ):  # the prompt ends with a whole turn: nothing of the next one is there
            tail = ""
            machine = Machine(table, Record(alphabet), reading)
        machine.record.begin(len(tail))
        self._turn = [tail]
        self._lexer = (
            TextLexer(kit.controls, alphabet) if codec is None else TokenLexer(codec, alphabet)
        )
        self._lexer.start_at(len(tail))
        self._rewriter = Rewriter(renderer, codec, alphabet, start)
        return machine

    def _start(self, alphabet: Alphabet, codec: Codec | None) -> tuple[Alphabet, Start]:
        prompt, tools, state = self._given
        return alphabet, start_of(self._renderer, codec, alphabet, prompt, state, tools)
