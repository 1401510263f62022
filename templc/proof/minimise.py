"""Boolean tables made small: the variables that matter, and the shortest "or of ands" over them.

    needed(rows, order)      the variables without which two rows with different outcomes would look alike
    cover(rows)              {(True, None), (None, False)}: the terms, None for a variable that a term leaves out

Rows that do not occur are free, so a term may cover them: what cannot happen makes no condition longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

Row = tuple[bool, ...]
Term = tuple[bool | None, ...]


def needed(rows: Mapping[Row, object], order: Sequence[int]) -> tuple[int, ...]:
    """The columns that are left when each in `order` is dropped if the others still decide the outcome."""
    names = list(range(len(order)))
    table = dict(rows)
    for column in order:
        at = names.index(column)
        fewer = _without(table, at)
        if fewer is not None:
            table = fewer
            del names[at]
    return tuple(names)


def _without(rows: Mapping[Row, object], at: int) -> dict[Row, object] | None:
    """The rows without a column; None where two that are then alike have different outcomes."""
    fewer: dict[Row, object] = {}
    for row, outcome in rows.items():
        if fewer.setdefault((*row[:at], *row[at + 1 :]), outcome) != outcome:
            return None
    return fewer


def projected(rows: Mapping[Row, bool], columns: Sequence[int]) -> dict[Row, bool]:
    """The rows on some columns, which must decide the outcome."""
    return {tuple(row[column] for column in columns): outcome for row, outcome in rows.items()}


def cover(rows: Mapping[Row, bool]) -> tuple[Term, ...]:
    """Few short terms that hold on every true row and on no false one."""
    wanted = [row for row, outcome in rows.items() if outcome]
    others = [row for row, outcome in rows.items() if not outcome]
    terms: dict[Term, None] = {}
    for row in wanted:
        for term in _shortest(row, others):
            terms.setdefault(term)
    return _greedy(wanted, tuple(terms))


def holds(term: Term, row: Row) -> bool:
    """Whether a term holds on a row."""
    return all(want is None or want == value for want, value in zip(term, row, strict=True))


def _shortest(row: Row, others: Sequence[Row]) -> Iterator[Term]:
    """The shortest terms that hold on a row and on none of the others."""
    for size in range(len(row) + 1):
        found = False
        for columns in combinations(range(len(row)), size):
            term = tuple(value if at in columns else None for at, value in enumerate(row))
            if not any(holds(term, other) for other in others):
                found = True
                yield term
        if found:
            return


def _greedy(wanted: Sequence[Row], terms: Sequence[Term]) -> tuple[Term, ...]:
    """Terms that together hold on every wanted row, the one that covers most first."""
    left, chosen = set(wanted), list[Term]()
    covered = {term: {row for row in wanted if holds(term, row)} for term in terms}
    while left:
        best = max(terms, key=lambda term: (len(covered[term] & left), -_size(term)))
        chosen.append(best)
        left -= covered[best]
    for term in list(chosen):
        rest = set().union(*(covered[other] for other in chosen if other != term))
        if rest >= set(wanted):
            chosen.remove(term)
    return tuple(chosen)


def _size(term: Term) -> int:
    return sum(value is not None for value in term)
