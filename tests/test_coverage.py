"""The coverage report: its battery, its matching, and the table that it recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.coverage.battery import BATTERY, KINDS
from tests.coverage.match import Match, best, of_format
from tests.coverage.renders import Template, templates
from tests.coverage.report import lines, shares

TABLE = json.loads(
    (Path(__file__).parents[1] / "templc" / "recognised.json").read_text(encoding="utf-8")
)


def template(name: str) -> Template:
    return next(one for one in templates() if one.name == name)


def match(name: str, *formats: str) -> Match:
    return best(template(name), [one for format in formats for one in of_format(format)])


def test_the_battery_is_broad() -> None:
    assert len({(row.name, str(row.tools), str(row.options)) for row in BATTERY}) >= 60
    assert {row.kind for row in BATTERY} == set(KINDS)


def test_the_record_has_every_template() -> None:
    assert {one.sha256 for one in templates()} == set(TABLE)


def test_the_recorded_shares_reach_what_is_promised() -> None:
    equal = [one for one in templates() if TABLE[one.sha256]["equal"]]
    downloads = sum(one.downloads for one in templates())
    repositories = sum(one.repositories for one in templates())
    assert sum(one.downloads for one in equal) / downloads >= 0.90
    assert sum(one.repositories for one in equal) / repositories >= 0.78


@pytest.mark.parametrize(
    "name",
    [one.name for one in templates() if TABLE[one.sha256]["equal"]][::12],
)
def test_the_record_is_what_a_match_finds(name: str) -> None:
    row = TABLE[template(name).sha256]
    found = match(name, row["format"])
    assert found.equal
    assert dict(found.candidate.options) == row["options"]


def test_a_template_of_another_format_is_apart() -> None:
    found = match("google-gemma-2-2b-it", "qwen2", "chatml")
    assert not found.equal and found.different


def test_the_report_names_the_smallest_difference() -> None:
    found = [match("Qwen-Qwen2-0.5B", "qwen2"), match("Qwen-Qwen2-1.5B-Instruct", "qwen2")]
    assert shares(found, found).downloads == pytest.approx(100)
    text = "\n".join(lines(found))
    assert "1   " in text and "equal wherever the template renders" in text
    assert "[u]" in text and "You are a helpful assistant•" in text
