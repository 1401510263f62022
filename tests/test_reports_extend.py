"""Reported failures of kind extend: deltas that lose text, prefixes that break unseen, ids that are rewritten."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import templc
from tests.support.formats import format_of, program
from tests.support.responses import tokenizer_for

CASES = Path(__file__).parent / "cases_reports" / "extend.jsonl"
ALSO = {"deepseek-ai-DeepSeek-V3.1.jinja": "tencent-DeepSeek-V3.1-Terminus-W4AFP8.jinja"}
"""Another copy with another spelling of the think block; the break is the same."""


def cases() -> Iterator[Any]:
    for line in CASES.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        name = format_of(ALSO.get(case["template"], case["template"]))
        if name is not None:
            yield pytest.param(name, case, id=f"{case['id']}-{name}")


def renderer_for(name: str, case: dict[str, Any]) -> templc.Renderer:
    known = program(name).options
    options = {key: value for key, value in case["kwargs"].items() if key in known}
    return templc.get_renderer(name, tokenizer_for(name), **options)


def rolled_out(name: str, case: dict[str, Any]) -> tuple[Any, list[int], list[int]]:
    """A trajectory that has sampled the case's completion; the prompt ids and the completion ids."""
    renderer = renderer_for(name, case)
    traj = renderer.start(case["messages"], tools=case.get("tools"))
    given = case["completion"]
    ids = given["ids"] if isinstance(given, dict) else renderer.codec(None).control(given)
    prompt = list(traj.tokens)
    traj.sampled(ids)
    return traj, prompt, ids


def suffix(name: str, case: dict[str, Any]) -> None:
    traj, prompt, ids = rolled_out(name, case)
    new = traj.add(case["new_messages"])
    assert new.text == case["expected"]
    assert list(traj.tokens) == prompt + ids + list(new)
    assert sum(new.weights) == 0


def verbatim(name: str, case: dict[str, Any]) -> None:
    traj, prompt, ids = rolled_out(name, case)
    expected = case["expected"]
    if case.get("new_messages"):
        traj.add(case["new_messages"])
    assert list(traj.tokens[: len(prompt) + len(ids)]) == prompt + ids
    if "prompt_ids_end_with" in expected:
        assert prompt[-2:] == expected["prompt_ids_end_with"]
        assert list(traj.tokens[-7:]) == expected["result_ends_with"]


def reported(name: str, case: dict[str, Any]) -> None:
    renderer = renderer_for(name, case)
    messages = list(case["messages"])
    before = renderer.render(messages, add_generation_prompt=False)
    if case.get("completion"):
        traj, *_ = rolled_out(name, case)
        before = traj.tokens
        messages.append(traj.turns[0].parsed.message)
    with pytest.raises(templc.UnstableExtension) as caught:
        renderer.extend(before, case["new_messages"])
    fresh = renderer.render([*messages, *case["new_messages"]])
    keep = caught.value.keep
    assert caught.value.reason and keep < len(before)
    assert fresh[:keep] == before[:keep] and fresh[keep] != before[keep]
    if case["template"] not in ALSO:
        start = case.get("compare_from") or ""
        old, new = (one.text[one.text.index(start) :] for one in (before, fresh))
        assert old.startswith(case["expected"]["hf_before"])
        assert new == case["expected"]["hf_after"]
    more = renderer.extend(before, case["new_messages"], history="as_sampled")
    assert (before + more)[: len(before)] == list(before) and more.notes


def whole(name: str, case: dict[str, Any]) -> None:
    renderer = renderer_for(name, case)
    before = renderer.render(case["messages"])
    more = renderer.extend(before, case["new_messages"], history="as_sampled")
    for text in case["expected"]:
        assert text in more.text


def refused(name: str, case: dict[str, Any]) -> None:
    renderer = renderer_for(name, case)
    before = renderer.render(case["messages"], tools=case["tools"])
    with pytest.raises(templc.OptionError):
        renderer.render(case["new_messages"], extend=before, tools=case["kwargs"]["new_tools"])


CHECKS = {
    "extend_suffix": suffix,
    "ids_kept_verbatim": verbatim,
    "prefix_break_must_be_reported": reported,
    "delta_contains": whole,
    "must_refuse": refused,
}


@pytest.mark.parametrize(("name", "case"), list(cases()))
def test_reported_case(name: str, case: dict[str, Any]) -> None:
    CHECKS[case["check"]](name, case)


def test_the_cases_of_the_shipped_formats_are_there() -> None:
    found = {param.id.split("-")[0] for param in cases()}
    assert {"B01", "B03", "B04", "B05", "B12", "B13", "B14", "B16", "B18", "B19"} <= found
