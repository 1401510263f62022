"""Kinds: extensions with reasoning, calls and results that are filled in are those that the turn methods write."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from templc.runtime.shapes import MARKS
from templc.runtime.tokens import Tokens
from tests.support import formats, responses, small, vocabularies
from tests.support.filled import (
    ASKED,
    RESULT,
    TEXTS,
    THOUGHT,
    TOOL,
    Chat,
    both,
    by_turn_methods,
    filled_shapes,
    message,
    one,
    told,
    with_options,
)
from tests.support.fuzz import examples


def fields() -> st.SearchStrategy[dict[str, Any]]:
    """An answer with reasoning, calls and texts of all sorts."""
    thoughts = st.sampled_from([None, "", "hm", "so\nwhat", "\nso ", " ", "</think>", "\ue001"])
    arguments = st.sampled_from(
        [{"a": 1}, {"b": "é</think>"}, {}, '{"a": 2}', "no json", '{"q": [1, 2]}', "\ud800", ["x"]]
    )
    named = st.sampled_from(["f", "look_up", "</tool_call>", "g\n"])
    call = st.tuples(named, arguments, st.sampled_from(["x1y2z3w4v", "f:0", ""])).map(called)
    calls = st.one_of(st.none(), st.lists(call, max_size=2))
    given = {"content": st.sampled_from([*TEXTS[:5], "", None]), "reasoning_content": thoughts}
    extra = {"name": st.sampled_from(["n", None]), "train": st.sampled_from([None, None, True])}
    some = st.fixed_dictionaries({"role": st.just("assistant"), "tool_calls": calls, **given})
    return st.builds(lambda one, more: one | more, some, st.just({}) | st.fixed_dictionaries(extra))


def called(given: tuple[str, Any, str]) -> dict[str, Any]:
    name, arguments, call_id = given
    made = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return made | {"id": call_id} if call_id else made


def results() -> st.SearchStrategy[dict[str, Any]]:
    """What tools gave: named by the id of a call, by its name, by both or by neither."""
    more = [{}, {"tool_call_id": "x1y2z3w4v"}, {"tool_call_id": "f:0", "name": "f"}, {"name": "g"}]
    said = st.builds(message, st.just("tool"), st.sampled_from([*TEXTS[:5], "3", ""]))
    return st.builds(lambda one, other: one | other, said, st.sampled_from(more))


def loops() -> st.SearchStrategy[Chat]:
    """What an agent's turns add: mostly answers with calls and their results, in a usual order or in any."""
    usual = st.sampled_from(
        [[THOUGHT], [ASKED, RESULT], [ASKED, RESULT, THOUGHT], [RESULT], [ASKED | THOUGHT, RESULT]]
    )
    texts = st.sampled_from(["", "a", "b\n", "</tool_response>", "Ünïcode\n\nb"])
    retold = st.builds(lambda chat, text: [worded(one, text) for one in chat], usual, texts)
    any_order = st.lists(fields() | results() | one(), min_size=1, max_size=3)
    return retold | any_order


def worded(given: dict[str, Any], text: str) -> dict[str, Any]:
    """The same message with other texts."""
    found = {
        key: value + text
        for key, value in given.items()
        if key in ("content", "reasoning_content") and value
    }
    return given | found


@pytest.mark.parametrize("name", formats.FORMATS)
def test_turns_with_reasoning_calls_and_results_are_added_as_the_turn_methods_do(name: str) -> None:
    renderers = with_options(name)
    usual = st.sampled_from([[], [ASKED, RESULT], [THOUGHT, message("user", "b")], [ASKED]])

    @given(
        usual,
        loops(),
        st.sampled_from([None, False, True]),
        st.booleans(),
        st.integers(0, len(renderers) - 1),
    )
    @examples(60)
    def check(more: Chat, then: Chat, prompt: bool | None, tools: bool, which: int) -> None:
        renderer, first = renderers[which], [message("user", "a"), *more]
        declared = [TOOL] if tools else None
        made = both(lambda: renderer.render(first, tools=declared, add_generation_prompt=prompt))
        if made is None:
            return
        for history in ("faithful", "as_sampled"):
            how = {"add_generation_prompt": prompt, "history": history}
            grown = both(lambda how=how: renderer.extend(made, then, **how))
            if grown is not None:
                again = made + grown
                both(lambda how=how, again=again: renderer.extend(again, [RESULT], **how))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check()


LOOPING = ("qwen3", "qwen2_5", "kimi_k2", "ministral3", "granite_4", "qwq", "gpt_oss", "llama4")


@pytest.mark.parametrize("name", LOOPING)
def test_tool_loops_are_filled_in(name: str) -> None:
    renderer = formats.renderer(name, responses.tokenizer_for(name))
    tokens = renderer.render([message("user", "a")], tools=[TOOL], add_generation_prompt=False)
    found: list[Tokens | None] = []
    for number in range(6):
        loop = [worded(ASKED | {"content": "so"}, str(number)), worded(RESULT, str(number))]
        with filled_shapes(found):
            grown = renderer.extend(tokens, loop, add_generation_prompt=False)
        with by_turn_methods():
            expected = renderer.extend(tokens, loop, add_generation_prompt=False)
        assert told(grown) == told(expected)
        tokens = tokens + grown
    assert len(found) >= 3 and None not in found


MARK = MARKS[1]
MARKED = """
roles:
  user: "[U]${content}<|im_end|>"
  assistant:
    opener: "[A]"
    body:
      - "<${say}>"
      - {when: name, then: "n"}
      - {each: it in calls, do: "<${it.type}>${it.arguments | json}"}
      - "${content}"
    closer: "<|im_end|>"
options:
  say: {type: text, default: x, doc: what is said}
"""


@pytest.mark.parametrize(("say", "type"), [("x", "function"), (MARK, "function"), ("x", MARK)])
def test_a_text_that_is_a_mark_is_taken_for_none(say: str, type: str) -> None:
    renderer, _ = small.made(MARKED, say=say)
    call = {"type": type, "function": {"name": "f", "arguments": {}}}
    renderer = renderer.__class__(vocabularies.backend("qwen3"), say=say)
    tokens = renderer.render([message("user", "a")], add_generation_prompt=False)
    for number in range(4):
        answer = message("assistant", f"b{number}") | {"name": f"n{number}", "tool_calls": [call]}
        both(lambda answer=answer: renderer.extend(tokens, [answer], add_generation_prompt=False))


def test_what_is_kept_as_sampled_is_filled_in_too() -> None:
    renderer = formats.renderer("qwen3", vocabularies.backend("qwen3"))
    rounds: Chat = [ASKED | THOUGHT, RESULT, THOUGHT, message("user", "b")]
    how = {"add_generation_prompt": False, "history": "as_sampled"}
    tokens, expected = [renderer.render([message("user", "a")], add_generation_prompt=False)], []
    filled: list[Tokens | None] = []
    for number in range(6):
        more = [worded(one, str(number)) for one in rounds]
        for part in (more[:2], more[2:]):
            with by_turn_methods():
                expected.append(renderer.extend(tokens[-1], part, **how))
            with filled_shapes(filled):
                tokens.append(renderer.extend(tokens[-1], part, **how))
    assert [told(one) for one in tokens[1:]] == [told(one) for one in expected]
    assert expected[-1].notes and len(filled) >= 6 and None not in filled
