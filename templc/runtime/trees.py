"""Values as trees of tags, with a control token before each tag: how MiniMax-M3 writes nested arguments.

    tree({"a": [1, True]}, "^")     "^<a>^<item>1^</item>^<item>true^</item>^</a>"

A key whose value is None is left out. Text stands as it is, a number as Python writes it, a boolean as JSON does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping


def tree(value: object, mark: str) -> str:
    """The whole text; `mark` stands before each tag."""
    return "".join(mark if part is None else part for part in _walk(value))


def tree_parts(kind: Callable[[str], str], value: object, mark: str) -> list[str]:
    """The same in parts: each `mark`, a control token, and what `kind` wraps."""
    return [mark if part is None else kind(part) for part in _walk(value)]


def _walk(value: object) -> Iterator[str | None]:
    """Texts, and None for each mark."""
    match value:
        case None:
            return
        case str():
            yield value
        case bool():
            yield "true" if value else "false"
        case Mapping():
            for key, inner in value.items():
                if inner is not None:
                    yield from _tagged(str(key), inner)
        case list() | tuple():
            for inner in value:
                yield from _tagged("item", inner)
        case _:
            yield str(value)


def _tagged(name: str, value: object) -> Iterator[str | None]:
    yield from (None, f"<{name}>")
    yield from _walk(value)
    yield from (None, f"</{name}>")
