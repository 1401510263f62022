"""The claims about weights, each decided for one message class behind one past, on what the program writes there.

    written_behind_stop(emission, stops)    the first text of the format that stands behind a stop token, or None
    ends_sampling(machine, found, past)     whether the sampled text ends with what stops sampling

Weights follow provenance: body and closer are trained, opener, prefill and trailer are not. So what is left to show
is that the body and closer are just what a model samples: they go on where the prompt ends, and end with the stop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from templc.proof.classes import MessageClass
from templc.proof.emission import Emission, Fork, Hole, Lit, Loop, Token, compare, joined
from templc.proof.letters import leading
from templc.proof.machine import Machine, State
from templc.proof.prefilled import plainly


def prompt_of(machine: Machine, past: State) -> Emission:
    """The generation prompt behind a past."""
    return joined(machine.written_at_end("prompt", past))


def turn_of(machine: Machine, found: MessageClass, past: State) -> Emission:
    """The turn as it stands in a training example: just sampled, nothing behind it."""
    return machine.emission(found, past, machine.end(live=True))


def follows_prompt(machine: Machine, found: MessageClass, past: State) -> bool:
    """Whether the prompt is a prefix of the turn, whatever the message says."""
    return compare(prompt_of(machine, past), turn_of(machine, found, past)).prefix


def written_behind_stop(emission: Emission, stops: Sequence[str]) -> str | None:
    """What the format writes behind a stop token within what is sampled; a model never gets that far."""
    for at, token in enumerate(emission):
        for lit in _texts(token):
            for stop in stops:
                rest = lit.text.partition(stop)[2]
                if stop in lit.text and (rest or lit is not emission[-1]):
                    return rest or text_of(emission[at + 1 :])
    return None


def ends_sampling(machine: Machine, found: MessageClass, past: State, stops: Sequence[str]) -> bool:
    """Whether the sampled text ends with a stop token, with the start of a stop string, or at the next turn's.

    A format without a closer stops at a token that opens the next turn: then every user and tool turn must open so.
    """
    sampled = plainly(machine.sampled(found, past))
    last = sampled[-1] if sampled else None
    text = last.text if isinstance(last, Lit) else ""
    if text.endswith(tuple(stops)) and stops:
        return True
    strings = machine.program.stop_strings
    if any(text.endswith(stop[:size]) for stop in strings for size in range(1, len(stop) + 1)):
        return True
    return not machine.program.assistant.closer and _opens_with_stop(machine, found, past, stops)


def _opens_with_stop(
    machine: Machine, found: MessageClass, past: State, stops: Sequence[str]
) -> bool:
    behind = machine.after(past, found)
    texts = [
        leading(machine.emission(one, behind, machine.end()))
        for one in machine.classes
        if one.role in ("user", "tool") and machine.admits(behind, one)
    ]
    return bool(texts) and all(text.startswith(tuple(stops)) for text in texts)


def _texts(token: Token) -> Iterator[Lit]:
    match token:
        case Lit():
            yield token
        case Hole():
            return
        case Loop():
            for part in (token.open, token.do, token.between, token.close):
                for inner in part:
                    yield from _texts(inner)
        case Fork():
            for inner in (*token.then, *token.otherwise):
                yield from _texts(inner)


def text_of(emission: Emission) -> str:
    """An emission as text for people: `${content}` where the message stands."""
    return "".join(
        token.text
        if isinstance(token, Lit)
        else f"${{{token.field}}}"
        if isinstance(token, Hole)
        else "..."
        for token in emission
    )
