"""What goes wrong with a real service ends in one message within 15 seconds, and the run goes on afterwards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from templc.recipes import multi_turn_rl
from templc.recipes.connect import Service, connect
from templc.recipes.serving import Server, running
from templc.recipes.trouble import ServiceError
from tests.server.conftest import PLAN


@contextmanager
def soon(seconds: float = 15) -> Iterator[None]:
    """What is in it takes no longer than that."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < seconds


def test_a_model_that_is_not_served_is_refused(server: Server, tmp_path: Path) -> None:
    with soon(), pytest.raises(ServiceError) as caught:
        connect(server.url, "Qwen/Qwen3-0.7B", tmp_path)
    assert str(caught.value) == (
        f"{server.url} does not serve the model Qwen/Qwen3-0.7B\n  help: it serves {server.model}"
    )


def test_a_wrong_key_is_refused(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINKER_API_KEY", "sk-wrong")
    with soon(), pytest.raises(ServiceError) as caught:
        connect(server.url, server.model, tmp_path)
    assert str(caught.value).startswith(
        f"signing in at {server.url} failed: The api_key must start with"
    )
    assert "help: set MINT_API_KEY to your key" in str(caught.value)


def test_samples_that_do_not_come_are_given_up(
    service: Service, server: Server, tmp_path: Path
) -> None:
    known = running(server.folder)
    assert known is not None
    [engine] = psutil.Process(known["pid"]).children()
    hasty = replace(service, patience=4.0)
    sampler = service.wait("saving", service.training.save_weights_and_get_sampling_client)
    engine.suspend()
    try:
        with (
            soon(),
            pytest.raises(
                ServiceError, match="sampling gave no answer within 4 seconds\n  help: the run can"
            ),
        ):
            multi_turn_rl.rollout(hasty, sampler, PLAN, seed=1)
    finally:
        engine.resume()
    assert len(multi_turn_rl.rollout(service, sampler, PLAN, seed=1)) == PLAN.group_size


def command(server: Server, folder: Path) -> list[str]:
    flags = {
        "--base-url": server.url, "--base-model": server.model, "--rank": 8, "--warm-up": 0, "--steps": 3,
        "--turns": PLAN.turns, "--group-size": 16, "--folder": folder,
    }  # fmt: skip
    words = [str(word) for pair in flags.items() for word in pair]
    return [sys.executable, "-m", "templc.recipes.multi_turn_rl", *words]


def steps(folder: Path) -> list[str]:
    path = folder / "metrics.jsonl"
    return path.read_text().splitlines() if path.exists() else []


def test_a_server_that_dies_ends_the_run_which_goes_on_with_the_next_server(
    server: Server, tmp_path: Path
) -> None:
    told = tmp_path / "told"
    with told.open("w") as file:
        run = subprocess.Popen(command(server, tmp_path), stderr=file, stdout=subprocess.DEVNULL)
    limit = time.monotonic() + 120
    while not steps(tmp_path) and run.poll() is None and time.monotonic() < limit:
        time.sleep(0.1)
    first = steps(tmp_path)
    server.kill()
    with soon():
        assert run.wait(60) == 1, told.read_text()
    said = told.read_text()
    assert said.count("error: ") == 1 and "Traceback" not in said
    assert (
        f"the server at {server.url} has gone: " in said and "help: the run can be resumed" in said
    )

    serve = [sys.executable, "-m", "templc.recipes.server", "--folder", str(server.folder)]
    again = [
        "--port",
        server.port,
        "--base-model",
        server.model,
        "--adapters",
        6,
        "--rank",
        8,
        "--detach",
    ]
    started = subprocess.run(
        [*serve, *map(str, again)], capture_output=True, text=True, timeout=240
    )
    assert started.returncode == 0 and f"seconds: {server.url}\n" in started.stdout, started.stderr
    known = running(server.folder)
    assert known is not None
    try:
        done = subprocess.run(
            command(server, tmp_path), capture_output=True, text=True, timeout=240
        )
        assert done.returncode == 0, done.stderr
        rows = [json.loads(line) for line in steps(tmp_path)]
        assert [row["step"] for row in rows] == [0, 1, 2] and steps(tmp_path)[: len(first)] == first
        assert max(row["gap"] for row in rows) < 1e-4
    finally:
        stopped = subprocess.run([*serve, "--stop"], capture_output=True, text=True, timeout=60)
    assert stopped.stdout == f"stopped {server.url}\n"
    with pytest.raises(ProcessLookupError):
        os.killpg(known["pid"], signal.SIGTERM)
    with soon(), pytest.raises(ServiceError, match="no server answers at "):
        connect(server.url, server.model, tmp_path)
