"""What stands around a content, as the engines are told of it."""

from __future__ import annotations

from typing import TypeAlias

Around: TypeAlias = tuple[str, str, list[int]]
"""Of a content: the text before it and the text after it, which are encoded with it, and the ids that follow."""
