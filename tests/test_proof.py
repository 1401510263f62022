"""Stability tables: the truths known by hand, conditions in words, witnesses, demands, options and twins."""

from __future__ import annotations

import json
import time

import pytest
import yaml

from templc.pipeline import compile_source
from templc.problems.problem import Problems
from templc.proof.certificate import certificate
from templc.proof.demands import check_demands
from templc.proof.recheck import recheck
from templc.proof.recheck_if import recheck_conditions
from templc.proof.stability import Stability, prove
from templc.source.span import Source
from tests.benchmarks.proof_growth import on_later
from tests.support.formats import FORMATS, SPECS, program

FIRST_NINE = (
    *("qwen3", "qwen3_instruct", "qwen2_5", "kimi_k2", "kimi_k2_instruct"),
    *("llama3", "deepseekv3", "deepseekv3_1", "role_colon"),
)
ROLES = ("system", "user", "tool", "assistant")


def verdicts(stability: Stability) -> dict[tuple[str, str], str]:
    """Every cell that is not plainly stable."""
    return {
        (cell.place.after, cell.place.then): cell.text
        for cell in stability.cells
        if cell.verdict != "stable"
    }


def test_nine_formats_are_proved_in_seconds() -> None:
    begin = time.process_time()
    tables = [prove(program(name)) for name in FIRST_NINE]
    assert time.process_time() - begin < 5
    assert not any(cell.verdict == "not proved" for table in tables for cell in table.cells)


def test_qwen3_as_known_by_hand() -> None:
    table = prove(program("qwen3"))
    found = verdicts(table)
    lasting = (
        "stable if no assistant message after the last query message has reasoning, "
        "or the appended message is not a query message"
    )
    once = "stable if no query message came before, or the last message has reasoning"
    assert {found[after, "user"] for after in ("system", "user", "tool")} == {lasting}
    assert found["tool", "tool"] == "never"
    assert {found["assistant", then] for then in ("system", "tool", "assistant")} == {once}
    assert found["assistant", "user"] == f"{once} and the appended message is not a query message"
    assert ("user", "assistant") not in found and ("tool", "assistant") not in found


def test_an_answer_is_never_kept_once_a_query_follows_a_query() -> None:
    table = prove(program("qwen3"))
    user, answer = {"role": "user", "content": "u"}, {"role": "assistant", "content": "a"}
    thinking = {**answer, "reasoning_content": "r"}
    assert not table.decide([user, answer], [user])
    assert not table.decide([user, thinking], [user])
    assert not table.decide([user, answer], [{"role": "tool", "content": "t"}])
    assert table.decide([user, thinking], [{"role": "tool", "content": "t"}])
    assert table.decide([answer], [user])
    assert table.continues([user], thinking)
    assert not table.continues([user], thinking, [user])
    assert table.decide([user], [answer], prompt=True)


def test_the_other_formats_as_known_by_hand() -> None:
    instruct = verdicts(prove(program("qwen3_instruct")))
    assert instruct == {("tool", "tool"): "never"}
    assert verdicts(prove(program("llama3"))) == {}
    assert verdicts(prove(program("role_colon"))) == {}
    assert {then for _, then in verdicts(prove(program("deepseekv3_1")))} == {"system"}
    kimi = verdicts(prove(program("kimi_k2")))
    assert {then for after, then in kimi if after in ROLES} == {"assistant"}
    assert kimi["tool", "assistant"] == (
        "stable if no assistant message since the last final message (or the start) has reasoning, "
        "or the appended message is not a final message"
    )


def test_the_finish_is_what_the_next_opener_writes() -> None:
    found = verdicts(prove(program("deepseekv3")))
    assert ("tool", "assistant") not in found
    assert found["tool", "user"] == found["tool", "tool"] == "never"


HOISTED = """\
format: small
title: A small format
reference: {note: none is published}
specials: ["<|im_end|>"]
stop: ["<|im_end|>"]
head: HEAD
roles:
  system: {at: head, later: hoist}
  user: "<${content}>"
  assistant: {opener: "A", body: "${content}", closer: "<|im_end|>"}
"""
BLANK = "stable if the appended message has no content other than white space"
BOTH = BLANK.replace("if", "if no user or assistant message came before and")


@pytest.mark.parametrize(
    ("head", "verdict"),
    [
        ('["X", SAME]', "stable if no user or assistant message came before"),
        # one more message stands in the middle of what is written
        ('[{each: s in systems, do: "[${s.content}]"}, "X", SAME]', "never"),
        ('[{each: s in systems, do: "${s.content|strip}"}, "X", SAME]', BOTH),
        ('["X", {each: s in systems, do: "${s.content|strip}", close: "."}, SAME]', BOTH),
        ('["X", {each: s in systems, do: "${s.content|strip}", close: "."}]', BLANK),
    ],
)
def test_a_head_grows_at_its_end_where_nothing_before_it_changes(head: str, verdict: str) -> None:
    same = '{each: s in systems, do: "(${s.content})"}'
    found = compile_source(
        Source("small.yaml", HOISTED.replace("HEAD", head.replace("SAME", same)))
    )
    table = prove(found.checked())
    assert verdicts(table)["system", "system"] == verdict
    data = json.loads(json.dumps(certificate(table)))
    assert recheck(found.checked(), data) == []
    assert recheck_conditions(found.checked(), data) == []
    for one in data["conditions"]:
        for less in range(len(one["terms"][0])):
            terms = [one["terms"][0][:less] + one["terms"][0][less + 1 :]]
            claim = {**data, "conditions": [{**one, "terms": terms}]}
            assert recheck_conditions(found.checked(), claim) != []


