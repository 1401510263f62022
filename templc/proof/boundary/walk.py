"""Layers two to five for one literal: from the text behind a joint to a verdict.

Owns the order of the layers: the normaliser must not change characters across the joint, the automaton then reads the
normal form, and where it says unsafe, the vocabulary may still say that nothing merges.

    walk.safe("x", more=False)  ->  True
    walk.first("\\n")            ->  Verdict.UNSAFE
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from templc.proof.boundary.merges import Seam
from templc.proof.boundary.normal import Normalizer
from templc.proof.boundary.specials import Ending, Specials
from templc.proof.boundary.splits import Splitter
from templc.proof.boundary.verdicts import JointTable, Verdict, under_way
from templc.proof.boundary.words import described


class Walk:
    """literal: its settled end, not empty, in normal form. fresh: places in it where pieces may begin."""

    def __init__(
        self,
        splitter: Splitter,
        normal: Normalizer,
        specials: Specials,
        late: Ending,
        literal: str,
        *,
        fresh: Iterable[int],
        anchored: bool,
        seam: Seam | None,
    ) -> None:
        self._splitter, self._machine = splitter, splitter.machine
        self._normal, self._specials, self._late = normal, specials, late
        self._last = literal[-1]
        symbols = splitter.alphabet.spell(literal)
        self._ways = under_way(self._machine, symbols, anchored=anchored, fresh=fresh)
        self.table = JointTable(self._machine, self._ways, keeps_gaps=splitter.keeps_gaps)
        self._seam = seam

    def safe(self, text: str, *, more: bool) -> bool:
        """Whether the joint before `text` (not empty) is safe. more: whether it is so however the text goes on."""
        if not self._normal.apart(self._last, text, more=more):
            return False
        return self._safe_prefix(text) if more else self._safe_whole(self._normal.apply(text))

    def first(self, char: str) -> Verdict:
        """The verdict after the first character, for a text that no control token begins."""
        if not self._normal.apart(self._last, char, more=True):
            return Verdict.UNSAFE
        verdicts = {self.table.verdict(state) for state in self._states(char)}
        return verdicts.pop() if len(verdicts) == 1 else Verdict.OPEN

    @cached_property
    def by_verdict(self) -> dict[Verdict, list[tuple[int, int]]]:
        """All code points by the verdict after them, as ascending ranges [start, end)."""
        found: dict[Verdict, list[tuple[int, int]]] = {verdict: [] for verdict in Verdict}
        for start, end, symbol in self._splitter.alphabet.spans():
            verdict = self.table.verdict(self.table.after(self.table.START, symbol))
            found[verdict].append((start, end))
        own = [(ord(char), self.first(char)) for char in self._normal.changes()]
        return _moved(found, own) if own else found

    def openings(self) -> dict[str, list[tuple[int, int]]]:
        """The code points that leave it open, by what then makes it unsafe, in words."""
        found: dict[frozenset[int], list[tuple[int, int]]] = {}
        fatal = [frozenset(self.table.fatal(it)) for it in range(self._machine.symbols)]
        for start, end, symbol in _overlap(
            self.by_verdict[Verdict.OPEN], self._splitter.alphabet.spans()
        ):
            found.setdefault(fatal[symbol], []).append((start, end))
        return {self._in_words(symbols): points for symbols, points in found.items()}

    def _in_words(self, symbols: frozenset[int]) -> str:
        spans = self._splitter.alphabet.spans()
        points = [(start, end) for start, end, symbol in spans if symbol in symbols]
        words = [described(points)] if points else []
        return " or ".join([*words, *["the end of the text"] * (-1 in symbols)]) or "marks"

    def _safe_prefix(self, text: str) -> bool:
        if self._specials.late:
            return False
        return all(self.table.verdict(state) is Verdict.SAFE for state in self._states(text))

    def _states(self, text: str) -> set[int]:
        """The states that a text leads to which may go on."""
        certain, following = self._normal.beginnings(text)
        state = self._state(certain)
        if following is None:
            symbols = {*self._mark_symbols, *self._symbols(self._normal.apply(text[:1])[0])}
        else:
            symbols = set(self._symbols("".join(following)))
        return {self.table.after(state, symbol) for symbol in symbols} or {state}

    @cached_property
    def _mark_symbols(self) -> frozenset[int]:
        return frozenset(map(self._splitter.alphabet.symbol, map(ord, self._normal.movable())))

    def _symbols(self, text: str) -> list[int]:
        return self._splitter.alphabet.spell(text)

    def _state(self, text: str) -> int:
        state = self.table.START
        for char in text:
            # The first state's verdict covers the empty text, which is safe.
            if state != self.table.START and self.table.verdict(state) is not Verdict.OPEN:
                return state
            state = self.table.after(state, self._splitter.alphabet.symbol(ord(char)))
        return state

    def _safe_whole(self, text: str) -> bool:
        if not text:
            return True
        if self._late.objects(text, more=False):
            return False
        cut = self._specials.late_cut(text)
        text = text if cut is None else cut
        if not text:
            return True
        state = self._state(text)
        verdict = self.table.verdict(state)
        if verdict is Verdict.SAFE or (verdict is Verdict.OPEN and self.table.ends_safe(state)):
            return True
        return self._seam is not None and self._unmerged(text, self._seam)

    def _unmerged(self, text: str, seam: Seam) -> bool:
        """Layer five. A piece that goes on behind the joint must end there where the first piece of `text` ends."""
        symbols = self._symbols(text)
        _, size = self._machine.run(self._machine.START, symbols)
        if size is None or self._splitter.finer or self._splitter.runs >> symbols[0] & 1:
            return False
        pieces = (self._goes_on(kernel, symbols, size) for kernel in self._ways.kernels)
        return all(pieces) and seam.holds(text[:size])

    def _goes_on(self, kernel: int, symbols: list[int], size: int) -> bool:
        """Whether the piece under way ends at the joint with and without the text, or goes on for `size` symbols."""
        _, end = self._machine.run(kernel, symbols)
        alone = self._machine.ends(kernel)
        return alone and end == size if end else alone == (end == 0)


def _moved(
    found: dict[Verdict, list[tuple[int, int]]], own: list[tuple[int, Verdict]]
) -> dict[Verdict, list[tuple[int, int]]]:
    """The ranges with single code points (ascending) moved to their own verdicts."""
    codes = [code for code, _ in own]
    return {
        verdict: sorted(
            [*_without(runs, codes), *((code, code + 1) for code, it in own if it is verdict)]
        )
        for verdict, runs in found.items()
    }


def _overlap(
    runs: list[tuple[int, int]], spans: Iterable[tuple[int, int, int]]
) -> Iterator[tuple[int, int, int]]:
    """The parts of the spans that lie in the runs; both ascend."""
    at = 0
    for start, end, symbol in spans:
        while at < len(runs) and runs[at][1] <= start:
            at += 1
        place = at
        while place < len(runs) and runs[place][0] < end:
            yield max(start, runs[place][0]), min(end, runs[place][1]), symbol
            place += 1


def _without(runs: list[tuple[int, int]], codes: list[int]) -> Iterator[tuple[int, int]]:
    """The ranges without some code points; both ascend."""
    at = 0
    for start, end in runs:
        while at < len(codes) and codes[at] < start:
            at += 1
        while at < len(codes) and codes[at] < end:
            if codes[at] > start:
                yield start, codes[at]
            start = codes[at] + 1
            at += 1
        if start < end:
            yield start, end
