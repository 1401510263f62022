"""The part of regular expressions that pre-tokenizers use, as a tree.

Owns the parser. Input: the pattern of a pre-tokenizer; output: a `Node` whose leaves are atoms, that is, sources of
one-character classes. An atom is never interpreted here: the tokenizer's own engine says which characters it matches.

    parse("[^a]+|a(?!b)")
        ->  Choice((Repeat(One(Atom("[^a]")), 1, None), Chain((One(Atom("a")), Look(Atom("b"), True)))))

What the analysis cannot follow (look-behind, `\\\\b`, anchors, back references, possessive or lazy quantifiers, flags
other than `i`) raises `Unsupported`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, TypeAlias, assert_never

_QUANTIFIERS = frozenset("?*+{")
_LETTER_ESCAPES = frozenset("sSdDwWrntf")
_LAST_OF_PLANE_ZERO = 0xFFFF
_HEX_ESCAPES = {"x": 2, "u": 4}


class Unsupported(Exception):
    """The analysis does not cover this; the message says what."""


class Atom(NamedTuple):
    """The source of a class of characters, and whether the case of letters is ignored."""

    source: str
    caseless: bool = False

    def literal(self) -> str | None:
        """The character that the source spells, None for a class."""
        if len(self.source) == 1 and self.source != ".":
            return self.source
        escaped = len(self.source) == 2 and self.source[0] == "\\"
        return self.source[1] if escaped and not self.source[1].isalnum() else None


ANY = Atom(r"[\s\S]")


@dataclass(frozen=True, slots=True)
class One:
    """One character of a class."""

    atom: Atom


@dataclass(frozen=True, slots=True)
class Look:
    """Look-ahead: whether the next character is of a class. At the end of the text only the negative one holds."""

    atom: Atom
    negative: bool


@dataclass(frozen=True, slots=True)
class Chain:
    """One node after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The first branch that leads to a match."""

    branches: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """As often as possible, between `least` and `most` times; None: without end."""

    body: Node
    least: int
    most: int | None


Node: TypeAlias = One | Look | Chain | Choice | Repeat


def parse(pattern: str) -> Node:
    """The tree of a pattern that matches no empty text; `Unsupported` with the reason otherwise."""
    parser = _Parser(pattern)
    node = parser.choice(caseless=False)
    if parser.at < len(pattern):
        raise Unsupported("an unbalanced ) in the pattern")
    if nullable(node):
        raise Unsupported("a pattern that matches the empty text")
    return node


def nullable(node: Node) -> bool:
    """Whether the node may match no character at all."""
    match node:
        case One():
            return False
        case Look():
            return True
        case Chain(parts):
            return all(map(nullable, parts))
        case Choice(branches):
            return any(map(nullable, branches))
        case Repeat(body, least, _):
            return least == 0 or nullable(body)
        case _:
            assert_never(node)


@cache
def folding_to_several() -> dict[str, str]:
    """Characters that stand for several ones where case is ignored, with those: `ß` and `ss`."""
    # Ligatures and letters of old alphabets, all of them in plane zero; Unicode adds no more.
    folded = ((chr(code), chr(code).casefold()) for code in range(0x80, _LAST_OF_PLANE_ZERO + 1))
    return {char: fold for char, fold in folded if len(fold) > 1}


class _Parser:
    """Recursive descent; `at` is the place of the next character."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0

    def choice(self, *, caseless: bool) -> Node:
        branches = [self.chain(caseless)]
        while self.took("|"):
            branches.append(self.chain(caseless))
        return branches[0] if len(branches) == 1 else Choice(tuple(branches))

    def chain(self, caseless: bool) -> Node:
        parts: list[Node] = []
        while self.peek() not in ("", "|", ")"):
            parts.append(self.quantified(caseless))
        _refuse_folding(parts)
        return parts[0] if len(parts) == 1 else Chain(tuple(parts))

    def quantified(self, caseless: bool) -> Node:
        body = self.item(caseless)
        if self.peek() not in _QUANTIFIERS:
            return body
        least, most = self.quantifier()
        if self.peek() in _QUANTIFIERS:
            raise Unsupported("a possessive, lazy or double quantifier")
        if nullable(body):
            raise Unsupported("a quantifier on what may match the empty text")
        return Repeat(body, least, most)

    def quantifier(self) -> tuple[int, int | None]:
        match self.take():
            case "?":
                return 0, 1
            case "*":
                return 0, None
            case "+":
                return 1, None
            case _:
                return self.braces()

    def braces(self) -> tuple[int, int | None]:
        low, comma, high = self.until("}").partition(",")
        most = high if comma else low
        if not low.isdecimal() or (most and not most.isdecimal()):
            raise Unsupported("a quantifier that is not {m}, {m,} or {m,n}")
        if most and int(most) < max(int(low), 1):
            raise Unsupported("a quantifier whose end lies before its start")
        return int(low), int(most) if most else None

    def item(self, caseless: bool) -> Node:
        match self.peek():
            case "(":
                return self.group(caseless)
            case "[":
                return One(Atom(self.bracket(), caseless))
            case "\\":
                return One(Atom(self.escape(), caseless))
            case "^" | "$":
                raise Unsupported("an anchor")
            case "?" | "*" | "+" | "{":
                raise Unsupported("a quantifier with nothing before it")
            case _:
                return One(Atom(self.take(), caseless))

    def group(self, caseless: bool) -> Node:
        self.take()
        if not self.took("?"):
            return self.closed(self.choice(caseless=caseless))
        for opening, inner in (("i:", True), (":", caseless)):
            if self.took(opening):
                return self.closed(self.choice(caseless=inner))
        for opening, negative in (("=", False), ("!", True)):
            if self.took(opening):
                return self.look(self.closed(self.choice(caseless=caseless)), negative)
        raise Unsupported(f"the group (?{self.pattern[self.at : self.at + 2]}")

    def look(self, inside: Node, negative: bool) -> Node:
        if not isinstance(inside, One):
            raise Unsupported("a look-ahead of more than one character")
        return Look(inside.atom, negative)

    def closed(self, node: Node) -> Node:
        if not self.took(")"):
            raise Unsupported("a group without an end")
        return node

    def bracket(self) -> str:
        """The source of a class, nested ones and escapes included."""
        start, depth = self.at, 0
        while True:
            match self.take():
                case "\\":
                    self.take()
                case "[":
                    depth += 1
                    self.took("^")
                    if self.peek() == "]":
                        raise Unsupported("a class that begins with ]")
                case "]":
                    depth -= 1
            if depth == 0:
                return self.pattern[start : self.at]

    def escape(self) -> str:
        start = self.at
        self.take()
        letter = self.take()
        if letter in "pP":
            if not self.took("{"):
                raise Unsupported("a property without braces")
            self.until("}")
        elif letter in _HEX_ESCAPES:
            self.hexadecimal(_HEX_ESCAPES[letter])
        elif letter.isalnum() and letter not in _LETTER_ESCAPES:
            raise Unsupported(f"the escape \\{letter}")
        elif letter in "<>":
            raise Unsupported(f"the escape \\{letter}, which engines read differently")
        return self.pattern[start : self.at]

    def hexadecimal(self, size: int) -> None:
        digits = "".join(self.take() for _ in range(size))
        if not all(digit in "0123456789abcdefABCDEF" for digit in digits):
            raise Unsupported("an escape that is not hexadecimal")

    def until(self, end: str) -> str:
        start = self.at
        while self.take() != end:
            pass
        return self.pattern[start : self.at - 1]

    def peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def take(self) -> str:
        if self.at >= len(self.pattern):
            raise Unsupported("a pattern that ends too early")
        self.at += 1
        return self.pattern[self.at - 1]

    def took(self, text: str) -> bool:
        found = self.pattern.startswith(text, self.at)
        self.at += len(text) if found else 0
        return found


def _refuse_folding(parts: list[Node]) -> None:
    """Where case is ignored, an engine may take one character for several letters in a row: `ß` for `ss`."""
    run = ""
    for part in (*parts, Chain(())):
        letter = part.atom.literal() if isinstance(part, One) and part.atom.caseless else None
        if letter is not None:
            run += letter.casefold()
            continue
        if run and any(fold in run for fold in folding_to_several().values()):
            raise Unsupported(f"letters that one character may stand for, ignoring case: {run!r}")
        run = ""
