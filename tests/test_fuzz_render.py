"""Hostile conversations: text and ids of the published template, or a refusal where it raises.

Contents spell control tokens, end in white space of every kind, are missing or lists of parts; arguments are JSON or
nearly so; roles are unknown. Each example is rendered by many formats. `TEMPLC_FUZZ=20` searches longer, see
tests/support/fuzz.py.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import templc
from templc.runtime.pieces import Piece
from templc.verify import Case, PublishedError
from tests.exhaustive import check, undeclared
from tests.support import vocabularies
from tests.support.formats import (
    REFERENCED,
    VOCABULARIES,
    dates,
    fitting,
    option_sets,
    reference,
    renderer,
    token_options,
)
from tests.support.fuzz import examples
from tests.support.strategies import Messages, conversations, tool_lists

ROLES = ("narrator", "developer", "ipython", "function", "User")


@st.composite
def hostile(draw: st.DrawFn, /, max_size: int, *, roles: bool = False, **allow: Any) -> Messages:
    """A conversation with strange roles, where allowed; some message is no system message, and no list is empty."""
    messages: Messages = draw(conversations(max_size=max_size, names=True, **allow))
    if roles and draw(st.integers(0, 5)) == 0:
        place = draw(st.integers(0, len(messages) - 1))
        messages[place] = {**messages[place], "role": draw(st.sampled_from(ROLES))}
    if all(message["role"] == "system" for message in messages):
        messages.append({"role": "user", "content": "u"})
    empty = {"content": [{"type": "text", "text": ""}]}
    return [
        {**message, **empty} if message.get("content") == [] else message for message in messages
    ]


def agree(names: Sequence[str], messages: Messages, tools: Any, prompt: bool, pick: int) -> None:
    """Template, interpreter and generated class of each format make the same of it, with some set of options."""
    for name in names:
        sets = option_sets(name)
        options = sets[pick % len(sets)]
        case = Case(messages, tools, prompt, options)
        for kind, report in check(name, options, [case]).items():
            assert not undeclared(name, report), f"{kind} {name} {options} {report.as_text()}"


PICK = st.integers(0, 100)


@examples(60)
@given(hostile(6), tool_lists(), st.booleans(), PICK)
def test_text_of_conversations_in_the_form_that_templates_expect(
    messages: Messages, tools: Any, prompt: bool, pick: int
) -> None:
    agree(REFERENCED, messages, tools, prompt, pick)


EVERY_FORM = tuple(name for name in REFERENCED if name in VOCABULARIES)
"""The formats whose specs also follow their template in what it makes of missing content, lists and other roles."""
FORMS: dict[str, Any] = {
    "roles": True, "lists": True, "none": True, "missing": True, "json_text": True, "broken_json": True,
}  # fmt: skip


@examples(250)
@given(hostile(5, **FORMS), tool_lists(control=True), st.booleans(), PICK)
def test_text_of_conversations_in_every_form(
    messages: Messages, tools: Any, prompt: bool, pick: int
) -> None:
    agree(EVERY_FORM, messages, tools, prompt, pick)


def encoded(name: str, tokenizer: Any, messages: Messages, prompt: bool) -> list[int]:
    """What transformers makes of it; a template that prints the date has to be given one, which it does not offer."""
    if dates(name):
        text = reference(name).render(messages, add_generation_prompt=prompt)
        return list(tokenizer.encode(text, add_special_tokens=False))
    ids: list[int] = tokenizer.apply_chat_template(
        messages,
        chat_template=reference(name).source.decode(),
        add_generation_prompt=prompt,
        tokenize=True,
        return_dict=False,
        **token_options(name),
    )
    return ids


def spells_control_tokens(pieces: Sequence[Piece], added: re.Pattern[str]) -> bool:
    """Whether some added token stands in the text that is not wholly the format's own."""
    scaffold = "".join("\x00" if piece.body else piece.text for piece in pieces)
    whole = "".join(piece.text for piece in pieces)
    return len(added.findall(whole)) != len(added.findall(scaffold))


def added_tokens(tokenizer: Any) -> re.Pattern[str]:
    longest_first = sorted(tokenizer.get_added_vocab(), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)))


def rendered(made: templc.Renderer, messages: Messages, prompt: bool) -> list[int]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return made.render(messages, add_generation_prompt=prompt)


PAIRS = [(name, vocabulary) for name in REFERENCED for vocabulary in fitting(name)]


def same_ids(name: str, vocabulary: str, messages: Messages, prompt: bool) -> None:
    tokenizer = vocabularies.hf(vocabulary)
    try:
        reference(name).render(messages, add_generation_prompt=prompt)
    except PublishedError:
        return
    settings: dict[str, Any] = {"unsupported": "as_template", **token_options(name)}
    plain = renderer(name, tokenizer, **settings)
    control = renderer(name, tokenizer, content_specials="control", **settings)
    try:
        pieces = plain.pieces(messages, add_generation_prompt=prompt)
    except templc.MessageError:
        return
    wanted = encoded(name, tokenizer, messages, prompt)
    assert rendered(control, messages, prompt) == wanted, (name, vocabulary)
    if not spells_control_tokens(pieces, added_tokens(tokenizer)):
        assert rendered(plain, messages, prompt) == wanted, (name, vocabulary)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("control", [True, False], ids=["hostile", "plain"])
def test_ids_are_those_of_apply_chat_template(control: bool) -> None:
    @examples(12)
    @given(conversations(max_size=5, control=control, names=True), st.booleans())
    def search(messages: Messages, prompt: bool) -> None:
        for name, vocabulary in PAIRS:
            same_ids(name, vocabulary, messages, prompt)

    search()


def in_plain_text(messages: Messages, prompt: bool, bos: str) -> str:
    """The format role_colon, said once more."""
    turns = "".join(f"{m['role'].capitalize()}: {m['content']}\n\n" for m in messages)
    return f"{bos}{turns}{'Assistant:' if prompt else ''}"


@examples(30)
@given(conversations(max_size=5, calls=False, reasoning=False, names=False), st.booleans())
def test_a_format_without_control_tokens_on_every_vocabulary(
    messages: Messages, prompt: bool
) -> None:
    for vocabulary in vocabularies.NAMES:
        tokenizer = vocabularies.hf(vocabulary)
        text = in_plain_text(messages, prompt, vocabularies.special_names(vocabulary)[0] or "")
        made = renderer("role_colon", tokenizer, content_specials="control")
        assert made.render_text(messages, tokenizer, add_generation_prompt=prompt) == text
        assert rendered(made, messages, prompt) == tokenizer.encode(text, add_special_tokens=False)


def test_the_formats_whose_models_have_a_real_vocabulary_are_compared() -> None:
    compared = {name for name, _ in PAIRS}
    assert {"qwen3", "qwen3_instruct", "qwen2_5", "llama3", "kimi_k2", "deepseekv3"} <= compared
    assert ("kimi_k2", "kimi-k2-thinking") in PAIRS and ("kimi_k2_instruct", "kimi-k2") in PAIRS


def test_a_token_across_the_edge_of_a_message_counts_as_spelled() -> None:
    added = re.compile(re.escape("<think>"))
    inside = [Piece("<think>"), Piece("a", True)]
    across = [Piece("<thi", True), Piece("nk>")]
    assert not spells_control_tokens(inside, added) and spells_control_tokens(across, added)
    assert spells_control_tokens([Piece("a<think>", True)], added)
