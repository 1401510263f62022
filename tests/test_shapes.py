"""Shapes: a chat of bare texts that is filled in has the tokens that the turn methods write, and goes on as theirs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import templc
from templc.runtime import behind, extend, fresh, shapes, supervised, trajectory
from templc.runtime.codec import codec_of
from templc.runtime.history import State
from templc.runtime.shape import Shape
from templc.runtime.skeleton import frames_of
from templc.runtime.tokens import Tokens
from tests.support import formats, responses, small, vocabularies
from tests.support.fuzz import examples

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


POLICIES = ("all_assistant", "last_assistant", "last_turn", "all_messages")


def message(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "content": content}


@contextmanager
def by_turn_methods() -> Iterator[None]:
    """Without skeletons and shapes."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (fresh, extend, behind, trajectory, shapes, supervised):
            patch.setattr(module, "frames_of", lambda renderer, codec: None)
        yield


@contextmanager
def filled_shapes(found: list[Tokens | None]) -> Iterator[None]:
    """Whatever shapes are asked to fill in meanwhile is found here."""
    fill = Shape.filled
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Shape, "filled", lambda *given: found.append(fill(*given)) or found[-1])
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


def chats() -> st.SearchStrategy[tuple[Chat, Chat]]:
    """A conversation and what comes next: any messages, or what most formats take, with other turns than bare texts."""
    easy = st.sampled_from(TEXTS[:3])
    rich = st.sampled_from([[THOUGHT], [ASKED, RESULT], [ASKED, RESULT, THOUGHT]])
    said = st.builds(message, st.just("assistant"), easy).map(lambda said: [said])
    asked = st.builds(message, st.just("user"), easy)
    turn = st.tuples(asked, said | rich).map(lambda turn: [turn[0], *turn[1]])
    usual = st.lists(turn, min_size=1, max_size=3).map(lambda turns: [*chain.from_iterable(turns)])
    lead = st.lists(st.builds(message, st.just("system"), easy), max_size=1)
    tidy = st.builds(cut, lead, usual, asked, said.map(lambda said: said[0]), st.integers(1, 3))
    wild = st.tuples(
        st.lists(one(), min_size=1, max_size=4), st.lists(one(), min_size=1, max_size=3)
    )
    return tidy | wild


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


def cut(
    lead: Chat, usual: Chat, asked: dict[str, Any], said: dict[str, Any], size: int
) -> tuple[Chat, Chat]:
    """What comes next behind the usual turns is the user's, or behind a question an answer."""
    if usual[-1]["role"] == "tool":
        return [*lead, *usual], [said, asked, said][:size]
    return [*lead, *usual], [asked, said, asked][:size]


def with_options(name: str) -> list[templc.Renderer]:
    """A renderer for each set of options."""
    tokenizer = responses.tokenizer_for(name)
    sets = formats.option_sets(name, brief=True)
    return [formats.renderer(name, tokenizer, **options) for options in sets]


def known(renderer: templc.Renderer) -> int:
    """How many shapes a renderer has learnt."""
    codec = renderer.codec(None)
    frames = frames_of(renderer.bound(codec), codec)
    return (
        0
        if frames is None or frames.shapes is None
        else len([*filter(None, frames.shapes.known.values())])
    )


@pytest.mark.parametrize("name", formats.FORMATS)
def test_chats_of_texts_are_written_as_the_turn_methods_do(name: str) -> None:
    renderers = with_options(name)
    prompts = st.sampled_from([None, False, True])

    @given(chats(), prompts, prompts, st.booleans(), st.integers(0, len(renderers) - 1))
    @examples(40)
    def check(
        parts: tuple[Chat, Chat], prompt: bool | None, again: bool | None, tools: bool, which: int
    ) -> None:
        renderer, (first, then) = renderers[which], parts
        declared = [TOOL] if tools else None
        made = both(lambda: renderer.render(first, tools=declared, add_generation_prompt=prompt))
        if made is None:
            return
        for history in ("faithful", "as_sampled"):
            more = {"add_generation_prompt": again, "history": history}
            both(lambda more=more: renderer.extend(made, then, **more))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check()
    assert sum(map(known, renderers)) > 0


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


