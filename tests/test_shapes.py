"""Shapes: a chat of bare texts that is filled in has the tokens that the turn methods write, and goes on as theirs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from itertools import chain, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import templc
from templc.runtime import shapes
from templc.runtime.codec import codec_of
from tests.support import formats, small, vocabularies
from tests.support.filled import (
    ASKED,
    RESULT,
    TEXTS,
    THOUGHT,
    TOOL,
    Chat,
    both,
    by_turn_methods,
    known,
    message,
    one,
    told,
    with_options,
)
from tests.support.fuzz import examples

POLICIES = ("all_assistant", "last_assistant", "last_turn", "all_messages")


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


def cut(
    lead: Chat, usual: Chat, asked: dict[str, Any], said: dict[str, Any], size: int
) -> tuple[Chat, Chat]:
    """What comes next behind the usual turns is the user's, or behind a question an answer."""
    if usual[-1]["role"] == "tool":
        return [*lead, *usual], [said, asked, said][:size]
    return [*lead, *usual], [asked, said, asked][:size]


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
    for asked, said in product(TEXTS, repeat=2):
        chat = [message("user", asked), message("assistant", said)]
        tokens = both(lambda chat=chat: renderer.render(chat))
        more = {"previous": tokens, "messages": chat[:1], "history": "as_sampled"}
        both(lambda more=more: renderer.extend(**more))
