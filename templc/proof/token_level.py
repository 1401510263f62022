"""Token level: at which boundaries tokens(old) + tokens(new) equals tokens(old new), for one tokenizer.

    token_level(prove(qwen3), analyse(vocabulary("qwen3")))    [Kept("safe: ...", (Place("user", "user"), ...)), ...]

A control token on either side of a cut seals it, whatever the texts are. Where none does, the pre-tokenizer decides:
`boundary` gives the characters for which a merge may cross. The runtime encodes again what a merge may cross, so a cut
that is not safe costs time and changes no token that `extend` returns; ids that a model sampled stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from templc.proof.boundary import Joint, TokenizerFacts, joint
from templc.proof.boundary.specials import Specials
from templc.proof.cuts import Cut, cuts
from templc.proof.joint import Place
from templc.proof.stability import Stability

SEALED = "safe: a control token stands at the cut"
PIECES = "safe: no merge crosses the cut"
OPEN = "not known: text of a message stands at the cut, and no control token"


class Kept(NamedTuple):
    """What holds at some boundaries, in words."""

    text: str
    places: tuple[Place, ...]

    @property
    def safe(self) -> bool:
        return self.text.startswith("safe")


def token_level(stability: Stability, facts: TokenizerFacts) -> list[Kept]:
    """What holds at each boundary, those alike together, in the order of the table.

    RuntimeError where the search behind the table was cut off.
    """
    judge = _Judge(facts)
    found: dict[str, list[Place]] = {}
    for place, here in cuts(stability).items():
        found.setdefault(judge.text(here), []).append(place)
    return [Kept(text, tuple(places)) for text, places in found.items()]


class _Judge:
    def __init__(self, facts: TokenizerFacts) -> None:
        self._facts = facts
        self._specials = Specials(facts.tokens, facts.normal)
        self._joint = cache(lambda literal: joint(facts, literal))

    def text(self, here: Iterable[Cut]) -> str:
        """What holds at all of these cuts."""
        said = [self._said(cut) for cut in sorted(here, key=repr)]
        worst = [text for text in dict.fromkeys(said) if text not in (SEALED, PIECES)]
        if worst:
            return "; ".join(worst)
        return PIECES if PIECES in said else SEALED

    def _said(self, cut: Cut) -> str:
        if self._opens_with_control(cut):
            return SEALED
        if cut.left is None:
            return OPEN
        found: Joint = self._joint(cut.left)
        if cut.right is None:
            return self._before_any(cut.left, found)
        if found.safe(cut.right, more=True):
            return SEALED if found.sealed else PIECES
        return f"not safe: {_tail(cut.left)!r} meets {cut.right[:20]!r}"

    def _before_any(self, left: str, found: Joint) -> str:
        if found.always():
            return SEALED if found.sealed else PIECES
        if not found.proved:
            return f"not known behind {_tail(left)!r}: {found.reason}"
        return f"safe behind {_tail(left)!r} unless a message goes on with: {found.unsafe_first()}"

    def _opens_with_control(self, cut: Cut) -> bool:
        """Whether what is appended begins with a control token, which takes nothing from the text before it."""
        if cut.right is None or self._specials.cut(cut.right) != "":
            return False
        token = max(
            (one for one in self._specials.early if cut.right.startswith(one.text)),
            key=lambda one: len(one.text),
            default=None,
        )
        plain = token is not None and not (token.lstrip or token.single_word)
        return plain and (cut.left is None or self._joint(cut.left).safe(cut.right, more=True))


def _tail(text: str) -> str:
    """The end of a literal, from its last control token or line on, for messages."""
    at = max(text.rfind("|>") + 2, text.rfind("｜>") + 2, len(text) - 24, 0)
    return text[at:] or text[-24:]
