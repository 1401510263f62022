"""What a model samples behind a prompt that holds the beginning of some turns already: the prefill.

    sampled = less(whole, given, bits)      the turn less what the prompt holds, where it begins so
    compared(old, new)                      `compare`, for an old text with such a part

A sampled text that begins with the prefill goes on behind it, and any other stands behind it as a whole. Which of the
two it is can hang on contents: then it is a `Rest`, and a text is kept only where it is kept in both cases.
"""

from __future__ import annotations

from collections.abc import Sequence

from templc.model.expr import Test
from templc.proof.atoms import Bits, plainer
from templc.proof.emission import (
    Emission,
    Hole,
    Lit,
    Match,
    Rest,
    Token,
    compare,
    joined,
    shortened,
)
from templc.proof.values import Atom


def less(whole: Emission, given: Emission, bits: Bits) -> Emission:
    """What is sampled of a turn when the prompt already holds `given`."""
    left, right = _apart(whole, given)
    if not left:
        return tuple(right[::-1])
    found = _begins(whole, given, bits)
    if found is False:
        return whole
    return (Rest(whole, given, None if found is True else found, found is True),)


def compared(old: Emission, new: Emission) -> Match:
    """Whether `old` is a prefix of `new`; unclear at a `Rest` where that hangs on how the sampled text begins."""
    at = next((at for at, token in enumerate(old) if isinstance(token, Rest)), None)
    if at is None:
        return compare(old, new)
    rest, back = old[at], _put_back(old, at)
    assert isinstance(rest, Rest)
    begun = Match("unclear", (rest,)) if back is None else compare(back, new)
    if rest.sure:
        return begun
    # That a text begins so by chance is of no interest where it is not kept as it is.
    plain = compare(plainly(old), new)
    return plain if begun.prefix or not plain.prefix else Match("unclear", (rest,))


def plainly(emission: Emission) -> Emission:
    """An emission with what is sampled as a whole, unless it is sure to begin with what stands before it."""
    at = next((at for at, token in enumerate(emission) if isinstance(token, Rest)), None)
    if at is None:
        return emission
    rest = emission[at]
    assert isinstance(rest, Rest)
    back = _put_back(emission, at) if rest.sure else None
    return back or (*emission[:at], *rest.whole, *emission[at + 1 :])


def undecided(match: Match) -> Rest | None:
    """The part of the old text for which a match is unclear, where that hangs on how it begins."""
    first = match.rest[0] if match.kind == "unclear" and match.rest else None
    return first if isinstance(first, Rest) else None


def _put_back(emission: Emission, at: int) -> Emission | None:
    """The text where the sampled one begins with what stands before it; None where something else does."""
    rest = emission[at]
    assert isinstance(rest, Rest)
    before = list(joined(emission[:at]))
    for token in reversed(rest.given):
        last = before.pop() if before else None
        if isinstance(token, Lit) and isinstance(last, Lit) and last.text.endswith(token.text):
            before.append(Lit(last.text.removesuffix(token.text)))
        elif token != last:
            return None
    return (*joined(before), *rest.whole, *emission[at + 1 :])


def _apart(whole: Emission, given: Emission) -> tuple[list[Token], list[Token]]:
    """What is left of `given` and of the whole where they are no longer alike, last token first."""
    left, right = list(given[::-1]), list(whole[::-1])
    while left and right:
        first, second = left.pop(), right.pop()
        if first == second:
            continue
        if not (isinstance(first, Lit) and isinstance(second, Lit)):
            return [*left, first], [*right, second]
        if not shortened(first.text, second.text, left, right):
            return [*left, first], [*right, second]
    return left, right


def _begins(whole: Emission, given: Emission, bits: Bits) -> bool | Atom | None:
    """Whether a text begins with another; the atom on which that hangs, None where none is known."""
    left, right = _apart(whole, given)
    if not left:
        return True
    first = left.pop()
    if not right:
        # A hole may be empty, a text of the format is not.
        return False if any(isinstance(token, Lit) for token in (first, *left)) else None
    second = right.pop()
    if isinstance(first, Lit) and isinstance(second, Lit):
        return False
    if isinstance(first, Lit) and isinstance(second, Hole) and second.value.ref.scope == "message":
        return _hole_begins(second, right, first.text, left, bits)
    return None


def _hole_begins(
    hole: Hole, right: Sequence[Token], mark: str, left: Sequence[Token], bits: Bits
) -> bool | Atom | None:
    """`_begins` for a text of a message and what follows it (last first), and a mark and what follows that."""
    starts = Test("starts", hole.value, mark)
    if bits.get(starts):
        return None if left else True
    # A text that is a part of the mark, or empty, leaves the rest of it to what follows.
    for size in range(len(mark)):
        asked = Test("is", hole.value, mark[:size]) if size else Test("truth", hole.value)
        short = bits.get(asked) if size else _empty(hole, bits)
        if short is not False:
            text = mark[:size] or hole.default or ""
            going = _begins(joined((text, *right[::-1])), joined((mark, *left[::-1])), bits)
            if short or going is not False:
                return going if short else asked
    return starts if starts not in bits else False


def _empty(hole: Hole, bits: Bits) -> bool | None:
    """Whether there is no text for a hole, as far as is known."""
    known = [bits.get(Test("truth", one)) for one in (hole.value, plainer(hole.value, bits))]
    return None if known == [None, None] else True not in known