def test_a_witness_is_the_shortest_and_laid_out() -> None:
    table = prove(program("qwen3"))
    number = table.at("assistant", "user").number
    assert table.witness(number) == (
        "shortest example: [user, assistant], then [user]; both renders agree up to the •\n"
        "\n"
        "  before   <|im_start|>user⏎ u <|im_end|>⏎ <|im_start|>assistant⏎ "
        "• <think>⏎ ⏎</think>⏎⏎ a <|im_end|> ⏎\n"
        "  after    <|im_start|>user⏎ u <|im_end|>⏎ <|im_start|>assistant⏎ "
        "• a <|im_end|> ⏎ <|im_start|>user⏎ u <|im_end|>⏎\n"
        "\n"
        "31 of the 82 characters already emitted would change"
    )
    with pytest.raises(KeyError, match="there is no witness 99"):
        table.witness(99)
    with pytest.raises(KeyError, match="no cell for other"):
        table.at("user", "other")


def test_the_deciding_conditions_have_places() -> None:
    cell = prove(program("qwen3")).at("assistant", "user")
    assert [decider.span.text for decider in cell.reason.deciders] == ["later(query)", "last"]
    assert cell.reason.text == (
        "an assistant turn depends on whether a query message comes later "
        "and whether it is the last message"
    )


def test_a_table_is_text_and_plain_data() -> None:
    table = prove(program("qwen3_instruct"))
    assert str(table).splitlines()[:3] == [
        "qwen3_instruct, without tools (specs/qwen3_instruct.yaml)",
        "",
        "after \\ then          system  user    tool       assistant  end",
    ]
    data = json.loads(json.dumps(table.to_json()))
    assert {cell["verdict"] for cell in data["cells"]} == {"stable", "never"}
    assert data["witnesses"]["1"]["before"] and data["tools"] is False


def test_options_and_twins() -> None:
    thinking = prove(program("deepseekv3_1"))
    assert set(thinking.options) == {"thinking"}
    assert prove(program("qwen3_instruct")).twin is None
    rewriting = prove(program("qwen3")).twin
    assert rewriting is not None and rewriting.option == ""
    assert rewriting.text.startswith('history="as_sampled": whether a query message comes later')
    kept = prove(program("qwen3_6")).twin
    assert kept is not None and (kept.option, kept.value) == ("preserve_thinking", True)


def demanding(name: str, after: str, then: str) -> Problems:
    text = (SPECS / f"{name}.yaml").read_text()
    demand = f"\nextend:\n  must_allow:\n    - {{after: {after}, then: {then}}}\n"
    found = compile_source(Source(f"specs/{name}.yaml", text + demand), folders=(SPECS,)).checked()
    problems = Problems()
    check_demands(found, prove(found), problems)
    return problems


def test_a_demand_that_is_proved_is_silent() -> None:
    assert demanding("qwen3", "tool", "assistant").ok


def test_a_demand_that_is_not_proved_says_why() -> None:
    (problem,) = demanding("qwen3", "tool", "tool")
    assert problem.code == "prefix-not-stable"
    assert (
        problem.message
        == "a tool message after a tool message rewrites text that was already emitted"
    )
    assert problem.label == "reads whether the next message is a tool"
    assert [label.text for label in problem.others] == [
        "this line asks for the boundary to be stable"
    ]
    assert problem.notes == ("after a tool message, system and assistant messages are stable",)
    assert "shortest example: [tool], then [tool]" in problem.body
    (conditional,) = demanding("qwen3", "assistant", "tool")
    assert "can rewrite" in conditional.message
    assert conditional.notes[0].startswith("it is stable if no query message came before")


def test_a_search_that_is_cut_off_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("templc.proof.search.LIMIT", 2)
    table = prove(program("qwen3"))
    assert {cell.verdict for cell in table.cells} == {"not proved"}
    with pytest.raises(RuntimeError, match="nothing is proved"):
        table.decide([{"role": "user", "content": "u"}], [{"role": "user", "content": "u"}])


def test_a_search_that_takes_too_long_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("templc.proof.search.WORK", 1_000)
    source = Source("grown.yaml", yaml.safe_dump(on_later(4), sort_keys=False))
    table = prove(compile_source(source).checked())
    assert {cell.verdict for cell in table.cells} == {"not proved"}
    assert "more than 1,000 comparisons" in table.cells[0].reason.text


def test_a_filter_that_does_nothing_makes_no_difference() -> None:
    """What is known of a text is known behind a filter that finds nothing: no cell of a shipped format stays open."""
    found = prove(program("nemotron3_nano"))
    assert {cell.verdict for cell in found.cells} == {"stable", "stable if", "never"}
    call = {"type": "function", "function": {"name": "f", "arguments": {}}}
    answer = {"role": "assistant", "tool_calls": [call]}
    for content, kept in (("a", True), ("a ", True), (" a", False), ("<think>", False), ("", True)):
        old = [{"role": "user", "content": "u"}, {**answer, "content": content}]
        tool = {"role": "tool", "content": "t"}
        assert found.decide([*old, tool], [{"role": "user", "content": "v"}]) is kept, content


@pytest.mark.parametrize("name", FORMATS)
def test_every_cell_of_a_shipped_format_is_decided(name: str) -> None:
    assert all(cell.verdict != "not proved" for cell in prove(program(name)).cells)
