"""Reading what a person hands to a command: conversations, tools, option values.

messages, tools = read_chat("chat.json")       a list, or an object with `messages` and perhaps `tools`
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from templc.cli.failures import InputError
from templc.runtime.options import Option

SHAPE = 'give [{"role": "user", "content": "..."}, ...] or {"messages": [...]}'
OPTION_HELP = "Set an option of the format; a list of records is JSON, or @FILE."
_WORDS = {"true": True, "false": False}


def read_chat(path: str) -> tuple[list[Any], list[Any] | None]:
    """The messages in a JSON file (`-`: standard input), and the tools where they stand beside them."""
    name, value = _json_in(path)
    match value:
        case {"messages": list() as messages}:
            tools = value.get("tools")
            return messages, _listed(tools, name, "tools") if tools is not None else None
        case {"messages": other}:
            raise InputError(f"`messages` of {name} is {_kind(other)}, not a list", help=SHAPE)
        case {"role": _}:
            raise InputError(f"{name} holds one message, not a list of messages", help=SHAPE)
        case list():
            return value, None
    raise InputError(f"{name} holds {_kind(value)}, not a list of messages", help=SHAPE)


def read_completion(path: str) -> str:
    """What a model wrote, from a file (`-`: standard input), less the line end that an editor puts behind it."""
    name = "standard input" if path == "-" else path
    return _decoded(_bytes(path), name, "text").removesuffix("\n")


def read_tools(path: str) -> list[Any]:
    """The tool declarations in a JSON file."""
    name, value = _json_in(path)
    return _listed(
        value["tools"] if isinstance(value, Mapping) and "tools" in value else value, name, "tools"
    )


def _listed(value: Any, name: str, what: str) -> list[Any]:
    if isinstance(value, list):
        return value
    cure = 'give [{"type": "function", "function": {"name": ..., "parameters": ...}}, ...]'
    raise InputError(f"{name} holds {_kind(value)}, not a list of {what}", help=cure)


def option_values(known: Mapping[str, Option], pairs: Sequence[str]) -> dict[str, object]:
    """`["enable_thinking=false"]` as keywords; names and types are checked where they are used."""
    values: dict[str, object] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise InputError(f"the option `{pair}` has no value", help=f"write -o {pair}=VALUE")
        values[name] = _option_value(name, known[name], text) if name in known else text
    return values


def _option_value(name: str, option: Option, text: str) -> object:
    """A value of its type where the text is one; else the text, which is refused where it is used."""
    kind = option.type
    if kind == "bool":
        return _WORDS.get(text.lower(), text)
    if kind == "list":
        return [one.strip() for one in text.split(",") if one.strip()]
    if kind in ("record", "records"):
        return _records(name, option, text)
    return int(text) if kind == "int" and re.fullmatch(r"[+-]?[0-9]{1,18}", text) else text


def _records(name: str, option: Option, text: str) -> object:
    """What JSON text means, or the JSON in the file of `@FILE`."""
    cure = f"give JSON, or @FILE with it: {option.takes}"
    if text.startswith("@"):
        return _json_in(text[1:], cure)[1]
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        why = _lowered(str(error))
        raise InputError(f"the option `{name}` is not JSON: {why}", help=cure) from None


def _json_in(path: str, cure: str = SHAPE) -> tuple[str, Any]:
    name = "standard input" if path == "-" else path
    text = _decoded(_bytes(path), name, f"JSON text: {cure}")
    if not text.strip():
        raise InputError(f"{name} is empty", help=cure)
    try:
        return name, json.loads(text)
    except json.JSONDecodeError as error:
        why = f"{name}:{error.lineno}:{error.colno}: not JSON: {_lowered(error.msg)}"
        raise InputError(why, help=_json_cure(text) if cure == SHAPE else cure) from None
    except (RecursionError, ValueError) as error:
        raise InputError(f"{name} cannot be read as JSON: {_lowered(str(error))}") from None


def _bytes(path: str) -> bytes:
    if path == "-":
        if sys.stdin.isatty():
            sys.stderr.write("reading from the terminal; Ctrl-D ends it\n")
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(
            f"there is no file {path}", help="check the path, or use - for standard input"
        ) from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder", help="name a file in it") from None
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {_lowered(error.strerror or str(error))}"
        ) from None


def _decoded(data: bytes, name: str, what: str) -> str:
    if b"\0" in data[:4096]:
        raise InputError(f"{name} is a binary file", help=f"it must be UTF-8, with {what}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name} is not UTF-8 at byte {error.start}", help="save it as UTF-8"
        ) from None


def _json_cure(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and all(_is_json(line) for line in lines[:2]):
        return "this looks like JSON lines: give one conversation, for instance head -1 FILE | templc ... -m -"
    return SHAPE


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case _:
            return "an object"


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]
