"""The shape of a sampled turn, read off the assistant's body and closer: what the response parser runs on.

Literals become anchors (white space, core, white space), holes keep their field and the strip filter that they are
written with, a loop over calls becomes a call encoding. A condition on options or earlier messages stays a condition;
one that reads the message itself becomes an alternative, kept wherever it may hold; one that reads later messages is
decided, for there is none while the model samples.

`"<think>\\n${reasoning}\\n</think>\\n\\n${content}"` is `Anchor("<think>", post="\\n")`, `Hole("reasoning")`,
`Anchor("</think>", pre="\\n", post="\\n\\n")`, `Hole("content")`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from templc.ir.facts import start
from templc.ir.literals import Literals, shared_controls
from templc.ir.ops import Body, Each, Op, Ops, Program, Text, When, Write, walk
from templc.ir.response_calls import call_shape
from templc.model import expr
from templc.model.expr import (
    And,
    Cond,
    Const,
    Counted,
    Fact,
    Not,
    Or,
    Test,
    conjunction,
    disjunction,
    leaves,
    negation,
)
from templc.runtime.parser.grammar import Anchor, Blank, Calls, Hole, PythonCalls

KNOWN_SCOPES = ("option", "tools", "systems", "lead")


@dataclass(frozen=True, slots=True)
class Guarded:
    """Items that may be there where `cond` holds, which reads options and earlier messages only."""

    cond: Cond
    items: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Alternatives; more than one may be possible."""

    options: tuple[Guarded, ...]


@dataclass(frozen=True, slots=True)
class Separator:
    """White space that depends on whether there is content."""

    before: str
    alone: str


@dataclass(frozen=True, slots=True)
class Token:
    """The token that an option names, such as the tokenizer's own end of sequence."""

    option: str


Shape = Anchor | Blank | Hole | Calls | Token | Guarded | Choice
_Part = Shape | Separator


def response(program: Program) -> tuple[Shape, ...]:
    """The shape of what the model samples: body, in every spelling that is accepted, and closer."""
    assistant = program.assistant
    tokens = frozenset(name for name, option in program.options.items() if option.type == "token")
    controls = Literals((*program.specials, *program.markers))
    controls = replace(controls, shared=shared_controls(_texts(assistant.body), controls))
    derive = _Derive(controls, program.rules.content, tokens)
    if not assistant.accept:
        return derive.joined(derive.ops(assistant.body + assistant.closer))
    # The text before the name tells accepted spellings apart, so it is looked for in one piece.
    other = replace(derive, literals=replace(controls, whole=True))
    bodies = [derive.joined(derive.ops(assistant.body))]
    bodies += [other.joined(other.ops(body)) for body in assistant.accept]
    choice = Choice(tuple(Guarded(Const(True), body) for body in bodies))
    return (choice, *derive.joined(derive.ops(assistant.closer)))


def _texts(ops: Ops) -> Iterator[str]:
    for op in walk(ops):
        for part in op.parts if isinstance(op, Write) else ():
            if isinstance(part, Text):
                yield part.text


@dataclass(frozen=True, slots=True)
class _Derive:
    literals: Literals
    content_filter: str
    tokens: frozenset[str]

    def ops(self, ops: Ops) -> list[_Part]:
        return [part for op in ops for part in self._op(op)]

    def _op(self, op: Op) -> list[_Part]:
        match op:
            case Write(parts):
                return [found for part in parts for found in self._written(part)]
            case When():
                return self._when(op)
            case Each(over="calls"):
                found = [(cond, self._calls(loop)) for cond, loop in _spellings(op)]
                options = [Guarded(cond, (calls,)) for cond, calls in found if calls]
                if [option.cond for option in options] == [Const(True)]:
                    return list(options[0].items)
                return [Choice(tuple(options))] if options else []
            case Each():
                return []

    def _written(self, part: Text | Body) -> list[_Part]:
        if isinstance(part, Text):
            return list(self.literals.split(part.text))
        ref = part.value.ref
        field = (
            ref.name if ref.scope == "message" and ref.name in ("content", "reasoning") else "other"
        )
        strips = [use.name for use in part.value.filters if "strip" in use.name]
        strips += [self.content_filter] if field == "content" and self.content_filter else []
        return [Hole(field, "strip" if "strip" in strips else strips[0] if strips else "")]

    def _when(self, op: When) -> list[_Part]:
        then, otherwise = self.ops(op.then), self.ops(op.otherwise)
        # White space that the past decides stays a condition: it is known when the parser starts.
        open_either_way = possible(op.cond, True) == possible(op.cond, False) == Const(True)
        separator = _separator(op.cond, then, otherwise) if open_either_way else None
        if separator is not None:
            return [separator]
        options = (
            Guarded(possible(op.cond, True), self.joined(then)),
            Guarded(possible(op.cond, False), self.joined(otherwise)),
        )
        left = tuple(option for option in options if option.cond != Const(False))
        match left:
            case (Guarded(Const(True), items), *others) if all(
                other.items == items for other in others
            ):
                return list(items)
            case (Guarded(first, items), Guarded(second, ())) if second == negation(first):
                return [Guarded(first, items)]
            case _:
                return [Choice(left)]

    def _calls(self, op: Each) -> Calls | None:
        found = call_shape(op, self.literals)
        if found is None:
            return None
        shape, leading = found
        opening, between, closing = (
            self.joined(self.ops(block)) for block in (op.open, op.between, op.close)
        )
        before, alone = _spacing(self.ops(op.open))
        sections = [part for part in opening if isinstance(part, Anchor)]
        closers = [part for part in closing if isinstance(part, Anchor)]
        if isinstance(shape, PythonCalls):
            if not (sections and closers):
                return None
            shape = PythonCalls(replace(sections[0], pre=""), closers[0])
            return Calls(shape, before, alone)
        # Inside a section nothing but calls is meant, so text may part them there.
        spaces = _glue(between, texts=bool(sections)) + leading
        return Calls(
            call=shape,
            before=before + ("" if sections else leading),
            alone=alone + ("" if sections else leading),
            between=spaces,
            open=replace(sections[0], pre="") if sections else None,
            close=closers[0] if closers else None,
        )

    def joined(self, parts: list[_Part]) -> tuple[Shape, ...]:
        """White space given to the anchor or the calls that it stands beside."""
        found: list[Shape] = []
        space = Separator("", "")
        for part in parts:
            match part:
                case Separator(before, alone):
                    space = Separator(space.before + before, space.alone + alone)
                case Blank(text) if found and isinstance(found[-1], Anchor) and not space.before:
                    found[-1] = replace(found[-1], post=found[-1].post + text)
                case Blank(text):
                    space = Separator(space.before + text, space.alone + text)
                case Anchor():
                    found.append(replace(part, pre=space.before + part.pre))
                    space = Separator("", "")
                case Calls():
                    before, alone = space.before + part.before, space.alone + part.alone
                    found.append(replace(part, before=before, alone=alone))
                    space = Separator("", "")
                case _:
                    found += [Blank(space.before)] if space.before else []
                    found.append(part)
                    space = Separator("", "")
        return (*found, *([Blank(space.before)] if space.before else []))


