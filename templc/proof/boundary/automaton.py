"""A pattern as an automaton over symbols that finds what a backtracking engine finds.

Owns programs (small instructions with priorities) and kernels: the ordered list of the places in a program that a
match, begun at some character, may be at after the characters read so far; what stands first wins. A look-ahead is
decided by the next symbol. Kernels are finite in number and are numbered as they appear; 0 is the start.

    machine = Machine(program)            a{1,2}|b over the symbols a=0, b=1
    machine.step(0, 0)   ->  (False, 1)   after "a": no match ended before it, one more "a" may follow
    machine.ends(1)      ->  True         "a" is a match if the text ends here
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from templc.proof.boundary.regex import (
    Atom,
    Chain,
    Choice,
    Look,
    Node,
    One,
    Repeat,
    Unsupported,
)

_MOST_OPERATIONS = 2000
_MOST_KERNELS = 20_000
_END = -1


@dataclass(frozen=True, slots=True)
class Take:
    """Read a symbol of the mask, go on with the next operation."""

    mask: int


@dataclass(frozen=True, slots=True)
class Peek:
    """Go on if the next symbol is of the mask (negative: is not, or there is none)."""

    mask: int
    negative: bool


@dataclass(frozen=True, slots=True)
class Fork:
    """Try `first`, then `second`."""

    first: int
    second: int


@dataclass(frozen=True, slots=True)
class Jump:
    """Go on at `to`."""

    to: int


@dataclass(frozen=True, slots=True)
class Accept:
    """A match ends here."""


Operation: TypeAlias = Take | Peek | Fork | Jump | Accept
Program: TypeAlias = tuple[Operation, ...]


def compiled(branches: Iterable[tuple[Node, int]], masks: Mapping[Atom, int]) -> Program:
    """The program of several patterns, earlier ones first. With each goes the mask of symbols that it may not read:
    for it, such a symbol is the end of the text."""
    builder = _Builder(masks)
    for node, barred in branches:
        builder.barred = barred
        fork = builder.add(Jump(0))
        builder.node(node)
        builder.add(Accept())
        builder.operations[fork] = Fork(fork + 1, len(builder.operations))
    builder.add(Take(0))  # the last fork's other way: nothing more to try
    return tuple(builder.operations)


class _Builder:
    def __init__(self, masks: Mapping[Atom, int]) -> None:
        self.masks = masks
        self.barred = 0
        self.operations: list[Operation] = []

    def add(self, operation: Operation) -> int:
        self.operations.append(operation)
        if len(self.operations) > _MOST_OPERATIONS:
            raise Unsupported(f"a pattern of more than {_MOST_OPERATIONS} operations")
        return len(self.operations) - 1

    def node(self, node: Node) -> None:
        match node:
            case One(atom):
                self.add(Take(self.masks[atom] & ~self.barred))
            case Look(atom, negative):
                self.add(Peek(self.masks[atom] & ~self.barred, negative))
            case Chain(parts):
                for part in parts:
                    self.node(part)
            case Choice(branches):
                self.choice(branches)
            case Repeat(body, least, most):
                self.repeat(body, least, most)
            case _:
                assert_never(node)

    def choice(self, branches: Sequence[Node]) -> None:
        exits = []
        for branch in branches[:-1]:
            fork = self.add(Jump(0))
            self.node(branch)
            exits.append(self.add(Jump(0)))
            self.operations[fork] = Fork(fork + 1, len(self.operations))
        self.node(branches[-1])
        for place in exits:
            self.operations[place] = Jump(len(self.operations))

    def repeat(self, body: Node, least: int, most: int | None) -> None:
        for _ in range(least):
            self.node(body)
        forks = []
        for _ in range(1 if most is None else most - least):
            forks.append(self.add(Jump(0)))
            self.node(body)
        if most is None:
            self.add(Jump(forks[0]))
        for fork in forks:
            self.operations[fork] = Fork(fork + 1, len(self.operations))


class Machine:
    """The kernels of a program, made as they are needed. Kernel 0 is the start, kernel `DEAD` can match no more."""

    START = 0
    DEAD = 1

    def __init__(self, program: Program, symbols: int) -> None:
        self.symbols = symbols
        self._program = program
        self._kernels: list[tuple[int, ...]] = [(0,), ()]
        self._numbers = {kernel: number for number, kernel in enumerate(self._kernels)}
        self._steps: dict[tuple[int, int], tuple[bool, int]] = {}
        self._ends: dict[int, bool] = {}

    def step(self, kernel: int, symbol: int) -> tuple[bool, int]:
        """Whether a match ends before this symbol, and the kernel of the better matches behind it."""
        key = (kernel, symbol)
        if key not in self._steps:
            takes, ended = self._resolved(kernel, symbol)
            after = dict.fromkeys(place + 1 for place, mask in takes if mask >> symbol & 1)
            self._steps[key] = ended, self._number(tuple(after))
        return self._steps[key]

    def ends(self, kernel: int) -> bool:
        """Whether a match ends where the text ends."""
        if kernel not in self._ends:
            self._ends[kernel] = self._resolved(kernel, _END)[1]
        return self._ends[kernel]

    def run(self, kernel: int, symbols: Sequence[int]) -> tuple[int, int | None]:
        """The kernel behind the symbols, and where the match ends if the text ends there (None: no match)."""
        end: int | None = None
        for at, symbol in enumerate(symbols):
            ended, kernel = self.step(kernel, symbol)
            end = at if ended else end
            if kernel == self.DEAD:
                return kernel, end
        return kernel, len(symbols) if self.ends(kernel) else end

    def pieces(self, symbols: Sequence[int]) -> list[tuple[int, int]]:
        """The (start, end) of every match in a text; what lies between two of them matches nothing."""
        found: list[tuple[int, int]] = []
        at = 0
        while at < len(symbols):
            _, size = self.run(self.START, symbols[at:])
            if size is not None:
                found.append((at, at + size))
            at += size or 1
        return found

    def reachable(self) -> frozenset[int]:
        """The kernels that some text leads to, the start and the dead one left out."""
        found: set[int] = set()
        todo = [self.START]
        while todo:
            kernel = todo.pop()
            for symbol in range(self.symbols):
                after = self.step(kernel, symbol)[1]
                if after != self.DEAD and after not in found:
                    found.add(after)
                    todo.append(after)
        return frozenset(found)

    def _resolved(self, kernel: int, symbol: int) -> tuple[list[tuple[int, int]], bool]:
        """The takes that a kernel leads to, in order, up to a match; whether there is one."""
        takes: list[tuple[int, int]] = []
        seen: set[int] = set()
        stack = list(reversed(self._kernels[kernel]))
        while stack:
            place = stack.pop()
            if place in seen:
                continue
            seen.add(place)
            operation = self._program[place]
            match operation:
                case Take(mask):
                    takes.append((place, mask))
                case Peek(mask, negative):
                    present = symbol != _END and bool(mask >> symbol & 1)
                    if present != negative:
                        stack.append(place + 1)
                case Fork(first, second):
                    stack += (second, first)
                case Jump(to):
                    stack.append(to)
                case Accept():
                    return takes, True
                case _:
                    assert_never(operation)
        return takes, False

    def _number(self, kernel: tuple[int, ...]) -> int:
        number = self._numbers.setdefault(kernel, len(self._kernels))
        if number == len(self._kernels):
            if number >= _MOST_KERNELS:
                raise Unsupported(f"a pattern with more than {_MOST_KERNELS} kernels")
            self._kernels.append(kernel)
        return number
