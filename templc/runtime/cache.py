"""What is costly to find out, kept on disk: JSON in `$XDG_CACHE_HOME/templc` (by default under `~/.cache`).

A folder that cannot be read or written only means that it is found out again; any file in it may be deleted.

    keep("classes", key, [0, 9])
    kept("classes", key)            [0, 9], or None where nothing is kept that can be read
"""

from __future__ import annotations

import json
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any


def folder(kind: str) -> Path:
    """Where one kind of thing is kept; RuntimeError where there is no home."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "templc" / kind


def kept(kind: str, key: str) -> Any:
    """What was kept under a key, a file name without its ending."""
    with suppress(OSError, ValueError, RuntimeError):
        return json.loads((folder(kind) / f"{key}.json").read_text(encoding="utf-8"))
    return None


def keep(kind: str, key: str, data: object) -> None:
    """Keep plain data; other processes see all of it or nothing."""
    with suppress(OSError, RuntimeError):
        path = folder(kind) / f"{key}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.part")
        draft.write_text(json.dumps(data), encoding="utf-8")
        os.replace(draft, path)
