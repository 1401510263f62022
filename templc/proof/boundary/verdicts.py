"""May a piece of the text before a joint go on into the text behind it?

Owns two things: which matches may be under way at the end of a literal, and the table that reads what follows, symbol
by symbol, until the answer is known. Written for all texts that end with the literal at once.

    table = JointTable(machine, under_way(machine, newline, anchored=False, fresh=()), keeps_gaps=True)
    table.verdict(table.after(table.START, letter))   ->  Verdict.SAFE
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from templc.proof.boundary.automaton import Machine


class Verdict(Enum):
    """SAFE and UNSAFE hold whatever follows; OPEN: what follows decides."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    OPEN = "depends"


@dataclass(frozen=True, slots=True)
class UnderWay:
    """kernels: of matches that may be under way at the joint. gap: the text may end with a character of no match."""

    kernels: frozenset[int]
    gap: bool


def under_way(
    machine: Machine, literal: Sequence[int], *, anchored: bool, fresh: Iterable[int]
) -> UnderWay:
    """At the end of the literal (symbols, not empty). anchored: nothing stands before it, so a piece begins with it.

    fresh: places inside the literal where pieces may begin for other reasons. A match begins where one that started
    earlier ends, or behind a character that begins none.
    """
    kernels: set[int] = set()
    gap = False
    starts: set[int] = {0, *fresh}
    for kernel in () if anchored else machine.reachable():
        after, end = machine.run(kernel, literal)
        kernels.add(after)
        starts.add(end or 0)
    todo = sorted(starts)
    while todo:
        start = todo.pop()
        if start >= len(literal):
            continue
        after, size = machine.run(machine.START, literal[start:])
        kernels.add(after)
        gap |= size is None and start + 1 == len(literal)
        end = start + (size or 1)
        if end not in starts:
            starts.add(end)
            todo.append(end)
    return UnderWay(frozenset(kernels - {machine.DEAD}), gap)


class _State(NamedTuple):
    """kernels: still under way. start: the kernel of the first match behind the joint, if it has to match."""

    kernels: frozenset[int]
    start: int | None


class JointTable:
    """A deterministic automaton over the symbols behind the joint. States are numbers."""

    START = 0
    UNSAFE = 1

    def __init__(self, machine: Machine, ways: UnderWay, *, keeps_gaps: bool) -> None:
        self._machine = machine
        self._states: list[_State | None] = []
        self._numbers: dict[_State, int] = {}
        first = _State(ways.kernels, machine.START if ways.gap and keeps_gaps else None)
        # The first state asks another question than a later one with the same kernels, so it has no number by kernels.
        self._states = [first, None]
        self._next: list[list[int]] = []
        self._ends = [True, False]
        self._explore()
        self._verdicts = self._judge()

    def after(self, state: int, symbol: int) -> int:
        """The state behind one more symbol."""
        return self._next[state][symbol]

    def verdict(self, state: int) -> Verdict:
        """What is known whatever follows, the end of the text included."""
        return self._verdicts[state]

    def ends_safe(self, state: int) -> bool:
        """The answer if the text ends here."""
        return self._ends[state]

    def fatal(self, symbol: int) -> set[int]:
        """The symbols that make it unsafe somewhere behind a first symbol that leaves it open; -1 is the end."""
        found: set[int] = set()
        seen = {self.after(self.START, symbol)}
        todo = list(seen)
        while todo:
            state = todo.pop()
            if self._verdicts[state] is not Verdict.OPEN:
                continue
            found |= set() if self._ends[state] else {-1}
            for other, after in enumerate(self._next[state]):
                if self._verdicts[after] is Verdict.UNSAFE:
                    found.add(other)
                elif after not in seen:
                    seen.add(after)
                    todo.append(after)
        return found

    def _explore(self) -> None:
        at = 0
        while at < len(self._states):
            state = self._states[at]
            symbols = range(self._machine.symbols)
            if state is None:
                self._next.append([self.UNSAFE for _ in symbols])
            else:
                self._next.append([self._step(at, state, symbol) for symbol in symbols])
            at += 1

    def _step(self, number: int, state: _State, symbol: int) -> int:
        kernels: set[int] = set()
        for kernel in state.kernels:
            ended, after = self._machine.step(kernel, symbol)
            # At the joint a match may end if it also ends there without what follows; later on none may.
            if ended != (number == self.START and self._machine.ends(kernel)):
                return self.UNSAFE
            kernels.add(after)
        start = state.start
        if start is not None:
            ended, start = self._machine.step(start, symbol)
            if ended:
                start = None
            elif start == self._machine.DEAD:
                return self.UNSAFE
        return self._number(_State(frozenset(kernels - {self._machine.DEAD}), start))

    def _number(self, state: _State) -> int:
        if state not in self._numbers:
            self._numbers[state] = len(self._states)
            self._states.append(state)
            ends = self._machine.ends
            self._ends.append(
                not any(map(ends, state.kernels)) and (state.start is None or ends(state.start))
            )
        return self._numbers[state]

    def _judge(self) -> list[Verdict]:
        may_fail = self._reaching({at for at, ends in enumerate(self._ends) if not ends})
        may_hold = self._reaching({at for at, ends in enumerate(self._ends) if ends})
        verdicts = {(True, False): Verdict.UNSAFE, (False, True): Verdict.SAFE}
        states = range(len(self._states))
        return [verdicts.get((at in may_fail, at in may_hold), Verdict.OPEN) for at in states]

    def _reaching(self, goals: set[int]) -> set[int]:
        """The states from which a goal can be reached."""
        before: dict[int, set[int]] = {}
        for state, row in enumerate(self._next):
            for after in row:
                before.setdefault(after, set()).add(state)
        found, todo = set(goals), list(goals)
        while todo:
            new = before.get(todo.pop(), set()) - found
            found |= new
            todo += new
        return found
