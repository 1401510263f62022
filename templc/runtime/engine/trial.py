"""Condition three: both engines give the same ids on hostile text.

Owns the texts: every assigned character (of the large uniform blocks a sample) between letters, digits, blanks and an
apostrophe, and random strings of pieces that tokenizers disagree about. A character that makes a difference is left
to the tokenizer's own engine; many of them, or any other difference, mean that the fast engine is not used.

    trial(own, fast, "tiktoken")  ->  "\\u1c89\\ua7cb"     the strange characters
"""

from __future__ import annotations

import random
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from templc.runtime.engine.reasons import Unfit

Encode = Callable[[str], list[int]]
MOST_STRANGE = 2000
STRINGS = 3000
_UNIFORM = ((0x3400, 0x9FFF), (0xAC00, 0xD7A3), (0x17000, 0x18CFF), (0x20000, 0x3FFFF))
_SAMPLED = 251
_PIECES = (
    *(" ", "  ", "     ", "\n", "\n\n", "\r\n", "\r", "\t", "\x0b", "\x85", "\xa0", "\u2028", "\u3000"),
    *("a", "Word", " word", "HTTPServer", "camelCase", "ß", "é", "e\u0301", "\u0301", "\u0345", "\u0338", "ﬁ"),
    *("'s", "'S", "'ll", "'LL", "'ſ", "'re", "'", "don't", "I'm", "’s"),
    *("1", "12", "123", "1234", "12345678", "٣", "²", "½", "Ⅷ", "一", "1.5", "-1", "1,000"),
    *("你好", "世界。", "カ・カ", "゠", "ひらがな", "한국어", "\u1112\u1161\u11ab", "हिन्दी", "ภาษาไทย"),
    *("עברית", "العربية"),
    *("😀", "👨\u200d👩\u200d👧", "🇩🇪", "\u200b", "\ufeff", "\u00ad", "\x00", "\x1b", "\x7f", "\ue000", "\ufffd"),
    *("!", "...", "?!", "/", "//", "/>", "</", "<|", "|>", "<|im_end|>", "{", "}", "[]", "()", "#", "$", "_", "^", "~"),
    *(".\n\n", ":\n", "=\n/", "`\n", "x = 1;\n", "    return x\n", "\t\tif (a && b) {\n", "-" * 30, "=" * 17),
)  # fmt: skip


def trial(own: Encode, fast: Encode, name: str, rare: Sequence[bytes] = ()) -> str:
    """The characters that make a difference; `Unfit` where that is not all.

    name: of the fast engine. rare: words to try one by one.
    """
    strange = "".join(_strange(own, fast, name))
    words = (word.decode("utf-8", "ignore") for word in rare)
    around = (f"{w} {w}{w}{w}\na{w}b {w[1:]}{w} {w}{w[:-1]}" for w in words)
    for text in chain(hostile_strings(STRINGS), around):
        if set(text).isdisjoint(strange) and own(text) != fast(text):
            raise Unfit(f"{name} gives other ids for {text!r}")
    return strange


def hostile_strings(count: int, seed: int = 0) -> Iterator[str]:
    """The same strings for the same seed."""
    dice = random.Random(seed)
    for _ in range(count):
        yield "".join(dice.choices(_PIECES, k=dice.randint(1, 12)))


def _strange(own: Encode, fast: Encode, name: str) -> list[str]:
    found: list[str] = []
    some: list[str] = []
    for character in _characters():
        some.append(character)
        if len(some) == 64:
            found += _differing(some, own, fast)
            some = []
            if len(found) > MOST_STRANGE:
                raise Unfit(f"{name} sees too many characters otherwise")
    return found + _differing(some, own, fast)


def _differing(characters: list[str], own: Encode, fast: Encode) -> list[str]:
    text = "\n".join(f"a{c}b {c}1{c}, '{c}{c}" for c in characters)
    if not characters or own(text) == fast(text):
        return []
    if len(characters) == 1:
        return characters
    middle = len(characters) // 2
    return [
        *_differing(characters[:middle], own, fast),
        *_differing(characters[middle:], own, fast),
    ]


def _characters() -> Iterator[str]:
    for code in range(sys.maxunicode + 1):
        uniform = any(first < code < last for first, last in _UNIFORM)
        if code > 0x3FFFF and not 0xE0000 <= code < 0xE0200:
            continue
        if uniform and code % _SAMPLED:
            continue
        if unicodedata.category(chr(code)) not in ("Cn", "Cs", "Co"):
            yield chr(code)
