"""What every published template makes of the battery, rendered once and kept.

A render is a text, or None where the template raises. The tokens that a tokenizer gives to its template are not known
here: they are rendered as `BOS` and `EOS`, and stand for whatever a format binds to them.

    templates()[0].name, len(texts(templates()[0])) == len(BATTERY)
"""

from __future__ import annotations

import functools
import json
import os
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from templc.verify import Published, PublishedError, VerifyError
from tests.coverage.battery import BATTERY, Conversation, digest
from tests.support.formats import NOW
from tests.support.published import folder

BOS, EOS = "\ue000bos\ue001", "\ue000eos\ue001"
Texts = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Template:
    """A file of the collection, with the repositories that hold it and the downloads of the first."""

    name: str
    sha256: str
    repository: str
    aliases: tuple[str, ...]
    downloads: int

    @property
    def repositories(self) -> int:
        return 1 + len(self.aliases)


@functools.cache
def templates() -> tuple[Template, ...]:
    """All templates of the collection, by name."""
    index: list[dict[str, Any]] = json.loads((folder().parent / "_index.json").read_bytes())
    rows = (
        Template(
            row["name"],
            row["sha256"],
            row.get("repo") or row["name"],
            tuple(row.get("aliases") or ()),
            int(row.get("downloads") or 0),
        )
        for row in index
    )
    return tuple(sorted(rows, key=lambda row: row.name))


def texts(template: Template) -> Texts:
    """The renders of the battery, from the store where they are in it."""
    path = _store() / f"{template.sha256}.z"
    if path.is_file():
        return tuple(json.loads(zlib.decompress(path.read_bytes())))
    found = _rendered(template)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}")
    partial.write_bytes(zlib.compress(json.dumps(found).encode(), 1))
    partial.replace(path)
    return found


def store(template: Template) -> None:
    """See to it that the renders are in the store."""
    texts(template)


def _store() -> Path:
    from transformers import __version__

    return Path(tempfile.gettempdir()) / "templc-coverage" / f"{digest()}-{__version__}"


def _rendered(template: Template) -> Texts:
    fixed = {"bos_token": BOS, "eos_token": EOS}
    try:
        published = Published.from_file(folder() / f"{template.name}.jinja", fixed, now=NOW)
    except VerifyError:
        return (None,) * len(BATTERY)
    return tuple(_text(published, row) for row in BATTERY)


def _text(published: Published, row: Conversation) -> str | None:
    try:
        return published.render(
            row.messages, tools=row.tools, add_generation_prompt=row.prompt, **row.options
        )
    except PublishedError:
        return None
