"""One run of a recipe in a folder: metrics, picture, checkpoint, progress, and a clean end.

    run = Run(folder, service, steps=8)
    for step in run.remaining():
        ...
        run.finished(step, {"reward": 0.5, "tokens": 800, "loss": -0.1})

`metrics.jsonl` has one line a step, `progress.svg` is drawn from it, `checkpoint.json` names the last saved state. A
run in a folder with a checkpoint goes on behind it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from templc.recipes.connect import PATIENCE, Service
from templc.recipes.picture import chart
from templc.runtime.errors import TemplcError


class Run:
    """The folder of a run, resumed where it stopped."""

    def __init__(self, folder: Path, service: Service, steps: int) -> None:
        self.folder, self.service, self.steps = folder, service, steps
        folder.mkdir(parents=True, exist_ok=True)
        self.done = 0
        point = folder / "checkpoint.json"
        if point.exists():
            known = json.loads(point.read_text(encoding="utf-8"))
            load = service.training.load_state_with_optimizer
            service.wait("loading the checkpoint", lambda: load(known["path"]).result())
            self.done = known["step"] + 1
        self.rows = self._kept_rows()
        self._console = Console(stderr=True)

    def _kept_rows(self) -> list[dict[str, Any]]:
        path = self.folder / "metrics.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [row for row in map(json.loads, lines) if row["step"] < self.done]

    def remaining(self) -> Iterator[int]:
        """The steps that are still to be done, with a progress display."""
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, TimeElapsedColumn(), console=self._console) as progress:
            task = progress.add_task("training", total=self.steps, completed=self.done)
            for step in range(self.done, self.steps):
                yield step
                progress.advance(task)

    def finished(self, step: int, metrics: dict[str, Any]) -> None:
        """Write down a step and save the state behind it; the checkpoint is the last thing to change."""
        # A service takes a name only once, also from a run that was stopped behind it.
        save, name = self.service.training.save_state, f"step-{step}-{time.time_ns() // 10**6}"
        saved = self.service.wait("saving the state", lambda: save(name).result())
        self.rows.append({"step": step, **metrics})
        lines = "".join(json.dumps(row) + "\n" for row in self.rows)
        _replace(self.folder / "metrics.jsonl", lines)
        series = {name: [row[name] for row in self.rows] for name in ("reward", "tokens", "loss")}
        _replace(self.folder / "progress.svg", chart(series, "step"))
        _replace(self.folder / "checkpoint.json", json.dumps({"step": step, "path": saved.path}))
        shown = "  ".join(f"{name} {value:.4g}" for name, value in metrics.items())
        self._console.print(f"step {step}  {shown}", highlight=False, soft_wrap=True)


def _replace(path: Path, text: str) -> None:
    draft = path.with_name(path.name + ".draft")
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, path)


def ended(work: Callable[[], None]) -> None:
    """Run a recipe to one of its ends: 0 done, 1 with one message, 130 stopped by Ctrl-C."""
    try:
        work()
    except KeyboardInterrupt:
        click.echo("stopped; the same command goes on from the last checkpoint", err=True)
        sys.exit(130)
    except TemplcError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(1)


def options(command: Callable[..., None]) -> Callable[..., None]:
    """The flags that every recipe has."""
    for option in reversed((
        click.option("--base-url", default="local", help="a service, or `local`: this process"),
        click.option("--base-model", default="tiny", help="hub name, folder, or `tiny`"),
        click.option("--format", "name", default="qwen3_instruct", help="of the conversation"),
        click.option("--rank", default=16, help="of the adapter"),
        click.option("--learning-rate", default=4e-3, help="of the optimiser"),
        click.option("--patience", default=PATIENCE, help="seconds to wait for an answer"),
        click.option("--folder", type=click.Path(path_type=Path), default=Path("run")),
    )):  # fmt: skip
        command = option(command)
    return command
