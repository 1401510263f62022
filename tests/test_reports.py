"""Failures that practitioners reported: their inputs give the right value here, with the default settings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import templc
from templc.runtime.errors import TemplcError
from tests.support import vocabularies
from tests.support.formats import format_of, program

CASES = Path(__file__).parent / "cases_reports" / "reports.jsonl"
KINDS = ("render", "genprompt", "tokens", "stop", "roundtrip")
DECLARED = {
    # The report renders as transformers 4 did, which kept content that is None; under 5 the template raises. The spec
    # writes calls with balanced markup, a declared deviation.
    "B53-deepseek_r1_distill": (
        "<｜tool▁call▁end｜>",
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
    ),
    # The report leaves the choice between stripped parts, as the template has them, and joining first, as the spec has.
    "B56-gemma3": ("Namea fruit", "Name a fruit"),
}
"""Where a declared deviation of a spec changes the reported value: what stands in place of what."""


def cases() -> Iterator[Any]:
    """Each case and variant whose format exists, as (id, format, case)."""
    for line in CASES.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if case["kind"] not in KINDS:
            continue
        for number, variant in enumerate([{}, *(case.get("variants") or [])]):
            found = {**case, **variant}
            if "kwargs" in variant:
                inherited = {
                    k: v for k, v in case["kwargs"].items() if k == "add_generation_prompt"
                }
                found["kwargs"] = {**inherited, **variant["kwargs"]}
            elif variant.get("template", case["template"]) != case["template"]:
                kept = ("add_generation_prompt",)
                found["kwargs"] = {k: v for k, v in case["kwargs"].items() if k in kept}
            renamed = "format" in variant and "template" not in variant
            name = named(variant["format"]) if renamed else format_of(found["template"])
            if name is not None:
                yield pytest.param(name, found, id=f"{case['id']}-{number}-{name}")


def named(reported: str) -> str:
    """Our name of a format that a report names without a template."""
    return templc.get_renderer(re.sub(r"[.-]", "_", reported)).info.name


def arguments(name: str, case: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of the renderer and arguments of the render."""
    given = dict(case["kwargs"])
    prompt = given.pop("add_generation_prompt", False)
    known = program(name).options
    # A format that writes no such token has no option for it; any other name it must know.
    options = {k: v for k, v in given.items() if k in known or not k.endswith("_token")}
    if "now" in known and "date_string" not in known and "date_string" in options:
        date = datetime.strptime(options.pop("date_string"), "%d %b %Y")
        options["now"] = date.date().isoformat()
    return options, {"tools": case.get("tools"), "add_generation_prompt": prompt}


@pytest.mark.parametrize(("name", "case"), list(cases()))
def test_reported_case(name: str, case: dict[str, Any]) -> None:
    options, given = arguments(name, case)
    if f"{case['id']}-{name}" in DECLARED:
        old, new = DECLARED[f"{case['id']}-{name}"]
        assert case["expected"].count(old) == 1
        case = {**case, "expected": case["expected"].replace(old, new)}
    check = CHECKS[case["check"]]
    if isinstance(case["expected"], str):
        check = refused if case["expected"].startswith("error") else equals
    if check is refused:
        with pytest.raises(TemplcError):
            refused(name, case, templc.get_renderer(name, **options), given)
    else:
        check(name, case, templc.get_renderer(name, **options), given)


def equals(
    name: str, case: dict[str, Any], renderer: templc.Renderer, given: dict[str, Any]
) -> None:
    alike = case.get("also_same") or []
    for messages in [case["messages"], *alike]:
        text = renderer.render_text(messages, **given)
        start = case.get("compare_from") or ""
        assert text[max(text.find(start), 0) :] == case["expected"]
        for wanted in case.get("must_contain") or []:
            assert wanted in text
        for unwanted in case.get("must_not_contain") or []:
            assert unwanted not in text
        if case["kind"] == "roundtrip":
            reads_back(renderer, messages, text)


def reads_back(renderer: templc.Renderer, messages: list[Any], text: str) -> None:
    """The last turn, read as a completion, holds the calls that it was written from."""
    *before, last = messages
    prompt = renderer.render_text(before, add_generation_prompt=True)
    assert text.startswith(prompt)
    read = renderer.parse(text.removeprefix(prompt), prompt=prompt).message
    wanted = [call["function"] for call in last["tool_calls"]]
    assert [
        {"name": call["function"]["name"], "arguments": call["function"]["arguments"]}
        for call in read["tool_calls"]
    ] == wanted


def refused(
    name: str, case: dict[str, Any], renderer: templc.Renderer, given: dict[str, Any]
) -> None:
    renderer.render_text(case["messages"], **given)


def tokenizer(case: dict[str, Any]) -> Any:
    return vocabularies.hf(case["tokenizer"])


def ids(name: str, case: dict[str, Any], renderer: templc.Renderer, given: dict[str, Any]) -> None:
    assert renderer.render(case["messages"], tokenizer(case), **given) == case["expected"]


def counted(
    name: str, case: dict[str, Any], renderer: templc.Renderer, given: dict[str, Any]
) -> None:
    found = renderer.render(case["messages"], tokenizer(case), **given)
    for token, count in case["expected"].items():
        assert found.count(int(token)) == count
    assert tokenizer(case).decode(found) == found.text


def stops(
    name: str, case: dict[str, Any], renderer: templc.Renderer, given: dict[str, Any]
) -> None:
    texts = case.get("expected_text") or re.findall(r"<\S+?>", case.get("note", ""))
    assert set(texts) <= set(renderer.info.stop)
    if case["tokenizer"] in vocabularies.NAMES and "expected_text" not in case:
        assert set(case["expected"]) <= set(renderer.stop_token_ids(tokenizer(case)))


CHECKS = {
    "render_equals": equals,
    "must_refuse": refused,
    "token_ids_equal": ids,
    "count_token": counted,
    "stop_ids_superset": stops,
}


def test_the_cases_of_the_shipped_formats_are_there() -> None:
    found = {param.id.split("-")[0] for param in cases()}
    assert {
        "B32",
        "B36",
        "B39",
        "B40",
        "B42",
        "B44",
        "B45",
        "B47",
        "B48",
        "B55",
        "B56",
        "B59",
        "B64",
        "B65",
        "B66",
        "B95",
    } <= found
