"""Concrete messages of a role, simplest first, that between them reach every combination of atoms that can occur.

Contents are built from the constants that the atoms test for, with white space and newlines at the ends, so that
filters matter. Each is read as the runtime reads it: what comes out is what renderers see.

    for raw, message in candidates(rules, "assistant", atoms, settings): ...
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, permutations, product
from typing import Any

from templc.model import expr
from templc.proof.values import Alike, Atom, Settings, holds
from templc.runtime.errors import TemplcError
from templc.runtime.messages import Message, Reader
from templc.runtime.rules import MessageRules

Raw = dict[str, Any]

LETTERS = {"system": "s", "developer": "d", "user": "u", "assistant": "a", "tool": "t"}
LIMIT = 6_000
ALIKE = 3
# Nine characters, since some formats accept no other id.
ID = "call00001"
OTHER = "call00002"


def candidates(
    rules: MessageRules, role: str, atoms: Sequence[Atom], settings: Settings
) -> Iterator[tuple[Raw, Message]]:
    """Messages as a caller would give them, each with its canonical form."""
    callers = _callers(atoms) if role == "tool" else [None]
    fields = _fields(role, atoms, bool(rules.call_id))
    telling = {
        name: _telling(rules, role, name, values, atoms, settings)
        for name, values in fields.items()
    }
    for raw in islice(_raw(role, telling), LIMIT):
        for caller in callers:
            reader = Reader(rules)
            try:
                if caller is not None:
                    reader.read(caller, 0)
                yield raw, reader.read(raw, 1)
            except TemplcError:
                continue


def _telling(
    rules: MessageRules,
    role: str,
    name: str,
    values: Sequence[Any],
    atoms: Sequence[Atom],
    settings: Settings,
) -> list[Any]:
    """Of the values of one field, a few for each way that the atoms come out; the rest show nothing new."""
    seen: dict[tuple[bool, ...], int] = {}
    found = []
    for value in values:
        try:
            given = {} if value is None else {name: value}
            message = Reader(rules).read({"role": role, **given}, 0)
        except TemplcError:
            continue
        bits = tuple(holds(atom, message, settings) for atom in atoms)
        seen[bits] = seen.get(bits, 0) + 1
        if seen[bits] <= ALIKE:
            found.append(value)
    return found or [None]


def _callers(atoms: Sequence[Atom]) -> list[Raw | None]:
    """Messages with a call, for results that take something over from theirs; None is no such message."""
    read = {value.ref.name for atom in atoms for value in values_of(atom)}
    if not read & {"answered", "answered_number", "caller_content"}:
        return [None]
    texts = ["", *(_texts("a", "caller_content", atoms) if "caller_content" in read else [])]
    return [*map(caller, texts), None]


def caller(content: str) -> Raw:
    """A message with a call, which a result can answer."""
    return {"role": "assistant", "content": content, "tool_calls": [_call("f", {"k": "v"})]}


def _fields(role: str, atoms: Sequence[Atom], with_ids: bool) -> dict[str, list[Any]]:
    """Values for each field; one that no atom reads keeps a plain one."""
    read = {value.ref.name for atom in atoms for value in values_of(atom)}
    nested = [test for atom in atoms for test in _nested(atom)]
    reasons = role == "assistant" and "reasoning" in read
    return {
        "content": [LETTERS[role], *_texts(LETTERS[role], "content", atoms), None],
        "reasoning_content": _texts("r", "reasoning", atoms) if reasons else [None],
        "tool_calls": _calls(nested) if role == "assistant" else [None],
        "name": [None, *_texts("n", "name", atoms)] if "name" in read else [None],
        "tool_call_id": [
            *_ids(role, "call_id" in read, with_ids, atoms),
            *([OTHER] if "answered" in read else []),
        ],
    }


def _raw(role: str, fields: Mapping[str, Sequence[Any]]) -> Iterator[Raw]:
    """Every combination of the fields, those that come first in their lists first."""
    for ranks in sorted(product(*(range(len(values)) for values in fields.values())), key=sum):
        chosen = {
            name: values[rank]
            for rank, (name, values) in zip(ranks, fields.items(), strict=True)
            if values[rank] is not None
        }
        yield {"role": role, **chosen}


def _ids(role: str, read: bool, with_ids: bool, atoms: Sequence[Atom]) -> list[Any]:
    if role != "tool":
        return [None]
    if not read:
        return [ID] if with_ids else [None]
    return [ID, None, *_texts("i", "call_id", atoms)]


def values_of(atom: Atom) -> tuple[expr.Value, ...]:
    """The message values that an atom reads."""
    match atom:
        case Alike(first, second):
            return (first, second)
        case expr.Test(value=value) | expr.Counted(value=value):
            return (value,)
        case expr.Quantified():
            return ()


def _nested(atom: Atom) -> list[expr.Test]:
    """The tests that a quantifier makes on each call."""
    if not isinstance(atom, expr.Quantified):
        return []
    return [leaf for leaf in expr.leaves(atom.term) if isinstance(leaf, expr.Test)]


def _texts(letter: str, field: str, atoms: Sequence[Atom]) -> list[Any]:
    """Texts for a field: plain ones, and ones around every constant that is tested for."""
    starts, ends, inside = [""], [""], [""]
    for atom in atoms:
        for value in values_of(atom):
            if value.ref.name == field:
                mark = getattr(atom, "argument", None)
                kind = getattr(atom, "kind", "")
                where = {"starts": starts, "ends": ends}.get(kind, inside)
                where += [mark] if isinstance(mark, str) else []
                inside += [use.argument for use in value.filters if use.argument]
    inside += [first + second for first, second in permutations(dict.fromkeys(inside), 2)]
    made = ["", letter]
    for space, start, middle, end in product(("", "\n", " \n"), starts, inside, ends):
        made += [
            start + space + letter + middle + letter + space + end,
            space + start + middle + end + space,
            start + middle + end,
            space + start + letter + middle + end + space,
        ]
    order = [letter, "", "\n" + letter, *made, "\n", " ", f" {letter}\n", f"{letter}\n"]
    # Reasoning is left out before it is given; every other field is given first.
    left_out: list[Any] = [None] if letter == "r" else []
    return list(dict.fromkeys([*left_out, *order]))


def _calls(nested: Sequence[expr.Test]) -> list[Any]:
    """No call, one, two; names and arguments that the atoms tell apart."""
    names = ["f", *(t.argument for t in nested if _part(t) == "name" and _text(t))]
    arguments: list[Any] = [{"k": "v"}, *(['{"k":"v"}'] if nested else [])]
    one = [[_call(name, argument)] for name in names for argument in arguments]
    two = [[*first, *second] for first, second in zip(one, reversed(one), strict=True)]
    return [None, *one, *two]


def _part(test: expr.Test) -> str:
    return test.value.ref.part


def _text(test: expr.Test) -> bool:
    return isinstance(test.argument, str)


def _call(name: Any, arguments: Any) -> Raw:
    return {"type": "function", "id": ID, "function": {"name": name, "arguments": arguments}}
