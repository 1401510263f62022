"""Conditions of `stable if` cells: those of every format are exact for a checker that is apart from the prover."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest

from templc.proof import recheck_if, risks, samples, sensible
from templc.proof.certificate import certificate
from templc.proof.conditions import Condition
from templc.proof.minimise import holds, unpacked
from templc.proof.recheck_if import recheck_conditions
from templc.proof.stability import prove
from tests.support.certificates import GENERATED, OUTSIDE, code_lines, imports, written
from tests.support.formats import FORMATS, program

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
    wrong: list[Any] = [[[]], [[[1, "moon"]]], [[[0, "moon"]]], []]
    for terms in wrong:
        claim = {**data, "conditions": [{**cell, "terms": terms}]}
        assert recheck_conditions(program("qwq"), claim) != []


def test_every_condition_has_a_certificate() -> None:
    said = {name: json.loads((GENERATED / f"{name}.json").read_text()) for name in FORMATS}
    for name, data in said.items():
        known = [(one["after"], one["then"]) for one in data["certificate"]["conditions"]]
        cells = [(cell["after"], cell["then"]) for cell in data["cells"] if cell["condition"]]
        assert known == cells, name


def test_the_checker_of_conditions_shares_no_code_with_the_prover() -> None:
    checkers = (sensible, risks, samples, recheck_if)
    names = {one.__name__ for one in checkers} - {"templc.proof.recheck_if"}
    ir = {"templc.ir.ops", "templc.ir.filters", "templc.ir.interpret"}
    model = {"templc.model.expr", "templc.model.coded"}
    read = {"templc.runtime.messages", "templc.proof.recheck"}
    assert imports(*checkers) == ir | model | read | names


@pytest.mark.parametrize("module", (sensible, risks, samples, recheck_if))
def test_each_part_can_be_read_in_one_sitting(module: Any) -> None:
    assert 50 < code_lines(module) < 200
