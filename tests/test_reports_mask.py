"""Reported failures of loss masks: the trained stretches of each conversation are the right ones, token for token."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import templc
from tests.support.formats import fitting, format_of, program
from tests.support.vocabularies import hf

CASES = Path(__file__).parent / "cases_reports" / "mask.jsonl"


def cases() -> Iterator[Any]:
    """Each case and variant, as (format, case)."""
    for line in CASES.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        for number, variant in enumerate([{}, *(case.get("variants") or [])]):
            found = {**case, **variant}
            name = format_of(found["template"])
            if name is not None and "expected" in found:
                yield pytest.param(name, found, id=f"{case['id']}-{number}-{name}")


@pytest.mark.parametrize(("name", "case"), list(cases()))
def test_the_trained_stretches_are_right(name: str, case: dict[str, Any]) -> None:
    options = {k: v for k, v in case["kwargs"].items() if k in program(name).options}
    tokenizer = hf(fitting(name)[0])
    renderer = templc.get_renderer(name, tokenizer, **options)
    tools = case.get("tools")
    found: list[list[Any]] = []
    (example,) = renderer.supervised(case["messages"], tools=tools)
    pairs = zip(example, example.weights, strict=True)
    for trained, group in itertools.groupby(pairs, key=lambda pair: int(pair[1] > 0)):
        found.append([tokenizer.decode([token for token, _ in group]), trained])
    assert found == case["expected"]


def test_there_are_several_cases() -> None:
    assert {param.id.split("-")[0] for param in cases()} >= {"B21", "B22", "B25", "B26", "B29"}