def _spellings(op: Each) -> list[tuple[Cond, Each]]:
    """The loop for each way in which a call may be written, where something of the call itself decides which.

    With what must hold for it of all that is known before the model samples.
    """
    match op.do:
        case (When(cond, then, otherwise),) if then and otherwise and _reads_item(cond):
            loops = replace(op, do=otherwise), replace(op, do=then)
            return [(possible(cond, False), loops[0]), (possible(cond, True), loops[1])]
        case _:
            return [(Const(True), op)]


def _reads_item(cond: Cond) -> bool:
    return any(isinstance(leaf, Test) and leaf.value.ref.scope == "item" for leaf in leaves(cond))


def _glue(parts: tuple[Shape, ...], *, texts: bool) -> str:
    """What stands between two calls: white space, with `texts` also what else is written there."""
    found = ""
    for part in parts:
        if isinstance(part, Blank):
            found += part.text
        elif isinstance(part, Anchor) and texts:
            found += part.pre + part.core + part.post
    return found


def _spacing(parts: list[_Part]) -> tuple[str, str]:
    """White space before the first anchor: where there is content, and where there is none."""
    before = alone = ""
    for part in parts:
        match part:
            case Separator():
                before, alone = before + part.before, alone + part.alone
            case Blank(text):
                before, alone = before + text, alone + text
            case Anchor(pre=pre):
                return before + pre, alone + pre
            case _:
                break
    return before, alone


def _separator(cond: Cond, then: list[_Part], otherwise: list[_Part]) -> Separator | None:
    """The separator that a decision between white spaces is, where it reads whether there is content."""
    blank = [part for part in (*then, *otherwise) if isinstance(part, Blank)]
    if len(blank) != len(then) + len(otherwise):
        return None
    texts = [
        "".join(part.text for part in side if isinstance(part, Blank)) for side in (then, otherwise)
    ]
    match cond:
        case Test("truth", value) if value.ref == expr.Ref("message", "content"):
            return Separator(texts[0], texts[1])
        case Not(Test("truth", value)) if value.ref == expr.Ref("message", "content"):
            return Separator(texts[1], texts[0])
        case _:
            return Separator(max(texts, key=len), min(texts, key=len))


def possible(cond: Cond, truth: bool) -> Cond:
    """Whether `cond` may have this truth, by what is known before the model samples."""
    match cond:
        case Const(value):
            return Const(value == truth)
        case Not(term):
            return possible(term, not truth)
        case And(terms):
            found = [possible(term, truth) for term in terms]
            return conjunction(*found) if truth else disjunction(*found)
        case Or(terms):
            found = [possible(term, truth) for term in terms]
            return disjunction(*found) if truth else conjunction(*found)
        case Fact(horizon="future"):
            # What is parsed has just been sampled, so nothing stands behind it.
            return Const(start(cond, end=True, live=True) == truth)
        case Fact(horizon="past") | Test() | Counted() if _known(cond):
            return cond if truth else negation(cond)
        case _:
            return Const(True)


def _known(cond: Cond) -> bool:
    return isinstance(cond, Fact) or (
        isinstance(cond, Test | Counted) and cond.value.ref.scope in KNOWN_SCOPES
    )
