"""libyaml, which reads YAML ten times as fast as PyYAML's own parser, for the texts that both read alike.

libyaml takes some texts that PyYAML refuses, and has fewer words for what is wrong. So its events are used only for a
text without what they differ in, and only when nothing is wrong with it; a test holds both against each other.
"""

from __future__ import annotations

import re
from typing import Any

import yaml
from yaml.reader import Reader

# Tabs, explicit keys, characters that only one takes for a line break, a comment behind a block's indicator.
_APART = re.compile(r"[\t?\x85\u2028\u2029\ufeff]|[|>][-+\d]*#")
_LOADER: Any = getattr(yaml, "CSafeLoader", None)


def loader(text: str) -> Any:
    """The loader class to read this text with; None where PyYAML's own has to."""
    if _LOADER is None or _APART.search(text) or Reader.NON_PRINTABLE.search(text):
        return None
    return _LOADER
