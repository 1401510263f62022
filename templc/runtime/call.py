"""A tool call as renderers read it, and its arguments one by one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from templc.runtime.errors import MessageError
from templc.runtime.spelled import spells


class Call(NamedTuple):
    """One tool call; `arguments` is a mapping, or a string that is written byte for byte.

    `raw`: how a model spelled single arguments, by name; written where it still means the value. `number`: how many
    calls of the conversation stand before it, as text; calls are equal whatever it is.
    """

    name: str
    arguments: Any
    id: str = ""
    type: str = "function"
    raw: Mapping[str, str] = {}  # nobody changes it
    number: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Call) and self[:5] == other[:5]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self[:5])

    @property
    def ordinal(self) -> str:
        """The number of the call, counted from 1."""
        return str(int(self.number) + 1) if self.number else ""

    def sorted_items(self) -> list[Argument]:
        """The arguments by name, without regard to case."""
        return sorted(self.items(), key=lambda argument: argument.name.lower())

    def items(self) -> Iterator[Argument]:
        """The arguments one by one, for formats that write each with its name; a JSON string is decoded."""
        arguments = self.arguments
        if isinstance(arguments, str):
            arguments = self._decoded(arguments)
        if not isinstance(arguments, Mapping):
            raise MessageError(
                f"the arguments of the call to `{self.name}` are not an object", field="tool_calls"
            )
        return (
            Argument(str(name), self._spelled(name, value)) for name, value in arguments.items()
        )

    def _spelled(self, name: Any, value: Any) -> Any:
        raw = self.raw.get(name)
        return raw if isinstance(raw, str) and spells(raw, value) else value

    def _decoded(self, text: str) -> Any:
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise MessageError(
                f"the arguments of the call to `{self.name}` are not JSON ({error})",
                field="tool_calls",
                help="this format writes arguments one by one: give a mapping or a JSON object",
            ) from None


_HOLDING = (dict, list)


def owned(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as they are now, whatever becomes of the lists and mappings that the caller gave."""
    try:
        return {
            name: _owned(value) if type(value) in _HOLDING else value
            for name, value in arguments.items()
        }
    except RecursionError:  # too deep to be written, which tells it in words
        return dict(arguments)


def _owned(value: Any) -> Any:
    if type(value) is dict:
        return {name: _owned(inner) for name, inner in value.items()}
    return [_owned(inner) for inner in value] if type(value) is list else value


class Argument(NamedTuple):
    name: str
    value: Any
