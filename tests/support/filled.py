"""What is filled in beside what the turn methods write: messages, and ways to run the same work by both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import strategies as st

import templc
from templc.runtime import behind, extend, fresh, renderer, supervised, trajectory
from templc.runtime.history import State
from templc.runtime.skeleton import frames_of
from templc.runtime.tokens import Tokens
from tests.support import formats, responses

TEXTS = (
    "a",
    "Bonjour, le monde",
    " b\n",
    "\n",
    "é\u0301",
    "\u0327x",
    "<tool_response>r</tool_response>",
    "<think>\nhm\n</think>\n\nyes",
    "</think>",
    "<|im_end|>",
    "/no_think",
    "<",
    "\ue001",
    "",
)
ROLES = ("system", "user", "assistant")
TOOL = {"type": "function", "function": {"name": "f", "description": "d", "parameters": {}}}
CALL = {"id": "x1y2z3w4v", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}
THOUGHT = {"role": "assistant", "content": "yes", "reasoning_content": "hm"}
ASKED = {"role": "assistant", "content": "", "tool_calls": [CALL]}
RESULT = {"role": "tool", "content": "r", "tool_call_id": "x1y2z3w4v", "name": "f"}
Chat = list[dict[str, Any]]


def message(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "content": content}


@contextmanager
def by_turn_methods() -> Iterator[None]:
    """Without skeletons and shapes."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (fresh, extend, behind, trajectory, supervised):
            patch.setattr(module, "frames_of", lambda renderer, codec: None)
        patch.setattr(renderer, "rendered", lambda *given: None)
        yield


@contextmanager
def filled_shapes(found: list[Tokens | None]) -> Iterator[None]:
    """Whatever shapes are asked to fill in meanwhile is found here."""

    def watched(fill: Any) -> Any:
        return lambda *given: found.append(fill(*given)) or found[-1]

    with pytest.MonkeyPatch.context() as patch:
        for module, name in ((renderer, "rendered"), (behind, "filled"), (supervised, "filled")):
            patch.setattr(module, name, watched(getattr(module, name)))
        yield


def told(tokens: Tokens) -> Mapping[str, Any]:
    """All that is known of tokens."""
    state = tokens.state
    assert isinstance(state, State)
    nodes = []
    node = state.node
    while node is not None:
        nodes.append((node.message, node.index, node.past, node.seen))
        node = node.parent
    return {
        "columns": tokens.columns(),
        "weights": tokens.weights,
        "messages": tokens.message_index,
        "text": tokens.text,
        "spans": tokens.spans,
        "notes": tokens.notes,
        "state": state._replace(node=None),
        "nodes": nodes,
    }


def outcome(work: Any) -> tuple[Mapping[str, Any], Tokens | None]:
    try:
        tokens = work()
    except templc.UnstableExtension as refusal:
        return {"reason": refusal.reason, "keep": refusal.keep, "line": refusal.spec_line}, None
    except templc.MessageError as error:
        return {"error": str(error), "at": error.message_index, "field": error.field}, None
    return told(tokens), tokens


def both(work: Any) -> Tokens | None:
    """The tokens of some work, which have to be the same by turn methods, by skeletons, and by shapes."""
    with by_turn_methods():
        expected, _ = outcome(work)
    at_first, _ = outcome(work)
    found, tokens = outcome(work)
    assert at_first == expected
    assert found == expected
    return tokens


def one() -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(message, st.sampled_from(ROLES), st.sampled_from(TEXTS))


def with_options(name: str) -> list[templc.Renderer]:
    """A renderer for each set of options."""
    tokenizer = responses.tokenizer_for(name)
    sets = formats.option_sets(name, brief=True)
    return [formats.renderer(name, tokenizer, **options) for options in sets]


def known(made: templc.Renderer) -> int:
    """How many shapes a renderer has learnt."""
    codec = made.codec(None)
    frames = frames_of(made.bound(codec), codec)
    return (
        0
        if frames is None or frames.shapes is None
        else len([*filter(None, frames.shapes.known.values())])
    )
