"""Which characters an atom matches, asked from the engine that will match them.

Owns the tables: for an atom, the ranges of code points that the tokenizer's regex engine puts in it. One pass of the
engine over all code points takes about 0.2 s, so tables are kept on disk, by engine, its version and the atom.

    ranges(engine, [Atom("[\\\\r\\\\n]")])  ->  {Atom("[\\\\r\\\\n]"): ((10, 11), (13, 14))}

The folder is `classes` of `templc.runtime.cache`.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Protocol, TypeAlias

from templc.proof.boundary.regex import Atom, Unsupported, folding_to_several
from templc.runtime import cache as disk

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""Code points, as ascending disjoint ranges [start, end)."""

DIGITS = Atom("<Digits>")
"""What the `Digits` pre-tokenizer takes for a digit: no source that a pattern could have."""

_FORMAT = 1
_KIND = "classes"
_SURROGATES = range(0xD800, 0xE000)


class Engine(Protocol):
    """A regex engine. name: with its version, for two engines of one name have the same tables."""

    @property
    def name(self) -> str: ...

    def matched(self, source: str, text: str) -> str:
        """The characters of `text` that match, one by one, in order."""
        ...


class TokenizersEngine:
    """The regex engine of the `tokenizers` library."""

    def __init__(self) -> None:
        import tokenizers

        self.name = f"tokenizers-{tokenizers.__version__}"

    def matched(self, source: str, text: str) -> str:
        from tokenizers import Regex, normalizers

        if source == DIGITS.source:
            return _digits(text)
        others = Regex(rf"(?!{source})[\s\S]")
        return normalizers.Replace(others, "").normalize_str(text)


class TiktokenEngine:
    """The regex engine of the `tiktoken` library."""

    def __init__(self) -> None:
        import tiktoken

        self.name = f"tiktoken-{tiktoken.__version__}"

    def matched(self, source: str, text: str) -> str:
        import tiktoken

        bytes_only = {bytes([byte]): byte for byte in range(256)}
        encoding = tiktoken.Encoding(
            "bytes", pat_str=source, mergeable_ranks=bytes_only, special_tokens={}
        )
        return bytes(encoding.encode_ordinary(text)).decode()


def ranges(engine: Engine, atoms: Iterable[Atom]) -> dict[Atom, Ranges]:
    """The code points of each atom; `Unsupported` where the engine refuses one or may match several characters."""
    wanted = list(dict.fromkeys(atoms))
    letters = [atom for atom in wanted if atom.caseless and atom.literal() is not None]
    candidates = _any_case(engine, letters)
    found: dict[Atom, Ranges] = {}
    for atom in wanted:
        literal = atom.literal()
        if literal is not None and not atom.caseless:
            found[atom] = _ranges(literal)
        elif literal is not None:
            found[atom] = _ranges(_matched(engine, _source(atom), candidates))
        else:
            found[atom] = _table(engine, atom)
            _refuse_folding(atom, found[atom])
    return found


@cache
def every_character() -> str:
    """All code points but the surrogates, in order."""
    codes = range(sys.maxunicode + 1)
    return "".join([chr(code) for code in codes if code not in _SURROGATES])


def _any_case(engine: Engine, letters: list[Atom]) -> str:
    """What any of the letters matches: one pass for all, since each alone matches two or three characters."""
    if not letters:
        return ""
    union = Atom("|".join(sorted(_source(letter) for letter in letters)))
    return "".join(chr(code) for run in _table(engine, union) for code in range(*run))


def _source(atom: Atom) -> str:
    return f"(?i:{atom.source})" if atom.caseless else atom.source


_tables: dict[tuple[str, Atom], Ranges] = {}


def _table(engine: Engine, atom: Atom) -> Ranges:
    key = (engine.name, atom)
    if key not in _tables:
        place = _key(engine, atom)
        table = _kept(place)
        if table is None:
            table = _ranges(_matched(engine, _source(atom), every_character()))
            disk.keep(_KIND, place, [point for run in table for point in run])
        _tables[key] = table
    return _tables[key]


def _matched(engine: Engine, source: str, text: str) -> str:
    try:
        return engine.matched(source, text)
    except Exception as error:  # each engine has its own kind
        raise Unsupported(f"a class that {engine.name} refuses: {source} ({error})") from error


def _digits(text: str) -> str:
    from tokenizers import pre_tokenizers

    pieces = pre_tokenizers.Digits(individual_digits=False).pre_tokenize_str(text)
    alone = pre_tokenizers.Digits(individual_digits=True).pre_tokenize_str(text[:1] * 2)
    # Runs of digits and of other characters take turns.
    return "".join(text[slice(*where)] for _, where in pieces[2 - len(alone) :: 2])


def _refuse_folding(atom: Atom, table: Ranges) -> None:
    codes = [ord(char) for char in folding_to_several()] if atom.caseless else []
    if any(start <= code < end for code in codes for start, end in table):
        raise Unsupported(f"the class {atom.source}, ignoring case: letters in it fold to several")


def _ranges(characters: str) -> Ranges:
    member = bytearray(sys.maxunicode + 2)
    for code in map(ord, characters):
        member[code] = 1
    return tuple(_runs(member))


def _runs(member: bytearray) -> Iterator[tuple[int, int]]:
    start = member.find(1)
    while start >= 0:
        end = member.find(0, start)
        yield start, end
        start = member.find(1, end)


def _key(engine: Engine, atom: Atom) -> str:
    key = json.dumps([_FORMAT, engine.name, atom.source, atom.caseless])
    return hashlib.sha256(key.encode()).hexdigest()[:40]


def _kept(key: str) -> Ranges | None:
    flat = disk.kept(_KIND, key)
    try:
        return tuple(zip(flat[::2], flat[1::2], strict=True))
    except (ValueError, TypeError):
        return None