@pytest.mark.parametrize("name", formats.FORMATS)
def test_training_examples_are_those_of_the_turn_methods(name: str) -> None:
    renderers = with_options(name)
    flags = st.sampled_from([None, None, None, False, True, 0.5])

    @given(
        chats(), st.sampled_from(POLICIES), flags, st.booleans(), st.integers(0, len(renderers) - 1)
    )
    @examples(40)
    def check(
        parts: tuple[Chat, Chat], policy: Any, flag: float | None, tools: bool, which: int
    ) -> None:
        chat = [*parts[0], *parts[1]]
        chat[-1] = chat[-1] if flag is None else chat[-1] | {"train": flag}
        given = {"tools": [TOOL] if tools else None, "train_on": policy}
        outcomes = [found(renderers[which], chat, given) for _ in range(2)]
        with by_turn_methods():
            expected = found(renderers[which], chat, given)
        assert outcomes == [expected, expected]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check()


def found(renderer: templc.Renderer, chat: Chat, given: Mapping[str, Any]) -> Any:
    """All that is known of training examples, or what is wrong."""
    try:
        made = renderer.supervised(chat, **given)
    except templc.MessageError as error:
        return str(error)
    known = [(one.columns(), one.weights, one.message_index, one.text) for one in made]
    return known, [(one.spans, one.notes) for one in made]


SPEC = """
head: {head}
roles:
  system: {system}
  user: ["[U]{user}<|im_end|>"]
  assistant: {{opener: "[A]", body: "{body}", closer: {closer}}}
require:
  - {{of: user, that: {that}, say: not this}}
"""
USUAL = {
    "head": '"[H]"',
    "system": '"[S]${content}<|im_end|>"',
    "user": "${content}",
    "body": "${content}",
    "closer": '"<|im_end|>"',
    "that": "not calls",
}


def small_renderer(**changes: str) -> templc.Renderer:
    """The renderer of a small spec, with a tokenizer that has its control token."""
    renderer, _ = small.made(SPEC.format(**USUAL | changes))
    return type(renderer)(vocabularies.backend("qwen3"))


def learnt(renderer: templc.Renderer, *messages: dict[str, Any]) -> int:
    """How many shapes are learnt from some messages that are written in the usual way too."""
    both(lambda: renderer.render(messages))
    return known(renderer)


@pytest.mark.parametrize(
    ("changes", "shapes_learnt"),
    [
        ({}, 1),
        ({"user": "${content | strip}"}, 1),
        ({"user": r"${content | after:\"</a>\"}"}, 1),
        ({"user": "${content | capitalize}"}, 0),
        ({"user": '", {when: count(content) > 1, then: "${content}"}, "'}, 0),
        ({"user": r"${content | drop_spans:\"</a> x\"}"}, 1),
        ({"user": "${content}${content}"}, 0),
        ({"that": 'not content contains "x"'}, 1),
        ({"that": 'not content|capitalize contains "x"'}, 0),
        (
            {"body": "${content}", "that": 'earlier(content|strip) or not content starts with "x"'},
            1,
        ),
    ],
)
def test_a_spec_says_which_chats_are_filled_in(changes: dict[str, str], shapes_learnt: int) -> None:
    renderer = small_renderer(**changes)
    assert learnt(renderer, message("user", "b"), message("assistant", "c")) == shapes_learnt
    for content in ("x", "xy", " b", "b ", "</a>b", "a</a>", "X"):
        both(lambda content=content: renderer.render([message("user", content)]))


@pytest.mark.parametrize(
    ("head", "shapes_learnt"),
    [
        ('"[H]${system.content}<|im_end|>"', 1),
        ('"[H]${system.content | strip}<|im_end|>"', 1),
        ('"[H]${system.content | capitalize}<|im_end|>"', 0),
        (r'"[H]${system.content | remove:\"x\"}<|im_end|>"', 1),
        ('[{when: system.content, then: "${system.content}<|im_end|>", else: "[H]"}]', 1),
        ('{each: it in systems, do: "${it.content | capitalize}<|im_end|>"}', 0),
    ],
)
def test_a_head_that_looks_into_the_system_message_is_not_filled_in(
    head: str, shapes_learnt: int
) -> None:
    system = f"{{at: head, later: {'hoist' if 'systems' in head else repr('')}}}"
    renderer = small_renderer(head=head, system=system)
    assert learnt(renderer, message("system", "b"), message("user", "c")) == shapes_learnt
    for content in ("x", " b", "b ", "B", "ax"):
        chat = [message("system", content), message("user", "c")]
        both(lambda chat=chat: renderer.render(chat))


def test_what_ends_a_sampled_turn_is_that_of_its_own_past() -> None:
    renderer = small_renderer(closer='"<|im_end|>", trailer: {when: previous(user), then: "[T]"}')
    ends = []
    asked = [message("user", "u")]
    for chat in 3 * (asked, [*asked, message("assistant", "a")]):
        rollout = renderer.start(chat)
        rollout.sampled([*rollout_ids("yes"), 151645])
        ends.append(renderer.codec(None).decode(rollout.add([message("user", "more")])))
    assert ends == 3 * ["[T]" + ends[1], ends[1]]


