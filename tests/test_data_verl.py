"""The data set for verl's supervised trainer: rows as they were tokenized, masks where the labels are."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from templc import OptionError
from templc.cli.tokenize import bound
from templc.data import Settings
from templc.data.files import inputs
from templc.data.plan import Plan
from templc.data.run import run
from templc.data.verl import TokenizedDataset
from templc.runtime.errors import TemplcError
from tests.support.chats import chat, json_lines

make = functools.partial(bound, "qwen3", None, (), "refuse")


def tokenized(folder: Path, **settings: Any) -> tuple[Path, list[dict[str, Any]]]:
    """A file of five rows, and what is in it."""
    data, out = folder / "chats.jsonl", folder / f"out{len(settings)}.parquet"
    json_lines(data, [{"messages": chat(number)} for number in range(5)])
    run(Plan(inputs(data), out, make, Settings(**settings), workers=1))
    return out, pq.read_table(out).to_pylist()


def test_rows_without_padding(tmp_path: Path) -> None:
    out, rows = tokenized(tmp_path)
    made = TokenizedDataset(str(out), config={"pad_mode": "no_padding"})
    assert len(made) == len(rows) > 0
    for at, row in enumerate(rows):
        found = made[at]
        assert found["input_ids"].tolist() == row["input_ids"]
        assert found["position_ids"].tolist() == list(range(len(row["input_ids"])))
        assert found["loss_mask"].tolist() == [int(label != -100) for label in row["labels"]]
        assert {one.dtype for one in found.values()} == {torch.int64}


def test_padded_rows_make_a_batch(tmp_path: Path) -> None:
    out, rows = tokenized(tmp_path)

    class Padding:
        pad_token_id = 7

    made = TokenizedDataset([out], Padding(), {"pad_mode": "right", "max_length": 600})
    batch = torch.utils.data.default_collate([made[at] for at in range(len(made))])
    assert {tuple(one.shape) for one in batch.values()} == {(len(rows), 600)}
    sizes = [len(row["input_ids"]) for row in rows]
    assert batch["attention_mask"].sum(1).tolist() == sizes
    assert all((batch["input_ids"][at, size:] == 7).all() for at, size in enumerate(sizes))
    trained = [sum(label != -100 for label in row["labels"]) for row in rows]
    assert batch["loss_mask"].sum(1).tolist() == trained


def test_packed_rows_keep_their_positions(tmp_path: Path) -> None:
    out, rows = tokenized(tmp_path, pack=600)
    made = TokenizedDataset(str(out), config={"pad_mode": "no_padding"})
    assert [made[at]["position_ids"].tolist() for at in range(len(made))] == [
        row["position_ids"] for row in rows
    ]
    plain, _ = tokenized(tmp_path)
    with pytest.raises(OptionError, match="packed"):
        TokenizedDataset([str(out), str(plain)])


def test_rows_that_are_too_long_are_told_or_cut_as_asked(tmp_path: Path) -> None:
    out, rows = tokenized(tmp_path)
    config = {"pad_mode": "no_padding", "max_length": 5}
    with pytest.raises(TemplcError, match="max_length=5"):
        TokenizedDataset(str(out), config=config)[0]
    for truncation, kept in (("left", slice(-5, None)), ("right", slice(5))):
        cut = TokenizedDataset(str(out), config={**config, "truncation": truncation})[0]
        assert cut["input_ids"].tolist() == rows[0]["input_ids"][kept]


def test_a_row_that_is_cut_at_the_left_begins_anew(tmp_path: Path) -> None:
    out, rows = tokenized(tmp_path)
    trained = [at for at, label in enumerate(rows[0]["labels"]) if label != -100]
    config: dict[str, Any] = {"pad_mode": "no_padding", "truncation": "left"}
    config["max_length"] = len(rows[0]["labels"]) - trained[0]
    cut = TokenizedDataset(str(out), config=config)[0]
    # Packed with others, a row that does not begin at 0 would go on from the one before it.
    assert cut["position_ids"].tolist() == list(range(config["max_length"]))
    # Nothing predicts its first token; verl would take the end of the row before.
    assert cut["loss_mask"].tolist() == [
        0,
        *(int(label != -100) for label in rows[0]["labels"][trained[0] + 1 :]),
    ]


def test_a_packed_row_that_is_cut_at_the_left_keeps_its_other_examples(tmp_path: Path) -> None:
    out, rows = tokenized(tmp_path, pack=600)
    row = next(row for row in rows if row["position_ids"].count(0) > 1)
    config = {"pad_mode": "no_padding", "truncation": "left"}
    length = len(row["labels"]) - 2
    made = TokenizedDataset(str(out), config={**config, "max_length": length})
    positions = made[rows.index(row)]["position_ids"].tolist()
    second = row["position_ids"].index(0, 1) - 2
    assert positions[:second] == list(range(second))
    assert positions[second:] == row["position_ids"][second + 2 :]


def test_the_first_token_of_an_example_is_not_trained(tmp_path: Path) -> None:
    out = tmp_path / "rows.parquet"
    row = {"input_ids": [5, 6, 7, 8], "labels": [5, 6, 7, 8], "position_ids": [0, 1, 0, 1]}
    pq.write_table(pa.table({name: [values] for name, values in row.items()}), out)
    made = TokenizedDataset(str(out), config={"pad_mode": "no_padding"})
    assert made[0]["loss_mask"].tolist() == [0, 1, 0, 1]


def test_some_of_the_rows(tmp_path: Path) -> None:
    out, rows = tokenized(tmp_path)
    config = {"pad_mode": "no_padding", "shuffle": True, "seed": 3}
    some = [TokenizedDataset(str(out), config=config, max_samples=2) for _ in range(2)]
    drawn = [[one[at]["input_ids"].tolist() for at in range(len(one))] for one in some]
    assert drawn[0] == drawn[1] and len(drawn[0]) == 2
    assert all(ids in [row["input_ids"] for row in rows] for ids in drawn[0])


def test_other_files_and_settings_are_refused(tmp_path: Path) -> None:
    out, _ = tokenized(tmp_path)
    with pytest.raises(OptionError, match="pad_mode"):
        TokenizedDataset(str(out), config={"pad_mode": "left_right"})
    other = tmp_path / "other.parquet"
    pq.write_table(pq.read_table(out).select(["input_ids"]), other)
    with pytest.raises(OptionError, match="no column labels"):
        TokenizedDataset(str(other))
    with pytest.raises(OptionError, match="no files"):
        TokenizedDataset([])
