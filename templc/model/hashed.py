"""Hashes that are worked out once: for deep values that are keys again and again.

@hash_once
@dataclass(frozen=True, slots=True)
class Test(Hashed): ...
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Kind = TypeVar("Kind", bound=type)


class Hashed:
    """Has room for the hash."""

    __slots__ = ("_hash",)


def hash_once(kind: Kind) -> Kind:
    """A frozen dataclass based on `Hashed` whose instances keep the hash that their fields give."""
    plain: Callable[[Any], int] = kind.__hash__  # type: ignore[assignment]

    def kept(self: object) -> int:
        try:
            found: int = self._hash  # type: ignore[attr-defined]
        except AttributeError:
            found = plain(self)
            object.__setattr__(self, "_hash", found)
        return found

    kind.__hash__ = kept  # type: ignore[assignment, method-assign]
    return kind
