"""The strategies make what they are asked for, and nothing else."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings

from tests.support import strategies


@settings(max_examples=80, deadline=None)
@given(strategies.conversations(max_size=6, ordered=True))
def test_well_formed_conversations_answer_their_calls(given: strategies.Messages) -> None:
    assert 1 <= len(given) <= 6
    roles = [m["role"] for m in given]
    assert "system" not in roles[1:]
    ids = [call["id"] for m in given for call in m.get("tool_calls", ())]
    assert ids == [m["tool_call_id"] for m in given if m["role"] == "tool"]
    assert len(set(ids)) == len(ids)
    for before, after in itertools.pairwise(given):
        allowed = {"assistant": "tool" if before.get("tool_calls") else "user", "user": "assistant"}
        assert after["role"] in (allowed.get(before["role"]), *_AFTER.get(before["role"], ()))


_AFTER = {"system": ("user",), "tool": ("tool", "assistant")}


@settings(max_examples=60, deadline=None)
@given(
    strategies.conversations(
        max_size=4, control=False, reasoning=False, calls=False, ids=False, system=False
    )
)
def test_what_is_not_allowed_does_not_come(given: strategies.Messages) -> None:
    text = json.dumps(given)
    assert not any(token in text for token in ("<|im_start|>", "think>", "[INST]", "tool_call"))
    assert all(set(m) == {"role", "content"} and isinstance(m["content"], str) for m in given)
    assert all(m["role"] != "system" for m in given)


_SEEN: dict[str, Callable[[dict[str, Any]], bool]] = {
    "list": lambda m: isinstance(m.get("content"), list),
    "none": lambda m: m.get("content", "") is None,
    "missing": lambda m: "content" not in m,
    "name": lambda m: "name" in m,
    "thinking": lambda m: "thinking" in m,
    "reasoning": lambda m: "reasoning" in m,
    "control": lambda m: "<|" in str(m.get("content")),
    "close": lambda m: "</think>" in str(m.get("content")),
    "calls": lambda m: len(m.get("tool_calls", ())) > 1,
    "text": lambda m: any(
        isinstance(call["function"]["arguments"], str) for call in m.get("tool_calls", ())
    ),
    "odd order": lambda m: m["role"] == "system",
}


def test_what_is_allowed_comes() -> None:
    seen: set[str] = set()

    @settings(max_examples=150, deadline=None, database=None, derandomize=True)
    @given(
        strategies.conversations(lists=True, none=True, missing=True, names=True, json_text=True)
    )
    def collect(given: strategies.Messages) -> None:
        seen.update(name for name, holds in _SEEN.items() if any(holds(m) for m in given[1:]))

    collect()
    assert seen == set(_SEEN)
