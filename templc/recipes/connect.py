"""Which service a recipe trains on: one behind a URL, or the local backend in this process.

service = connect("local", "tiny", folder)                          # a random model, to see that all works
service = connect("http://127.0.0.1:8000", "Qwen/Qwen3-0.6B", folder)   # MinT, Tinker, SkyRL

What goes wrong is a `ServiceError` with one message, within 15 seconds: no server, a refused key, an unknown model.
"""

from __future__ import annotations

import importlib
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from templc.runtime.errors import TemplcError

T = TypeVar("T")
PATIENCE = 15.0


class ServiceError(TemplcError):
    """A service that cannot be used, or that has stopped answering."""


@dataclass(frozen=True, slots=True)
class Service:
    """A training client, its tokenizer and the module of its data types."""

    training: Any
    tokenizer: Any
    types: Any


def connect(base_url: str, base_model: str, folder: Path, *, rank: int = 16) -> Service:
    """A new adapter on a model. base_url "local": this process, where base_model "tiny" is a random model."""
    training, types = (
        _local(base_model, folder, rank)
        if base_url == "local"
        else _remote(base_url, base_model, rank)
    )
    return Service(training, training.get_tokenizer(), types)


def within(what: str, call: Callable[[], T], seconds: float = PATIENCE) -> T:
    """The result of a call. ServiceError where it fails or takes longer than that."""
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
    thread.join(seconds)
    if failed:
        raise ServiceError(f"{what} failed: {str(failed[0]) or repr(failed[0])}") from failed[0]
    if not found:
        raise ServiceError(
            f"{what} gave no answer within {seconds:.0f} seconds",
            help="the run can be resumed: start it again with the same folder",
        )
    return found[0]


def _local(base_model: str, folder: Path, rank: int) -> tuple[Any, Any]:
    import templc.local

    small = base_model == "tiny"
    if small:
        from templc.local.tiny import tiny

        base_model = str(tiny(folder / "tiny-model"))
    service = templc.local.ServiceClient(folder / "weights", threads=1 if small else None)
    training = service.create_lora_training_client(base_model, rank=rank, seed=0)
    return training, templc.local.types


def _remote(base_url: str, base_model: str, rank: int) -> tuple[Any, Any]:
    _answers(base_url)
    sdk = _sdk()

    def create() -> Any:
        service = sdk.ServiceClient(base_url=base_url)
        return service.create_lora_training_client(base_model=base_model, rank=rank, seed=0)

    return within(f"creating a training client for {base_model} at {base_url}", create), sdk.types


def _answers(base_url: str) -> None:
    """ServiceError unless something answers: the clients themselves would retry for five minutes."""
    try:
        with urllib.request.urlopen(f"{base_url.rstrip('/')}/api/v1/healthz", timeout=10):
            pass
    except urllib.error.HTTPError:
        return
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise ServiceError(
            f"no server answers at {base_url}: {reason}",
            help="check the URL, or train in this process with --base-url local",
        ) from error


def _sdk() -> Any:
    for name in ("mint", "tinker"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise ServiceError(
        "neither mint nor tinker is installed", help="pip install mindlab-toolkit==0.2.0"
    )
