"""Data sets on Ray: rows, order and ids are those of a run on this machine, also where workers are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from templc.cli.tokenize import bound
from templc.data import ray as on_ray
from templc.data.files import inputs
from templc.data.output import rejected_of
from templc.data.plan import Plan
from templc.data.run import run
from templc.data.settings import DataError
from tests.support.chats import chat, json_lines
from tests.test_data import make

ROOT = Path(__file__).parents[1]
WORKER = b"ray::MapWorker(MapBatches(_Parts))"
SECONDS = 120
ROWS = 12_000

# Each runs in a process of its own: Ray starts threads and processes that a test run should not keep.
BATCHES = """
import json, sys
import ray
from templc.data import columns_of
from templc.data.ray import tokenized
from tests.support.chats import chat
from tests.test_data import make

ray.init(num_cpus=3, logging_level="ERROR", log_to_driver=False)
rows = [{"messages": chat(number)} for number in range(1300)]
given = ray.data.from_items(rows, override_num_blocks=5)
found = tokenized(given, make, workers=2).take_all()
wanted = columns_of(make())({name: [row[name] for row in rows] for name in rows[0]})
for name, values in wanted.items():
    assert [list(map(int, row[name])) for row in found] == values, name
print(len(found))
"""


def started(*arguments: str) -> subprocess.Popen[str]:
    given = {"RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        (sys.executable, *arguments),
        cwd=ROOT,
        env={**os.environ, **given},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@contextmanager
def ended(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """The process, of whose group nothing is left in the end."""
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def workers(group: int) -> list[int]:
    """The processes of a run that make parts: Ray names them so."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            if (entry / "cmdline").read_bytes().startswith(WORKER) and _session(entry) == group:
                found.append(int(entry.name))
    return found


def _session(entry: Path) -> int:
    return int((entry / "stat").read_text().rpartition(")")[2].split()[3])


def test_a_run_is_the_same_although_a_worker_is_killed(tmp_path: Path) -> None:
    rows: list[Any] = [chat(number) for number in range(ROWS)]
    rows[10] = rows[ROWS - 10] = {"messages": []}
    data, here, there = (
        json_lines(tmp_path / "chats.jsonl", rows),
        tmp_path / "a.parquet",
        tmp_path / "b.parquet",
    )
    run(Plan(inputs(data), here, partial(bound, "qwen3_instruct", None, (), "refuse"), workers=1))
    given = f"-m templc tokenize qwen3_instruct {data} -o {there} --engine ray --workers 2"
    with ended(started(*given.split())) as process:
        end = time.monotonic() + SECONDS
        while not any(tmp_path.glob("b.parquet.parts/part-*.parquet")):
            assert process.poll() is None and time.monotonic() < end, process.communicate()
            time.sleep(0.02)
        killed = workers(process.pid)
        assert killed
        os.kill(killed[0], signal.SIGKILL)
        out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 1 and "2 rows are in" in err, err
    assert f"{ROWS:,}   2 set aside" in out
    assert pq.read_table(there).equals(pq.read_table(here))
    assert rejected_of(there).read_bytes() == rejected_of(here).read_bytes()


def test_batches_of_a_data_set_are_those_of_one_machine() -> None:
    with ended(started("-c", BATCHES)) as process:
        out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, out) == (0, "1300\n"), err


def test_what_stops_a_run_is_told_as_on_one_machine(tmp_path: Path) -> None:
    data = json_lines(tmp_path / "chats.jsonl", [chat(0), {"messages": []}])
    given = f"-m templc tokenize qwen3_instruct {data} -o {tmp_path / 'o.parquet'} --engine ray --on-error stop"
    with ended(started(*given.split())) as process:
        _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 2
    assert f"error: {data}: row 2: `messages` is empty" in err


def test_without_ray_the_cure_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(DataError, match=r"templc\[ray\]"):
        on_ray.tokenized(None, make)
    data = json_lines(tmp_path / "chats.jsonl", [chat(0)])
    with pytest.raises(DataError, match=r"templc\[ray\]"):
        run(Plan(inputs(data), tmp_path / "o.parquet", make, engine="ray"))
