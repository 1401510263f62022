"""The oracle itself: shapes, their enumeration, and the comparison."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from templc.runtime.errors import MessageError
from templc.verify import (
    CORE,
    SHAPES,
    TOOLS,
    Case,
    Outcome,
    Published,
    compare,
    conversations,
    count,
    crossed,
    describe,
    option_grid,
)
from templc.verify.parting import parting, window
from templc.verify.shapes import message_key, messages

PLAIN = (
    "{% for m in messages %}{{ '<' + m.role + '>' + m.content + '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"
)


class Ours:
    """A renderer of the plain template, with whatever a test plants in it."""

    def __init__(self, change: Callable[[Sequence[Any], str], str] | None = None) -> None:
        self.change = change or (lambda given, text: text)

    def render_text(
        self, messages: Sequence[Any], *, tools: Any = None, add_generation_prompt: bool = False
    ) -> str:
        text = "".join(f"<{m['role']}>{m['content']}\n" for m in messages)
        return self.change(messages, text + "<assistant>" * add_generation_prompt)


def text_shapes() -> list[Any]:
    return [shape for shape in SHAPES if isinstance(shape.message["content"], str)]


# shapes


def test_shapes_are_distinct_and_well_formed() -> None:
    texts = [json.dumps(shape.message, sort_keys=True) for shape in SHAPES]
    names = [shape.name for shape in SHAPES]
    assert len(set(names)) == len(set(texts)) == len(SHAPES) >= 16
    first = {"user": "u", "assistant": "a", "system": "s", "tool": "t"}
    assert all(
        name[0] == first[shape.message["role"]] for name, shape in zip(names, SHAPES, strict=True)
    )
    for shape in SHAPES:
        for call in shape.message.get("tool_calls", ()):
            given = call["function"]["arguments"]
            assert isinstance(json.loads(given) if isinstance(given, str) else given, dict)
            assert len(call["id"]) == 9


def test_shape_keys_are_distinct_but_for_the_calls_answered() -> None:
    keys = {shape.name: message_key(shape.message) for shape in SHAPES}
    assert keys.pop("t2") == "tool+id"
    assert len(set(keys.values())) == len(keys)
    assert keys["a.rac"] == "assistant+reasoning+content+call"
    assert keys["a.cc"] == "assistant+2calls"


def test_core_is_fourteen_of_the_shapes() -> None:
    assert len(CORE) == 14
    assert [shape for shape in SHAPES if shape in CORE] == list(CORE)


@pytest.mark.parametrize(("length", "size"), [(0, 4), (1, 5), (2, 5), (3, 4), (4, 2)])
def test_conversations_are_all_sequences_once(length: int, size: int) -> None:
    shapes = SHAPES[:size]
    names = {id(shape.message): shape.name for shape in shapes}
    found = [tuple(names[id(m)] for m in found) for found in conversations(length, shapes)]
    expected = itertools.product([shape.name for shape in shapes], repeat=length)
    assert sorted(found) == sorted(expected)
    assert len(found) == count(length, shapes, tools=(None,), prompts=(False,))


def test_conversations_come_simplest_first_and_in_a_fixed_order() -> None:
    names = {id(shape.message): shape.name for shape in SHAPES}
    found = [" ".join(names[id(m)] for m in pair) for pair in conversations(2, SHAPES[:3])]
    assert found == ["u u", "u a", "a u", "u s", "a a", "s u", "a s", "s a", "s s"]


def test_conversations_share_their_messages() -> None:
    known = {id(shape.message) for shape in SHAPES}
    assert all(id(m) in known for pair in conversations(2) for m in pair)


def test_crossed_holds_each_choice_once() -> None:
    options = option_grid(enable_thinking=(False, True))
    assert options == [{}, {"enable_thinking": False}, {"enable_thinking": True}]
    cases = list(crossed(conversations(1), options=options))
    assert len(cases) == count(1, options=options) == len(SHAPES) * len(TOOLS) * 2 * 3
    assert len({(id(case.messages[0]), describe(case)) for case in cases}) == len(cases)
    assert describe(cases[0]) == "[user]"


def test_option_grid_crosses_options() -> None:
    assert len(option_grid(a=(1, 2), b=(None,))) == 6
    assert {"b": None} in option_grid(a=(1, 2), b=(None,))


def test_describe_names_what_stands_out() -> None:
    case = Case(messages("u", "a.r", "t"), TOOLS[2], True, {"enable_thinking": False})
    assert describe(case) == "[user, assistant+reasoning, tool] tools=1 gp enable_thinking=False"
    assert message_key({"role": "user"}) == "user+missing"
    assert message_key({"role": "user", "content": []}) == "user+parts"


# comparison


def test_equal_renders_are_ok() -> None:
    cases = list(crossed(conversations(2, text_shapes())))
    report = compare(Ours(), Published(PLAIN), cases)
    assert report.ok and report.smallest is None
    assert report.counts == {Outcome.EQUAL: len(cases)}
    assert "different" in report.as_text()


def test_nothing_compared_is_not_ok() -> None:
    assert not compare(Ours(), Published(PLAIN), []).ok


def test_a_planted_difference_is_found_and_the_smallest_is_shown() -> None:
    def plant(given: Sequence[Any], text: str) -> str:
        return text.replace("<tool>", "<tuna>") if len(given) > 1 else text

    cases = list(crossed(conversations(2, text_shapes()))) + list(
        crossed(conversations(1, text_shapes()))
    )
    report = compare(Ours(plant), Published(PLAIN, "plain"), reversed(cases))
    assert not report.ok
    smallest = report.smallest
    assert smallest is not None and len(smallest.case.messages) == 2
    assert smallest.case.tools is None and not smallest.case.add_generation_prompt

    text = compare(Ours(plant), Published(PLAIN, "plain"), cases).as_text()
    assert "against plain" in text
    assert "smallest of `different`: [user, tool]\n" in text
    assert "  ours      <user>u⏎•<tuna>t⏎\n" in text
    assert "  template  <user>u⏎•<tool>t⏎\n" in text
    assert (
        '  messages  [{"role": "user", "content": "u"}, {"role": "tool", "content": "t"}]' in text
    )


def test_refusals_are_told_apart() -> None:
    template = Published(
        "{% if messages[0].role == 'tool' %}{{ raise_exception('no tool') }}{% endif %}" + PLAIN
    )

    def refuse(given: Sequence[Any], text: str) -> str:
        if given[0]["role"] in ("tool", "system"):
            raise MessageError("not this role", message_index=0)
        return text

    cases = [Case(messages(name)) for name in ("u", "s", "t", "t.id")]
    report = compare(Ours(refuse), template, cases)
    assert report.counts == {Outcome.EQUAL: 1, Outcome.WE_REFUSE: 1, Outcome.BOTH_REFUSE: 2}
    assert report.reasons == {(Outcome.WE_REFUSE, "not this role"): 1}
    assert "no text: not this role" in report.as_text()

    report = compare(Ours(), template, cases)
    assert report.counts == {Outcome.EQUAL: 2, Outcome.TEMPLATE_RAISES: 2}
    assert "no text: no tool" in report.as_text()


def test_a_crash_is_not_a_refusal() -> None:
    def crash(given: Sequence[Any], text: str) -> str:
        raise KeyError("content")

    report = compare(Ours(crash), Published("{{ raise_exception('no') }}"), [Case(messages("u"))])
    assert report.counts == {Outcome.CRASH: 1} and not report.ok
    assert "KeyError" in report.as_text()


def test_the_limit_stops_and_says_so() -> None:
    report = compare(
        Ours(lambda given, text: "x"), Published(PLAIN), crossed(conversations(2)), limit=3
    )
    assert report.stopped and report.mismatches == 3
    assert "stopped at 3 mismatches" in report.as_text()


def test_options_reach_both_sides() -> None:
    cases = list(crossed(conversations(1, SHAPES[:1]), options=option_grid(mark=("x", "y"))))
    template = Published(PLAIN + "{{ mark }}")
    made: list[str] = []

    def with_options(mark: str) -> Ours:
        made.append(mark)
        return Ours(lambda given, text: text + mark)

    assert compare(Ours(), template, cases, with_options=with_options).ok
    assert made == ["x", "y"]
    with pytest.raises(TypeError, match="with_options"):
        compare(Ours(), template, cases)


def test_progress_counts_up_to_the_total() -> None:
    seen: list[int] = []
    report = compare(
        Ours(), Published(PLAIN), crossed(conversations(2, SHAPES[:9])), progress=seen.append
    )
    assert seen == sorted(seen) and seen[0] == 0 and seen[-1] == report.total == 648


@pytest.mark.parametrize(
    ("ours", "theirs", "shown"),
    [
        ("a\n<think>", "a\n<tool>", "a⏎•<think>"),
        ("<a>word", "<a>wonder", "<a>•word"),
        ("<a>u\n", "<a>u<b>", "<a>u•⏎"),
        ("same", "same more", "same•"),
        ("[INST]", "[TOOL]", "•[INST]"),
    ],
)
def test_texts_part_at_the_start_of_a_tag_or_word(ours: str, theirs: str, shown: str) -> None:
    assert window(ours, parting(ours, theirs)) == shown


@given(st.text("ab<>[\n ", max_size=12), st.text("ab<>[\n ", max_size=12))
def test_all_before_the_parting_is_common(ours: str, theirs: str) -> None:
    place = parting(ours, theirs)
    assert ours[:place] == theirs[:place]
    assert ours == theirs or ours[place:] != theirs[place:]
