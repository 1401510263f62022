"""Which service a recipe trains on: one behind a URL, or the local backend in this process.

service = connect("local", "tiny", folder)                          # a random model, to see that all works
service = connect("http://127.0.0.1:8000", "Qwen/Qwen3-0.6B", folder)   # MinT, Tinker, SkyRL
loss = service.wait("training", training.forward_backward(data, "ppo").result)

What goes wrong is a `ServiceError` with one message: within 15 seconds where the server is down or dies, where the key,
the model or the version is wrong, and after `patience` seconds where a server that is there gives no answer.
"""

from __future__ import annotations

import importlib
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from templc.recipes.trouble import AGAIN, ServiceError, explained, skewed

T = TypeVar("T")
PATIENCE = 300.0
SIGNING_IN = 9.0
# A server that twice in a row does not say within this time that it is well has gone.
PULSE = 2.0


@dataclass(frozen=True, slots=True)
class Service:
    """A training client, its tokenizer and the module of its data types. url: None for the local backend."""

    training: Any
    tokenizer: Any
    types: Any
    url: str | None = None
    patience: float = PATIENCE

    def wait(self, what: str, call: Callable[[], T]) -> T:
        """The result of a call that may take long. ServiceError where it fails or nobody answers any more."""
        return within(what, call, self.patience, self.url)


def connect(
    base_url: str, base_model: str, folder: Path, *, rank: int = 16, patience: float = PATIENCE
) -> Service:
    """A new adapter on a model. base_url "local": this process, where base_model "tiny" is a random model."""
    if base_url == "local":
        training, types = _local(base_model, folder, rank)
        return Service(training, training.get_tokenizer(), types, None, patience)
    return _remote(base_url.rstrip("/"), base_model, rank, patience)


def within(what: str, call: Callable[[], T], seconds: float, url: str | None = None) -> T:
    """The result of a call. ServiceError where it fails, takes longer than that, or the server at `url` has gone."""
    found: list[T] = []
    failed: list[Exception] = []

    def work() -> None:
        try:
            found.append(call())
        except Exception as error:  # whatever a client raises becomes one message
            failed.append(error)

    # A daemon, for a client may go on retrying for minutes after we have given up.
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    began, missed, told = time.monotonic(), 0, False
    while thread.is_alive():
        left = began + seconds - time.monotonic()
        if left <= 0:
            raise ServiceError(f"{what} gave no answer within {seconds:.0f} seconds", help=AGAIN)
        thread.join(min(left, PULSE))
        gone = _silence(url, PULSE) if url and thread.is_alive() else ""
        missed = missed + 1 if gone else 0
        if missed == 2:
            raise ServiceError(f"{what}: the server at {url} has gone: {gone}", help=AGAIN)
        if not told and time.monotonic() - began > 15 and thread.is_alive():
            told = True
            click.echo(f"{what}: no answer yet, waiting up to {seconds:.0f} seconds", err=True)
    if failed:
        raise explained(what, failed[0], url) from failed[0]
    return found[0]


def _local(base_model: str, folder: Path, rank: int) -> tuple[Any, Any]:
    import templc.local

    # Bars of their own would tear the progress display.
    importlib.import_module("transformers.utils.logging").disable_progress_bar()
    small = base_model == "tiny"
    if small:
        from templc.local.tiny import tiny

        base_model = str(tiny(folder / "tiny-model"))
    service = templc.local.ServiceClient(folder / "weights", threads=1 if small else None)
    training = service.create_lora_training_client(base_model, rank=rank, seed=0)
    return training, templc.local.types


def _remote(url: str, base_model: str, rank: int, patience: float) -> Service:
    if silence := _silence(url, 5.0):
        raise ServiceError(
            f"no server answers at {url}: {silence}",
            help="check the URL, start one with python -m templc.recipes.server, or give --base-url local",
        )
    sdk = _sdk()

    def sign_in() -> Any:
        made = sdk.ServiceClient(base_url=url)
        return made, made.get_server_capabilities().supported_models

    client, served = within(f"signing in at {url}", sign_in, SIGNING_IN, url)
    # A server may take any name and train its own model: what it serves is asked before.
    names = [str(model.model_name) for model in served]
    if names and base_model.split(":")[0] not in names:
        raise ServiceError(
            f"{url} does not serve the model {base_model}",
            help=f"it serves {', '.join(sorted(names)[:20])}",
        )

    def create() -> Any:
        return client.create_lora_training_client(base_model=base_model, rank=rank, seed=0)

    training = within(f"creating a training client for {base_model}", create, patience, url)
    tokenizer = within(
        "loading the tokenizer", lambda: _tokenizer(training, base_model), patience, url
    )
    return Service(training, tokenizer, sdk.types, url, patience)


def _tokenizer(training: Any, base_model: str) -> Any:
    """The model's; the clients would take some paths of folders for hub names."""
    if Path(base_model).is_dir():
        return importlib.import_module("transformers").AutoTokenizer.from_pretrained(base_model)
    return training.get_tokenizer()


def _silence(url: str, seconds: float) -> str:
    """Why nothing answers at a URL, "" where something does: the clients themselves would retry for five minutes."""
    try:
        with urllib.request.urlopen(f"{url}/api/v1/healthz", timeout=seconds):
            return ""
    except urllib.error.HTTPError:
        return ""
    except (OSError, ValueError) as error:
        return str(getattr(error, "reason", error))


def _sdk() -> Any:
    for name in ("mint", "tinker"):
        try:
            found = importlib.import_module(name)
        except ImportError:
            continue
        if note := skewed():
            click.echo(f"note: {note}", err=True)
        return found
    raise ServiceError(
        "neither mint nor tinker is installed", help="pip install mindlab-toolkit==0.2.0"
    )
