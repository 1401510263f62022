"""Certificates: those of every format hold for a checker that shares no code with the prover; tampered ones do not."""

from __future__ import annotations

import ast
import functools
import inspect
import json
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from templc.ir.ops import Program
from templc.pipeline import compile_source
from templc.proof import asking, outside, risks, samples, sensible
from templc.proof import recheck as checker
from templc.proof import recheck_if as conditional
from templc.proof.certificate import certificate
from templc.proof.conditions import Condition
from templc.proof.minimise import holds, unpacked
from templc.proof.recheck import recheck
from templc.proof.recheck_if import recheck_conditions
from templc.proof.stability import prove
from templc.source.span import Source
from tests.support.formats import FORMATS, SPECS, program

CHECKERS = (asking, outside, checker, sensible, risks, samples, conditional)
GENERATED = SPECS.parent / "generated"

# Views of it differ however far back, but a query is a user, so no reachable past lets it be written: its cells are
# stable by an invariant that is not empty.
LASTING = "kept: earlier(query) and not earlier(user) and later(user)"


@functools.cache
def lasting() -> Program:
    text = (SPECS / "qwen3.yaml").read_text()
    text = text.replace("kept: earlier(query) and not later(query)", LASTING)
    text = text.replace("when: kept and (reasoning or last)", "when: kept")
    return compile_source(Source("specs/qwen3.yaml", text), folders=(SPECS,)).checked()


def written(found: Program) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(json.dumps(certificate(prove(found))))
    return data


@functools.cache
def lasting_text() -> str:
    return json.dumps(written(lasting()))


@pytest.mark.parametrize("name", FORMATS)
def test_every_certificate_holds(name: str) -> None:
    data = written(program(name))
    assert data["cells"]
    assert recheck(program(name), data) == []


# Between them they speak of facts, risks, roles, emptiness, likeness, predicates and what is left out.
CONDITIONAL = (
    *("kimi_k2", "qwq", "deepseekv3_2", "kanana2_instruct", "lfm2_5", "glm4_5", "ministral3"),
    *("olmo3_instruct", "llada2"),
)


@pytest.mark.parametrize("name", CONDITIONAL)
def test_every_condition_holds_and_none_holds_with_a_literal_less(name: str) -> None:
    data = written(program(name))
    assert data["conditions"]
    assert recheck_conditions(program(name), data) == []
    for cell in data["conditions"]:
        for at, term in enumerate(cell["terms"]):
            for out in range(len(term)):
                less = [*term[:out], *term[out + 1 :]]
                terms = [*cell["terms"][:at], less, *cell["terms"][at + 1 :]]
                claim = {**data, "conditions": [{**cell, "terms": terms}]}
                assert recheck_conditions(program(name), claim) != [], (cell, out)


# What heads that read all system messages say, and what a tool result takes over from its caller.
OUTSIDE = ("deepseekv3", "olmo3_1_instruct", "gemma4_early", "mistral_nemo")


@pytest.mark.parametrize("name", (*OUTSIDE, "deepseekv3_2", "deepseekv4", "glm4_5"))
def test_certificates_hold_where_tools_are_given(name: str) -> None:
    data = json.loads(json.dumps(certificate(prove(program(name), tools=True))))
    assert data["cells"]
    assert recheck(program(name), data) == []
    assert recheck_conditions(program(name), data) == []


@pytest.mark.parametrize("name", (*CONDITIONAL, *OUTSIDE))
def test_no_condition_holds_with_a_term_less_or_for_all_or_for_none(name: str) -> None:
    data = written(program(name))
    assert recheck_conditions(program(name), data) == []
    for cell in data["conditions"]:
        terms = cell["terms"]
        fewer = [[*terms[:at], *terms[at + 1 :]] for at in range(len(terms))]
        for altered in ([], [[]], *fewer):
            claim = {**data, "conditions": [{**cell, "terms": altered}]}
            assert recheck_conditions(program(name), claim) != [], (cell, altered)


@pytest.mark.parametrize("name", ("lfm2_5", "olmo3_instruct", "deepseekv3_2", "deepseekv3"))
def test_a_condition_with_a_literal_more_is_too_strict(name: str) -> None:
    data = written(program(name))
    for cell in data["conditions"]:
        claim = {
            **data,
            "conditions": [
                {**cell, "terms": [[*t, [1, "fact", 0, first(data)]] for t in cell["terms"]]}
            ],
        }
        told = recheck_conditions(program(name), claim)
        assert told and all("does not hold, and text is kept" in one for one in told), cell


