"""A killed `templc tokenize` goes on where it stopped: nothing lost, nothing twice, no process left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from templc.data import run as running
from templc.data.files import inputs
from templc.data.output import rejected_of
from tests.support.chats import chat, json_lines
from tests.test_data import make

ROOT = Path(__file__).parents[1]
ROWS, BAD = 4600, {"messages": []}


def command(data: Path, out: Path) -> list[str]:
    given = f"-m templc tokenize qwen3_instruct {data} -o {out} --workers 2"
    return [sys.executable, *given.split()]


def started(data: Path, out: Path) -> subprocess.Popen[bytes]:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    # A group of its own, so that what is left of it can be found.
    return subprocess.Popen(command(data, out), cwd=ROOT, start_new_session=True, **quiet)


def until(true: Callable[[], Any], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.005)


def gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_killed_run_goes_on(tmp_path: Path) -> None:
    rows: list[Any] = [chat(number) for number in range(ROWS)]
    rows[10] = rows[ROWS - 10] = BAD
    data, out = json_lines(tmp_path / "chats.jsonl", rows), tmp_path / "out.parquet"
    parts = tmp_path / "out.parquet.parts"
    first = started(data, out)
    until(lambda: len(list(parts.glob("part-*.parquet"))) >= 2)
    first.send_signal(signal.SIGKILL)
    first.wait()
    until(lambda: gone(first.pid))
    kept = {path: path.stat().st_mtime_ns for path in parts.glob("part-*.parquet")}
    assert 2 <= len(kept) < ROWS // 512 and not out.exists()
    again = started(data, out)
    until(lambda: len(list(parts.glob("part-*.parquet"))) > len(kept))
    assert all(path.stat().st_mtime_ns == changed for path, changed in kept.items())
    assert again.wait(60) == 1
    found = pq.read_table(out).column("source_row").to_pylist()
    assert found == [number for number in range(1, ROWS + 1) if rows[number - 1] is not BAD]
    assert rejected_of(out).read_text().count("\n") == 2
    assert not parts.exists()


def test_few_slices_are_on_their_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = json_lines(tmp_path / "chats.jsonl", [chat(number) for number in range(40)])
    read = landed = most = 0

    def counted(*arguments: Any) -> Any:
        nonlocal read, most
        for part in slices(*arguments):
            read += 1
            most = max(most, read - landed)
            yield part

    def told(size: int, rows: int) -> None:
        nonlocal landed
        landed += 1

    slices = running.slices
    monkeypatch.setattr(running, "slices", counted)
    plan = running.Plan(inputs(data), tmp_path / "out.parquet", make, workers=1, rows=2)
    running.run(plan, told)
    assert (read, landed) == (20, 20) and most <= running.WAITING + 1
    read = landed = most = 0
    running.run(replace(plan, workers=2, overwrite=True), told)
    assert (read, landed) == (20, 20) and most <= 2 * running.WAITING + 1
