"""The bytes that a vocabulary entry stands for.

Owns the three spellings of bytes in `tokenizers` vocabularies: byte-level (one printable character a byte),
SentencePiece (`▁` for a blank, `<0xE4>` for a byte) and plain text. Example:

    byte_reader(qwen3)("Ġhello")  ->  b" hello"
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from typing import Any

_HEXADECIMAL = re.compile("<0x([0-9A-Fa-f]{2})>")


def byte_reader(tokenizer: Any) -> Callable[[str], bytes]:
    """The function from an entry's text to its bytes, chosen by what the tokenizer's decoder does."""
    settings = part_settings(tokenizer, "decoder")
    if '"ByteLevel"' in settings:
        return _byte_level
    if '"ByteFallback"' in settings or '"Metaspace"' in settings or "\u2581" in settings:
        return _sentencepiece
    return str.encode


def part_settings(tokenizer: Any, part: str) -> str:
    """The settings of a normalizer, pre_tokenizer or decoder as JSON, `null` if there is none."""
    value = getattr(tokenizer, part)
    shell = type(tokenizer)(_empty_model(tokenizer))
    if value is not None:
        setattr(shell, part, value)
    return json.dumps(json.loads(shell.to_str())[part], ensure_ascii=False)


def _empty_model(tokenizer: Any) -> Any:
    empty = '{"model": {"type": "BPE", "vocab": {}, "merges": []}, "added_tokens": []}'
    return type(tokenizer).from_str(empty).model


@functools.cache
def byte_of_character() -> dict[str, int]:
    """Printable Latin-1 characters stand for themselves, the other bytes for U+0100 on, in order."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = sorted(set(range(256)) - set(printable))
    table = {chr(byte): byte for byte in printable}
    return table | {chr(0x100 + place): byte for place, byte in enumerate(others)}


def _byte_level(text: str) -> bytes:
    table = byte_of_character()
    try:
        return bytes([table[character] for character in text])
    except (
        KeyError
    ):  # an entry outside the alphabet, such as a control token of the base vocabulary
        return text.encode()


def _sentencepiece(text: str) -> bytes:
    if found := _HEXADECIMAL.fullmatch(text):
        return bytes([int(found[1], 16)])
    return text.replace("\u2581", " ").encode()
