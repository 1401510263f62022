"""Declarations as Python signatures, against the template that writes them so."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from templc.runtime.signatures import python_def
from templc.verify.published import Published
from tests.support.published import path_of

PROPERTIES = {"a": {"type": "string", "description": "x"}, "b": {"type": "integer"}}
RETURNED = {"properties": {"r": {"type": "string", "description": "y"}}}


def declared(properties: int, description: str, returns: bool) -> dict[str, Any]:
    """A tool with so many parameters."""
    chosen = dict(itertools.islice(PROPERTIES.items(), properties))
    schema = {"type": "object", "properties": chosen, "required": ["a"]}
    function = {"name": "f", "description": description, "parameters": schema}
    return {
        "type": "function",
        "function": {**function, **({"returns": RETURNED} if returns else {})},
    }


@pytest.mark.parametrize("returns", [False, True])
@pytest.mark.parametrize("description", ["", "d"])
@pytest.mark.parametrize("properties", [0, 1, 2])
def test_python_def_is_what_seed_oss_declares(
    properties: int, description: str, returns: bool
) -> None:
    tool = declared(properties, description, returns)
    published = Published(
        path_of("ByteDance-Seed-OSS").read_text(encoding="utf-8"),
        kwargs={"bos_token": "B", "eos_token": "E"},
    )
    text = published.render([{"role": "user", "content": "u"}], tools=[tool])
    assert f"Function:\n{python_def(tool)}\n" in text
