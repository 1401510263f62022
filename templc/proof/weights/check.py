"""The proof that weights are right, for every setting of a program: its options, and tools or none.

    check_weights(program, problems)    one problem for each claim that fails, with the prompt and turn that break it
    weights(program)                    what was shown, and how many messages no prompt leads to

It walks every reachable summary of the past and every class of assistant messages, so it holds for conversations of
any length and content. A training example is the prompt and then what is sampled, so the prompt is always a prefix of
it; where a render of the same turn begins otherwise, as with reasoning behind a prompt that says there is none, the
turn is counted apart. A format whose turns all begin otherwise, under every setting, has a wrong prompt.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from templc.ir.ops import Op, Program
from templc.ir.settings import said, telling
from templc.problems.problem import Problems
from templc.proof.classes import MessageClass, TooMany
from templc.proof.emission import Emission
from templc.proof.given import Given, options_of_turns
from templc.proof.letters import reachable_pasts
from templc.proof.machine import Machine, State
from templc.proof.prefilled import plainly
from templc.proof.stability import settings_of
from templc.proof.values import Settings
from templc.proof.weights.claims import (
    ends_sampling,
    follows_prompt,
    prompt_of,
    text_of,
    turn_of,
    written_behind_stop,
)
from templc.source.span import Span

MOST_SETTINGS = 256
Places = Sequence[tuple[State, MessageClass]]
_UNSET_TOKEN = "<the tokenizer's own>"


@dataclass(frozen=True, slots=True)
class Flaw:
    """A claim that fails: the code of its problem, what is written there, and under which settings."""

    code: str
    prompt: Emission
    turn: Emission
    settings: Settings
    rest: str = ""


@dataclass(frozen=True, slots=True)
class Weights:
    """What was shown: over how many settings and turns, how many turns no prompt leads to, and what fails."""

    settings: int
    turns: int
    apart: int
    flaws: tuple[Flaw, ...]
    cut_off: bool = False


def weights(program: Program) -> Weights:
    """Decide every claim under every setting."""
    flaws: dict[str, Flaw] = {}
    settings = list(itertools.islice(_settings(program), MOST_SETTINGS + 1))
    cut_off = len(settings) > MOST_SETTINGS
    # Most options say nothing about turns, so a few machines stand for all settings.
    known: dict[object, _Found | None] = {}
    found: list[_Found] = []
    for one in settings[:MOST_SETTINGS]:
        given = Given(program, one)
        if given.key not in known:
            known[given.key] = _found(given)
        shown = known[given.key]
        cut_off = cut_off or shown is None
        found += [] if shown is None else [shown]
    for one_found in found:
        for flaw in one_found.flaws:
            flaws.setdefault(flaw.code, flaw)
    turns, apart = sum(one.turns for one in found), sum(one.apart for one in found)
    odd = next((one.odd for one in found if one.odd), None)
    if odd and apart == turns:
        flaws[odd.code] = odd
    return Weights(len(settings), turns, apart, tuple(flaws.values()), cut_off)


@dataclass(frozen=True, slots=True)
class _Found:
    """What one setting shows; `odd`: the first of the turns that begin otherwise than the prompt."""

    turns: int
    apart: int
    flaws: tuple[Flaw, ...]
    odd: Flaw | None


def _found(given: Given) -> _Found | None:
    """Every claim under one setting; None where its classes are too many."""
    try:
        machine = Machine(given.program, given.settings, given=given)
    except TooMany:
        return None
    pasts = reachable_pasts(machine)
    pairs = [(past, answer) for past in pasts for answer in _answers(machine, past)]
    unfit = [(past, answer) for past, answer in pairs if not follows_prompt(machine, answer, past)]
    odd = _flaw("prompt-not-prefix", machine, *unfit[0]) if unfit else None
    return _Found(len(pairs), len(unfit), tuple(_flaws(machine, pairs)), odd)


def check_weights(program: Program, problems: Problems) -> None:
    """Report every claim that fails and is not declared under `faults`, and what is declared and does not fail."""
    flaws = {flaw.code: flaw for flaw in weights(program).flaws}
    declared = {fault.code for fault in program.faults}
    for code, flaw in flaws.items():
        if code not in declared:
            _report(program, flaw, problems)
    for fault in program.faults:
        if fault.code not in flaws:
            problems.error(
                "no-such-fault",
                f"the format has no such fault: {fault.code}",
                fault.span,
                label="declared here",
                helps=("remove the entry",),
            )


def _settings(program: Program) -> Iterator[Settings]:
    """Every combination of values of options that turns read, and tools.

    A token that is the tokenizer's own has a stand-in.
    """
    choices: list[list[tuple[str, object]]] = []
    turns = options_of_turns(program)
    known = {name: values if name in turns else () for name, values in telling(program).items()}
    for name, option in program.options.items():
        values: tuple[object, ...] = tuple(dict.fromkeys((option.default, *known[name])))
        if option.type == "token" and option.default is None:
            values = (_UNSET_TOKEN,)
        choices.append([(name, value) for value in values])
    for chosen in itertools.product(*choices):
        given = {name: value for name, value in chosen if value not in (None, ())}
        for tools in (False, True):
            yield settings_of(program, given, tools)


def _answers(machine: Machine, past: State) -> list[MessageClass]:
    return [
        found
        for found in machine.classes
        if machine.sampleable(found) and machine.admits(past, found)
    ]


def _flaws(machine: Machine, pairs: Places) -> Iterator[Flaw]:
    """What is trained and never sampled, and turns without a stop."""
    stops = (*machine.program.stop, *_own_stops(machine.program))
    for past, answer in pairs:
        rest = written_behind_stop(plainly(machine.sampled(answer, past)), stops)
        if rest is not None:
            yield _flaw("trained-unsampled", machine, past, answer, rest)
        elif not ends_sampling(machine, answer, past, stops):
            yield _flaw("untrained-stop", machine, past, answer)


def _flaw(code: str, machine: Machine, past: State, answer: MessageClass, rest: str = "") -> Flaw:
    turn = turn_of(machine, answer, past)
    return Flaw(code, prompt_of(machine, past), turn, machine.settings, rest)


def _own_stops(program: Program) -> tuple[str, ...]:
    ends = [option for option in program.options.values() if option.bind == "eos"]
    return tuple(str(option.default or _UNSET_TOKEN) for option in ends)


_SAYS = {
    "prompt-not-prefix": (
        "no turn begins with the generation prompt",
        "a model would be trained behind other tokens than it samples from",
        "let the body begin with the prefill, drop `prompt` (then opener and prefill), or declare it under `faults`",
    ),
    "trained-unsampled": (
        "something is written behind the stop token of a sampled turn",
        "a model stops before it, yet it would be trained",
        "move it to `trailer`",
    ),
    "untrained-stop": (
        "a turn ends without a stop token, so a model would never learn to stop",
        "its end decides when sampling stops",
        "let `closer` write a stop token in every case, or declare it under `faults` with the reason",
    ),
}


def _report(program: Program, flaw: Flaw, problems: Problems) -> None:
    message, label, cure = _SAYS[flaw.code]
    notes = [f"the prompt is {text_of(flaw.prompt)!r}", f"the turn is {text_of(flaw.turn)!r}"]
    if flaw.rest:
        notes.append(f"behind the stop token stands {flaw.rest!r}")
    given = said(program, flaw.settings.options)
    notes += [f"with {', '.join(given)}"] if given else []
    problems.error(
        flaw.code,
        message,
        _place(program, flaw.code),
        label=label,
        notes=tuple(notes),
        helps=(cure,),
    )


def _place(program: Program, code: str) -> Span:
    """The part of the spec that decides the claim."""
    turn = program.assistant
    blocks = (program.prompt,) if code == "prompt-not-prefix" else (turn.closer, turn.body)
    first: list[Op] = [op for block in blocks for op in block[:1]]
    if code == "prompt-not-prefix" and turn.prefill:
        first = [turn.prefill[0]]
    return first[0].span if first else turn.span
