"""The JSON schema: complete enough for editors, and its findings as an author of specs wants to read them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from templc.pipeline import spec_folder
from templc.problems.problem import Problem, Problems
from templc.source.nodes import parse_nodes
from templc.source.span import Source
from templc.syntax.schema import check_shape, schema

SPECS = sorted(spec_folder().glob("*.yaml"))


def parts(node: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every subschema that stands under a name, with its place."""
    if isinstance(node, dict):
        for key in ("properties", "$defs"):
            for name, part in node.get(key, {}).items():
                yield f"{path}/{name}", part
        for key, part in node.items():
            if key != "examples":
                yield from parts(part, f"{path}/{key}")
    elif isinstance(node, list):
        for number, part in enumerate(node):
            yield from parts(part, f"{path}/{number}")


def described() -> list[tuple[str, dict[str, Any]]]:
    """All of them but the lists of what a whole spec must have, which describe nothing anew."""
    return [(path, part) for path, part in parts(schema()) if "/whole" not in path]


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(schema())
    assert len(described()) > 80


def test_every_property_is_described_with_an_example() -> None:
    for path, part in described():
        assert len(part.get("description", "")) > 5, path
        typed = part.get("type") != "object" or path.count("/") < 3
        assert part.get("examples") or "const" in part or not typed or path == "/whole", path


def test_every_example_is_valid() -> None:
    found = 0
    for path, part in described():
        whole = {**part, "$defs": schema()["$defs"]}
        for example in part.get("examples", ()):
            found += 1
            errors = list(Draft202012Validator(whole).iter_errors(example))
            assert not errors, (path, example, errors)
    assert found > 80


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_a_generic_validator_accepts_every_shipped_spec(path: Path) -> None:
    """As an editor sees it: one file, read by a YAML library, not merged over its base."""
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    errors = list(Draft202012Validator(schema()).iter_errors(data))
    assert not errors


WHOLE = """\
format: x
title: A tiny format
reference: {}
specials: []
roles:
  user: "u"
  assistant: {opener: "", body: "b", closer: ""}
"""


def shape(text: str) -> list[Problem]:
    problems = Problems()
    node = parse_nodes(Source("x.yaml", text), problems)
    assert node is not None
    check_shape(node, problems)
    return list(problems)


def test_a_whole_spec_has_no_problem() -> None:
    assert not shape(WHOLE)


# a replacement in the spec above, then for each problem: code, what is marked, part of the message, help
FINDINGS: list[tuple[str, str, list[tuple[str, str, str, str]]]] = [
    (
        '"u"',
        "{when: calls, then: {each: call in calls, od: x}}",
        [("unknown-key", "od", "roles/user/then", "did you mean `do`?")],
    ),
    ('"u"', "{use: 5}", [("wrong-type", "5", "`roles/user/use` must be a text", 'quote it: "5"')]),
    (
        '"u"',
        "[[x, {}]]",
        [("wrong-type", "{}", "none of the keys `when`, `each` or `use`", "a step")],
    ),
    ('"u"', "{when: [x], then: z}", [("wrong-type", "[x]", "roles/user/when", "for example")]),
    ('"u"', "{open: x}", [("missing-key", "user", "has no `do`", "`do`")]),
    (
        '"u"',
        "{each: call in calls, do: x, then: z}",
        [("unknown-key", "then", "roles/user", "known here: each")],
    ),
    (
        'user: "u"',
        'user: "u"\n  system: {at: top, later: refuse}',
        [("wrong-type", "top", "must be `head`", 'for example: "head"')],
    ),
    (
        'user: "u"',
        'user: "u"\n  system: {at: head, latter: refuse}',
        [("unknown-key", "latter", "roles/system", "did you mean `later`?")],
    ),
    (
        'body: "b", closer: ""',
        'bdy: "b"',
        [
            ("unknown-key", "bdy", "roles/assistant", "did you mean `body`?"),
            ("missing-key", "assistant", "has no `closer`", "`closer`"),
        ],
    ),
    (
        "specials: []",
        "specials: [x, 1, [z]]",
        [
            ("wrong-type", "1", "`specials/1` must be a text, not a number", 'quote it: "1"'),
            ("wrong-type", "[z]", "`specials/2` must be a text, not a list", "for example"),
        ],
    ),
    (
        "specials: []",
        "specials: []\nmessages: {lists: [join]}",
        [("wrong-type", "[join]", "must be a text or a mapping, not a list", "for example")],
    ),
    (
        "specials: []",
        "specials: []\noptions:\n  a: {type: bool}\n  b: {doc: some text}",
        [
            ("missing-key", "a", "`options/a` has no `doc`", "`doc`"),
            ("missing-key", "b", "`options/b` has no `type`", "`type`"),
        ],
    ),
    (
        "specials: []",
        'specials: []\npredicates: {q: ""}',
        [("wrong-type", '""', "`predicates/q` is empty", "for example")],
    ),
    (
        "format: x",
        'format: "x\\n"',
        [("wrong-type", '"x\\n"', "`format` must be a name of at most 40", "for example")],
    ),
]


@pytest.mark.parametrize(("old", "new", "expected"), FINDINGS, ids=[row[1] for row in FINDINGS])
def test_findings(old: str, new: str, expected: list[tuple[str, str, str, str]]) -> None:
    assert old in WHOLE
    found = shape(WHOLE.replace(old, new))
    assert len(found) == len(expected), found
    for problem, (code, marked, message, help_text) in zip(found, expected, strict=True):
        assert problem.span is not None
        assert (problem.code, problem.span.text) == (code, marked)
        assert message in problem.message
        assert problem.helps[0].startswith(help_text)
