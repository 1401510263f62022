"""The values of options that a program may tell apart, for everything that goes through its settings.

`telling(program)` is `{"enable_thinking": (True, False), "thinking_budget": (-1, 0, 1)}` where a condition asks
whether the budget is 0 and it is at least -1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from templc.ir.ops import Body, Program, Write, conditions, walk
from templc.model.expr import Cond, Quantified, Ref, Test, leaves
from templc.model.spec import COMPARISONS, Option
from templc.runtime.records import Record


def telling(program: Program) -> dict[str, tuple[object, ...]]:
    """By option: both truths, every choice, lists of one and of all values, numbers on both sides of what is compared.

    Of a record the keys that are asked for, one by one, and all, each with the texts that it is compared with; of
    records only whether there are any.

    There are none for texts, dates and tokens.

    A bool that no condition asks for has none either: it is about the labels of media, which count as content.
    """
    asked = {test.value.ref.name for cond in _conditions(program) for test in _tests(cond)}
    return {
        name: () if option.type == "bool" and name not in asked else _values(program, option)
        for name, option in program.options.items()
    }


def _values(program: Program, option: Option) -> tuple[object, ...]:
    match option.type:
        case "bool":
            return (True, False)
        case "choice":
            return option.values
        case "list":
            return (*((one,) for one in option.values), option.values)
        case "record":
            asked = _held(program, option.name)
            single = [{key: one} for key in option.values for one in asked.get(key, ())]
            every = {key: (asked.get(key) or (True,))[-1] for key in option.values}
            return tuple(Record(one, 0) for one in (*(s for s in single if s != every), every))
        case "records":
            given = {name: name for name in option.fields or ("title", "text")}
            return ((Record(given, 0),),)
        case "int":
            near = sorted(set(_edges(program, option.name)))
            return tuple(n for n in near if option.least is None or n >= option.least)
        case _:
            return ()


def said(program: Program, options: Mapping[str, object]) -> list[str]:
    """What is set of the options that a program may tell apart, as words: `["thinking=True", "with documents"]`."""
    kinds = {name: option.type for name, option in program.options.items()}
    told = [(name, value) for name, value in options.items() if kinds.get(name) in _TOLD]
    return [
        f"with {name}" if kinds[name] == "records" else f"{name}={value}"
        for name, value in told
        if value not in (None, (), {})
    ]


_TOLD = frozenset({"bool", "choice", "int", "list", "record", "records"})


def option_value(options: Mapping[str, object], ref: Ref) -> Any:
    """The value of an option, or what stands under a key of a record: None where it has no such key."""
    found: Any = options[ref.name]
    return found.get(ref.part) if ref.part else found


def _held(program: Program, name: str) -> dict[str, tuple[object, ...]]:
    """The keys of a record that are asked for or written, each with the texts that it is compared with, else True."""
    found: dict[str, dict[object, None]] = {}
    for test in (test for cond in _conditions(program) for test in _tests(cond)):
        ref = test.value.ref
        if ref.scope == "option" and ref.name == name and (ref.part or test.kind == "contains"):
            texts = found.setdefault(ref.part or str(test.argument), {})
            texts |= (
                {test.argument: None} if ref.part and test.kind == "is" and test.argument else {}
            )
    for ref in _written(program):
        if ref.scope == "option" and ref.name == name and ref.part:
            found.setdefault(ref.part, {})
    return {key: tuple(texts) or (True,) for key, texts in found.items()}


def _written(program: Program) -> Iterator[Ref]:
    for op in (op for _, ops in program.blocks() for op in walk(ops)):
        for part in op.parts if isinstance(op, Write) else ():
            if isinstance(part, Body):
                yield part.value.ref


_STEPS = {"==": (-1, 0, 1), "<=": (0, 1), ">=": (-1, 0)}


def _edges(program: Program, name: str) -> Iterator[int]:
    """The numbers on both sides of each that an option is compared with, anywhere in a program."""
    for cond in _conditions(program):
        for test in _tests(cond):
            if test.value.ref.name == name and test.kind in COMPARISONS:
                yield from (int(str(test.argument)) + step for step in _STEPS[test.kind])


def _conditions(program: Program) -> Iterator[Cond]:
    """Every condition of the blocks and of the checks."""
    for _, ops in program.blocks():
        yield from (cond for cond, _ in conditions(ops))
    for group in program.checks.values():
        yield from (check.cond for check in group)


def _tests(cond: Cond) -> Iterator[Test]:
    for leaf in leaves(cond):
        if isinstance(leaf, Test):
            yield leaf
        elif isinstance(leaf, Quantified):
            yield from _tests(leaf.term)
