"""Calls whose arguments are trees of tags: read back by schema, whatever their keys and texts spell."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from templc.runtime.parser.tree_calls import node_value, read_tree
from templc.runtime.parser.values import Unreadable
from templc.runtime.trees import tree
from tests.support.responses import USER, Case, cases

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "s": {"type": "string"},
        "rows": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"x": {"type": "number"}, "y": {"type": "string"}},
            },
        },
        "o": {
            "type": "object",
            "properties": {
                "yes": {"type": "boolean"},
                "names": {"type": "array", "items": {"type": "string"}},
                "item": {"type": "integer"},
            },
        },
        # Named like the tags that part and close calls.
        "invoke": {"type": "string"},
        "tool_call": {"type": "array", "items": {"type": "integer"}},
    },
}
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}]
MARK = "]<]minimax[>["


def value_of(text: str, schema: object = None) -> Any:
    return {name: node_value(node, schema, str).value for name, node, _ in read_tree(text, "^")}


def test_without_a_schema_texts_stay_and_items_are_lists() -> None:
    assert value_of("^<a>1^</a>^<b>^<item>x^</item>^<item>^</item>^</b>") == {
        "a": "1",
        "b": ["x", ""],
    }
    assert value_of("^<a>^<k>^<item>1^</item>^<z>2^</z>^</k>^</a>") == {
        "a": {"k": {"item": "1", "z": "2"}}
    }


def test_a_schema_types_leaves_and_decides_what_nothing_and_one_item_are() -> None:
    assert value_of("^<a>^</a>", {"type": "array"}) == {"a": []}
    assert value_of("^<a>^</a>", {"type": "object"}) == {"a": {}}
    assert value_of("^<a>^</a>", {"type": ["null", "integer"]}) == {"a": None}
    assert value_of("^<a>^</a>", {"type": ["string", "array"]}) == {"a": ""}
    one = "^<a>^<item>1^</item>^</a>"
    assert value_of(one, {"type": "array", "items": {"type": "integer"}}) == {"a": [1]}
    assert value_of(one, {"type": "object"}) == {"a": {"item": "1"}}


def test_a_value_of_another_type_is_an_error_and_is_kept() -> None:
    (_, node, _), *_ = read_tree("^<a>^<x>u^</x>^</a>", "^")
    found = node_value(node, {"type": "object", "properties": {"x": {"type": "integer"}}}, str)
    assert found.value == {"x": "u"} and "integer" in found.error
    found = node_value(node, {"type": "string"}, str)
    assert found.value == {"x": "u"} and "string" in found.error


@pytest.mark.parametrize(
    "text", ["^<a>1", "^<a>1^</b>", "^</a>", "x^<a>1^</a>", "^<a>^<b>1^</a>^</b>", "^a", "^<>1^</>"]
)
def test_tags_that_do_not_nest_are_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        read_tree(text, "^")


def test_too_deep_is_refused_in_words() -> None:
    with pytest.raises(Unreadable, match="too deep"):
        read_tree("^<a>" * 5000, "^")


LEAVES = st.text(alphabet='ab <>/^\n"é', max_size=6).filter(lambda text: "^" not in text)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3)
        | st.dictionaries(st.sampled_from(["k", "tool_call", "a b"]), inner, min_size=1, max_size=3)
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["k", "invoke", "x.y"]), VALUES, max_size=3))
def test_what_the_filter_writes_is_read_back(value: dict[str, Any]) -> None:
    assert value_of(tree(value, "^")) == value


ARGUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "n": st.integers(),
        "s": st.text(max_size=8) | st.sampled_from([MARK, f"{MARK}</s>", "</invoke>", "<item>"]),
        "rows": st.lists(
            st.fixed_dictionaries({"x": st.integers(0, 9), "y": st.text(max_size=4)}), max_size=2
        ),
        "o": st.fixed_dictionaries(
            {"yes": st.booleans(), "names": st.lists(st.text(max_size=3), max_size=2)}
        ),
        "invoke": st.text(max_size=4),
        "tool_call": st.lists(st.integers(), max_size=2),
    },
)


def sampled(case: Case, arguments: list[dict[str, Any]]) -> tuple[list[int], list[int]]:
    """The prompt, and what the model samples to make these calls."""
    calls = [{"function": {"name": "f", "arguments": given}} for given in arguments]
    said = {"role": "assistant", "content": "a", "tool_calls": calls}
    prompt = case.renderer.render([USER], case.tokenizer, tools=TOOLS, add_generation_prompt=True)
    whole = case.renderer.render([USER, said], case.tokenizer, tools=TOOLS)
    assert whole[: len(prompt)] == prompt
    end = len(whole) - whole[::-1].index(case.renderer.stop_token_ids(case.tokenizer)[0])
    return prompt, whole[len(prompt) : end]


@settings(max_examples=40, deadline=None)
@given(st.lists(ARGUMENTS, min_size=1, max_size=2), st.integers(1, 9))
def test_calls_come_back_alike_in_any_pieces(arguments: list[dict[str, Any]], size: int) -> None:
    case = next(cases("minimax_m3"))
    prompt, ids = sampled(case, arguments)
    parsed = case.renderer.parse(ids, prompt=prompt, tools=TOOLS, tokenizer=case.tokenizer)
    assert parsed.status == "ok" and not parsed.errors and parsed.differs is None
    found = [call["function"]["arguments"] for call in parsed.message["tool_calls"]]
    assert json.dumps(found) == json.dumps(arguments)
    parser = case.renderer.parser(prompt=prompt, tools=TOOLS, tokenizer=case.tokenizer)
    for start in range(0, len(ids), size):
        parser.feed(ids[start : start + size])
    assert parser.finish() == parsed


def test_a_call_that_is_not_closed_ends_where_the_next_one_begins() -> None:
    case = next(cases("minimax_m3"))
    text = (
        f'</mm:think>{MARK}<tool_call>\n{MARK}<invoke name="f">{MARK}<s>x'
        f'{MARK}<invoke name="f">{MARK}<n>2{MARK}</n>{MARK}</invoke>\n{MARK}</tool_call>[e~['
    )
    parsed = case.renderer.parse(text, tools=TOOLS)
    assert [call["function"]["arguments"] for call in parsed.message["tool_calls"]] == [{"n": 2}]
    assert [error.code for error in parsed.errors] == ["unclosed_tool_call"]
