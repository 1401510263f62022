"""Boolean tables made small: the variables that matter, and the shortest "or of ands" over them.

    needed(rows, order)      the variables without which two rows with different outcomes would look alike
    cover(rows)              ((True, None), (None, False)): the terms, None for a variable that a term leaves out

A full row is a number, with one bit for each variable, since tables are long. Rows that do not occur are free, so a
term may cover them: what cannot happen makes no condition longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

Row = tuple[bool, ...]
Term = tuple[bool | None, ...]
# Rows in two parts: a first part, and the outcome for each of the second parts, which many blocks share.
Blocks = Sequence[tuple[int, Mapping[int, bool]]]


def packed(bits: Iterable[bool]) -> int:
    """A row as a number, the first variable as the lowest bit."""
    return sum(1 << at for at, bit in enumerate(bits) if bit)


def unpacked(row: int, columns: Sequence[int]) -> Row:
    """The truth of some variables of a row."""
    return tuple(bool(row >> column & 1) for column in columns)


def needed(rows: Mapping[int, object], order: Sequence[int]) -> tuple[int, ...]:
    """The columns that are left when each in `order` is dropped if the others still decide the outcome."""
    return tuple(sorted(_dropped(_Rows(rows), order)[0]))


def thinned_blocks(blocks: Blocks, order: Sequence[int]) -> tuple[list[int], dict[int, bool]]:
    """The columns in `order` that are needed, and the rows of blocks with all others of them blanked."""
    kept, dropped = _dropped(_Blocks(blocks), order)
    rows: dict[int, bool] = {}
    alike = {(first & ~dropped, id(rest)): rest for first, rest in blocks}
    for (first, _), rest in alike.items():
        for row, outcome in rest.items():
            rows.setdefault(first | row & ~dropped, outcome)
    return kept, rows


def _dropped(table: _Rows | _Blocks, order: Sequence[int]) -> tuple[list[int], int]:
    """The columns that are left when each in `order` is dropped if it can be, and the dropped ones as a mask."""
    kept, dropped = list[int](), 0
    todo = [tuple(order)]
    while todo:
        # Where many can go together, each of them could go in turn; so the result is that of one by one.
        columns = todo.pop()
        bits = sum(1 << column for column in columns)
        if table.drop(bits):
            dropped |= bits
        elif len(columns) == 1:
            kept += columns
        else:
            half = len(columns) // 2
            todo += [columns[half:], columns[:half]]
    return kept, dropped


class _Rows:
    """Rows of which columns can be dropped as long as the others decide the outcome."""

    def __init__(self, rows: Mapping[int, object]) -> None:
        number = {outcome: at for at, outcome in enumerate(dict.fromkeys(rows.values()))}
        self._size = size = len(number).bit_length()
        # The outcome stands in the lowest bits, so that dropping columns is one step for each row.
        self._table = {row << size | number[outcome] for row, outcome in rows.items()}

    def drop(self, bits: int) -> bool:
        """Whether the columns could be dropped; then they are."""
        size, mask = self._size, ~(bits << self._size)
        fewer = {row & mask for row in self._table}
        decided = len({row >> size for row in fewer}) == len(fewer)
        if decided:
            self._table = fewer
        return decided


class _Blocks:
    """The same of blocks: two must not be alike in their first parts and differ in the outcome of a second one."""

    def __init__(self, blocks: Blocks) -> None:
        rests = {id(rest): rest for _, rest in blocks}
        number = {one: at for at, one in enumerate(rests)}
        self._rests, self._mask = list(rests.values()), -1
        self._blocks = {(first, number[id(rest)]) for first, rest in blocks}
        self._columns = 0
        for rest in self._rests:
            for row in rest:
                self._columns |= row
        self._clashing: dict[int, list[int]] = {}
        assert self.drop(0), "a row decides the outcome"

    def drop(self, bits: int) -> bool:
        """Whether the columns could be dropped; then they are."""
        mask, seen = self._mask & ~bits, dict[int, int]()
        fewer = {(first & mask, number) for first, number in self._blocks}
        clashing = self._clashes(mask)
        for first, number in fewer:
            here = seen.get(first, 0) | 1 << number
            if clashing[number] & here:
                return False
            seen[first] = here
        self._blocks, self._mask = fewer, mask
        return True

    def _clashes(self, mask: int) -> list[int]:
        """For each list of second parts, as bits, those that differ from it in an outcome."""
        key = mask & self._columns
        if key not in self._clashing:
            sides = [
                tuple(
                    {row & key for row, outcome in rest.items() if outcome is side}
                    for side in (True, False)
                )
                for rest in self._rests
            ]
            self._clashing[key] = [
                sum(
                    1 << at
                    for at, (kept, lost) in enumerate(sides)
                    if not (kept.isdisjoint(no) and lost.isdisjoint(yes))
                )
                for yes, no in sides
            ]
        return self._clashing[key]


def projected(rows: Mapping[int, bool], columns: Sequence[int]) -> dict[Row, bool]:
    """The rows on some columns, which must decide the outcome."""
    mask = sum(1 << column for column in columns)
    fewer = {row & mask: outcome for row, outcome in rows.items()}
    return {unpacked(row, columns): outcome for row, outcome in fewer.items()}


def cover(rows: Mapping[Row, bool]) -> tuple[Term, ...]:
    """Few short terms that hold on every true row and on no false one."""
    wanted = [row for row, outcome in rows.items() if outcome]
    others = _Others([packed(row) for row, outcome in rows.items() if not outcome])
    terms: dict[Term, None] = {}
    for row in wanted:
        for term in _shortest(row, others):
            terms.setdefault(term)
    return _greedy(wanted, tuple(terms))


def holds(term: Term, row: Row) -> bool:
    """Whether a term holds on a row."""
    return all(want is None or want == value for want, value in zip(term, row, strict=True))


class _Others:
    """The rows that no term may hold on, by what some of their columns say."""

    def __init__(self, rows: Sequence[int]) -> None:
        self._rows = rows
        self._seen: dict[int, set[int]] = {}

    def have(self, mask: int, row: int) -> bool:
        """Whether one of them has the values of a row in the columns of the mask."""
        seen = self._seen.get(mask)
        if seen is None:
            seen = self._seen[mask] = {other & mask for other in self._rows}
        return row & mask in seen


def _shortest(row: Row, others: _Others) -> Iterator[Term]:
    """The shortest terms that hold on a row and on none of the others."""
    number = packed(row)
    for size in range(len(row) + 1):
        found = False
        for columns in combinations(range(len(row)), size):
            if not others.have(sum(1 << at for at in columns), number):
                found = True
                yield tuple(value if at in columns else None for at, value in enumerate(row))
        if found:
            return


def _greedy(wanted: Sequence[Row], terms: Sequence[Term]) -> tuple[Term, ...]:
    """Terms that together hold on every wanted row, the one that covers most first."""
    left, chosen = set(wanted), list[Term]()
    rows = [(row, packed(row)) for row in wanted]
    covered = {term: _covered(term, rows) for term in terms}
    while left:
        best = max(terms, key=lambda term: (len(covered[term] & left), -_size(term)))
        chosen.append(best)
        left -= covered[best]
    for term in list(chosen):
        rest = set().union(*(covered[other] for other in chosen if other != term))
        if rest >= set(wanted):
            chosen.remove(term)
    return tuple(chosen)


def _covered(term: Term, rows: Sequence[tuple[Row, int]]) -> set[Row]:
    mask = packed(want is not None for want in term)
    value = packed(bool(want) for want in term)
    return {row for row, number in rows if number & mask == value}


def _size(term: Term) -> int:
    return sum(value is not None for value in term)
