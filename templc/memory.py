"""What was found out about specs, kept on disk until a spec, one that it extends, or templc itself has changed.

memory = Memory("proofs")
memory.get(path, name)              plain data, or None where it has to be found out again
memory.put(path, name, bases, data)
memory.save()
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from templc.runtime.cache import keep, kept

_CODE = ("*.py", "*.lark", "schema.json")


class Memory:
    """One kind of finding for many specs. `scope`: whatever else a finding hangs on, such as where a build goes."""

    def __init__(self, kind: str, *scope: str) -> None:
        self._kind = kind
        self._key = _digest("\0".join((code_digest(), *scope)))[:32]
        found = kept(kind, self._key)
        self._known: dict[str, Any] = found if isinstance(found, dict) else {}
        self._changed = False

    def get(self, spec: Path, name: str) -> Any:
        """What is known of a spec that is shown by this name; None where it, or a base of it, is not as it was."""
        record = self._known.get(_place(spec, name))
        if record is None:
            return None
        texts = {Path(path): digest for path, digest in record["texts"].items()}
        fits = all(file_digest(path) == digest for path, digest in texts.items())
        # A base is looked for beside the spec first: one that has come there is another base.
        beside = {(spec.parent / path.name).resolve() for path in texts}
        return (
            record["data"]
            if fits and all(not one.is_file() or one in texts for one in beside)
            else None
        )

    def put(self, spec: Path, name: str, bases: Iterable[Path], data: object) -> None:
        """Remember something about a spec and the specs that it extends."""
        texts = {
            str(path): file_digest(path) for path in (spec.resolve(), *(b.resolve() for b in bases))
        }
        self._known[_place(spec, name)] = {"texts": texts, "data": data}
        self._changed = True

    def save(self) -> None:
        """Write what is new."""
        if self._changed:
            keep(self._kind, self._key, self._known)


@cache
def code_digest() -> str:
    """sha256 of templc's own sources."""
    folder = Path(__file__).parent
    sources = sorted(path for look in _CODE for path in folder.rglob(look))
    return _digest("\0".join(file_digest(path) for path in sources))


def _place(spec: Path, name: str) -> str:
    return f"{name} {spec.resolve()}"


def file_digest(path: Path) -> str:
    """The sha256 of a file; "" for one that cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
