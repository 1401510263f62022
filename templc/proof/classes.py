"""Message classes: a role and the truth of every atom. They cover all messages, whatever their contents.

    classes = message_classes(Given(program, settings))

Every combination of atoms is a class unless it is impossible by one of the rules of `impossible`; a class that no
representative realises is kept, since leaving it out would need a proof that it is empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from templc.ir.interpret import message_rules
from templc.ir.ops import Program
from templc.model import expr
from templc.model.expr import FilterUse, Test, Value
from templc.model.spec import MessageRules
from templc.proof.atoms import plainer
from templc.proof.given import Given
from templc.proof.representatives import Raw, candidates
from templc.proof.values import SHRINKING, Alike, Atom, Settings, filtered, holds
from templc.runtime.messages import Message

ROLES = ("system", "developer", "user", "tool", "assistant")
_STRIPS = {
    "strip": "strip",
    "lstrip": "strip",
    "rstrip": "strip",
    "strip_newlines": "strip_newlines",
    "lstrip_newlines": "strip_newlines",
    "rstrip_newlines": "strip_newlines",
}
KEPT = 4
Extra = frozenset[tuple[str, Atom]]
LIMIT = 300


@dataclass(frozen=True, slots=True, eq=False)
class MessageClass:
    """A role and the truth of each atom; `examples` are messages in it, as given and as read."""

    role: str
    bits: Mapping[Atom, bool]
    examples: tuple[tuple[Raw, Message], ...] = field(default=())

    @property
    def key(self) -> tuple[str, tuple[bool, ...]]:
        return self.role, tuple(self.bits.values())


class TooMany(Exception):
    """A format reads so much of a message that its classes cannot be listed."""


def roles_of(program: Program) -> tuple[str, ...]:
    """The roles whose messages the format accepts."""
    return tuple(role for role in ROLES if role in program.roles)


def message_classes(given: Given, extra: Extra = frozenset()) -> tuple[MessageClass, ...]:
    """All classes, role by role, those with the simplest example first; `extra` atoms are told apart too."""
    found: list[MessageClass] = []
    settings, rules = given.settings, given.program.rules
    for role in roles_of(given.program):
        more = sorted((atom for of, atom in extra if of == role), key=repr)
        atoms = tuple(dict.fromkeys((*given.atoms(role), *more)))
        found += _classes(rules, role, atoms, *settings_read(atoms, settings))
    return tuple(found)


def settings_read(
    atoms: Iterable[Atom], settings: Settings
) -> tuple[tuple[tuple[str, object], ...], bool]:
    """The options and the tools as far as atoms hang on them: what they come to is the same for many formats."""
    options = tuple(settings.options.items()) if any(map(_reads_settings, atoms)) else ()
    return options, settings.tools and bool(options)


def _reads_settings(atom: Atom) -> bool:
    """Whether an atom hangs on an option or on the tools; most that do were decided before."""
    if isinstance(atom, Alike):
        return False
    values = [
        leaf.value for leaf in expr.leaves(atom) if isinstance(leaf, expr.Test | expr.Counted)
    ]
    return any(value.ref.scope in ("option", "tools") for value in values)


@lru_cache(maxsize=1024)
def _classes(
    rules: MessageRules,
    role: str,
    atoms: tuple[Atom, ...],
    options: tuple[tuple[str, object], ...],
    tools: bool,
) -> tuple[MessageClass, ...]:
    """The classes of a role: the same for many settings of a format, and for many formats."""
    settings = Settings(dict(options), tools)
    wanted: list[tuple[bool, ...]] = [()]
    for at in range(1, len(atoms) + 1):
        longer = [(*bits, value) for bits in wanted for value in (False, True)]
        wanted = [
            bits for bits in longer if not impossible(dict(zip(atoms[:at], bits, strict=True)))
        ]
        if len(wanted) > LIMIT:
            raise TooMany(f"{len(atoms)} tests on one {role} message")
    examples: dict[tuple[bool, ...], list[tuple[Raw, Message]]] = {}
    for raw, message in candidates(message_rules(rules), role, atoms, settings):
        bits = tuple(holds(atom, message, settings) for atom in atoms)
        found = examples.setdefault(bits, [])
        if len(found) < KEPT:
            found.append((raw, message))
        if len(examples) == len(wanted) and all(len(kept) == KEPT for kept in examples.values()):
            break
    order = [*examples, *(bits for bits in wanted if bits not in examples)]
    return tuple(
        MessageClass(role, dict(zip(atoms, bits, strict=True)), tuple(examples.get(bits, ())))
        for bits in order
    )


def class_of(
    message: Message,
    classes: Mapping[tuple[str, tuple[bool, ...]], MessageClass],
    settings: Settings,
) -> MessageClass:
    """The class of a canonical message; KeyError for a role that the format does not have."""
    sample = next(found for found in classes.values() if found.role == message.role)
    bits = tuple(holds(atom, message, settings) for atom in sample.bits)
    return classes[message.role, bits]


def impossible(bits: Mapping[Atom, bool]) -> bool:
    """Whether no message can have these atoms, by one of these rules about the values of one field.

    An empty value has only empty shortenings, and starts, ends and contains nothing. A value that is empty after
    fewer filters is empty after more, and strip, lstrip and rstrip empty the same texts; a filter
    that looks for a mark does nothing to what does not contain it; values that are alike are
    empty together. A value that is a given text is no
    other, and is empty after filters as that text is. Two starts, or two ends, fit into each other. What starts or
    ends with X contains X. What is missing is empty.
    """
    truths = [
        (atom.value, true)
        for atom, true in bits.items()
        if isinstance(atom, Test) and atom.kind == "truth"
    ]
    # White space off either end or both leaves nothing of the same texts.
    stripped: dict[Value, bool] = {}
    if any(
        stripped.setdefault(_as_strip(plainer(value, bits)), true) != true for value, true in truths
    ):
        return True
    tested = dict(truths)
    empty = {value for value, true in tested.items() if not true}
    full = {value for value, true in tested.items() if true}
    return (
        any(_shortened(value, other) for value in full for other in empty)
        or any(_contradicts(atom, holds, empty, full, bits) for atom, holds in bits.items())
        or _clash(bits, "starts", str.startswith)
        or _clash(bits, "ends", str.endswith)
        or _not_contained(bits)
        or _two_texts(bits)
    )


def _as_strip(value: Value) -> Value:
    if not value.filters or value.filters[-1].name not in _STRIPS:
        return value
    last = FilterUse(_STRIPS[value.filters[-1].name])
    return Value(value.ref, (*value.filters[:-1], last))


def _shortened(value: Value, other: Value) -> bool:
    """Whether `value` is `other` after some more shortening filters."""
    size = len(other.filters)
    more = value.filters[size:]
    same = value.ref == other.ref and value.filters[:size] == other.filters
    return same and all(use.name in SHRINKING for use in more)


def _contradicts(
    atom: Atom, holds: bool, empty: set[Value], full: set[Value], bits: Mapping[Atom, bool]
) -> bool:
    match atom:
        case Alike(first, second) if not holds and plainer(first, bits) == plainer(second, bits):
            return True
        case Alike(first, second):
            if holds:
                return (first in empty and second in full) or (first in full and second in empty)
            return first in empty and second in empty
        case Test("starts" | "ends" | "contains", value, str(mark)):
            return holds and bool(mark) and any(_shortened(value, other) for other in empty)
        case Test("is", value, str(text)):
            if not holds:
                return False
            return any(bool(text) for other in empty if _shortened(value, other)) or any(
                not filtered(text, other.filters[len(value.filters) :])
                for other in full
                if _shortened(other, value)
            )
        case Test("is", value, None):
            # An id that is missing may have been filled in from the call that it answers.
            return holds and value in full and value.ref.name != "call_id"
        case _:
            return False


def _marks(bits: Mapping[Atom, bool], kind: str) -> list[tuple[Value, str, bool]]:
    return [
        (atom.value, atom.argument, true)
        for atom, true in bits.items()
        if isinstance(atom, Test) and atom.kind == kind and isinstance(atom.argument, str)
    ]


def _clash(bits: Mapping[Atom, bool], kind: str, fits: object) -> bool:
    """A text that starts with X starts with every start of X, and with nothing that X does not fit."""
    marks = _marks(bits, kind)
    for value, mark, true in marks:
        for other, longer, longer_holds in marks:
            if value != other or mark == longer or not longer_holds:
                continue
            inside = fits(longer, mark)  # type: ignore[operator]
            outside = fits(mark, longer)  # type: ignore[operator]
            if (inside and not true) or (true and not inside and not outside):
                return True
    return False


def _two_texts(bits: Mapping[Atom, bool]) -> bool:
    given = [(value, text) for value, text, true in _marks(bits, "is") if true]
    return len({value for value, _ in given}) < len(given)


def _not_contained(bits: Mapping[Atom, bool]) -> bool:
    kinds = ("starts", "ends", "contains", "is")
    outer = [(of, text) for kind in kinds for of, text, true in _marks(bits, kind) if true]
    inner = [(of, mark) for of, mark, true in _marks(bits, "contains") if not true]
    return any(of == other and mark in text for of, mark in inner for other, text in outer)
