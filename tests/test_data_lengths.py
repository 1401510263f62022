"""Limits, packing and the function for `datasets.map`: no trained turn is lost without a word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset
from hypothesis import given, settings
from hypothesis import strategies as st

from templc import Renderer, get_renderer
from templc.data import Settings, columns_of
from templc.data.counts import Counts, lengths_of, report
from templc.data.packing import packed, packed_columns
from templc.data.settings import DataError
from templc.demo import vocabulary
from tests.support.chats import chat, json_lines
from tests.support.cli import Run, runner
from tests.test_data import columns, done, ids, set_aside

SYSTEM = {"role": "system", "content": "Add."}
LONG = [SYSTEM, *chat(100, 6)]


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


def instruct() -> Renderer:
    return get_renderer("qwen3_instruct", vocabulary("qwen3"))


def size(messages: list[Any]) -> int:
    return max(map(len, instruct().supervised(messages)))


def limited(tmp_path: Path, rows: list[Any], **options: Any) -> tuple[Counts, Path]:
    data, out = json_lines(tmp_path / "chats.jsonl", rows), tmp_path / "out.parquet"
    return done(data, out, make=instruct, settings=Settings(**options)), out


# limits


def test_long_rows_are_set_aside(tmp_path: Path) -> None:
    counts, out = limited(tmp_path, [LONG, chat(1)], max_tokens=size(chat(1)))
    assert (counts.rejected, counts.examples, counts.longest) == (1, 1, size(chat(1)))
    why = f"an example has {size(LONG)} tokens, more than {size(chat(1))}"
    assert set_aside(out) == [("chats.jsonl", 1, why)]


@pytest.mark.parametrize("left", range(1, 6))
def test_the_front_is_cut_by_whole_turns(tmp_path: Path, left: int) -> None:
    kept = [SYSTEM, *LONG[-2 * left :]]
    for limit in (size(kept), size([SYSTEM, *LONG[-2 * left - 2 :]]) - 1):
        counts, out = limited(tmp_path, [LONG], max_tokens=limit, too_long="cut_front")
        assert ids(columns(out)) == [list(tokens) for tokens in instruct().supervised(kept)]
        assert (counts.cut, counts.untrained) == (1, 6 - left)
        assert f"{6 - left} trained messages left out" in report(counts)
        out.unlink()


def test_a_turn_is_never_cut_in_two(tmp_path: Path) -> None:
    limit = size([SYSTEM, *LONG[-2:]]) - 1
    counts, out = limited(tmp_path, [LONG, chat(1)], max_tokens=limit, too_long="cut_front")
    assert (counts.rejected, counts.cut) == (1, 0)
    assert set_aside(out)[0][2].endswith("and its last turn alone is too long")


def test_a_cut_that_leaves_nothing_to_train_is_none(tmp_path: Path) -> None:
    untrained = [{**message, "train": False} for message in chat(5)]
    limit = size(chat(5, 2))
    counts, out = limited(
        tmp_path, [[*chat(5, 2), *untrained]], max_tokens=limit - 1, too_long="cut_front"
    )
    assert counts.rejected == 1 and set_aside(out)[0][2].endswith(
        "nothing trained is left after a cut"
    )


def test_too_long_ends_the_run_where_it_is_an_error(cli: Run, tmp_path: Path) -> None:
    data = json_lines(tmp_path / "chats.jsonl", [chat(1), LONG])
    given = f"tokenize qwen3_instruct {data} -o {tmp_path}/o.parquet --max-tokens 40"
    status, _, err = cli(*given.split(), "--too-long", "error")
    assert status == 2
    assert f"{data}: row 2: an example has {size(LONG)} tokens, more than 40" in err


# packing


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 12), max_size=30))
def test_packing_keeps_every_example_and_the_size(lengths: list[int]) -> None:
    rows = packed(lengths, 12)
    assert sorted(at for row in rows for at in row) == list(range(len(lengths)))
    sizes = [sum(lengths[at] for at in row) for row in rows]
    assert all(total <= 12 for total in sizes)
    # Two rows that would fit into one were left apart by nothing.
    assert sum(total <= 6 for total in sizes) <= 1


def test_packed_columns_tell_the_examples_apart() -> None:
    def example(*found: int) -> dict[str, list[Any]]:
        return {"input_ids": list(found), "labels": list(found)}

    assert packed_columns([example(1, 2), example(3, 4, 5)]) == {
        "input_ids": [1, 2, 3, 4, 5],
        "labels": [-100, 2, -100, 4, 5],
        "position_ids": [0, 1, 0, 1, 2],
        "segment_ids": [1, 1, 2, 2, 2],
    }


def test_packed_rows_hold_all_examples(tmp_path: Path) -> None:
    chats = [chat(number, 1 + number % 4) for number in range(20)]
    counts, out = limited(tmp_path, [*chats, LONG], pack=size(LONG) - 1)
    rows = columns(out)
    assert (counts.examples, counts.rejected, counts.written) == (20, 1, len(rows))
    assert len(rows) < 20 and sorted(n for row in rows for n in row["source_row"]) == [
        *range(1, 21)
    ]
    for row in rows:
        whole = [chats[number - 1] for number in row["source_row"]]
        assert row["input_ids"] == [t for one in whole for t in instruct().supervised(one)[0]]
        assert row["segment_ids"][-1] == len(whole) and len(row["input_ids"]) < size(LONG)


# datasets.map


def test_a_function_of_a_batch_for_datasets() -> None:
    chats = [chat(number, 2) for number in range(10)]
    found = Dataset.from_dict({"messages": chats, "other": range(10)}).map(
        columns_of(instruct()), batched=True, batch_size=4, remove_columns=["messages", "other"]
    )
    assert found.to_list() == [t.columns() for one in chats for t in instruct().supervised(one)]


def test_datasets_loads_the_output(tmp_path: Path) -> None:
    limited(tmp_path, [chat(1), chat(2)])
    found = Dataset.from_parquet(str(tmp_path / "out.parquet"), cache_dir=str(tmp_path / "cache"))
    names = ["input_ids", "labels", "attention_mask", "assistant_masks"]
    expected = [t.columns() for n in (1, 2) for t in instruct().supervised(chat(n))]
    assert found.select_columns(names).to_list() == expected


def test_the_function_refuses_bad_rows_or_leaves_them_out() -> None:
    batch = {"messages": [chat(1), []]}
    with pytest.raises(DataError, match="row 1 of the batch: `messages` is empty"):
        columns_of(get_renderer("qwen3_instruct"), vocabulary("qwen3"))(batch)
    found = columns_of(instruct(), settings=Settings(on_error="skip", pack=999, weights=True))(
        batch
    )
    added = ["weights", "position_ids", "segment_ids"]
    assert list(found)[4:] == added and all(len(rows) == 1 for rows in found.values())
    assert columns_of(instruct())({"messages": []})["labels"] == []


# statistics


def test_statistics_add_up() -> None:
    one = Counts(rows=2, examples=2, tokens=30, trained=3, longest=20, lengths=lengths_of([10, 20]))
    two = Counts(rows=1, examples=1, tokens=9, longest=9, lengths=lengths_of([9]))
    both = one + two
    assert (both.tokens, both.longest, both.lengths) == (39, 20, {4: 2, 5: 1})
    assert Counts.from_json(both.to_json()) == both
    *_, eight, sixteen = report(both).splitlines()
    assert eight.split() == ["8", "to", "15", "█" * 40, "2"]
    assert sixteen.split() == ["16", "to", "31", "█" * 20, "1"]
    assert json.loads(both.to_json())["trained"] == 3
    assert "0.0% trained" in report(Counts())
