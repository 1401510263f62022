"""Small models trained and sampled in this process, behind the client surface of MinT and Tinker.

    service = templc.local.ServiceClient()
    training = service.create_lora_training_client(base_model="path/of/model", rank=8)

Needs the extra `local` (torch, transformers, peft), which is imported when a client is first asked for.
"""

from __future__ import annotations

import importlib
from typing import Any

from templc.local import types as types

_HOMES = {
    "ServiceClient": "service",
    "TrainingClient": "training",
    "SamplingClient": "sampling",
    "StaleState": "states",
    "State": "states",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(f"templc.local.{_HOMES[name]}")
    except ImportError as error:
        raise ImportError(f'{error}\n  help: pip install "templc[local]"') from error
    return getattr(module, name)
