"""Text patterns and conditions: scalar text to trees whose spans point into the spec file.

`parse_pattern(node, problems)` reads `"<|im_start|>${content}"`; `parse_condition` reads
`later(user) and not calls`. A problem is reported at the character that cannot go on.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from lark import Lark, Token, Transformer, UnexpectedInput, v_args
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from templc.problems.problem import Problem, Problems
from templc.source.nodes import ScalarNode
from templc.source.span import Span
from templc.syntax import tree
from templc.syntax.examples import Start, explain

MAX_NESTING = 40
MAX_QUOTED = 40
_CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "unset": None}


@cache
def grammar() -> Lark:
    """The compiled grammar; LALR refuses an ambiguous one when it is built."""
    text = Path(__file__).with_name("pattern.lark").read_text(encoding="utf-8")
    return Lark(
        text,
        parser="lalr",
        start=["pattern", "condition"],
        propagate_positions=True,
        maybe_placeholders=True,
    )


def parse_pattern(node: ScalarNode, problems: Problems) -> tree.Pattern | None:
    """The pattern that a scalar holds, or None after a problem was reported."""
    result: tree.Pattern | None = _parse(node, "pattern", problems)
    return result


def parse_condition(node: ScalarNode, problems: Problems) -> tree.Condition | None:
    """The condition that a scalar holds, or None after a problem was reported."""
    if node.kind == "bool":
        problems.error(
            "bad-condition",
            f"`{node.value}` is not a condition",
            node.span,
            label="always the same",
            helps=("write what must hold, such as `calls`, or drop the condition",),
        )
        return None
    result: tree.Condition | None = _parse(node, "condition", problems)
    return result


def _parse(node: ScalarNode, start: Start, problems: Problems) -> Any:
    found, said = _read(node, start)
    for problem in said:
        problems.add(problem)
    return found


@lru_cache(maxsize=4096)
def _read(node: ScalarNode, start: Start) -> tuple[Any, tuple[Problem, ...]]:
    """What a scalar holds, and what is wrong with it; remembered, since variants share the scalars of their base."""
    problems = Problems()
    return _tree(node, start, problems), tuple(problems)


def _tree(node: ScalarNode, start: Start, problems: Problems) -> Any:
    if start == "condition" and _nesting(node.value) > MAX_NESTING:
        message = f"a condition has at most {MAX_NESTING} brackets and `not`s"
        help_text = "name a part of it under `predicates`"
        problems.error("too-deep", message, node.span.first_line, helps=(help_text,))
        return None
    try:
        parsed = grammar().parse(node.value, start=start)
    except UnexpectedInput as error:
        _report(node, start, _place(error, len(node.value)), problems)
        return None
    built = _Builder(node)
    found = built.transform(parsed)
    return found if built.fits(problems) else None


_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_OPENS = re.compile(r"\(|\bnot\b")


def _nesting(text: str) -> int:
    """An upper bound of the nesting of a condition: brackets and `not`s that may stand open."""
    return len(_OPENS.findall(_QUOTED.sub("", text)))


def _place(error: UnexpectedInput, end: int) -> int:
    """The character at which the grammar could not go on."""
    match error:
        case UnexpectedCharacters(pos_in_stream=position):
            return end if position is None else position
        case UnexpectedToken(token=Token(type=kind, start_pos=position)) if kind != "$END":
            return end if position is None else int(position)
        case _:
            return end


def _report(node: ScalarNode, start: Start, at: int, problems: Problems) -> None:
    found = explain(node.value, start, at)
    problems.error(
        found.code,
        found.message,
        node.at(found.start, found.end) if node.value else node.span,
        label=found.label,
        helps=(found.help,) if found.help else (),
    )


@v_args(meta=True)
class _Builder(Transformer[Token, Any]):
    """Lark's tree to ours; positions in the scalar become spans in the file."""

    def __init__(self, node: ScalarNode) -> None:
        super().__init__()
        self._node = node
        self._long: list[Token] = []

    def fits(self, problems: Problems) -> bool:
        """Whether no quoted text is too long; reports those that are."""
        for token in self._long:
            problems.error(
                "too-large",
                f"a text in quotes has at most {MAX_QUOTED} characters here",
                self._node.at(token.start_pos or 0, token.end_pos or 0).first_line,
                label=f"{len(token) - 2:,} characters",
                helps=("a long text stands outside of `${...}` and of conditions",),
            )
        return not self._long

    def _unquote(self, token: Token) -> str:
        if len(token) - 2 > MAX_QUOTED:
            self._long.append(token)
        return str(token)[1:-1]

    def _span(self, meta: Any) -> Span:
        return self._node.span if meta.empty else self._node.at(meta.start_pos, meta.end_pos)

    def _word(self, token: Token) -> tree.Word:
        return tree.Word(str(token), self._node.at(token.start_pos or 0, token.end_pos or 0))

    def pattern(self, meta: Any, parts: list[Any]) -> tree.Pattern:
        return tree.Pattern(tuple(self._part(part) for part in parts), self._node.span)

    def _part(self, part: Any) -> tree.Literal | tree.Hole:
        if isinstance(part, tree.Hole):
            return part
        span = self._node.at(part.start_pos, part.end_pos)
        return tree.Literal(str(part).replace("$${", "${"), span)

    def hole(self, meta: Any, parts: list[Any]) -> tree.Hole:
        value, default = parts
        return tree.Hole(
            value, None if default is None else self._unquote(default), self._span(meta)
        )

    def value(self, meta: Any, parts: list[Any]) -> tree.Value:
        words = tuple(self._word(part) for part in parts if isinstance(part, Token))
        filters = tuple(part for part in parts if isinstance(part, tree.FilterCall))
        return tree.Value(words, filters, self._span(meta))

    def filter(self, meta: Any, parts: list[Any]) -> tree.FilterCall:
        name, argument = parts
        text = None if argument is None else self._unquote(argument)
        return tree.FilterCall(self._word(name), text, self._span(meta))

    def disjunction(self, meta: Any, terms: list[Any]) -> tree.Or:
        return tree.Or(tuple(terms), self._span(meta))

    def conjunction(self, meta: Any, terms: list[Any]) -> tree.And:
        return tree.And(tuple(terms), self._span(meta))

    def negated(self, meta: Any, terms: list[Any]) -> tree.Not:
        return tree.Not(terms[0], self._span(meta))

    def temporal(self, meta: Any, parts: list[Any]) -> tree.Temporal:
        time, term, among = parts
        return tree.Temporal(time, term, among, self._span(meta))

    def quantified(self, meta: Any, parts: list[Any]) -> tree.Quantified:
        quantifier, variable, term = parts
        return tree.Quantified(quantifier, self._word(variable), term, self._span(meta))

    def counted(self, meta: Any, parts: list[Any]) -> tree.Counted:
        value, compare, number = parts
        return tree.Counted(value, compare.text, int(number), self._span(meta))

    def number(self, meta: Any, parts: list[Any]) -> tree.Test:
        return tree.Test("==", parts[0], str(int(parts[1])), self._span(meta))

    def at_most(self, meta: Any, parts: list[Any]) -> tree.Test:
        return tree.Test("<=", parts[0], str(int(parts[1])), self._span(meta))

    def at_least(self, meta: Any, parts: list[Any]) -> tree.Test:
        return tree.Test(">=", parts[0], str(int(parts[1])), self._span(meta))

    def _keyword(self, meta: Any, parts: list[Any]) -> tree.Word:
        return self._word(parts[0])

    time = quantifier = compare = _keyword

    def constant(self, meta: Any, parts: list[Any]) -> Token:
        token: Token = parts[0]
        return token

    def equals(self, meta: Any, parts: list[Any]) -> tree.Test:
        value, constant = parts
        span = self._span(meta)
        if constant.type == "STRING":
            return tree.Test("is", value, self._unquote(constant), span)
        if constant in ("text", "mapping"):
            return tree.Test(f"is_{constant}", value, None, span)
        return tree.Test("is", value, _CONSTANTS[str(constant)], span)

    def starts(self, meta: Any, parts: list[Any]) -> tree.Test:
        return tree.Test("starts", parts[0], self._unquote(parts[1]), self._span(meta))

    def ends(self, meta: Any, parts: list[Any]) -> tree.Test:
        return tree.Test("ends", parts[0], self._unquote(parts[1]), self._span(meta))

    def contains(self, meta: Any, parts: list[Any]) -> tree.Test:
        return tree.Test("contains", parts[0], self._unquote(parts[1]), self._span(meta))

    def truth(self, meta: Any, parts: list[Any]) -> tree.Test:
        return tree.Test("truth", parts[0], None, self._span(meta))
