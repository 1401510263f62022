"""Reported failures of loss masks: the trained stretches of each conversation are the right ones, token for token."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from transformers import DataCollatorForSeq2Seq

import templc
from tests.support.formats import fitting, format_of, program
from tests.support.responses import tokenizer_for as with_tokens
from tests.support.vocabularies import hf

CASES = Path(__file__).parent / "cases_reports" / "mask.jsonl"


def cases() -> Iterator[Any]:
    """Each case and variant, as (format, case)."""
    for line in CASES.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        for number, variant in enumerate([{}, *(case.get("variants") or [])]):
            found = {**case, **variant}
            name = format_of(found["template"])
            if name is not None and "expected" in found and found["check"] == "mask_equals":
                yield pytest.param(name, found, id=f"{case['id']}-{number}-{name}")


@pytest.mark.parametrize(("name", "case"), list(cases()))
def test_the_trained_stretches_are_right(name: str, case: dict[str, Any]) -> None:
    options = {k: v for k, v in case["kwargs"].items() if k in program(name).options}
    tokenizer = hf(fitting(name)[0]) if fitting(name) else with_tokens(name)
    renderer = templc.get_renderer(name, tokenizer, **options)
    tools = case.get("tools")
    found: list[list[Any]] = []
    (example,) = renderer.supervised(case["messages"], tools=tools)
    pairs = zip(example, example.weights, strict=True)
    for trained, group in itertools.groupby(pairs, key=lambda pair: int(pair[1] > 0)):
        ids = [token for token, _ in group]
        found.append([tokenizer.decode(ids, skip_special_tokens=False), trained])
    assert found == case["expected"]


def property_case(name: str) -> dict[str, Any]:
    """A case that states a property instead of stretches."""
    rows = (json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines())
    return next(row for row in rows if row["id"] == name)


def test_the_last_stop_token_is_trained_where_it_also_pads() -> None:
    case = property_case("B28")
    pad, expected = case["kwargs"]["pad_token_id"], case["expected"]
    tokenizer = copy.deepcopy(hf("llama3"))
    tokenizer.pad_token = tokenizer.convert_ids_to_tokens(pad)
    renderer = templc.get_renderer("llama3_1", tokenizer)
    (example,) = renderer.supervised(case["messages"])
    assert (example[-1], example.weights[-1]) == (expected["last_token_id"], expected["last_mask"])
    columns = example.columns()
    labels = columns["labels"]
    assert labels[-1] == pad and [id for id in labels if id != -100].count(pad) == 1
    row = {"input_ids": columns["input_ids"], "labels": labels}
    longer = {name: [*column, 1, 2] for name, column in row.items()}
    batch = DataCollatorForSeq2Seq(tokenizer)([row, longer])
    assert batch["labels"][0].tolist() == [*labels, -100, -100]


def test_a_cut_example_keeps_the_mask_of_the_turn_that_was_cut() -> None:
    case = property_case("B30")
    at = case["kwargs"]["truncate_to"]
    renderer = templc.get_renderer("llama3", hf("llama3"))
    (example,) = renderer.supervised(case["messages"])
    whole = example.columns()
    assert at < len(example)
    cut = {name: column[:at] for name, column in whole.items()}
    trained = [id for id, label in zip(cut["input_ids"], cut["labels"], strict=True) if label == id]
    assert trained and hf("llama3").decode(trained) == "one two three four five"
    assert cut["labels"] == [
        id if weight else -100
        for id, weight in zip(example[:at], example.weights[:at], strict=True)
    ]


def test_there_are_several_cases() -> None:
    assert {param.id.split("-")[0] for param in cases()} >= {
        *("B21", "B22", "B25", "B26", "B27", "B29")
    }
