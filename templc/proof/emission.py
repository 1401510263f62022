"""Emissions: what one message writes, as text of the format and named holes for text that is not known.

    (Lit("<|im_start|>user\\n"), Hole("last", Value(content), None), Lit("<|im_end|>\\n"))

`compare(old, new)` says whether the first is a prefix of the second for all contents. Holes are equal when they
stand for the same value of the same message; a hole against anything else is `unclear`, and only concrete messages
can show that it differs.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from templc.ir.ops import Body, Each, Ops, Text, When, Write
from templc.model import expr
from templc.model.expr import LOOPED, Cond, Fact, Test, Value
from templc.model.hashed import Hashed, hash_once
from templc.proof.atoms import CALLS, Bits, literal, plainer, truth
from templc.proof.values import Alike, Atom, Settings, holds, value_of
from templc.runtime.messages import Message

_APART = LOOPED | {"lead"}
"""The scopes of values that are not read off the message at hand."""


@dataclass(frozen=True, slots=True)
class Lit:
    """Text that the format writes."""

    text: str


@hash_once
@dataclass(frozen=True, slots=True)
class Hole(Hashed):
    """Text that is not known: a value of the message called `owner`, or of none (tools, the leading message)."""

    owner: str
    value: Value
    default: str | None
    field: str


@hash_once
@dataclass(frozen=True, slots=True)
class Loop(Hashed):
    """One stretch for each item of a list of the owner."""

    owner: str
    over: str
    of: str
    variable: str
    open: Emission
    do: Emission
    between: Emission
    close: Emission
    ordered: bool = False


@hash_once
@dataclass(frozen=True, slots=True)
class Fork(Hashed):
    """A choice that hangs on a loop item."""

    cond: Cond
    then: Emission
    otherwise: Emission


@hash_once
@dataclass(frozen=True, slots=True)
class Rest(Hashed):
    """What is sampled of a text behind `given`: less that, where it begins so; see `prefilled`.

    sure: it does begin so. asks: the atom on which that hangs, None where none is known.
    """

    whole: Emission
    given: Emission
    asks: Atom | None
    sure: bool


Token = Lit | Hole | Loop | Fork | Rest
Emission = tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class View:
    """What an emission is made of: the message's role and atoms, the facts around it, what is fixed.

    holes: what the message's values come to, which no fact changes, as far as it was worked out.
    """

    role: str
    bits: Bits
    facts: Mapping[Fact, bool]
    settings: Settings
    owner: str
    blank: Message | None = None
    holes: dict[Body, Token] = field(default_factory=dict)


def emit(ops: Ops, view: View) -> Emission:
    """The emission of specialised operations; neighbouring texts are one."""
    written: list[Token | str] = []
    _write(ops, view, written)
    return joined(written)


def joined(tokens: Iterable[Token | str]) -> Emission:
    """Tokens with neighbouring texts made one, empty ones left out."""
    found: list[Token] = []
    text = ""
    for token in tokens:
        if isinstance(token, str):
            text += token
        elif isinstance(token, Lit):
            text += token.text
        else:
            if text:
                found.append(Lit(text))
                text = ""
            found.append(token)
    return (*found, Lit(text)) if text else tuple(found)


def _write(ops: Ops, view: View, written: list[Token | str]) -> None:
    """Add what operations write."""
    for op in ops:
        if isinstance(op, Write):
            for part in op.parts:
                written.append(part.text if isinstance(part, Text) else _hole(part, view))
        elif isinstance(op, When):
            found = truth(op.cond, _bits(view), view.facts)
            if found is None:
                then, otherwise = emit(op.then, view), emit(op.otherwise, view)
                written.append(Fork(_residue(op.cond, view), then, otherwise))
            else:
                _write(op.then if found else op.otherwise, view, written)
        else:
            written += _loop(op, view)


def _bits(view: View) -> Bits:
    """The atoms; where there is no message, every one is read off an empty one."""
    if view.blank is None:
        return view.bits
    return _Blank(view)


class _Blank(dict[Any, bool]):
    """Atoms of the empty message, read as they are asked for."""

    def __init__(self, view: View) -> None:
        super().__init__()
        self._view = view

    def get(self, atom: Any, default: Any = None) -> Any:
        value, view = getattr(atom, "value", None), self._view
        if view.blank is None or (isinstance(value, Value) and value.ref.scope in _APART):
            return view.bits.get(atom, default)
        return holds(atom, view.blank, view.settings)


def _residue(cond: Cond, view: View) -> Cond:
    """A condition on a loop item with everything else filled in, so that equal choices compare equal."""
    match cond:
        case expr.Or(terms):
            return expr.disjunction(*(_residue(term, view) for term in terms))
        case expr.And(terms):
            return expr.conjunction(*(_residue(term, view) for term in terms))
        case expr.Not(term):
            return expr.negation(_residue(term, view))
        case _:
            found = truth(cond, _bits(view), view.facts)
            return cond if found is None else expr.Const(found)


def _hole(body: Body, view: View) -> Token:
    found = view.holes.get(body)
    if found is None:
        found = view.holes[body] = _filled(body, view)
    return found


def _filled(body: Body, view: View) -> Token:
    value, scope = body.value, body.value.ref.scope
    text = literal(value, view.role, view.settings)
    if text is None and view.blank is not None and scope == "message":
        text = str(value_of(value, view.blank, view.settings, {}) or "")
    # A filter may be known to do nothing, and so what is known without it holds with it.
    same = (value, plainer(value, view.bits))
    known = [view.bits.get(Test("truth", one)) for one in same]
    if text is None and False in known:
        text = ""
    if text is not None:
        return Lit(text or body.default or "")
    owner = view.owner if scope == "message" or scope in LOOPED else ""
    default = None if True in known else body.default
    return Hole(owner, _simplest(same, view.bits), default, body.field)


def _simplest(known: tuple[Value, Value], bits: Bits) -> Value:
    """Of values that are one text, and those like them, if by way of others, the one with the fewest filters."""
    same = set(known)
    pairs = [
        {atom.first, atom.second, plainer(atom.first, bits), plainer(atom.second, bits)}
        for atom, alike in bits.items()
        if alike and isinstance(atom, Alike) and atom.first.ref == known[0].ref
    ]
    while near := [pair for pair in pairs if not pair.isdisjoint(same)]:
        same = same.union(*near)
        pairs = [pair for pair in pairs if pair.isdisjoint(same)]
    return min(same, key=lambda found: (len(found.filters), str(found.filters)))


def _loop(op: Each, view: View) -> Iterator[Token]:
    parts = [emit(block, view) for block in (op.open, op.do, op.between, op.close)]
    opening, do, between, close = parts
    match _some(op, view):
        case False:
            return
        case True:
            # What every item begins with stands in front of the list, and between two items: so it is known.
            lead = do[:1] if isinstance(next(iter(do), None), Lit) else ()
            between = joined((*between, *lead))
            yield from (*opening, *lead)
            rest = do[len(lead) :]
            yield Loop(view.owner, op.over, op.of, op.variable, (), rest, between, (), op.ordered)
            yield from close
        case None:
            name = op.variable
            yield Loop(view.owner, op.over, op.of, name, opening, do, between, close, op.ordered)


def _some(op: Each, view: View) -> bool | None:
    """Whether the list has an item."""
    match op.over:
        case "calls":
            return False if view.blank is not None else view.bits.get(CALLS, False)
        case "tools":
            return view.settings.tools
        case "records":
            return bool(view.settings.options[op.of])
        case "arguments" | "systems":
            return None


# Comparison.

Kind = Literal["same", "longer", "rest", "clash", "unclear"]


@dataclass(frozen=True, slots=True)
class Match:
    """How an old emission stands to a new one.

    same; longer: the new one goes on with `rest`; rest: the old one goes on with it; clash: they differ for all
    contents; unclear: a hole meets something else, `rest` is where.
    """

    kind: Kind
    rest: Emission = ()

    @property
    def prefix(self) -> bool:
        return self.kind in ("same", "longer")


def compare(old: Emission, new: Emission) -> Match:
    """Whether `old` is a prefix of `new`, and what is left over where it is not."""
    left, right = list(old[::-1]), list(new[::-1])
    while left and right:
        first, second = left.pop(), right.pop()
        if first is second or first == second:
            continue
        if not (isinstance(first, Lit) and isinstance(second, Lit)):
            return Match("unclear", (first, second))
        if not shortened(first.text, second.text, left, right):
            return Match("clash")
    if left:
        return Match("rest", tuple(left[::-1]))
    return Match("longer" if right else "same", tuple(right[::-1]))


def shortened(first: str, second: str, left: list[Token], right: list[Token]) -> bool:
    """Whether one text begins with the other; what is longer goes back to the end of its list."""
    if first.startswith(second):
        left.append(Lit(first[len(second) :]))
    elif second.startswith(first):
        right.append(Lit(second[len(first) :]))
    else:
        return False
    return True


def deciding(
    old: Emission, new: Emission, kinds: Container[Kind], undecided: Callable[[Hole], bool]
) -> frozenset[Hole] | None:
    """The holes that make texts compare as one of some kinds by being empty; None where that cannot be.

    undecided: whether a hole may be empty, as far as is known.
    """
    match = compare(old, new)
    if match.kind != "unclear":
        return frozenset() if match.kind in kinds else None
    found: dict[Hole, frozenset[Hole]] = {}
    for hole in match.rest:
        if isinstance(hole, Hole) and undecided(hole):
            less, other = (_emptied(text, hole) for text in (old, new))
            more = deciding(less, other, kinds, undecided)
            if more is not None:
                found[hole] = more
    return frozenset(found).union(*found.values()) if found else None


def _emptied(emission: Emission, hole: Hole) -> Emission:
    """The emission where there is nothing in a hole."""
    blank = Lit(hole.default or "")
    return joined(tuple(blank if token == hole else token for token in emission))


def owned(emission: Emission, owner: str) -> Emission:
    """The same emission of another message."""
    return tuple(_owned(token, owner) for token in emission)


def _owned(token: Token, owner: str) -> Token:
    match token:
        case Lit():
            return token
        case Hole(old, value, default, name):
            return Hole(owner if old else old, value, default, name)
        case Loop():
            blocks = (token.open, token.do, token.between, token.close)
            opening, do, between, close = (owned(one, owner) for one in blocks)
            return replace(token, owner=owner, open=opening, do=do, between=between, close=close)
        case Fork(cond, then, otherwise):
            return Fork(cond, owned(then, owner), owned(otherwise, owner))
        case Rest():
            return replace(token, whole=owned(token.whole, owner))


def text_of(emission: Emission, messages: Mapping[str, Message], settings: Settings) -> str:
    """The text of an emission on concrete messages, by owner."""
    return _text(emission, messages, settings, {})


def _text(
    emission: Emission, messages: Mapping[str, Message], settings: Settings, items: dict[str, Any]
) -> str:
    return "".join(_token_text(token, messages, settings, items) for token in emission)


_NOBODY = Message("system", content="lead")


def _token_text(
    token: Token, messages: Mapping[str, Message], settings: Settings, items: dict[str, Any]
) -> str:
    match token:
        case Lit(text):
            return text
        case Hole(owner, value, default):
            message = messages.get(owner, _NOBODY)
            if value.ref.scope == "tools":
                return "tools"
            return str(value_of(value, message, settings, items) or default or "")
        case Fork(cond, then, otherwise):
            message = next(iter(messages.values()), _NOBODY)
            chosen = then if holds(cond, message, settings, items) else otherwise
            return _text(chosen, messages, settings, items)
        case Rest(whole, given):
            text, begun = (_text(one, messages, settings, items) for one in (whole, given))
            return text.removeprefix(begun)
        case Loop(owner, over, of, variable, opening, do, between, close, ordered):
            found: Any = messages[owner].calls if over == "calls" else ()
            if over == "arguments":
                found = tuple(items[of].items())
            if ordered:
                found = sorted(found, key=lambda item: item.name)
            texts = [_text(do, messages, settings, {**items, variable: item}) for item in found]
            if not texts:
                return ""
            glue = _text(between, messages, settings, items)
            ends = [_text(part, messages, settings, items) for part in (opening, close)]
            return ends[0] + glue.join(texts) + ends[1]