# Many literals that could be added follow from the others of their term, so adding them changes nothing.
@pytest.mark.parametrize("name", ("kimi_k2", "qwq", "ministral3"))
def test_a_literal_more_is_too_strict_or_changes_no_case(name: str) -> None:
    """Every seventh literal of all that could be added, held against every row of the prover's table."""
    stability = prove(program(name))
    data, names = json.loads(json.dumps(certificate(stability))), stability.names
    assert names is not None
    conditional = [cell for cell in stability.cells if cell.condition is not None]
    outcomes = Counter[bool]()
    for cell, claimed in zip(conditional, data["conditions"], strict=True):
        assert cell.condition is not None
        blocks = names.blocks(cell.place, stability.walk.outcomes(cell.place))
        table = {first | row: kept for first, rest in blocks for row, kept in rest.items()}
        for at, column in [*enumerate(names.columns(cell.place))][::7]:
            for want, number in product((True, False), range(len(claimed["terms"]))):
                more = stricter(claimed["terms"], number, [int(want), *column.key])
                claim = {**data, "conditions": [{**claimed, "terms": more}]}
                changes = not exact(cell.condition, number, (at, want), table)
                assert bool(recheck_conditions(program(name), claim)) is changes, (cell, column)
                outcomes[changes] += 1
    assert outcomes[True] > 10


def stricter(terms: list[Any], number: int, literal: list[Any]) -> list[Any]:
    """The terms of a condition with a literal more in one of them, as plain data."""
    more = [[*term, literal] if at == number else term for at, term in enumerate(terms)]
    plain: list[Any] = json.loads(json.dumps(more))
    return plain


def exact(
    condition: Condition, number: int, literal: tuple[int, bool], table: Mapping[int, bool]
) -> bool:
    """Whether a condition with a literal more in one of its terms still decides every row of its cell."""
    extra, want = literal

    def true(row: int) -> bool:
        kept = unpacked(row, condition.columns)
        more = bool(row >> extra & 1) is want
        return any(
            holds(term, kept) and (more or at != number) for at, term in enumerate(condition.terms)
        )

    return all(true(row) is outcome for row, outcome in table.items())


def test_blank_reasoning_is_not_taken_for_reasoning() -> None:
    """What GLM-4.5 strips to nothing is kept: to ask for no reasoning at all would be too strict."""
    data = written(program("glm4_5"))
    told = json.dumps(data["conditions"])
    strip = '["tuple", ["FilterUse", "strip", null]]'
    assert strip in told
    claim = {**data, "conditions": json.loads(told.replace(strip, '["tuple"]'))}
    said = recheck_conditions(program("glm4_5"), claim)
    assert said and all("does not hold, and text is kept" in one for one in said)


def first(data: dict[str, Any]) -> int:
    at: int = data["past"].index("first")
    return at


def test_what_breaks_for_some_contents_needs_samples() -> None:
    data = written(program("qwen3"))
    assert recheck_conditions(program("qwen3"), data) == []
    assert recheck_conditions(program("qwen3"), {**data, "samples": []}) != []


def test_a_condition_of_nothing_or_of_what_is_not_known_is_rejected() -> None:
    data = written(program("qwq"))
    cell = data["conditions"][0]
    for terms in ([[]], [[[1, "moon"]]], [[[0, "moon"]]], []):
        claim = {**data, "conditions": [{**cell, "terms": terms}]}
        assert recheck_conditions(program("qwq"), claim) != []


def test_every_condition_has_a_certificate() -> None:
    said = {name: json.loads((GENERATED / f"{name}.json").read_text()) for name in FORMATS}
    for name, data in said.items():
        known = [(one["after"], one["then"]) for one in data["certificate"]["conditions"]]
        cells = [(cell["after"], cell["then"]) for cell in data["cells"] if cell["condition"]]
        assert known == cells, name


def test_an_invariant_that_is_not_empty_holds() -> None:
    found = lasting()
    data = written(found)
    assert max(len(cell["invariant"]) for cell in data["cells"]) > 2
    assert recheck(found, data) == []


def unstable_called_stable(data: dict[str, Any]) -> None:
    data["cells"].append({"after": "tool", "then": "tool", "invariant": []})


def a_triple_removed(data: dict[str, Any]) -> None:
    cell = max(data["cells"], key=lambda cell: len(cell["invariant"]))
    del cell["invariant"][0]


