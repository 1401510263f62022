"""What a spec means: names, facts and holes at each place; conditions that are always the same; generated names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from templc.model import expr
from templc.model.expr import And, Cond, Const, Fact, Not, Or, Ref, RoleIs, Value
from templc.model.spec import Choice, Hole, Leading, Literal, Loop, Run, Spec, Turn, Written
from templc.model.steps import MAX_NESTING
from templc.model.truth import MAX_TERMS, verdict
from templc.pipeline import compile_source, load_class, spec_folder
from templc.problems.problem import Problem
from templc.source.span import Source, Span

SPEC = """\
format: tiny
title: A tiny format
reference: {}
specials: []
stop_strings: ["\\n"]
options:
  thinking: {type: bool, doc: whether to think}
  effort: {type: choice, values: [low, high], default: low, doc: how much}
  date: {type: text, doc: the date of today}
  bos_token: {type: token, bind: bos, doc: the first token}
predicates:
  final: assistant and not calls
thinking: {kept: later(user)}
head: HEAD
roles:
  system: {at: head, later: "s"}
  user: USER
  assistant: {opener: OPENER, prefill: PREFILL, body: BODY, closer: "\\n", trailer: TRAILER}
  tool: {open: "o", do: "${content}", between: "b", close: "c"}
require: [{of: user, that: THAT, say: never}]
prompt: PROMPT
finish: FINISH
texts: {intro: Hello}
"""


PLACES = {
    "HEAD": "${system.content}",
    "USER": "u",
    "OPENER": "",
    "PREFILL": "",
    "BODY": "b",
    "TRAILER": "",
    "THAT": "content",
    "PROMPT": "",
    "FINISH": "",
}


def spec_text(**places: str) -> str:
    # With a prompt of its own, the opener is no part of it and may read what its message holds.
    text = SPEC if "PROMPT" in places else SPEC.replace("prompt: PROMPT\n", "")
    for name, default in PLACES.items():
        value = places.get(name, default)
        flow = value.startswith(("{", "[")) or (name == "THAT" and '"' not in value)
        text = text.replace(
            f" {name}", " " + (value if flow else "'" + value.replace("'", "''") + "'")
        )
    return text


def problems_of(**places: str) -> list[Problem]:
    """The errors of the tiny spec with something else at these places."""
    return [
        item
        for item in compile_source(Source("<t>", spec_text(**places))).problems
        if item.severity == "error"
    ]


def model_of(**places: str) -> Spec:
    found = compile_source(Source("<t>", spec_text(**places)))
    assert found.model is not None and found.problems.ok, list(found.problems)
    return found.model


def when(cond: str) -> str:
    quoted = cond.replace("'", "''")
    return "{when: '" + quoted + "', then: x}"


def test_the_tiny_spec_is_sound() -> None:
    assert not problems_of()


# what may be read where: a condition, and the places where it may stand

EVERYWHERE = {"HEAD", "USER", "OPENER", "PREFILL", "BODY", "TRAILER", "THAT", "PROMPT", "FINISH"}


TURNS = {"USER", "BODY", "TRAILER"}


PAST = TURNS | {"OPENER", "PREFILL", "THAT", "PROMPT", "FINISH"}


READS: list[tuple[str, set[str]]] = [
    ("tools", EVERYWHERE),
    ("thinking is unset", EVERYWHERE),
    ('effort is "low"', EVERYWHERE),
    ("as_template", EVERYWHERE),
    ("count(tools) > 1", EVERYWHERE),
    ("content", TURNS | {"THAT"}),
    ("calls", TURNS | {"THAT"}),
    ("some(call: call.id)", TURNS | {"THAT"}),
    ("name", TURNS | {"THAT", "OPENER", "PREFILL"}),
    ("final", TURNS | {"THAT"}),
    ("system", EVERYWHERE - {"THAT"}),
    ("system.content|strip", EVERYWHERE - {"THAT"}),
    ("user", set()),
    ("previous(user)", PAST),
    ("previous(system)", PAST),
    ("earlier(final)", PAST),
    ("first", PAST),
    ("later(user)", TURNS),
    ("next(tool among final)", TURNS),
    ("last", TURNS),
    ("end", TURNS),
    ("live", TURNS),
    ("kept", TURNS),
    ("some(call: call.id and last)", set()),
    ("some(call: previous(user))", set()),
    ("every(call: kept)", set()),
    ("previous(later(user))", set()),
    ("previous(kept)", set()),
    ("previous(first)", set()),
    ("previous(tools)", set()),
    ("previous(thinking is true)", set()),
    ("previous(as_template)", set()),
    ("previous(system.content)", set()),
    ("earlier(user among tool)", set()),
]


@pytest.mark.parametrize(("cond", "allowed"), READS, ids=[row[0] for row in READS])
def test_what_may_be_read_where(cond: str, allowed: set[str]) -> None:
    for place in PLACES:
        value = (
            f'"{cond}"'
            if place == "THAT" and '"' not in cond
            else f"'{cond}'"
            if place == "THAT"
            else when(cond)
        )
        if place == "THAT":
            text = spec_text().replace("that: content", f"that: {value}")
            found = [
                item
                for item in compile_source(Source("<t>", text)).problems
                if item.severity == "error"
            ]
        else:
            head = f"[{value}, '${{system.content}}']" if place == "HEAD" else value
            found = problems_of(**{place: head})
        assert (not found) == (place in allowed), (place, found)
        if found:
            assert len(found) == 1 and found[0].span is not None and found[0].helps


HOLES: list[tuple[str, bool]] = [
    ("${content}", True),
    ("${content|strip|capitalize}", True),
    ("${role}", True),
    ("${tools|json}", True),
    ("${bos_token}", True),
    ("${effort}", True),
    ('${date or "x"}', True),
    ("${text.intro}", True),
    ("${tools}", False),
    ("${calls}", False),
    ("${calls|json}", False),
    ("${parts}", False),
    ("${thinking}", False),
    ("${thinking|json}", False),
    ("${date}", False),
    ("${date|strip}", False),
    ('${date|strip or "x"}', False),
    ("${bos_token|json}", False),
    ("${tools|strip}", False),
    ("${content|after}", False),
    ('${content|strip:"x"}', False),
    ("${text}", False),
    ("${text.intro|strip}", False),
    ("${system.content}", True),
    ("${system.call_id}", False),
    ("${system}", False),
    ("${content.name}", False),
    ("${tools.name}", False),
    ("${final}", False),
    ("${first}", False),
]


@pytest.mark.parametrize(("hole", "fine"), HOLES, ids=[row[0] for row in HOLES])
def test_holes_are_text(hole: str, fine: bool) -> None:
    found = problems_of(USER=hole)
    assert (not found) == fine, found
    assert len(found) <= 1


TESTS: list[tuple[str, bool]] = [
    ("parts is true", True),
    ("thinking is true", True),
    ("date is unset", True),
    ('date is "x"', True),
    ("content is unset", True),
    ("tools is unset", True),
    ('content|strip is ""', True),
    ("thinking", False),
    ("date", False),
    ("effort is unset", False),
    ('effort is "lo"', False),
    ('date starts with "x"', False),
    ("content is true", False),
    ('parts is "x"', False),
    ('calls contains "x"', False),
    ("content is text", False),
    ("role is unset", False),
    ("content|strip is unset", False),
    ("count(content) > 1", True),
    ("count(parts) > 1", False),
    ("some(m: m.id)", False),
    ("some(content: content.id)", False),
    ("some(final: final.id)", False),
    ("some(call: call.arguments)", False),
    ("some(call: call.id is unset)", False),
]


@pytest.mark.parametrize(("cond", "fine"), TESTS, ids=[row[0] for row in TESTS])
def test_tests_fit_their_values(cond: str, fine: bool) -> None:
    found = problems_of(USER=when(cond))
    assert (not found) == fine, found
    assert len(found) <= 1


# conditions that are always the same

CONTENT = Value(Ref("message", "content"))
CALLS = expr.Test("truth", Value(Ref("message", "calls")))


ON = Value(Ref("option", "thinking"))


FIRST = Fact("first", None, None, "first")


LAST = Fact("last", None, None, "last")


END = Fact("end", None, None, "end")


NEXT = Fact("next", RoleIs("user"), None, "next_user")


LATER = Fact("later", RoleIs("user"), None, "later_user")


PREVIOUS = Fact("previous", RoleIs("user"), None, "previous_user")


def is_(argument: str | bool | None) -> Cond:
    return expr.Test("is", ON, argument)


VERDICTS: list[tuple[Cond, tuple[Cond, ...], bool | None]] = [
    (CALLS, (), None),
    (Const(True), (), True),
    (Or((CALLS, Not(CALLS))), (), True),
    (And((CALLS, Not(CALLS))), (), False),
    (CALLS, (CALLS,), True),
    (CALLS, (Not(CALLS),), False),
    (And((RoleIs("user"), RoleIs("tool"))), (), False),
    (Or((RoleIs("user"), RoleIs("tool"))), (), None),
    (And((is_(True), is_(False))), (), False),
    (And((is_("a"), is_("b"))), (), False),
    (is_(False), (expr.Test("truth", ON),), False),
    (is_(None), (Not(expr.Test("truth", ON)),), None),
    (And((FIRST, PREVIOUS)), (), False),
    (And((LAST, LATER)), (), False),
    (And((END, Not(LAST))), (), False),
    (Or((Not(NEXT), LATER)), (), True),
    (Or((Not(LATER), NEXT)), (), None),
    (expr.Predicate("p", And((RoleIs("user"), RoleIs("tool")))), (), False),
    (And((expr.Predicate("p", RoleIs("user")), RoleIs("tool"))), (), False),
    (Or(tuple(expr.Test("is", CONTENT, str(i)) for i in range(MAX_TERMS + 1))), (), None),
]


@pytest.mark.parametrize(("cond", "given", "expected"), VERDICTS)
def test_verdicts(cond: Cond, given: tuple[Cond, ...], expected: bool | None) -> None:
    assert verdict(cond, given) is expected


def test_roles_have_their_forms() -> None:
    found = model_of(BODY="[b, {each: call in calls, do: '${call.name}'}, {when: calls, then: x}]")
    assert isinstance(found.roles["system"], Leading) and isinstance(found.roles["tool"], Run)
    assert isinstance(found.roles["user"], Turn)
    (text,) = found.roles["user"].block
    assert isinstance(text, Written) and isinstance(text.parts[0], Literal)
    body = found.roles["assistant"].body  # type: ignore[union-attr]
    assert [type(step) for step in body] == [Written, Loop, Choice]


def spans(part: object) -> Iterator[Span]:
    """Every span of a model, however deep."""
    match part:
        case Span():
            yield part
        case tuple() | list():
            for item in part:
                yield from spans(item)
        case dict():
            for item in part.values():
                yield from spans(item)
        case _ if is_dataclass(part) and not isinstance(part, Source):
            for item in fields(part):
                yield from spans(getattr(part, item.name))


@pytest.mark.parametrize("path", sorted(spec_folder().glob("*.yaml")), ids=lambda path: path.stem)
def test_every_part_of_a_shipped_spec_has_its_place(path: Path) -> None:
    found = compile_source(Source(path.name, path.read_text(encoding="utf-8"))).model
    assert found is not None
    places = list(spans(found))
    assert len(places) > 10
    for span in places:
        assert 0 <= span.start < span.end <= len(span.source.text)


def test_a_literal_marks_its_own_text() -> None:
    found = model_of(USER="a${content}b")
    block = found.roles["user"].block  # type: ignore[union-attr]
    (written,) = block
    assert isinstance(written, Written)
    assert [part.span.text for part in written.parts] == ["a", "${content}", "b"]
    assert isinstance(written.parts[1], Hole)


def test_bounds_are_below_what_python_takes() -> None:
    """The deepest steps that are accepted still make a module that compiles."""
    levels = MAX_NESTING - 1
    deep = "x"
    for level in range(levels):
        deep = f"{{use: f{level}}}" if level == 0 else deep
    chain = "".join(
        f'  f{level}: {{when: content starts with "{level}", then: {{use: f{level + 1}}}}}\n'
        for level in range(levels)
    )
    text = spec_text(USER="{use: f0}") + f"fragments:\n{chain}  f{levels}: '${{content}}'\n"
    found = compile_source(Source("<t>", text))
    assert found.problems.ok, list(found.problems)
    load_class(found)
    loops = "{each: a in calls, do: {each: b in calls, do: {each: c in calls, do: {each: d in calls, do: x}}}}"
    load_class(compile_source(Source("<t>", spec_text(BODY=loops))))
    (problem,) = problems_of(BODY=loops.replace("do: x", "do: {each: e in calls, do: x}"))
    assert problem.code == "too-deep"


def test_an_opener_beside_a_prompt_of_its_own_reads_its_message() -> None:
    assert not problems_of(PROMPT="p", OPENER=when("calls"))
    assert problems_of(OPENER=when("calls"))