def rollout_ids(text: str) -> list[int]:
    return codec_of(vocabularies.backend("qwen3")).plain(text)


def test_a_head_may_look_into_a_system_message_that_its_role_writes() -> None:
    renderer = small_renderer(head='{when: system.content contains "x", then: "[X]", else: "[H]"}')
    for content in ("a", "x", "ax", "a"):
        chat = [message("system", content), message("user", "u")]
        both(lambda chat=chat: renderer.render(chat))
    assert known(renderer) == 1


def test_requirements_may_ask_for_tools() -> None:
    renderer = small_renderer(that='"first or count(tools) > 1"')
    chat, bare = [message("user", "a")], {"add_generation_prompt": False}
    for tools in ([TOOL, TOOL], [TOOL], [TOOL, TOOL], []):
        tokens = both(lambda tools=tools: renderer.render(chat, tools=tools, **bare))
        more = {"previous": tokens, "messages": chat, **bare}
        both(lambda more=more: renderer.extend(**more))


def test_requirements_may_ask_what_tools_say() -> None:
    renderer = small_renderer(that="'first or count(tools|json) < 90'")
    chat, bare = [message("user", "a")], {"add_generation_prompt": False}
    long = {"type": "function", "function": {"name": "f" * 80, "parameters": {}}}
    for tool in (TOOL, TOOL, long, TOOL):
        tokens = both(lambda tool=tool: renderer.render(chat, tools=[tool], **bare))
        more = {"previous": tokens, "messages": chat, **bare}
        both(lambda more=more: renderer.extend(**more))


def test_messages_may_come_one_by_one() -> None:
    renderer = small_renderer()
    tokens = renderer.render([message("user", "a")], add_generation_prompt=False)
    more = [message("assistant", "b") | {"name": "n"}]
    assert renderer.extend(tokens, iter(more)) == renderer.extend(tokens, more)  # type: ignore[arg-type]


def test_thousands_of_extensions_are_joined_one_by_one() -> None:
    renderer = formats.renderer("llama3", vocabularies.backend("llama3"))
    tokens = renderer.render([message("user", "a")], add_generation_prompt=False)
    whole = tokens
    for _ in range(3000):
        tokens = renderer.extend(tokens, [message("user", "b")], add_generation_prompt=False)
        whole = whole + tokens
    assert whole.text.count("user") == 3001 == max(whole.message_index) + 1


def test_contents_without_a_control_token_between_them_are_not_filled_in() -> None:
    renderer = small_renderer(system='"[S]${content}"', user="${content}")
    assert learnt(renderer, message("system", "a"), message("system", "b")) == 0
    assert learnt(renderer, message("user", "a"), message("user", "b")) == 1


def test_what_is_worked_out_later_is_that_of_the_messages_as_they_were() -> None:
    renderer = formats.renderer("qwen3", vocabularies.backend("qwen3"))
    chat = [message("user", "a"), message("assistant", "b")]
    _, tokens, kept = (renderer.render(chat) for _ in range(3))
    expected = told(kept)
    chat[0]["content"], chat[1]["role"] = "changed", "user"
    chat.append(message("user", "c"))
    assert told(tokens) == expected


def test_long_rows_and_messages_with_more_than_a_text_are_left_to_the_turn_methods() -> None:
    renderer = small_renderer()
    pair = [message("user", "a"), message("assistant", "b")]
    assert learnt(renderer, *pair * (shapes.LONGEST // 2), pair[0]) == 0
    assert learnt(renderer, pair[0] | {"name": "n"}) == 0
    assert learnt(renderer, pair[0], message("assistant", "")) == 0
    assert learnt(renderer, *pair) == 1


@pytest.mark.parametrize("engine", ["fast", "own", "tiktoken"])
@pytest.mark.parametrize("vocabulary", ["qwen3", "deepseek-v3"])
def test_every_engine_has_the_same_tokens(
    engine: str, vocabulary: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEMPLC_ENGINE", engine)
    base = vocabularies.backend(vocabulary)
    tokenizer = type(base).from_str(base.to_str())
    renderer = formats.renderer(
        {"qwen3": "qwen3", "deepseek-v3": "deepseekv3"}[vocabulary], tokenizer
    )
    for one, two in product(TEXTS, repeat=2):
        chat = [message("user", one), message("assistant", two)]
        tokens = both(lambda chat=chat: renderer.render(chat))
        more = {"previous": tokens, "messages": chat[:1], "history": "as_sampled"}
        both(lambda more=more: renderer.extend(**more))
