"""Cuts: for each boundary, which text ends what was written and which begins what is appended.

    cuts(prove(qwen3))[Place("prompt", "assistant")]    {Cut("<|im_start|>assistant\\n", None), ...}

From the search alone, no tokenizer: every way to stand at a boundary where the earlier text is kept. `None` stands for
text that is not known, of a message or of the tools. Whether tokens keep at a cut is the question of `token_level`.
"""

from __future__ import annotations

from typing import NamedTuple

from templc.proof.emission import Emission, Fork, Hole, Lit, Loop, compare
from templc.proof.joint import Place
from templc.proof.outcomes import Case
from templc.proof.stability import Stability


class Cut(NamedTuple):
    """left: how the old text ends. right: how what is appended begins. None: as a message has it."""

    left: str | None
    right: str | None


def cuts(stability: Stability) -> dict[Place, frozenset[Cut]]:
    """The cuts of every boundary where something can be appended; RuntimeError where the search was cut off."""
    found: dict[Place, frozenset[Cut]] = {}
    for place in (cell.place for cell in stability.cells):
        here: dict[tuple[Emission, Emission], None] = {}
        for case, kept in stability.walk.outcomes(place).cases():
            if kept:
                here.setdefault(_texts(stability, place, case))
        every = frozenset(cut for old, rest in here for cut in _cuts(old, rest))
        if every:
            found[place] = every
    return found


def _texts(stability: Stability, place: Place, case: Case) -> tuple[Emission, Emission]:
    """The old text from the last message on, and what the new one has behind it."""
    joint, last = stability.walk.joint, case.last.sample
    old, new = joint.texts(place.prompted, case.node.past, last, case.way.addition)
    return old, compare(old, new).rest


def _cuts(old: Emission, rest: Emission) -> list[Cut]:
    # Where nothing is appended nothing meets; where the last message wrote nothing, the head or an earlier one ends.
    rights = _edge(rest, end=False) - {""}
    return [Cut(left or None, right) for left in _edge(old, end=True) for right in rights]


def _edge(emission: Emission, *, end: bool) -> set[str | None]:
    """How the text begins, or ends: whole texts of the format, None for a message's; "" where it may be empty."""
    found: set[str | None] = {""}
    for token in reversed(emission) if end else emission:
        match token:
            case Lit(text):
                return (found - {""}) | {text}
            case Hole():
                found.add(None)
            case Fork(_, then, otherwise):
                found |= _edge(then, end=end) | _edge(otherwise, end=end)
            case Loop(open=opening, do=do, close=close):
                inside = (*do, *close) if end else (*opening, *do)
                found |= _edge(inside, end=end)
    return found
