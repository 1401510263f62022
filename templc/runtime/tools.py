"""Tool declarations, made into the one form that renderers read.

read_tools([{"name": "f"}])  ->  ({"type": "function", "function": {"name": "f"}},)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from templc.runtime.aliases import as_mapping
from templc.runtime.errors import MessageError


def read_tools(tools: object, *, as_template: bool = False) -> tuple[Mapping[str, Any], ...] | None:
    """Tool declarations in the OpenAI form `{"type": "function", "function": {...}}`; flat ones are wrapped."""
    if tools is None:
        return None
    if not isinstance(tools, Sequence) or isinstance(tools, str):
        raise MessageError("tools is not a list", field="tools")
    return tuple(
        _tool(as_mapping(tool, "tool"), number, as_template) for number, tool in enumerate(tools)
    )


def _tool(tool: Mapping[str, Any], number: int, as_template: bool) -> Mapping[str, Any]:
    if as_template:
        return tool if "function" in tool else _Flat(tool)
    function = tool.get("function", tool)
    if (
        not isinstance(function, Mapping)
        or not isinstance(function.get("name"), str)
        or not function["name"]
    ):
        raise MessageError(
            f"tool {number} has no name",
            field="tools",
            help='give {"type": "function", "function": {"name": ..., "parameters": ...}} or the inner part',
        )
    return tool if "function" in tool else {"type": "function", "function": tool}


class _Flat(dict[str, Any]):
    """A declaration without its wrapper, for templates that read it so; one that reads the inner part finds none."""

    def __missing__(self, key: str) -> Any:
        raise MessageError(
            f"a tool has no `{key}`",
            field="tools",
            help='give {"type": "function", "function": ...}',
        )


def parameters_of(tools: Iterable[Mapping[str, Any]] | None) -> Mapping[str, Any] | None:
    """The parameters of each declared tool; None where no tools are known."""
    if tools is None:
        return None
    found: dict[str, Any] = {}
    for tool in tools:
        function = tool.get("function", tool)
        if isinstance(function, Mapping) and isinstance(function.get("name"), str):
            found[function["name"]] = function.get("parameters")
    return found
