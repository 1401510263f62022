"""What is known of a format without rendering anything, and the summaries of formats that need none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from templc.runtime.messages import Message


@dataclass(frozen=True, slots=True)
class Info:
    """What is known of a format without rendering anything."""

    name: str
    title: str
    source: str
    stop: tuple[str, ...]
    specials: tuple[str, ...]
    stop_strings: tuple[str, ...] = ()
    markers: tuple[str, ...] = ()
    leading: bool = False
    hoisting: bool = False
    replacing: bool = False
    aliases: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    repository: str = ""
    revision: str = ""
    sha256: str = ""
    head_line: int = 0
    facts: Mapping[str, tuple[str, int]] = field(default_factory=dict)


class NoPast(NamedTuple):
    """The past summary of a format whose turns do not depend on earlier messages."""

    def after(self, m: Message) -> NoPast:
        return self


class NoFuture(NamedTuple):
    """The future summary of a format whose turns do not depend on later messages."""

    def before(self, m: Message) -> NoFuture:
        return self


@lru_cache(maxsize=4096)
def last_future(future_type: type[Any], end: bool, live: bool) -> Any:
    """What the last message of a conversation sees; `end`: no prompt follows, `live`: it is being sampled."""
    changes = {"end": end, "live": live}
    known = {name: value for name, value in changes.items() if name in future_type._fields}
    return future_type()._replace(**known)
