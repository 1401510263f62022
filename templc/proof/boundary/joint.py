"""The verdict on a joint: known literal on the left, any text on the right.

Owns `joint` and `Joint`. A joint is safe for a text `b` if ids(a) + ids(b) == ids(a + b) for every text `a` that ends
with the literal. Sound: what is called safe is safe. Pieces may also meet without a merge, so unsafe may be needless.

    found = joint(analyse(qwen3), "</think>\\n\\n")
    found.safe("Hello")    ->  True
    found.safe("\\nHello")  ->  False
    found.unsafe_first()   ->  "\\\\n, \\\\r; blanks (25) that lead to \\\\n, \\\\r"
"""

from __future__ import annotations

from dataclasses import dataclass, field

from templc.proof.boundary.facts import TokenizerFacts
from templc.proof.boundary.merges import Seam
from templc.proof.boundary.normal import Normalizer
from templc.proof.boundary.regex import Unsupported
from templc.proof.boundary.specials import Ending, Specials
from templc.proof.boundary.verdicts import Verdict
from templc.proof.boundary.walk import Walk
from templc.proof.boundary.words import described, spelled

_HEAD = 64
_FEW = 4


@dataclass(frozen=True, slots=True)
class Joint:
    """sealed: the control token that ends the literal, so that what follows is read as if nothing stood before it.

    proved: verdicts come from the proof; otherwise only a control token that begins `b` makes it safe. reason: why.
    """

    literal: str
    anchored: bool
    sealed: str | None
    proved: bool
    reason: str
    _ending: Ending = field(repr=False, compare=False)
    _specials: Specials = field(repr=False, compare=False)
    _walk: Walk | None = field(repr=False, compare=False)

    def safe(self, b: str, *, more: bool = False) -> bool:
        """Whether the joint before `b` is safe. more: `b` is only how the text begins; True if all texts that begin so
        are safe. A text that ends in the middle of a control token is taken as it stands.

        b may spell control tokens: they are read as such. An empty text is safe, unless more may come.
        """
        if not _is_text(b):
            return False
        if not b:
            return not more or self.always()
        if self._ending.objects(b, more=more):
            return False
        if self.sealed is not None:
            return True
        if not more and len(b) > 2 * _HEAD and self._judge(b[:_HEAD], more=True):
            return True
        return self._judge(b, more=more)

    def first(self, char: str) -> Verdict:
        """The verdict for the texts that begin with the character, as far as no control token arises."""
        if self.sealed is not None:
            return Verdict.SAFE
        return Verdict.OPEN if self._walk is None else self._walk.first(char)

    def always(self) -> bool:
        """Whether every text is safe."""
        if self._ending.completions() or self._ending.flags():
            return False
        if self._walk is None:
            return self.sealed is not None
        found = self._walk.by_verdict
        return not (found[Verdict.UNSAFE] or found[Verdict.OPEN])

    def unsafe_first(self) -> str:
        """The first characters for which a merge may cross the joint, in words; "none" if there are none."""
        parts: list[str] = []
        if self.sealed is None:
            parts += ["every character"] if self._walk is None else _parts(self._walk)
        if completions := self._ending.completions():
            shown = ", ".join("".join(map(spelled, rest)) for rest in completions[:_FEW])
            others = f" and {len(completions) - _FEW:,} more" if len(completions) > _FEW else ""
            parts.append(f"texts that complete a control token: {shown}{others}")
        return "; ".join([*parts, *self._ending.flags()]) or "none"

    def _judge(self, b: str, *, more: bool) -> bool:
        section = self._specials.cut(b)
        if section == "" or self._walk is None:
            return section == ""
        end = len(b) if section is None else len(section)
        # A control token that begins in this text and is not whole yet would end the section before it.
        stops = [at for at in range(1, end) if more and self._specials.may_begin(b[at:])]
        if not all(self._walk.safe(b[:at], more=False) for at in stops):
            return False
        return self._walk.safe(b[:end], more=more and section is None)


def joint(
    facts: TokenizerFacts, literal: str, *, anchored: bool = False, relax: bool = False
) -> Joint:
    """The joint behind a literal (not empty; it may spell control tokens, the last of which then anchors the rest).

    anchored: a control token stands right before the literal. relax: also look at the vocabulary (layer five), which
    calls more joints safe and reads the whole vocabulary once. ValueError for an empty literal.
    """
    if not literal:
        raise ValueError("the literal before a joint is empty; give the control token that ends it")
    specials = Specials(facts.tokens, facts.normal)
    ending = Ending(specials.early, literal)
    rest = literal
    if found := specials.last(literal):
        token, end = found
        if end == len(literal):
            reason = f"the control token {token.text} ends the literal"
            return Joint(literal, anchored, token.text, True, reason, ending, specials, None)
        rest, anchored = literal[end:], True
    walk, reason = _walk(facts, specials, rest, anchored=anchored, relax=relax)
    return Joint(literal, anchored, None, walk is not None, reason, ending, specials, walk)


def _walk(
    facts: TokenizerFacts, specials: Specials, rest: str, *, anchored: bool, relax: bool
) -> tuple[Walk | None, str]:
    """The analysis behind the last control token of the literal, None with the reason if there is none."""
    normal, splitter = facts.normal, facts.splitter
    if normal is None or splitter is None:
        return None, f"not analysed: {facts.unknown}"
    settled = normal.settled(rest)
    if not settled:
        return None, "the normalizer may change the end of the literal"
    early = {_place(normal, rest, settled, at) for at in specials.fresh(specials.early, rest)}
    fresh = early | specials.fresh(specials.late, settled)
    seam, reason = _seam(facts, settled) if relax else (None, "")
    walk = Walk(
        splitter,
        normal,
        specials,
        Ending(specials.late, settled),
        settled,
        fresh={at for at in fresh if at > 0},
        anchored=anchored and (not normal.composes or settled == rest),
        seam=seam,
    )
    return walk, f"pieces that end with {settled!r} followed through the pre-tokenizer{reason}"


def _seam(facts: TokenizerFacts, settled: str) -> tuple[Seam | None, str]:
    try:
        return Seam(facts.vocabulary(), settled), "; joints inside a piece through the vocabulary"
    except Unsupported as reason:
        return None, f"; the vocabulary not used: {reason}"


def _place(normal: Normalizer, rest: str, settled: str, at: int) -> int:
    """Where a place in the literal lies in its settled end."""
    return at - len(rest) + len(settled) if normal.composes else len(normal.apply(rest[:at]))


def _parts(walk: Walk) -> list[str]:
    unsafe = walk.by_verdict[Verdict.UNSAFE]
    parts = [described(unsafe)] if unsafe else []
    return parts + [
        f"{described(points)}, if they lead to {ends}" for ends, points in walk.openings().items()
    ]


def _is_text(text: str) -> bool:
    """Whether it can be encoded: no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
