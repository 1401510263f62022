"""Characters that a pattern cannot tell apart, as the symbols of its automaton.

Owns the partition of all code points by the atoms that contain them. Two characters of one symbol are in the same
atoms, so what holds for one holds for the other: a verdict for a symbol is a proof for its characters, not a sample.

    alphabet({Atom("a"): ((97, 98),), Atom("\\\\w"): ((48, 58), (97, 123))})
        ->  3 symbols: in neither atom, in `\\\\w` alone, in both
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from templc.proof.boundary.classes import Ranges
from templc.proof.boundary.regex import Atom

_SURROGATES = 0xD800


@dataclass(frozen=True, slots=True, eq=False)
class Alphabet:
    """starts: the code points from which on `symbols` holds, ascending, the first 0. masks: bit s for symbol s."""

    starts: tuple[int, ...]
    symbols: tuple[int, ...]
    size: int
    masks: Mapping[Atom, int]

    def symbol(self, code: int) -> int:
        """The symbol of a code point."""
        return self.symbols[bisect_right(self.starts, code) - 1]

    def spell(self, text: str) -> list[int]:
        """The symbols of the characters of a text."""
        return [self.symbol(ord(char)) for char in text]

    def spans(self) -> Iterator[tuple[int, int, int]]:
        """Every (start, end, symbol), ascending: code points start to end - 1 have the symbol."""
        ends = (*self.starts[1:], 0x110000)
        yield from zip(self.starts, ends, self.symbols, strict=True)


def alphabet(tables: Mapping[Atom, Ranges]) -> Alphabet:
    """The partition by the atoms of `tables`."""
    changes: dict[int, int] = {0: 0}
    for place, table in enumerate(tables.values()):
        for run in table:
            for point in run:
                changes[point] = changes.get(point, 0) ^ (1 << place)
    changes.pop(0x110000, None)
    symbol_of: dict[int, int] = {}
    members = 0
    starts = sorted(changes)
    symbols: list[int] = []
    for start in starts:
        members ^= changes[start]
        if (
            start == _SURROGATES
        ):  # no text holds one, so they must not make up a symbol of their own
            symbols.append(symbols[-1])
            continue
        symbols.append(symbol_of.setdefault(members, len(symbol_of)))
    masks = {
        atom: sum(1 << symbol for members, symbol in symbol_of.items() if members >> place & 1)
        for place, atom in enumerate(tables)
    }
    return Alphabet(tuple(starts), tuple(symbols), len(symbol_of), masks)
