"""How a tokenizer cuts text into pieces before its model sees it, as one automaton.

Owns the reading of pre-tokenizer settings. Several `Split`s in a row become one automaton where all but the last cut
out runs of one class (`\\\\p{N}{1,3}`): the runs come first, and for what follows a character of a run is the end of
the text. What later steps do inside a piece cannot join pieces, so it is left out; `finer` says that there is some.

    split(settings, engine).machine.pieces(symbols)  ->  the pieces, coarse ones where `finer` or `runs` says so
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from templc.proof.boundary.automaton import Machine, compiled
from templc.proof.boundary.classes import DIGITS, Engine, ranges
from templc.proof.boundary.minterms import Alphabet, alphabet
from templc.proof.boundary.regex import (
    ANY,
    Atom,
    Chain,
    Choice,
    Look,
    Node,
    One,
    Repeat,
    Unsupported,
    parse,
)
from templc.proof.boundary.settings import steps

# What ByteLevel splits by if it is asked to split: a published fact of the library.
_BYTE_LEVEL = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


@dataclass(frozen=True, slots=True)
class Splitter:
    """runs: mask of the symbols that earlier steps cut out. keeps_gaps: text that nothing matches is a piece.

    finer: later steps cut pieces further. byte_level: the model gets bytes, in the alphabet of ByteLevel.
    """

    alphabet: Alphabet
    machine: Machine
    runs: int
    keeps_gaps: bool
    finer: bool
    byte_level: bool


@dataclass(frozen=True, slots=True)
class _Steps:
    nodes: tuple[Node, ...]
    byte_level: bool


def split(settings: Any, engine: Engine) -> Splitter:
    """From the JSON of a pre-tokenizer (None: there is none); `Unsupported` with the reason otherwise."""
    steps = _steps(settings)
    runs = _leading_runs(steps.nodes)
    rest = steps.nodes[len(runs) :]
    nodes = runs + rest[:1] if steps.nodes else (Repeat(One(ANY), 1, None),)
    return _built(
        nodes, len(runs), engine, gaps=True, finer=len(rest) > 1, byte_level=steps.byte_level
    )


def split_by_pattern(pattern: str, engine: Engine) -> Splitter:
    """For an engine that splits by one pattern, drops what it does not match, and takes bytes."""
    return _built((parse(pattern),), 0, engine, gaps=False, finer=False, byte_level=True)


def _built(
    nodes: tuple[Node, ...], runs: int, engine: Engine, *, gaps: bool, finer: bool, byte_level: bool
) -> Splitter:
    atoms = alphabet(ranges(engine, (atom for node in nodes for atom in _atoms(node))))
    branches: list[tuple[Node, int]] = []
    barred = 0
    for place, node in enumerate(nodes):
        branches.append((node, barred))
        if place < runs:
            barred |= _mask(node, atoms.masks)
    machine = Machine(compiled(branches, atoms.masks), atoms.size)
    return Splitter(atoms, machine, barred, gaps, finer, byte_level)


def _steps(settings: Any) -> _Steps:
    nodes: list[Node] = []
    byte_level = False
    for step in steps(settings, "pretokenizers"):
        if byte_level and not nodes:
            raise Unsupported("a pre-tokenizer that splits after ByteLevel")
        match step["type"]:
            case "Split":
                nodes.append(_split_node(step))
            case "Digits":
                digit = One(DIGITS)
                nodes.append(digit if step["individual_digits"] else Repeat(digit, 1, None))
            case "ByteLevel":
                if step["add_prefix_space"]:
                    raise Unsupported("ByteLevel puts a blank before text (add_prefix_space)")
                byte_level = True
                nodes += [parse(_BYTE_LEVEL)] if step["use_regex"] else []
            case other:
                raise Unsupported(f"the pre-tokenizer {other}")
    return _Steps(tuple(nodes), byte_level)


def _split_node(step: Any) -> Node:
    if step["behavior"] != "Isolated" or step["invert"]:
        raise Unsupported(f"a Split that is {step['behavior']}{', inverted' * step['invert']}")
    match step["pattern"]:
        case {"Regex": pattern}:
            return parse(pattern)
        case {"String": text} if text:
            return Chain(tuple(One(Atom(char if char != "." else r"\.")) for char in text))
        case other:
            raise Unsupported(f"the Split pattern {other}")


def _leading_runs(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """The steps that later ones follow inside their pieces; nothing does so for the last step."""
    size = next((at for at, node in enumerate(nodes) if not _is_run(node)), len(nodes))
    return nodes[: min(size, len(nodes) - 1)] if nodes else ()


def _is_run(node: Node) -> bool:
    match node:
        case One() | Repeat(One(), 1, _):
            return True
        case _:
            return False


def _mask(node: Node, masks: Mapping[Atom, int]) -> int:
    return sum({masks[atom] for atom in _atoms(node)})


def _atoms(node: Node) -> Iterator[Atom]:
    match node:
        case One(atom) | Look(atom, _):
            yield atom
        case Chain(parts) | Choice(parts):
            for part in parts:
                yield from _atoms(part)
        case Repeat(body, _, _):
            yield from _atoms(body)
        case _:
            assert_never(node)
