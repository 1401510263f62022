"""Where each character of a scalar's value stands in the file, for every quoting style of YAML.

`offsets(text, start, end, style, value)[i]` is where `value[i]`, its escape, or the white space that it was folded
from begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|\r?\n[ \t]*|.)", re.DOTALL)
_NAMED = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b",
    " ": " ", "_": "\xa0", "N": "\x85", "L": "\u2028", "P": "\u2029", "\t": "\t",
}  # fmt: skip
_Char = tuple[str, int]


def offsets(text: str, start: int, end: int, style: str | None, value: str) -> list[int]:
    """One offset for each character of `value`, which the scalar at `text[start:end]` has."""
    match style:
        case '"':
            chars = list(_double(text, start + 1, end - 1))
        case "'":
            chars = list(_single(text, start + 1, end - 1))
        case "|" | ">":
            chars = list(_block(text, start, end))
        case _:
            chars = [(text[at], at) for at in range(start, end)]
    return _aligned(value, chars, end)


def _double(text: str, start: int, end: int) -> Iterator[_Char]:
    at = start
    while at < end:
        found = _ESCAPE.match(text, at, end) if text[at] == "\\" else None
        if found is None:
            yield text[at], at
            at += 1
            continue
        code = found.group()[1:]
        if code[0] in "xuU" and len(code) > 1:
            yield chr(int(code[1:], 16)), at
        elif code[0] not in "\r\n":
            yield _NAMED.get(code, code), at
        at = found.end()


def _single(text: str, start: int, end: int) -> Iterator[_Char]:
    at = start
    while at < end:
        yield text[at], at
        at += 2 if text.startswith("''", at) else 1


def _block(text: str, start: int, end: int) -> Iterator[_Char]:
    """The characters of a block scalar with the header line and the indentation left out."""
    header_end = text.find("\n", start, end)
    body = end if header_end < 0 else header_end + 1
    lines = [(at, line) for at, line in _lines(text, body, end)]
    widths = [len(line) - len(line.lstrip(" ")) for _, line in lines if line.strip()]
    explicit = re.match(r"[|>][+-]?([1-9])", text[start:end])
    parent = text[text.rfind("\n", 0, start) + 1 : start]
    outer = len(parent) - len(parent.lstrip(" "))
    indent = outer + int(explicit.group(1)) if explicit else (widths[0] if widths else 0)
    for at, line in lines:
        for offset in range(min(indent, len(line)), len(line)):
            yield line[offset], at + offset
        yield "\n", at + len(line)


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    at = start
    while at < end:
        stop = text.find("\n", at, end)
        stop = end if stop < 0 else stop
        yield at, text[at:stop].rstrip("\r")
        at = stop + 1


def _aligned(value: str, chars: list[_Char], end: int) -> list[int]:
    """Match value and written characters; line breaks may have become blanks, white space may have gone."""
    found: list[int] = []
    at = 0
    for char in value:
        while at < len(chars) and not _stands_for(chars[at][0], char) and chars[at][0] in " \t\r\n":
            at += 1
        if at < len(chars):
            found.append(chars[at][1])
            at += 1
        else:
            found.append(max(end - 1, 0))
    return found


def _stands_for(written: str, char: str) -> bool:
    return written == char or (written in "\n\x85\u2028\u2029" and char in " \n")
