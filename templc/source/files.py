"""Reading spec files: text or a clear reason why not.

`read_source(Path("specs/qwen3.yaml"), problems)` is a `Source`, or None after one problem was
reported; never more than `MAX_BYTES` and one byte are read.
"""

from __future__ import annotations

import codecs
from pathlib import Path

from templc.problems.problem import Problems
from templc.source.span import Source, Span

MAX_BYTES = 1_048_576
_FOREIGN = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


def read_source(path: Path, problems: Problems, name: str | None = None) -> Source | None:
    """The source in a file, or None after a problem was reported."""
    shown = name or str(path)
    try:
        data = _data(path, shown, problems)
    except FileNotFoundError:
        problems.error("unreadable", f"there is no file {shown}", helps=(_near(path),))
        return None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        problems.error("unreadable", f"{shown} cannot be read: {why.lower()}")
        return None
    return None if data is None else _decoded(data, shown, problems)


def _data(path: Path, shown: str, problems: Problems) -> bytes | None:
    if path.is_dir():
        problems.error("unreadable", f"{shown} is a folder", helps=("name a file in it",))
        return None
    if path.exists() and not path.is_file():
        problems.error("unreadable", f"{shown} is not a plain file")
        return None
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        message = f"{shown} is larger than the {MAX_BYTES:,} bytes that a spec may have"
        problems.error("too-large", message, helps=("is this a spec?",))
        return None
    return data


def _near(path: Path) -> str:
    near = sorted(item.name for item in path.parent.glob("*.yaml")) if path.parent.is_dir() else []
    return f"in that folder: {', '.join(near[:8])}" if near else "check the path"


def _decoded(data: bytes, shown: str, problems: Problems) -> Source | None:
    for mark, encoding in _FOREIGN.items():
        if data.startswith(mark):
            problems.error("not-text", f"{shown} is {encoding}", helps=("save it as UTF-8",))
            return None
    if b"\0" in data:
        message = f"{shown} is a binary file: byte {data.index(0)} is zero"
        problems.error("not-text", message, helps=("a spec is text, saved as UTF-8",))
        return None
    body = data.removeprefix(codecs.BOM_UTF8)
    try:
        return Source(shown, body.decode("utf-8"))
    except UnicodeDecodeError as error:
        _not_utf8(body, error.start, len(data) - len(body), shown, problems)
        return None


def _not_utf8(body: bytes, start: int, skipped: int, shown: str, problems: Problems) -> None:
    at = len(body[:start].decode("utf-8"))
    span = Span(Source(shown, body.decode("utf-8", "replace")), at, at + 1)
    problems.error(
        "not-text",
        f"byte {start + skipped} of the file, on line {span.line}, is not UTF-8",
        span,
        label=f"the byte 0x{body[start]:02x}",
        helps=("save the file as UTF-8",),
    )
