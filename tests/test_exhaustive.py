"""Published template, interpreter and generated class agree: on all short conversations, and many longer ones.

Each conversation is rendered three times, so the count of renders of a format is three times that of its cases.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from templc.verify import CORE, SHAPES, Case
from tests.exhaustive import check, pairs, product, sample, text_options, undeclared
from tests.support.formats import MISSION, REFERENCED, option_sets

RENDERS = 20_000
COMPARED = tuple(name for name in MISSION if name in REFERENCED)
"""The formats that are compared on above 20,000 renders each; test_library compares all others on fewer."""
NAMED = ("qwen3_instruct", "kimi_k2", "kimi_k2_instruct", "deepseekv3", "deepseekv3_1")
"""The formats that the project was made for: every triple of the core shapes, not a third."""


def agree(name: str, options: dict[str, Any], cases: Iterator[Case]) -> int:
    """How many cases were compared; AssertionError with the smallest one that differs."""
    reports = check(name, options, cases)
    for kind, report in reports.items():
        assert not undeclared(name, report), f"{kind} {options} {report.as_text()}"
    return reports["generated"].total


@pytest.mark.parametrize("name", COMPARED)
def test_every_small_conversation_is_equal_to_the_published_template(name: str) -> None:
    assert 3 * agree(name, {}, sample({})) >= RENDERS


@pytest.mark.parametrize("name", NAMED)
def test_every_triple_is_equal_to_the_published_template(name: str) -> None:
    assert agree(name, {}, product({}, 3)) >= 17_000


@pytest.mark.parametrize("name", [name for name in COMPARED if len(option_sets(name)) > 1])
def test_every_combination_of_options_is_equal_to_the_published_template(name: str) -> None:
    for options in option_sets(name)[1:]:
        assert agree(name, options, pairs(options)) > 800


@pytest.mark.parametrize("name", [name for name in REFERENCED if text_options(name)])
def test_texts_that_are_options_stand_where_the_published_template_has_them(name: str) -> None:
    options = text_options(name)
    assert agree(name, options, pairs(options)) > 800


def test_the_shapes_are_many_enough_to_reach_what_formats_decide() -> None:
    assert len(CORE) >= 12 and len(SHAPES) >= 24
    assert {shape.message["role"] for shape in CORE} == {"system", "user", "assistant", "tool"}