def every_triple_removed(data: dict[str, Any]) -> None:
    for cell in data["cells"]:
        cell["invariant"] = []


def a_past_removed(data: dict[str, Any]) -> None:
    del data["pasts"][0]


def the_start_removed(data: dict[str, Any]) -> None:
    first = data["past"].index("first")
    data["pasts"] = [past for past in data["pasts"] if past[first] == "0"]


def a_fact_renamed(data: dict[str, Any]) -> None:
    data["future"][0] = "another"


def another_format(data: dict[str, Any]) -> None:
    data["format"] = "another"


def a_version_to_come(data: dict[str, Any]) -> None:
    data["version"] = 2


def an_option_added(data: dict[str, Any]) -> None:
    data["options"]["another"] = True


def a_cell_after_nothing(data: dict[str, Any]) -> None:
    data["cells"].append({"after": "user", "then": "end", "invariant": []})


@pytest.mark.parametrize(
    "tamper",
    [
        unstable_called_stable,
        a_triple_removed,
        every_triple_removed,
        a_past_removed,
        the_start_removed,
        a_fact_renamed,
        another_format,
        a_version_to_come,
        an_option_added,
        a_cell_after_nothing,
    ],
    ids=lambda tamper: tamper.__name__,
)
def test_a_tampered_certificate_is_rejected(tamper: Callable[[dict[str, Any]], None]) -> None:
    found = lasting()
    data = json.loads(lasting_text())
    tamper(data)
    assert recheck(found, data) != []


def test_a_certificate_does_not_hold_for_another_spec() -> None:
    text = (SPECS / "qwen3_instruct.yaml").read_text()
    changed = text.replace('["${content}", {use: calls}]', '[{when: last, then: "${content}"}]')
    found = compile_source(Source("specs/qwen3_instruct.yaml", changed), folders=(SPECS,)).checked()
    assert recheck(found, written(program("qwen3_instruct"))) != []


def test_options_are_part_of_the_certificate() -> None:
    data = certificate(prove(program("glm4_7"), {"clear_thinking": False}))
    assert recheck(program("glm4_7"), data) == []
    assert recheck(
        program("glm4_7"), {**data, "options": {**data["options"], "clear_thinking": None}}
    )


def test_the_checker_shares_no_code_with_the_prover() -> None:
    tree = ast.parse("\n".join(inspect.getsource(one) for one in CHECKERS))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    own = {name for name in modules if name and name.startswith("templc")}
    ir = {"templc.ir.fixed", "templc.ir.ops", "templc.ir.filters"}
    model = {"templc.model", "templc.model.expr", "templc.model.coded"}
    read = {"templc.runtime.messages", "templc.ir.interpret"}
    names = {one.__name__ for one in CHECKERS} - {"templc.proof.recheck_if"}
    assert own == ir | model | read | names
    prover = list(Path(str(checker.__file__)).parent.glob("*.py"))
    assert len(prover) > 15
    for path in prover:
        if path.stem not in {one.__name__.rpartition(".")[2] for one in CHECKERS}:
            assert "ir.fixed" not in path.read_text(encoding="utf-8"), path.name


@pytest.mark.parametrize("module", CHECKERS, ids=lambda module: module.__name__.rpartition(".")[2])
def test_the_checker_can_be_read_in_one_sitting(module: ModuleType) -> None:
    """Lines of code, without blank lines and docstrings."""
    text = inspect.getsource(module)
    described = (ast.Module, ast.ClassDef, ast.FunctionDef)
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, described)]
    docstrings = [node.body[0] for node in nodes if ast.get_docstring(node)]
    spoken = {at for one in docstrings for at in range(one.lineno, (one.end_lineno or 0) + 1)}
    code = [at for at, line in enumerate(text.splitlines(), 1) if line.strip() and at not in spoken]
    assert 50 < len(code) < 200


@pytest.mark.parametrize("name", ["qwen3", "kimi_k2", "deepseekv3_1", "glm4_5", "qwq"])
def test_no_cell_that_can_break_passes_as_stable(name: str) -> None:
    stability = prove(program(name))
    data = certificate(stability)
    known = data["cells"]
    breaking = [cell for cell in stability.cells if cell.verdict in ("stable if", "never")]
    assert len(breaking) > 3
    for cell in breaking:
        place = {"after": cell.place.after, "then": cell.place.then}
        for invariant in ([], max((one["invariant"] for one in known), key=len)):
            claim = {**data, "cells": [{**place, "invariant": invariant}]}
            assert recheck(program(name), claim) != [], place
