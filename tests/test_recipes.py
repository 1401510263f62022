"""The recipes: reward rises, a stopped run goes on as if it had not stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from templc.local import types
from templc.recipes import multi_turn_rl, turn_rewards
from templc.recipes.connect import Service
from templc.recipes.multi_turn_rl import Counting, Episode, Plan, centred
from templc.recipes.run import Run
from tests.support import tiny

ROOT = Path(__file__).parent.parent
SMALL = Plan(group_size=4, turns=2, warm_up=1, max_tokens=3)


def service(folder: Path) -> Service:
    client = tiny.client(folder / "weights", rank=16)
    return Service(client, client.get_tokenizer(), types)


def test_reward_rises_and_sampled_log_probabilities_are_the_trained_ones(tmp_path: Path) -> None:
    plan = Plan(group_size=16, turns=2, warm_up=30)
    rows = multi_turn_rl.learn(service(tmp_path), plan, tmp_path, 5).rows
    assert max(row["reward"] for row in rows[-2:]) > rows[0]["reward"] + 0.15
    assert max(row["gap"] for row in rows) < 1e-4
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == rows and [r["step"] for r in rows] == [*range(5)]
    assert (tmp_path / "progress.svg").read_text().count("<polyline") == 3


def test_a_run_that_is_stopped_goes_on_as_if_it_were_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(folder: Path) -> list[dict[str, Any]]:
        rows = multi_turn_rl.learn(service(folder), SMALL, folder, 2).rows
        return [{**row, "seconds": 0} for row in rows]

    whole = told(tmp_path / "whole")
    finished = Run.finished

    def stop(self: Run, step: int, metrics: dict[str, Any]) -> None:
        if step == 1:
            raise KeyboardInterrupt
        finished(self, step, metrics)

    monkeypatch.setattr(Run, "finished", stop)
    with pytest.raises(KeyboardInterrupt):
        told(tmp_path / "cut")
    monkeypatch.setattr(Run, "finished", finished)
    point = json.loads((tmp_path / "cut" / "checkpoint.json").read_text())
    assert point["step"] == 0
    assert told(tmp_path / "cut") == whole


def test_ctrl_c_in_the_middle_of_a_step_and_the_same_command_again(tmp_path: Path) -> None:
    flags = {
        "--base-model": tiny.folder(), "--folder": tmp_path, "--steps": 4, "--turns": 1, "--group-size": 8,
        "--warm-up": 1, "--format": "qwen3", "--loss": "ppo",
    }  # fmt: skip
    words = [str(word) for pair in flags.items() for word in pair]
    command = [sys.executable, "-m", "templc.recipes.multi_turn_rl", *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    metrics = tmp_path / "metrics.jsonl"
    # Whoever runs the tests in the background of a shell has Ctrl-C ignored, and passes that on.
    with subprocess.Popen(
        command,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as run:
        while not metrics.exists() and run.poll() is None:
            time.sleep(0.05)
        first = metrics.read_text().splitlines()
        run.send_signal(signal.SIGINT)
        said = run.communicate(timeout=60)[1]
    assert run.returncode == 130 and "Traceback" not in said
    assert said.rstrip().endswith("stopped; the same command goes on from the last checkpoint")
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    rows = metrics.read_text().splitlines()
    assert [json.loads(row)["step"] for row in rows] == [0, 1, 2, 3] and rows[: len(first)] == first
    assert "step 0 " not in done.stderr and "step 3 " in done.stderr


def test_ctrl_c_ends_a_run_with_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*given: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(multi_turn_rl, "connect", interrupted)
    done = CliRunner().invoke(multi_turn_rl.main, ["--folder", str(tmp_path)])
    assert done.exit_code == 130
    assert done.output == "stopped; the same command goes on from the last checkpoint\n"


def test_advantages_are_centred_in_their_group() -> None:
    rewards = [[1.0, 0.0], [0.0, 0.0], [1.0, 1.0], [1.0, 0.0]]
    episodes = [Episode(Counting(1), None, row) for row in rewards]  # type: ignore[arg-type]
    assert centred(episodes, 2) == [[0.5, 0.0], [-0.5, 0.0], [0.0, 0.5], [0.0, -0.5]]
    assert Counting(3).reward(1, " 5\n") == 1.0 and Counting(3).reward(1, "four") == 0.0


def test_the_second_recipe_has_the_counts_of_the_documents(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = service(tmp_path)
    first = turn_rewards.joined(turn_rewards.CONVERSATIONS[0], made.tokenizer)
    assert list(first) == [(13, 7), (33, 14)]
    assert sum(value for row in turn_rewards.advantages() for value in row) == pytest.approx(0.0)
    rows = turn_rewards.learn(made, Plan(loss="ppo"), tmp_path, 2).rows
    assert [row["gap"] < 1e-4 for row in rows] == [True, True]
    said = capsys.readouterr().out
    assert "13 tokens, 7 of the response joined with spaces; 22 and 8 as qwen3_instruct" in said
    assert Path(said.rsplit("weights: ", 1)[1].strip()).exists()
