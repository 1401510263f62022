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
from typing import Any

import psutil
import pytest

from templc.recipes import multi_turn_rl
from templc.recipes.connect import Service, connect
from templc.recipes.run import Run
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


def module(name: str, flags: dict[str, object]) -> list[str]:
    """The command line of a recipe."""
    words = [str(word) for pair in flags.items() for word in pair]
    return [sys.executable, "-m", f"templc.recipes.{name}", *words]


def steps(folder: Path) -> list[str]:
    return (folder / "metrics.jsonl").read_text().splitlines()


def go_on(server: Server, folder: Path) -> subprocess.CompletedProcess[str]:
    """The recipe in a process of its own, up to the second step of the run in a folder."""
    where = {"--base-url": server.url, "--base-model": server.model, "--folder": folder}
    size = {"--rank": 8, "--turns": PLAN.turns, "--group-size": PLAN.group_size, "--steps": 2}
    recipe = module("multi_turn_rl", {**where, **size, "--warm-up": 0})
    return subprocess.run(recipe, capture_output=True, text=True, timeout=240)


def test_a_server_that_dies_ends_the_run_which_goes_on_with_the_next_server(
    service: Service, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    died: list[float] = []
    finished = Run.finished

    def then_die(run: Run, step: int, metrics: dict[str, Any]) -> None:
        finished(run, step, metrics)
        server.kill()
        died.append(time.monotonic())

    monkeypatch.setattr(Run, "finished", then_die)
    with pytest.raises(ServiceError) as caught:
        multi_turn_rl.learn(service, PLAN, tmp_path, 2)
    assert time.monotonic() - died[0] < 15
    assert f"the server at {server.url} has gone: " in str(caught.value)
    assert "help: the run can be resumed" in str(caught.value)
    first = steps(tmp_path)

    limits = {"--adapters": 3, "--rank": 8, "--port": server.port}
    serve = module("server", {"--folder": server.folder, "--base-model": server.model, **limits})
    started = subprocess.run([*serve, "--detach"], capture_output=True, text=True, timeout=240)
    assert started.returncode == 0 and f"seconds: {server.url}\n" in started.stdout, started.stderr
    known = running(server.folder)
    assert known is not None
    try:
        done = go_on(server, tmp_path)
        assert done.returncode == 0, done.stderr
        rows = [json.loads(line) for line in steps(tmp_path)]
        assert [row["step"] for row in rows] == [0, 1] and steps(tmp_path)[:1] == first
        assert max(row["gap"] for row in rows) < 1e-4
    finally:
        stopped = subprocess.run([*serve, "--stop"], capture_output=True, text=True, timeout=60)
    assert stopped.stdout == f"stopped {server.url}\n"
    with pytest.raises(ProcessLookupError):
        os.killpg(known["pid"], signal.SIGTERM)
    with soon(), pytest.raises(ServiceError, match="no server answers at "):
        connect(server.url, server.model, tmp_path)
