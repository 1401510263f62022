"""`templc tokenize`: every row arrives once, as `supervised` has it, whatever it is read from."""

from __future__ import annotations

import csv
import functools
import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from templc import Renderer, TokenizerError, get_renderer
from templc.cli.tokenize import bound
from templc.data import Settings
from templc.data.counts import Counts
from templc.data.files import inputs, slices
from templc.data.output import rejected_of
from templc.data.plan import Plan
from templc.data.rows import length
from templc.data.run import run
from templc.data.settings import DataError
from templc.demo import vocabulary
from tests.support.chats import chat, json_lines
from tests.support.cli import Run, runner

TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}
make = functools.partial(bound, "qwen3", None, (), "refuse")


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


def renderer() -> Renderer:
    return get_renderer("qwen3", vocabulary("qwen3"))


def expected(chats: list[Any], **options: Any) -> list[dict[str, list[int]]]:
    return [t.columns() for messages in chats for t in renderer().supervised(messages, **options)]


def columns(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return found


def ids(rows: list[dict[str, Any]]) -> list[list[int]]:
    return [row["input_ids"] for row in rows]


def done(data: Path, out: Path, **plan: Any) -> Counts:
    return run(Plan(inputs(data), out, **{"make": make, "workers": 1, **plan}))


def set_aside(out: Path) -> list[tuple[str, int, str]]:
    lines = rejected_of(out).read_text(encoding="utf-8").splitlines()
    return [(Path(r["file"]).name, r["row"], r["reason"]) for r in map(json.loads, lines)]


# reading


def test_json_lines_become_the_columns_of_supervised(cli: Run, tmp_path: Path) -> None:
    chats = [chat(number, 1 + number % 3) for number in range(9)]
    data = json_lines(tmp_path / "chats.jsonl", [{"messages": messages} for messages in chats])
    out = tmp_path / "new" / "out.parquet"
    status, told, _ = cli("tokenize", "qwen3", str(data), "-o", str(out))
    assert status == 0
    rows = columns(out)
    names = ("input_ids", "labels", "attention_mask", "assistant_masks")
    assert [{name: row[name] for name in names} for row in rows] == expected(chats)
    assert {row["source_file"] for row in rows} == {str(data)}
    trained = sum(label != -100 for row in rows for label in row["labels"])
    tokens = sum(map(len, ids(rows)))
    assert f"{tokens:,}   {trained / tokens:.1%} trained" in told and "0 set aside" in told
    assert [path.name for path in out.parent.iterdir()] == ["out.parquet"]


def test_a_row_may_give_several_examples(tmp_path: Path) -> None:
    thought = [
        {"role": role, "content": text, **({"reasoning_content": "so"} if role[0] == "a" else {})}
        for role, text in [("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "d")]
    ]
    data = json_lines(tmp_path / "chats.jsonl", [thought, chat(1)])
    counts = done(data, tmp_path / "out.parquet")
    rows = columns(tmp_path / "out.parquet")
    assert ids(rows) == [row["input_ids"] for row in expected([thought, chat(1)])]
    assert [row["source_row"] for row in rows] == [1, 1, 2]
    assert (counts.rows, counts.examples) == (2, 3)


def test_every_kind_of_file_gives_the_same_rows(tmp_path: Path) -> None:
    chats = [chat(number) for number in range(5)]
    with (tmp_path / "a.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["messages"], *([json.dumps(one)] for one in chats)])
    packed = json_lines(tmp_path / "b.jsonl", ({"conversations": one} for one in chats))
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(packed.read_bytes()))
    packed.unlink()
    (tmp_path / "deep").mkdir()
    pq.write_table(pa.table({"messages": chats, "other": range(5)}), tmp_path / "deep/c.parquet")
    (tmp_path / "README.md").write_text("not data")
    counts = done(tmp_path, tmp_path.with_name("all.parquet"), rows=2)
    rows = columns(tmp_path.with_name("all.parquet"))
    assert ids(rows) == [row["input_ids"] for row in expected(chats)] * 3
    assert [row["source_row"] for row in rows] == [1, 2, 3, 4, 5] * 3
    assert (counts.rows, counts.rejected) == (15, 0)


def test_tools_of_a_row_are_declared(tmp_path: Path) -> None:
    rows = [{"messages": chat(1), "tools": [TOOL]}, {"messages": chat(1), "tools": None}]
    done(json_lines(tmp_path / "c.jsonl", rows), tmp_path / "out.parquet")
    with_tool, without = ids(columns(tmp_path / "out.parquet"))
    assert with_tool == expected([chat(1)], tools=[TOOL])[0]["input_ids"]
    assert without == expected([chat(1)])[0]["input_ids"]


def test_reading_is_lazy(tmp_path: Path) -> None:
    data = json_lines(tmp_path / "chats.jsonl", [chat(number) for number in range(3)])
    with data.open("ab") as file:
        file.truncate(1 << 40)
    found = slices(inputs(data), (), 2)
    first = next(found)
    found.close()
    assert (first.first, first.size) == (1, sum(len(json.dumps(chat(n))) + 1 for n in range(2)))


def test_long_rows_of_parquet_make_short_slices(tmp_path: Path) -> None:
    texts = [str(number) * (1 << 20) for number in range(10)]
    pq.write_table(
        pa.table({"messages": texts}),
        tmp_path / "c.parquet",
        compression=None,
        use_dictionary=False,
    )
    found = [(part.first, length(part.rows)) for part in slices(inputs(tmp_path), ())]
    assert found == [(1, 7), (8, 3)]


def test_a_cut_off_archive_is_told(tmp_path: Path) -> None:
    data = tmp_path / "chats.jsonl.gz"
    data.write_bytes(gzip.compress(json.dumps(chat(1)).encode() * 99)[:-9])
    with pytest.raises(DataError, match="is not whole: "):
        done(data, tmp_path / "out.parquet")


# rows that are set aside


BAD = [
    (b'{"messages": [', "not JSON: "),
    (b'{"text": "hi"}', "the row has no `messages`"),
    (b'{"messages": []}', "`messages` is empty"),
    (b'{"messages": "[1"}', "`messages` is not JSON: "),
    (b'{"messages": 7}', "`messages` is not a list"),
    (b"\xff", "not UTF-8 at byte 0 of the line"),
    (b'[{"role": "wizard", "content": "hi"}]', "message 0, role: qwen3 has no role `wizard`"),
    (b'[{"role": "user", "content": "hi"}, 3]', "message 1: a value of type int is not a message"),
    (b"null", "the row is null"),
    (b'[{"role": "user", "content": "\\ud800"}]', "message 0, content: text holds a lone surr"),
]


def test_bad_rows_are_set_aside_with_reason_and_row(cli: Run, tmp_path: Path) -> None:
    good = json.dumps(chat(1)).encode()
    data = tmp_path / "chats.jsonl"
    data.write_bytes(b"\n".join([good, b"", *(line for line, _ in BAD), good]))
    out = tmp_path / "out.parquet"
    status, told, noted = cli("tokenize", "qwen3", str(data), "-o", str(out), "--workers", "1")
    assert status == 1 and f"{len(BAD)} rows are in {rejected_of(out)}" in noted
    assert f"{len(BAD)} set aside" in told
    found = set_aside(out)
    assert [(file, row) for file, row, _ in found] == [
        ("chats.jsonl", row) for row in range(3, 3 + len(BAD))
    ]
    assert all(why.startswith(start) for (_, _, why), (_, start) in zip(found, BAD, strict=True))
    assert [row["source_row"] for row in columns(out)] == [1, 3 + len(BAD)]


def test_a_bad_row_stops_the_run_where_asked(cli: Run, tmp_path: Path) -> None:
    data = json_lines(tmp_path / "chats.jsonl", [chat(1), {"messages": []}])
    out = tmp_path / "out.parquet"
    status, _, err = cli("tokenize", "qwen3", str(data), "-o", str(out), "--on-error", "stop")
    assert status == 2 and f"{data}: row 2: `messages` is empty" in err
    assert not out.exists()


def test_a_csv_record_of_another_length_is_set_aside(tmp_path: Path) -> None:
    data = tmp_path / "chats.csv"
    data.write_text('messages,n\n"[{""role"": ""user"", ""content"": ""hi""}]",1\nx\n')
    counts = done(data, tmp_path / "out.parquet")
    assert (counts.rows, counts.rejected) == (2, 1)
    assert set_aside(tmp_path / "out.parquet") == [
        ("chats.csv", 2, "the record has 1 fields, the header 2")
    ]


def test_weights_need_their_column(tmp_path: Path) -> None:
    messages = chat(1)
    messages[1]["weight"] = 0.5
    data = json_lines(tmp_path / "chats.jsonl", [messages])
    done(data, tmp_path / "a.parquet")
    assert "has the weight 0.5" in set_aside(tmp_path / "a.parquet")[0][2]
    done(data, tmp_path / "b.parquet", settings=Settings(weights=True))
    assert set(columns(tmp_path / "b.parquet")[0]["weights"]) == {0.0, 0.5}


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("none.jsonl", None, "there is no file"),
        ("chats.txt", "hi", "is of no kind that is read"),
        ("bad.parquet", "hi", "is not readable as Parquet"),
        ("bad.jsonl.gz", "hi", "is not whole: Not a gzipped file"),
        ("bad.csv", 'a\n"b"c', "not CSV"),
        ("empty.jsonl", "", "the input has no rows"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, name: str, text: str | None, why: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=why):
        done(tmp_path / name, tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()


# the output


def test_parts_in_a_folder_have_a_manifest(tmp_path: Path) -> None:
    chats = [chat(number) for number in range(7)]
    data = json_lines(tmp_path / "chats.jsonl", chats)
    counts = done(data, tmp_path / "out", rows=3)
    manifest = json.loads((tmp_path / "out" / "_manifest.json").read_bytes())
    assert [part["rows"] for part in manifest["parts"]] == [3, 3, 1]
    assert Counts.from_json(json.dumps(manifest["counts"])) == counts
    assert ids(columns(tmp_path / "out")) == [row["input_ids"] for row in expected(chats)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["chats.jsonl", "out"]


def test_an_output_that_is_there_is_replaced_only_when_asked(tmp_path: Path) -> None:
    data, out = json_lines(tmp_path / "chats.jsonl", [chat(1), {}]), tmp_path / "out.parquet"
    done(data, out)
    with pytest.raises(DataError, match=r"out.parquet exists\n  help: .*--overwrite"):
        done(data, out)
    json_lines(data, [chat(2)])
    done(data, out, overwrite=True)
    assert ids(columns(out)) == [expected([chat(2)])[0]["input_ids"]]
    assert not rejected_of(out).exists()


def test_parts_of_another_run_are_not_mixed_in(tmp_path: Path) -> None:
    data, out = json_lines(tmp_path / "c.jsonl", [chat(1), {}]), tmp_path / "out.parquet"
    stop = Settings(on_error="stop")
    with pytest.raises(DataError, match="row 2"):
        done(data, out, settings=stop, rows=1)
    assert (tmp_path / "out.parquet.parts" / "part-000000.parquet").is_file()
    with pytest.raises(DataError, match="parts of another run: other settings"):
        done(data, out, rows=1)
    shutil.copy(data, tmp_path / "same.jsonl")
    json_lines(data, [chat(3)])
    with pytest.raises(DataError, match="other input"):
        done(data, out, settings=stop, rows=1)
    done(data, out, settings=stop, rows=1, overwrite=True)
    assert ids(columns(out)) == [expected([chat(3)])[0]["input_ids"]]


def test_two_runs_at_once_do_not_mix(tmp_path: Path) -> None:
    data, out = (
        json_lines(tmp_path / "c.jsonl", [chat(n) for n in range(3)]),
        tmp_path / "o.parquet",
    )
    found: list[str] = []

    def told(size: int, rows: int) -> None:
        for overwrite in (False, True):
            with pytest.raises(DataError) as error:
                done(data, out, overwrite=overwrite, rows=1)
            found.append(error.value.message)

    run(Plan(inputs(data), out, make, workers=1, rows=1), told)
    assert len(found) == 6 and all("another run is at work in" in text for text in found)
    assert len(columns(out)) == 3


def test_parts_of_another_tokenizer_are_not_mixed_in(tmp_path: Path) -> None:
    data, out = json_lines(tmp_path / "c.jsonl", [chat(1), {}]), tmp_path / "out.parquet"
    stop = Settings(on_error="stop")
    with pytest.raises(DataError, match="row 2"):
        done(data, out, settings=stop)
    other = functools.partial(get_renderer, "qwen3", vocabulary("kimi-k2-thinking"))
    with pytest.raises(TokenizerError):
        done(data, out, settings=stop, make=other)
    with pytest.raises(DataError, match="parts of another run: other format, tokenizer"):
        done(
            data,
            out,
            settings=stop,
            make=functools.partial(get_renderer, "glm4_5", vocabulary("glm4.5")),
        )
