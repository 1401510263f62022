"""Start and stop a SkyRL server on this machine, to train on with the recipes.

    python -m templc.recipes.server                        # a tiny random model, until Ctrl-C
    python -m templc.recipes.server --detach               # in the background; --stop ends it
    python -m templc.recipes.server --base-model Qwen/Qwen3-0.6B --python skyrl/bin/python

It listens on the loopback device only and takes any key that starts with tml-. Requests, checkpoints and compiled
programs stay in `--folder`, so a run goes on after the server was started again.
"""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

import click

from templc.recipes.run import ended
from templc.recipes.serving import Limits, Server, ServerError, check, end, running, state_file


def _model(base_model: str, folder: Path) -> str:
    """What to serve: the folder of the tiny model, which is made here, else what was asked for."""
    if base_model != "tiny":
        return str(Path(base_model).resolve()) if Path(base_model).is_dir() else base_model
    try:
        from templc.local.tiny import tiny

        return str(tiny(folder.resolve() / "tiny-model"))
    except ImportError as error:
        raise ServerError(
            f"the tiny model: {error}", help='pip install "templc[local,demo]"'
        ) from error


def _serve(server: Server, *, detached: bool) -> None:
    began = time.monotonic()
    click.echo(f"starting; the log is {server.log}", err=True)
    server.start()
    click.echo(
        f"ready after {time.monotonic() - began:.0f} seconds: {server.url}\n"
        f"  MINT_API_KEY=tml-local python -m templc.recipes.multi_turn_rl --base-url {server.url} "
        f"--base-model {server.model}"
    )
    if detached:
        return
    try:
        status = server.wait()
        raise ServerError(f"the server ended with status {status}; its log is {server.log}")
    except KeyboardInterrupt:
        click.echo("stopping", err=True)
    finally:
        server.stop()


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


@click.command()
@click.option(
    "--base-model", default="tiny", help="folder, hub name, or `tiny`: a random one is made"
)
@click.option("--folder", type=click.Path(path_type=Path), default=Path("server"))
@click.option("--port", default=0, help="0: a free one")
@click.option("--python", default=sys.executable, help="the interpreter that has SkyRL")
@click.option("--adapters", default=Limits.adapters, help="training clients at a time")
@click.option("--rank", default=Limits.rank, help="the largest of an adapter")
@click.option("--detach", is_flag=True, help="return when it is ready")
@click.option("--stop", is_flag=True, help="end the server of the folder")
def main(base_model: str, folder: Path, port: int, python: str, adapters: int, rank: int, detach: bool,
         stop: bool) -> None:  # fmt: skip
    """Run a SkyRL server that the recipes can train on."""

    def work() -> None:
        if stop:
            if (known := running(folder)) is None:
                raise ServerError(f"no server runs in {folder}")
            end(known["pid"])
            state_file(folder).unlink(missing_ok=True)
            return click.echo(f"stopped {known['url']}")
        check(python)
        # An end that is asked for stops the server too, as Ctrl-C does.
        signal.signal(signal.SIGTERM, _interrupted)
        limits, model = Limits(adapters, rank), _model(base_model, folder)
        server = Server(folder, model, port=port, python=python, limits=limits, detached=detach)
        return _serve(server, detached=detach)

    ended(work)


if __name__ == "__main__":
    main()
