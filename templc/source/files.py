"""Reading spec files: text or a clear reason why not."""

from __future__ import annotations

from pathlib import Path

from templc.problems.problem import Problems
from templc.source.span import Source, Span

MAX_BYTES = 1_048_576


def read_source(path: Path, problems: Problems, name: str | None = None) -> Source | None:
    """The source in a file, or None after a problem was reported; a file that is too large is not read."""
    shown = name or str(path)
    try:
        size = path.stat().st_size
        if path.is_dir():
            problems.error("unreadable", f"{shown} is a folder", helps=("name a file that ends in .yaml",))
            return None
        if size > MAX_BYTES:
            problems.error(
                "too-large", f"{shown} has {size:,} bytes, a spec has at most {MAX_BYTES:,}", helps=("is this a spec?",)
            )
            return None
        data = path.read_bytes()
    except FileNotFoundError:
        near = sorted(item.name for item in path.parent.glob("*.yaml")) if path.parent.is_dir() else []
        cure = f"in that folder: {', '.join(near[:8])}" if near else "check the path"
        problems.error("unreadable", f"there is no file {shown}", helps=(cure,))
        return None
    except OSError as error:
        problems.error("unreadable", f"{shown} cannot be read: {(error.strerror or str(error)).lower()}")
        return None
    return _decoded(data, shown, problems)


def _decoded(data: bytes, shown: str, problems: Problems) -> Source | None:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        problems.error("not-text", f"{shown} is UTF-16", helps=("save it as UTF-8",))
        return None
    if b"\0" in data:
        problems.error("not-text", f"{shown} is a binary file", helps=("a spec is text in UTF-8",))
        return None
    try:
        return Source(shown, data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8", "replace")
        source = Source(shown, before + "\ufffd")
        problems.error(
            "not-text",
            f"byte {error.start} is not UTF-8",
            Span(source, len(before), len(before) + 1),
            label=f"the byte 0x{data[error.start]:02x}",
            helps=("save the file as UTF-8",),
        )
        return None
