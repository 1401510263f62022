"""A killed `templc tokenize` goes on where it stopped: nothing lost, nothing twice, no process left."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from templc import Renderer
from templc.cli import tokenize
from templc.data import plan as planned
from templc.data import run as running
from templc.data.files import inputs
from templc.data.output import rejected_of
from templc.data.plan import Plan
from templc.data.settings import DataError
from tests.support.chats import chat, json_lines
from tests.test_data import make

ROOT = Path(__file__).parents[1]
ROWS, BAD = 5600, {"messages": []}


def command(data: Path, out: Path) -> list[str]:
    given = f"-m templc tokenize qwen3_instruct {data} -o {out} --workers 2"
    return [sys.executable, *given.split()]


@contextmanager
def started(data: Path, out: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A run in a group of its own, of which nothing is left in the end."""
    quiet = subprocess.DEVNULL
    with subprocess.Popen(
        command(data, out), cwd=ROOT, start_new_session=True, stdout=quiet, stderr=quiet
    ) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def until(true: Callable[[], Any], seconds: float = 30) -> None:
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
    data, out = json_lines(tmp_path / "chats.jsonl", rows), tmp_path / "out"
    parts = tmp_path / "out.parts"
    with started(data, out) as first:
        until(lambda: len(list(parts.glob("part-*.parquet"))) >= 2)
        first.send_signal(signal.SIGKILL)
        first.wait()
        until(lambda: gone(first.pid))
    kept = {path.name: path.stat().st_mtime_ns for path in parts.glob("part-*.parquet")}
    assert 2 <= len(kept) < ROWS // 512 and not out.exists()
    with started(data, out) as again:
        assert again.wait(60) == 1
    assert {name: (out / name).stat().st_mtime_ns for name in kept} == kept
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

    slices = planned.slices
    monkeypatch.setattr(planned, "slices", counted)
    plan = Plan(inputs(data), tmp_path / "out.parquet", make, workers=1, rows=2)
    running.run(plan, told)
    assert (read, landed) == (20, 20) and most <= running.WAITING + 1
    read = landed = most = 0
    running.run(replace(plan, workers=2, overwrite=True), told)
    assert (read, landed) == (20, 20) and most <= 2 * running.WAITING + 1


def dies() -> Renderer:
    """Whoever makes a renderer in another process is killed, as the system does for want of memory."""
    if multiprocessing.parent_process() is not None:
        os.kill(os.getpid(), signal.SIGKILL)
    return make()


def test_a_killed_process_is_told_and_its_slice_made_later(tmp_path: Path) -> None:
    data = json_lines(tmp_path / "chats.jsonl", [chat(number) for number in range(9)])
    plan = Plan(inputs(data), tmp_path / "out.parquet", dies, workers=2, rows=2)
    with pytest.raises(
        DataError, match=r"a process was killed.*\n  help: the same command goes on"
    ):
        running.run(plan)
    assert running.run(replace(plan, workers=1)).rows == 9
    assert pq.read_table(plan.out).column("source_row").to_pylist() == list(range(1, 10))


def test_a_terminal_shows_rate_and_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tokenize, "is_terminal", lambda stream: True)
    with tokenize.bar(1000) as told:
        told(250, 1)
        told(250, 2)
    shown = capsys.readouterr().err
    assert "tokenizing" in shown and "50%" in shown and "3 rows, " in shown and "a second" in shown
