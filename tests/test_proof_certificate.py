"""Certificates: those of every format hold for a checker that shares no code with the prover; tampered ones do not."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from templc.ir import fixed, ops
from templc.ir.ops import Program
from templc.ir.verify import verify
from templc.model import coded, expr
from templc.model.expr import Const, RoleIs
from templc.pipeline import compile_source
from templc.proof import recheck as checker
from templc.proof.certificate import certificate
from templc.proof.recheck import recheck
from templc.proof.recheck_if import recheck_conditions
from templc.proof.stability import prove
from templc.proofs import complaints
from templc.source.span import Source
from tests.support.certificates import GENERATED, OUTSIDE, code_lines, imports, written
from tests.support.formats import FORMATS, SPECS, program

# Views of it differ however far back, but a query is a user, so no reachable past lets it be written: its cells are
# stable by an invariant that is not empty.
LASTING = "kept: earlier(query) and not earlier(user) and later(user)"


@functools.cache
def lasting() -> Program:
    text = (SPECS / "qwen3.yaml").read_text()
    text = text.replace("kept: earlier(query) and not later(query)", LASTING)
    text = text.replace("when: kept and (reasoning or last)", "when: kept")
    return compile_source(Source("specs/qwen3.yaml", text), folders=(SPECS,)).checked()


@functools.cache
def lasting_text() -> str:
    return json.dumps(written(lasting()))


@pytest.mark.parametrize("name", FORMATS)
def test_every_certificate_holds(name: str) -> None:
    data = written(program(name))
    assert data["cells"]
    assert recheck(program(name), data) == []


@pytest.mark.parametrize("name", (*OUTSIDE, "deepseekv3_2", "deepseekv4", "glm4_5"))
def test_certificates_hold_where_tools_are_given(name: str) -> None:
    data = json.loads(json.dumps(certificate(prove(program(name), tools=True))))
    assert data["cells"]
    assert recheck(program(name), data) == []
    assert recheck_conditions(program(name), data) == []


def test_an_invariant_that_is_not_empty_holds() -> None:
    found = lasting()
    data = written(found)
    assert sum(map(len, data["pasts"].values())) > 2
    assert recheck(found, data) == []


def unstable_called_stable(data: dict[str, Any]) -> None:
    data["cells"].append({"after": "tool", "then": "tool"})


def every_pair_removed(data: dict[str, Any]) -> None:
    data["pasts"] = {past: [] for past in data["pasts"]}


def the_views_of_a_pair_swapped(data: dict[str, Any]) -> None:
    pairs = next(pairs for pairs in data["pasts"].values() if pairs)
    pairs[0] = "/".join(reversed(pairs[0].split("/")))


def a_pair_that_is_written_otherwise(data: dict[str, Any]) -> None:
    size = len(data["future"])
    for pairs in data["pasts"].values():
        pairs.append(f"{'0' * size}/{'1' * size}")


def the_start_removed(data: dict[str, Any]) -> None:
    first = data["past"].index("first")
    data["pasts"] = {past: some for past, some in data["pasts"].items() if past[first] == "0"}


def no_past_at_all(data: dict[str, Any]) -> None:
    data["pasts"] = {}


def a_state_too_short(data: dict[str, Any]) -> None:
    data["pasts"] = {past[:-1]: pairs for past, pairs in data["pasts"].items()}


def a_fact_renamed(data: dict[str, Any]) -> None:
    data["future"][0] = "another"


def a_past_fact_renamed(data: dict[str, Any]) -> None:
    data["past"][0] = "another"


def two_facts_swapped(data: dict[str, Any]) -> None:
    data["past"][:2] = reversed(data["past"][:2])


def a_fact_left_out(data: dict[str, Any]) -> None:
    del data["past"][0]
    data["pasts"] = {past[1:]: pairs for past, pairs in data["pasts"].items()}


def a_fact_that_looks_ahead(data: dict[str, Any]) -> None:
    """Were it taken for one about earlier messages, it would hide what later ones change."""
    fact = next(iter(lasting().future))
    data["facts"]["ahead"] = coded.coded((fact.time, fact.term, fact.among))
    data["past"].append("ahead")
    data["pasts"] = {f"{past}0": pairs for past, pairs in data["pasts"].items()}


def another_format(data: dict[str, Any]) -> None:
    data["format"] = "another"


def a_version_to_come(data: dict[str, Any]) -> None:
    data["version"] = 3


def an_option_added(data: dict[str, Any]) -> None:
    data["options"]["another"] = True


def an_option_left_out(data: dict[str, Any]) -> None:
    del data["options"]["enable_thinking"]


def as_the_template_renders(data: dict[str, Any]) -> None:
    """With that a renderer accepts messages that the checker takes for refused."""
    data["options"]["as_template"] = True


def a_cell_after_nothing(data: dict[str, Any]) -> None:
    data["cells"].append({"after": "user", "then": "end"})


def a_cell_of_no_role(data: dict[str, Any]) -> None:
    data["cells"].append({"after": "user", "then": "another"})


def a_cell_after_no_role(data: dict[str, Any]) -> None:
    data["cells"].append({"after": "another", "then": "user"})


def the_cells_cut_off(data: dict[str, Any]) -> None:
    del data["cells"]


def the_pasts_cut_off(data: dict[str, Any]) -> None:
    del data["pasts"]


TAMPERED = (
    *(unstable_called_stable, every_pair_removed, the_views_of_a_pair_swapped),
    *(a_pair_that_is_written_otherwise, the_start_removed, no_past_at_all),
    *(a_state_too_short, a_fact_renamed, a_past_fact_renamed, two_facts_swapped, a_fact_left_out),
    *(a_fact_that_looks_ahead, another_format, a_version_to_come, an_option_added),
    *(an_option_left_out, as_the_template_renders, a_cell_after_nothing, a_cell_of_no_role),
    *(a_cell_after_no_role, the_cells_cut_off, the_pasts_cut_off),
)


@pytest.mark.parametrize("tamper", TAMPERED, ids=lambda tamper: tamper.__name__)
def test_a_tampered_certificate_is_rejected(tamper: Callable[[dict[str, Any]], None]) -> None:
    found = lasting()
    data = json.loads(lasting_text())
    tamper(data)
    assert recheck(found, data) != []


# Their invariants are the largest; what their turns read of other messages is of every kind.
LARGE = ("deepseekv4", "deepseekv3_2", "glm5_1", "mimo_v2_5", "gemma4_early")


@pytest.mark.parametrize("name", ("lasting", *LARGE))
def test_no_past_and_no_pair_can_be_left_out(name: str) -> None:
    found = lasting() if name == "lasting" else program(name)
    data = json.loads(lasting_text()) if name == "lasting" else written(found)
    for past, pairs in data["pasts"].items():
        others = {other: some for other, some in data["pasts"].items() if other != past}
        assert recheck(found, {**data, "pasts": others}) != [], past
        for pair in pairs:
            fewer = {**data["pasts"], past: [one for one in pairs if one != pair]}
            assert recheck(found, {**data, "pasts": fewer}) != [], (past, pair)


@pytest.mark.parametrize("name", ("qwen3", "mistral_nemo", "olmo3_1_instruct", "deepseekv3_1"))
def test_a_certificate_that_is_cut_off_is_rejected(name: str) -> None:
    data = written(program(name))
    for key in data:
        if key not in ("conditions", "samples"):
            assert recheck(program(name), {one: data[one] for one in data if one != key}) != [], key


@pytest.mark.parametrize("name", ("command_r7b", "olmo3_1_instruct", "gemma4"))
def test_a_fact_that_is_not_what_it_is_called_is_rejected(name: str) -> None:
    """The certificate brings facts of its own: one that is always false, or one that never was."""
    data = written(program(name))
    assert data["facts"]
    for fact in data["facts"]:
        for lie in (("earlier", Const(False), None), ("later", RoleIs("user"), None)):
            facts = {**data["facts"], fact: coded.coded(lie)}
            assert recheck(program(name), {**data, "facts": facts}) != [], fact
        at = data["past"].index(fact)
        pasts = {past[:at] + "0" + past[at + 1 :]: some for past, some in data["pasts"].items()}
        assert recheck(program(name), {**data, "pasts": pasts}) != [], fact


def test_a_certificate_does_not_hold_for_another_spec() -> None:
    text = (SPECS / "qwen3_instruct.yaml").read_text()
    changed = text.replace('["${content}", {use: calls}]', '[{when: last, then: "${content}"}]')
    found = compile_source(Source("specs/qwen3_instruct.yaml", changed), folders=(SPECS,)).checked()
    assert recheck(found, written(program("qwen3_instruct"))) != []


SMALL = """\
format: small
title: A small format
reference: {note: none is published}
specials: ["<|im_end|>"]
stop: ["<|im_end|>"]
roles:
  user: "<${content}>"
  assistant:
    opener: "A"
    BODY
    closer: "<|im_end|>"
