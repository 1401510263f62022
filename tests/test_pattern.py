"""Patterns and conditions: the grammar, the trees, and what is said about malformed ones."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark import Lark

import templc.syntax.pattern as pattern_module
from templc.problems.problem import Problem, Problems
from templc.source.nodes import MappingNode, ScalarNode, parse_nodes
from templc.source.span import Source
from templc.syntax import tree
from templc.syntax.examples import MISTAKES, Mistake
from templc.syntax.pattern import MAX_NESTING, MAX_QUOTED, parse_condition, parse_pattern

Parse = Callable[[ScalarNode, Problems], Any]
PARSERS: dict[str, Parse] = {"pattern": parse_pattern, "condition": parse_condition}


def scalar(written: str) -> ScalarNode:
    """The scalar of a spec that is written like this."""
    problems = Problems()
    root = parse_nodes(Source("x.yaml", f"user: {written}\n"), problems)
    assert isinstance(root, MappingNode) and not list(problems), list(problems)
    found = root.get("user")
    assert isinstance(found, ScalarNode)
    return found


def quoted(text: str) -> ScalarNode:
    return scalar('"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"')


def parsed(start: str, node: ScalarNode) -> Any:
    problems = Problems()
    found = PARSERS[start](node, problems)
    assert found is not None and not list(problems), list(problems)
    return found


def problem_of(start: str, text: str) -> Problem:
    problems = Problems()
    assert PARSERS[start](quoted(text), problems) is None
    (problem,) = problems
    return problem


def test_the_grammar_has_no_conflict() -> None:
    """Strict: neither shift/reduce conflicts nor terminals that overlap."""
    text = Path(pattern_module.__file__).with_name("pattern.lark").read_text(encoding="utf-8")
    Lark(text, parser="lalr", start=["pattern", "condition"], strict=True)


# trees, written short: what a tree is without its spans


def short(node: object) -> str:
    match node:
        case tree.Pattern(parts):
            return " ".join(short(part) for part in parts)
        case tree.Literal(text):
            return repr(text)
        case tree.Hole(value, default):
            return f"<{short(value)}{'' if default is None else f' or {default!r}'}>"
        case tree.Value(_, filters):
            return node.dotted + "".join(short(call) for call in filters)
        case tree.FilterCall(name, argument):
            return f"|{name.text}" + ("" if argument is None else f":{argument!r}")
        case tree.Or(terms) | tree.And(terms):
            return f"{type(node).__name__}({', '.join(short(term) for term in terms)})"
        case tree.Not(term):
            return f"Not({short(term)})"
        case tree.Temporal(time, term, among):
            return f"{time.text}[{short(term)}{'' if among is None else f' in {short(among)}'}]"
        case tree.Quantified(quantifier, variable, term):
            return f"{quantifier.text}[{variable.text}: {short(term)}]"
        case tree.Counted(value, compare, number):
            return f"count[{short(value)} {compare} {number}]"
        case tree.Test(kind, value, argument):
            return f"{short(value)} {kind}" + ("" if kind == "truth" else f" {argument!r}")
    raise AssertionError(node)


TREES = [
    ("pattern", "", ""),
    ("pattern", "a b", "'a b'"),
    ("pattern", "${content}", "<content>"),
    ("pattern", "a${ content }b", "'a' <content> 'b'"),
    ("pattern", "${a.b|c|d:'e f'}", "<a.b|c|d:'e f'>"),
    ("pattern", '${name or "x y"}', "<name or 'x y'>"),
    ("pattern", "${name or ''}", "<name or ''>"),
    ("pattern", "{a} $ $$ $a { } % # {{x}}", "'{a} $ $$ $a { } % # {{x}}'"),
    ("pattern", "$${a}", "'${a}'"),
    ("pattern", "$$${a}", "'$${a}'"),
    ("pattern", "$", "'$'"),
    ("pattern", "${a}$${b}${c}", "<a> '${b}' <c>"),
    ("pattern", " ${a} \n", "' ' <a> ' \\n'"),
    ("pattern", "${or}", "<or>"),
    ("pattern", "${format|json}", "<format|json>"),
    ("condition", "calls", "calls truth"),
    ("condition", "not calls", "Not(calls truth)"),
    ("condition", "a or b and not c", "Or(a truth, And(b truth, Not(c truth)))"),
    ("condition", "(a or b) and c", "And(Or(a truth, b truth), c truth)"),
    ("condition", "not (a or b)", "Not(Or(a truth, b truth))"),
    ("condition", "not not a", "Not(Not(a truth))"),
    ("condition", "a\n and\tb", "And(a truth, b truth)"),
    ("condition", "x is true", "x is True"),
    ("condition", "x is false", "x is False"),
    ("condition", "x is unset", "x is None"),
    ("condition", "x is 'y'", "x is 'y'"),
    ("condition", "x is text", "x is_text None"),
    ("condition", "x is mapping", "x is_mapping None"),
    ("condition", "a.b|strip starts with 'x'", "a.b|strip starts 'x'"),
    ("condition", 'x ends with ""', "x ends ''"),
    ("condition", "x contains 'it is (not)'", "x contains 'it is (not)'"),
    ("condition", "previous(user)", "previous[user truth]"),
    ("condition", "next(a and b among c)", "next[And(a truth, b truth) in c truth]"),
    ("condition", "earlier(a) or later(b)", "Or(earlier[a truth], later[b truth])"),
    ("condition", "some(call: call.id)", "some[call: call.id truth]"),
    ("condition", "every(c: not c.id)", "every[c: Not(c.id truth)]"),
    ("condition", "count(calls) >= 2", "count[calls >= 2]"),
    (
        "condition",
        "order is 'x' and notes and island",
        "And(order is 'x', notes truth, island truth)",
    ),
]


@pytest.mark.parametrize(("start", "text", "expected"), TREES, ids=[row[1] for row in TREES])
def test_trees(start: str, text: str, expected: str) -> None:
    assert short(parsed(start, quoted(text))) == expected


EXAMPLES = [(row, text) for row in MISTAKES for text in row.examples]


@pytest.mark.parametrize(
    ("row", "text"), EXAMPLES, ids=[f"{row.start} {text}" for row, text in EXAMPLES]
)
def test_every_example_of_a_mistake_is_explained_by_its_row(row: Mistake, text: str) -> None:
    problem = problem_of(row.start, text)
    wanted = re.escape(row.message).replace(re.escape("{word}"), ".+")
    assert re.fullmatch(wanted, problem.message)
    assert (problem.code, problem.label) == (row.code, row.label)
    assert problem.span is not None and problem.span.text


# spans: a spec's text, the start rule, and what the problem marks in it
MARKED = [
    (r'"a\n\t${b c}"', "pattern", "c"),
    (r'"\u3000${b c}"', "pattern", "c"),
    ("'it''s ${b c}'", "pattern", "c"),
    ("用户：${b c}", "pattern", "c"),
    ("|\n  first\n  ${b c} d", "pattern", "c"),
    (">\n  first\n  second ${b\n  c}", "pattern", "c"),
    (r'"x ${\"a\"}"', "pattern", r"\""),
    (r'"é${"', "pattern", "${"),
    (r'"a \x3d\x3d b"', "condition", r"\x3d\x3d"),
    ("a and (b or)", "condition", ")"),
]


@pytest.mark.parametrize(("written", "start", "marked"), MARKED, ids=[row[0] for row in MARKED])
def test_problems_are_marked_in_every_style(written: str, start: str, marked: str) -> None:
    problems = Problems()
    assert PARSERS[start](scalar(written), problems) is None
    (problem,) = problems
    assert problem.span is not None and problem.span.text == marked


def test_parts_know_their_places() -> None:
    found = parsed("pattern", scalar(r'"a\n${call.name|after:\"x\" or \"y\"}b"'))
    literal, hole, last = found.parts
    assert literal.span.text == r"a\n" and last.span.text == "b"
    assert hole.span.text == r"${call.name|after:\"x\" or \"y\"}"
    assert [word.span.text for word in hole.value.words] == ["call", "name"]
    assert hole.value.filters[0].span.text == r"after:\"x\""
    condition = parsed("condition", scalar("later(user) and not calls"))
    assert [term.span.text for term in condition.terms] == ["later(user)", "not calls"]
    assert condition.terms[0].time.span.text == "later"


def test_bounds() -> None:
    assert parsed("condition", quoted("(" * MAX_NESTING + "a" + ")" * MAX_NESTING))
    assert (
        problem_of("condition", "(" * (MAX_NESTING + 1) + "a" + ")" * (MAX_NESTING + 1)).code
        == "too-deep"
    )
    assert problem_of("condition", "not " * 400 + "a").code == "too-deep"
    assert parsed("condition", quoted("a contains '" + "((" * 20 + "'"))
    assert parsed("pattern", quoted('${a or "' + "x" * MAX_QUOTED + '"}'))
    assert problem_of("pattern", '${a or "' + "x" * (MAX_QUOTED + 1) + '"}').code == "too-large"
    assert len(parsed("condition", quoted(" or ".join(f"a{i}" for i in range(300)))).terms) == 300


@settings(max_examples=200, deadline=None)
@given(st.text("ab{}$\"' ().|:!=<>é\n", max_size=25), st.sampled_from(["pattern", "condition"]))
def test_any_text_is_parsed_or_explained(text: str, start: str) -> None:
    problems = Problems()
    node = quoted(text)
    found = PARSERS[start](node, problems)
    assert (found is None) == bool(list(problems)) and len(problems) <= 1
    if start == "pattern" and found is not None and "${" not in text:
        assert "".join(part.text for part in found.parts) == text
