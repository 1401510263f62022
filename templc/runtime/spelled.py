"""Whether text that a model wrote still says what a message says: then it is written again as it was sampled.

`holds('{"a":1}', {"a": 1})` and `spells("True", True)` are true; after an edit of the decoded value they are not.
"""

from __future__ import annotations

import json
from typing import Any

from templc.runtime.text import text_or_json

_WORDS = {"true": True, "false": False, "null": None, "none": None}


def holds(raw: str, arguments: object) -> bool:
    """Whether the JSON text `raw` holds these arguments, or none are given beside it."""
    if arguments is None or arguments == raw:
        return True
    value = _decoded(raw)
    return bool((_decoded(value) if isinstance(value, str) else value) == arguments)


def spells(raw: str, value: object) -> bool:
    """Whether `raw` is a spelling of one argument's value."""
    if isinstance(value, str):
        return raw == value
    if value is None or isinstance(value, bool):
        word = raw.strip().lower()
        return word in _WORDS and _WORDS[word] is value
    return raw == text_or_json(value) or bool(_decoded(raw) == value)


def _decoded(raw: str) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return Ellipsis
