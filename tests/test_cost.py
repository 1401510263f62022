"""O(T) against O(T^2), in exact counts; time is printed by the benchmark and asserted nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from templc.recipes.cost import ANSWERS, MOST, main, picture, report, table

ROOT = Path(__file__).parent.parent
SHOWN = (1, 2, 4, 8, 16, 32)


@pytest.mark.parametrize("turns", range(1, MOST + 1))
def test_extension_is_linear_where_rendering_anew_is_square(turns: int) -> None:
    found, one = (table("qwen3_instruct", ANSWERS["qwen3_instruct"], n) for n in (turns, 1))
    # A turn is one size with the line end behind it, which the last turn still lacks.
    naive, extended = found.naive.forwarded + turns, found.extended.forwarded + 1
    assert 2 * naive == (turns + 1) * extended
    assert 2 * (found.naive.trained + turns) == (turns + 1) * (found.extended.trained + 1)
    assert extended == turns * (one.extended.forwarded + 1)
    assert found.faithful.forwarded == found.extended.forwarded
    assert (found.naive.data, found.faithful.data, found.extended.data) == (turns, 1, 1)
    # What was sampled is never rendered or tokenized again.
    sampled = one.extended.forwarded - one.extended.tokenized
    assert found.extended.tokenized == found.extended.forwarded - turns * sampled
    assert found.naive.tokenized == found.naive.forwarded - turns * sampled


@pytest.mark.parametrize("turns", range(2, MOST + 1, 5))
def test_a_format_that_rewrites_history_costs_a_datum_a_turn(turns: int) -> None:
    found = table("qwen3", ANSWERS["qwen3"], turns)
    assert (found.faithful.data, found.extended.data) == (turns, 1)
    assert found.extended.forwarded < found.faithful.forwarded < found.naive.forwarded
    assert found.faithful.trained == found.naive.trained > found.extended.trained


def test_the_picture_is_what_is_drawn() -> None:
    assert (ROOT / ".ci" / "cost.svg").read_text(encoding="utf-8") == picture()


def test_the_tables_of_the_readme_are_what_is_counted() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name, answer in ANSWERS.items():
        assert report(name, [table(name, answer, turns) for turns in SHOWN]) in text


def test_the_command_counts_every_number_of_turns(tmp_path: Path) -> None:
    path = tmp_path / "cost.svg"
    done = CliRunner().invoke(main, ["--picture", str(path)])
    assert done.exit_code == 0 and path.read_text(encoding="utf-8") == picture()
    for name in ANSWERS:
        rows = done.output.split(f"{name}: ")[1].split("\n\n")[1].splitlines()[2:]
        assert [int(row.split("|")[1]) for row in rows] == [*range(1, MOST + 1)]
