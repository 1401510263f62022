"""A SkyRL server as a child process: on the CPU and the loopback device, with its files in a folder.

    with Server(Path("server"), model) as server:          # ServerError with the end of its log where it fails
        connect(server.url, server.model, Path("run"))

SkyRL pins other versions of many packages, so its interpreter may be another one than ours.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from templc.runtime.errors import TemplcError

SKYRL = "0.3.0"
INSTALL = (
    f'python3 -m venv skyrl && skyrl/bin/pip install torch==2.13.0 "skyrl[tinker,jax]=={SKYRL}", '
    "then --python skyrl/bin/python"
)
LAUNCHER = Path(__file__).with_name("skyrl_launcher.py")
STARTING, STOPPING = 180.0, 10.0
# Losses are padded to whole chunks of logits, and samples to whole batches, so that few shapes are compiled.
CHUNK, BATCH = 64, 16


class ServerError(TemplcError):
    """A server that cannot be started."""


@dataclass(frozen=True)
class Limits:
    """adapters: training clients at a time. rank: the largest of an adapter. idle: seconds until one is freed."""

    adapters: int = 8
    rank: int = 32
    idle: int = 60


class Server:
    """A server with its files in a folder: log, database, checkpoints, compiled programs. All but the log are kept."""

    def __init__(
        self,
        folder: Path,
        model: str,
        *,
        port: int = 0,
        python: str = sys.executable,
        limits: Limits | None = None,
        detached: bool = False,
    ) -> None:
        self.folder, self.model, self.port = folder.resolve(), model, port or _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._python, self._limits, self._detached = python, limits or Limits(), detached
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """What the server and its engine have said since the start."""
        return self.folder / "server.log"

    @property
    def database(self) -> Path:
        """SQLite: every request as it came in, with its result."""
        return self.folder / "requests.db"

    def start(self, patience: float = STARTING) -> None:
        """Start it and wait until its model is loaded. ServerError where something is missing or it does not start."""
        check(self._python)
        if known := running(self.folder):
            raise ServerError(
                f"a server runs in {self.folder} already: {known['url']}", help="--stop ends it"
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        ready = self.folder / "ready"
        ready.unlink(missing_ok=True)
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [self._python, "-P", str(LAUNCHER), "api", json.dumps(self._settings(ready))],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self._environment(), start_new_session=True,
            )  # fmt: skip
        state_file(self.folder).write_text(json.dumps({"pid": self._process.pid, "url": self.url}))
        try:
            self._await(ready, patience)
        except BaseException:
            self.stop()
            raise

    def wait(self) -> int:
        """Wait until it ends by itself; its status."""
        assert self._process is not None
        return self._process.wait()

    def stop(self) -> None:
        """End server and engine, by force after ten seconds."""
        if self._process is not None:
            end(self._process.pid, self._process)
        state_file(self.folder).unlink(missing_ok=True)

    def kill(self) -> None:
        """End server and engine at once, as a crash would."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        state_file(self.folder).unlink(missing_ok=True)

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    # inside

    def _await(self, ready: Path, patience: float) -> None:
        assert self._process is not None
        limit = time.monotonic() + patience
        while not ready.exists():
            if (status := self._process.poll()) is not None:
                raise ServerError(f"the server ended with status {status}:\n{self._last_words()}")
            if time.monotonic() > limit:
                raise ServerError(
                    f"the server was not ready after {patience:.0f} seconds:\n{self._last_words()}"
                )
            time.sleep(0.1)

    def _last_words(self) -> str:
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join([*lines[-20:], f"(all of it: {self.log})"])

    def _settings(self, ready: Path) -> dict[str, Any]:
        limits = self._limits
        backend = {
            # One adapter more, for SkyRL counts the base model as one.
            "max_lora_adapters": limits.adapters + 1, "max_lora_rank": limits.rank,
            "loss_chunk_size": CHUNK, "sample_max_num_sequences": BATCH, "train_micro_batch_size": BATCH,
        }  # fmt: skip
        engine = {
            "base_model": self.model, "backend": "jax", "backend_config": backend,
            "checkpoints_base": str(self.folder / "checkpoints"), "database_url": f"sqlite:///{self.database}",
            "session_timeout_sec": limits.idle, "session_cleanup_interval_sec": 10,
        }  # fmt: skip
        parent = 0 if self._detached else os.getpid()
        return {"port": self.port, "ready": str(ready), "parent": parent, "engine": engine}

    def _environment(self) -> Mapping[str, str]:
        known = {"JAX_PLATFORMS": "cpu", "JAX_COMPILATION_CACHE_DIR": str(self.folder / "compiled")}
        known |= {
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        }
        if Path(self.model).is_dir():
            known["HF_HUB_OFFLINE"] = "1"
        return {**known, **os.environ}


def check(python: str) -> None:
    """ServerError with what is missing unless this interpreter can run the server."""
    try:
        done = subprocess.run(
            [python, "-P", str(LAUNCHER), "missing"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise ServerError(f"{python} cannot be run: {error}", help=INSTALL) from error
    found = json.loads(done.stdout)
    if found["absent"]:
        raise ServerError(
            f"the server needs {', '.join(found['absent'])}, which {python} lacks", help=INSTALL
        )
    if found["skyrl"] != SKYRL:
        raise ServerError(f"{python} has skyrl {found['skyrl']}, this starts {SKYRL}", help=INSTALL)


def running(folder: Path) -> dict[str, Any] | None:
    """pid and url of the server in a folder, None where none runs."""
    try:
        known: dict[str, Any] = json.loads(state_file(folder).read_text())
        # Another process may have got its number since, but that leads no group of this name.
        return known if os.getpgid(known["pid"]) == known["pid"] else None
    except (OSError, ValueError, KeyError):
        return None


def end(pid: int, process: subprocess.Popen[bytes] | None = None) -> None:
    """Ask the process group to end, then end it."""
    for sent in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(pid, sent)
            limit = time.monotonic() + STOPPING
            while time.monotonic() < limit:
                if process is not None:
                    process.poll()  # or it would stay as a zombie, which a group counts
                os.killpg(pid, 0)
                time.sleep(0.1)
        except ProcessLookupError:
            return


def state_file(folder: Path) -> Path:
    """Where a running server is written down: its pid and url."""
    return folder / "server.json"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
