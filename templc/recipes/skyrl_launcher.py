"""SkyRL's Tinker API server, or the engine behind it, in the interpreter that runs this file.

    python -P skyrl_launcher.py missing                       # the packages that are not there, as JSON
    python -P skyrl_launcher.py api SETTINGS                  # SETTINGS: `Settings` of server.py as JSON
    python -P skyrl_launcher.py engine READY_FILE FLAGS       # what the server starts

It imports nothing of templc, for SkyRL lives in an environment of its own. SkyRL 0.3.0 can only be started by `uv run`,
from which the server reads how to start its engine; here both are started by one interpreter.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import signal
import sys
import threading
import time
import typing
from pathlib import Path
from typing import Any

NEEDED = ("skyrl", "torch", "jax", "flax", "optax", "fastapi", "uvicorn", "sqlmodel", "aiosqlite")


def missing() -> dict[str, Any]:
    """absent: modules that the server needs and that are not there. skyrl: its version, None without it."""
    absent = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    version = None if "skyrl" in absent else importlib.metadata.version("skyrl")
    return {"absent": absent, "skyrl": version}


def serve(settings: dict[str, Any]) -> None:
    """Run the server until SIGTERM; the engine is its child and ends with it."""
    _fit_python()
    import uvicorn
    from skyrl.tinker import api
    from skyrl.tinker.config import EngineConfig, config_to_argv

    def command(_: list[str], config: Any) -> list[str]:
        own = [sys.executable, "-P", __file__, "engine", settings["ready"]]
        return [*own, *config_to_argv(config)]

    api._build_uv_run_cmd_engine = command
    api.app.state.engine_config = EngineConfig.model_validate(settings["engine"])
    if settings["parent"]:
        threading.Thread(target=_end_with, args=(settings["parent"],), daemon=True).start()
    uvicorn.run(
        api.app,
        host="127.0.0.1",
        port=settings["port"],
        log_level="warning",
        timeout_graceful_shutdown=2,
    )


def engine(ready: str, flags: list[str]) -> None:
    """Run the engine; `ready` is made when the model is loaded."""
    _fit_python()
    from skyrl.tinker.config import EngineConfig, add_model
    from skyrl.tinker.engine import TinkerEngine

    parser = argparse.ArgumentParser()
    add_model(parser, EngineConfig)
    made = TinkerEngine(EngineConfig.model_validate(vars(parser.parse_args(flags))))
    Path(ready).touch()
    made.run()


def _fit_python() -> None:
    """SkyRL 0.3.0 gives pydantic `typing.TypedDict`, which pydantic takes from Python 3.12 on only."""
    if sys.version_info < (3, 12):
        import typing_extensions

        setattr(typing, "TypedDict", typing_extensions.TypedDict)  # noqa: B010  # mypy knows it as a special form


def _end_with(parent: int) -> None:
    """End this process and its engine when the process that started them has gone, however it went."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    part, *rest = sys.argv[1:]
    if part == "missing":
        print(json.dumps(missing()))
    elif part == "api":
        serve(json.loads(rest[0]))
    else:
        engine(rest[0], rest[1:])
