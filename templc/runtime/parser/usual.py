"""The short way to read a completion: one that is written just as the format writes it.

`walk` goes from control token to control token; None is the answer for whatever else comes, and the machine reads
that. What few ask for, spans and the comparison with a render, is left to the machine too. What does not hang on the
ids is a plan, made once for completions that begin alike.

    plan = plan_of(renderer, codec, state, tools, accept=False)
    usual(plan, renderer, codec, ids, tools, False, later).message  ->  {"role": "assistant", "content": "Yes."}
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from templc.runtime import fold
from templc.runtime.codec import Codec
from templc.runtime.history import State
from templc.runtime.parsed import Again, Parsed, ParsedSpan, Status
from templc.runtime.parser.alphabet import Alphabet
from templc.runtime.parser.calls import Reading
from templc.runtime.parser.kit import Kit, kit_of
from templc.runtime.parser.machine import Machine
from templc.runtime.parser.record import Record
from templc.runtime.parser.result import message_of
from templc.runtime.parser.shape import table_for
from templc.runtime.parser.start import Start, start_of
from templc.runtime.parser.states import Begin, Table
from templc.runtime.parser.vocabulary import Vocabulary, vocabulary_of
from templc.runtime.parser.walk import Walk
from templc.runtime.tools import parameters_of
from templc.runtime.writer import Writer

if TYPE_CHECKING:
    from templc.runtime.renderer import Renderer

# Prompts hold the few tails that a format writes, or the beginning of an answer, which is not remembered.
LONGEST, MOST = 64, 64
PLANS = 1024


class Later:
    """What the machine says of a completion: it reads when somebody asks, and once. `Parsed` keeps threads apart."""

    __slots__ = ("_job", "_parsed", "_read")

    def __init__(self, read: Callable[..., Parsed], job: tuple[Any, ...]) -> None:
        self._read = read
        self._job: tuple[Any, ...] | None = job
        self._parsed: Parsed | None = None

    def _known(self) -> Parsed:
        if self._job is not None:
            self._parsed = self._read(*self._job)
            self._job = None
        assert self._parsed is not None
        return self._parsed

    def spans(self) -> tuple[ParsedSpan, ...]:
        """Every token in one span."""
        return self._known().spans

    def again(self) -> Again:
        """The message rendered again and compared."""
        return self._known().compared


class Plan:
    """What reading takes beside the ids. begin: where it begins, None where only the machine can tell.

    end: white space before an end without a stop.
    """

    __slots__ = (
        "_alphabet",
        "_call_id",
        "_reading",
        "begin",
        "end",
        "spelling",
        "states",
        "vocabulary",
    )

    def __init__(
        self, renderer: Renderer, vocabulary: Vocabulary, kit: Kit, start: Start, accept: bool
    ) -> None:
        table = table_for(renderer, start, kit, accept)
        self.begin = _begin(table, start.tail, kit.alphabet)
        self.states, self.end = table.states, table.end
        self.vocabulary = vocabulary
        self.spelling = vocabulary.spelling(kit.alphabet)
        self._alphabet, self._call_id = kit.alphabet, renderer.rules.call_id
        self._reading = self._made(start.tools)

    def reading(self, tools: fold.Tools) -> Reading:
        """What reads calls where these tools are declared: that of the last time, if they are the same ones."""
        known = self._reading
        if known[0] is not tools:
            known = self._reading = self._made(tools)
        return known[1]

    def _made(self, tools: fold.Tools) -> tuple[fold.Tools, Reading]:
        return tools, Reading(parameters_of(tools), self._call_id, self._alphabet)


def plan_of(
    renderer: Renderer, codec: Codec, state: State | None, tools: fold.Tools, accept: bool
) -> Plan:
    """The plan for what follows a prompt with this state, by default the generation prompt after a user message."""
    vocabulary = vocabulary_of(codec)
    plans: dict[Any, Plan | None] = vocabulary.plans
    past = None if state is None else state.past
    key = type(renderer), renderer.fingerprint(), past, accept
    plan = plans.get(key)
    if plan is None:
        kit = kit_of(renderer.info, codec)
        start = start_of(renderer, codec, kit.alphabet, None, state, tools)
        plan = Plan(renderer, vocabulary, kit, start, accept)
        if key not in plans:
            if len(plans) >= PLANS:
                plans.clear()
            plans[key] = plan if _alone(renderer, start.past) else None
    return plan


def usual(
    plan: Plan,
    renderer: Renderer,
    codec: Codec,
    ids: tuple[int, ...],
    tools: fold.Tools,
    finished: bool,
    later: Later,
) -> Parsed | None:
    """What the ids say, None where the machine has to read them. later: what it would say."""
    begin = plan.begin
    joined = None if begin is None else plan.vocabulary.joined(codec, ids)
    parted = None if joined is None else plan.spelling.parted(joined)
    if begin is None or parted is None:
        return None
    texts, controls, said = parted
    walk = Walk(plan.states, plan.reading(tools), texts, controls)
    stop = walk.stop(begin, plan.end if finished else "")
    if stop is None:
        return None
    reasoning = walk.fields.get("reasoning", "")
    if walk.reasoned and renderer.tells_missing_reasoning and not reasoning:
        return None
    message = message_of(renderer, walk.fields.get("content", ""), reasoning, walk.calls)
    if stop:
        return Parsed(message, "ok", (), (), later, int(ids[-1]), stop, "".join(said), later)
    open_at_end: Status = "unclosed_reasoning" if walk.inside == "reasoning" else "ok"
    status = open_at_end if finished else "truncated"
    return Parsed(message, status, (), (), later, None, "", "".join(said), later)


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


class _Asked(Writer):
    """A writer that tells whether anybody asked for what it is given: tools, or the system message."""

    __slots__ = ("asked",)

    def __getattribute__(self, name: str) -> Any:
        if name not in _WRITING:
            self.asked = True
        return super().__getattribute__(name)


_WRITING = {"write", "pieces", "message", "sampling", "weight", "asked"}


def _alone(renderer: Renderer, past: Any) -> bool:
    """Whether how a turn begins and goes on hangs on the format's options and the past alone."""
    out = _Asked()
    out.asked = False
    renderer.responds(out, past)
    if "prefill" in renderer.parts:
        renderer.parts["prefill"](renderer, out, fold.PROMPT, past, None)
    return not out.asked
