"""Layer one: control tokens that a joint may complete, disturb, or be sealed by.

Owns the search of added tokens around a joint. An added token that ends a literal seals the joint: text behind it is
read as if nothing stood before it. One that the two texts complete together makes the joint unsafe.

    Ending(qwen3_tokens, "<|im_").objects("end|>", more=False)   ->  True
    Specials(qwen3_tokens, IDENTITY).cut("x<|im_end|>y")         ->  "x"
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from templc.proof.boundary.normal import IDENTITY, Normalizer
from templc.runtime.added import AddedToken, Matcher


class Specials:
    """The added tokens of a tokenizer in the order that it looks for them: raw text first, then normalised text.

    normal: None if the normaliser is not known.
    """

    def __init__(self, tokens: Iterable[AddedToken], normal: Normalizer | None) -> None:
        every = tuple(token for token in tokens if token.text)
        self._normal = normal or IDENTITY
        raw = normal is not None and normal.identity
        self.early = tuple(token for token in every if raw or not token.normalized)
        self.late = tuple(
            token._replace(text=self._normal.apply(token.text))
            for token in every
            if token.normalized and not raw
        )
        self.longest = max((len(token.text) for token in every), default=0)
        self._early, self._late = Matcher(self.early), Matcher(self.late)

    def cut(self, text: str) -> str | None:
        """The text before its first token found in raw text, None if there is none."""
        return _before_first(self._early, text)

    def late_cut(self, text: str) -> str | None:
        """The same for normalised text and the tokens found in it."""
        return _before_first(self._late, text)

    def last(self, literal: str) -> tuple[AddedToken, int] | None:
        """The last token that the literal surely spells, and where it ends, blanks that it takes included."""
        for cut in reversed(self._early.cuts(literal, [(0, len(literal))])):
            token = next(token for token in self.early if token.id == cut.id)
            hidden = any(_hides(other.text, token.text) for other in self.early)
            if not hidden and not token.single_word:
                return token, cut.end
        return None

    @staticmethod
    def fresh(tokens: Sequence[AddedToken], literal: str) -> set[int]:
        """The places inside a literal where one of the tokens may end that began in it or before it."""
        inside = range(1, len(literal))
        ends = {at for at in inside if any(_meet(literal[:at], token.text) for token in tokens)}
        if any(token.rstrip for token in tokens):
            for at in (0, *ends):
                ends |= set(range(at, len(literal) - len(literal[at:].lstrip()) + 1))
        return ends

    def may_begin(self, text: str) -> bool:
        """Whether a token may begin with the text, blanks before it included where a token takes them."""
        inner = text.lstrip()
        return any(t.text.startswith(inner if t.lstrip else text) for t in self.early)


class Ending:
    """What added tokens have against texts behind a literal."""

    def __init__(self, tokens: Sequence[AddedToken], literal: str) -> None:
        self._blank = literal[-1].isspace()
        self._wordy = _wordy(literal[-1])
        trimmed = [literal[:at] for at in range(len(literal.rstrip()), len(literal) + 1)]
        self._stripped = any(t.rstrip and _meet(end, t.text) for t in tokens for end in trimmed)
        self._single = any(t.single_word and _meet(literal, t.text) for t in tokens)
        self._left = [t.text for t in tokens if t.lstrip]
        self._words = [t.text for t in tokens if t.single_word]
        self._completions: dict[str, list[str]] = {}
        for token in tokens:
            for at in range(1, len(token.text)):
                if _meet(literal, token.text[:at]):
                    rest = token.text[at:]
                    self._completions.setdefault(rest[0], []).append(rest)

    def objects(self, text: str, *, more: bool) -> bool:
        """Whether a token may arise or vanish at the joint with this text (not empty). more: the text may go on."""
        if any(_begins(text, rest, more) for rest in self._completions.get(text[0], ())):
            return True
        if (self._stripped and text[0].isspace()) or (self._single and _wordy(text[0])):
            return True
        inner = text.lstrip()
        if self._blank and any(_begins(inner, token, more) for token in self._left):
            return True
        if any(token in text for token in self._words):
            return True  # whether it is a word of its own, engines judge differently
        return self._wordy and any(_begins(text, token, more) for token in self._words)

    def completions(self) -> list[str]:
        """The texts that complete a token, shortest first."""
        every = {rest for rests in self._completions.values() for rest in rests}
        return sorted(every, key=lambda rest: (len(rest), rest))

    def flags(self) -> list[str]:
        """What the flags of tokens have against texts, in words."""
        words = {
            "blanks, which a control token before them takes": self._stripped,
            "letters and digits, which undo a control token before them": self._single,
            "control tokens that take blanks before them": self._blank and bool(self._left),
            "control tokens that must be words of their own": bool(self._words),
        }
        return [text for text, applies in words.items() if applies]


def _before_first(matcher: Matcher, text: str) -> str | None:
    if not matcher:
        return None
    cuts = matcher.cuts(text, [(0, len(text))])
    return text[: cuts[0].start] if cuts else None


def _begins(text: str, wanted: str, more: bool) -> bool:
    return text.startswith(wanted) or (more and wanted.startswith(text))


def _meet(literal: str, text: str) -> bool:
    """Whether some text ends with both."""
    return literal.endswith(text) or text.endswith(literal)


def _hides(other: str, token: str) -> bool:
    """Whether `other` may start before `token` and overlap it, so that the token is not found."""
    return any(
        other[at:].startswith(token) or token.startswith(other[at:]) for at in range(1, len(other))
    )


def _wordy(char: str) -> bool:
    """Whether an engine may take the character for a part of a word; beyond ASCII engines differ."""
    return not char.isascii() or char.isalnum() or char == "_"
