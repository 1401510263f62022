"""The tiny random Qwen3 of the tests, made once a machine, and clients on it."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from tests.support import vocabularies


def folder() -> Path:
    """The folder of the model, with the real Qwen3 vocabulary."""
    from templc.local import tiny

    source = Path(str(tiny.__file__)).read_bytes()
    made = Path(tempfile.gettempdir(), f"templc-tiny-{hashlib.sha256(source).hexdigest()[:16]}")
    if not made.exists():
        # Test processes may build it at once; each moves a complete one into place.
        draft = made.with_suffix(f".{os.getpid()}")
        tiny.tiny(draft, tokenizer=vocabularies.hf("qwen3"))
        try:
            draft.rename(made)
        except OSError:
            shutil.rmtree(draft)
    return made


def client(saves: Path, **options: Any) -> Any:
    """A training client on the tiny model."""
    import templc.local

    service = templc.local.ServiceClient(saves, threads=1)
    return service.create_lora_training_client(str(folder()), **{"rank": 8, "seed": 1} | options)