"""


def small(body: str) -> Program:
    return compile_source(Source("small.yaml", SMALL.replace("BODY", body))).checked()


def claim(found: Program, after: str, then: str) -> dict[str, Any]:
    """What a certificate without an invariant claims of a cell of a small format."""
    return {
        "version": 2,
        "format": "small",
        "options": {"as_template": False},
        "tools": False,
        "past": ["first"],
        "future": [fact.name for fact in found.future],
        "facts": {},
        "pasts": {"0": [], "1": []},
        "cells": [{"after": after, "then": then}],
    }


PREFILLED = 'prefill: "x"\n    body: {when: live, then: '
FOR_A_CALL = 'body: [{when: "ASKED", then: "!"}, {each: call in calls, do: "${call.name}"}]'


def test_a_sampled_text_that_may_begin_with_what_the_prompt_holds_is_not_taken_to_be_kept() -> None:
    """For the content "xb" the model adds "b" to "Ax", and the finished turn is "Axxb"."""
    kept = small(PREFILLED + '"y", else: "xy"}')
    assert recheck(kept, claim(kept, "completion", "user")) == []
    lost = small(PREFILLED + '"${content}", else: "x${content}"}')
    said = recheck(lost, claim(lost, "completion", "user"))
    assert said == ["completion, user: text at the joint is not kept"]


def test_no_fact_hides_in_a_question_about_calls() -> None:
    """That is one question, whose answer is the same whatever a message sees of the future. No spec can say it."""
    kept = small(FOR_A_CALL.replace("ASKED", "some(call: call.id)"))
    assert recheck(kept, claim(kept, "assistant", "user")) == []
    hidden = small(FOR_A_CALL.replace("ASKED", "last and some(call: call.id)"))
    turn = hidden.assistant
    op, *rest = turn.body
    assert isinstance(op, ops.When) and isinstance(op.cond, expr.And)
    last, asked = op.cond.terms
    assert isinstance(asked, expr.Quantified)
    op = replace(op, cond=replace(asked, term=expr.conjunction(asked.term, last)))
    turn = replace(turn, body=(op, *rest))
    hidden = replace(hidden, roles={**hidden.roles, "assistant": turn})
    assert verify(hidden) == ["assistant.body: a question about calls reads last"]
    (said,) = recheck(hidden, claim(hidden, "assistant", "user"))
    assert "last cannot be known here" in said


def test_options_are_part_of_the_certificate() -> None:
    data = certificate(prove(program("glm4_7"), {"clear_thinking": False}))
    assert recheck(program("glm4_7"), data) == []
    assert recheck(
        program("glm4_7"), {**data, "options": {**data["options"], "clear_thinking": None}}
    )


def the_cells(table: dict[str, Any]) -> Any:
    return table["certificate"]["cells"]


def the_conditions(table: dict[str, Any]) -> Any:
    return table["certificate"]["conditions"]


@pytest.mark.parametrize("claims", (the_cells, the_conditions))
def test_what_a_stored_table_says_is_certified(claims: Callable[[dict[str, Any]], Any]) -> None:
    """A claim less in the certificate, which holds all the same, or one more in the table."""
    text = (GENERATED / "qwq.json").read_text()
    assert complaints(program("qwq"), text) == []
    for at, gone in enumerate(claims(json.loads(text))):
        table = json.loads(text)
        del claims(table)[at]
        assert recheck(program("qwq"), table["certificate"]) == []
        (said,) = complaints(program("qwq"), json.dumps(table))
        assert said.startswith(f"{gone['after']}, {gone['then']}: called stable")
    table = json.loads(text)
    for cell in table["cells"]:
        cell["verdict"] = "stable"
    assert complaints(program("qwq"), json.dumps(table)) != []
    other = {**json.loads(text), "tools": True}
    assert complaints(program("qwq"), json.dumps(other)) == ["the certificate is for another table"]


def test_the_checker_shares_no_code_with_the_prover() -> None:
    ir = {"templc.ir.fixed", "templc.ir.ops"}
    assert imports(checker) == ir | {"templc.model.expr", "templc.model.coded"}
    for module in (fixed, ops, coded, expr):
        assert not any(name.startswith("templc.proof") for name in imports(module))
    prover = [*Path(str(checker.__file__)).parent.glob("*.py")]
    assert len(prover) > 15
    for path in prover:
        if path.stem != "recheck":
            assert "ir.fixed" not in path.read_text(encoding="utf-8"), path.name


def test_the_whole_checker_can_be_read_in_one_sitting() -> None:
    assert code_lines(checker) < 200


@pytest.mark.parametrize("name", ["qwen3", "kimi_k2", "deepseekv3_1", "glm4_5", "qwq"])
def test_no_cell_that_can_break_passes_as_stable(name: str) -> None:
    stability = prove(program(name))
    data = certificate(stability)
    breaking = [cell for cell in stability.cells if cell.verdict in ("stable if", "never")]
    assert len(breaking) > 3
    every = [
        format(number, f"0{len(data['future'])}b") for number in range(1 << len(data["future"]))
    ]
    all_pairs = {past: ["/".join(pair) for pair in product(every, every)] for past in data["pasts"]}
    for cell in breaking:
        place = {"after": cell.place.after, "then": cell.place.then}
        for pasts in (data["pasts"], all_pairs):
            claim = {**data, "cells": [place], "pasts": pasts}
            assert recheck(program(name), claim) != [], place


@pytest.mark.parametrize("name", FORMATS)
def test_no_cell_that_a_stored_table_does_not_call_stable_passes(name: str) -> None:
    table = json.loads((GENERATED / f"{name}.json").read_text())
    for cell in table["cells"]:
        if cell["verdict"] in ("stable if", "never"):
            place = {"after": cell["after"], "then": cell["then"]}
            found = recheck(program(name), {**table["certificate"], "cells": [place]})
            assert found and not any("does not fit" in said for said in found), place
