"""What is refused by default and done as the published template does it with unsupported="as_template"."""

from __future__ import annotations

from typing import Any

import pytest

from templc import UnstableExtension, get_renderer
from templc.runtime.errors import MessageError, OptionError
from templc.verify import PublishedError
from tests.support import declared
from tests.support.formats import reference, renderer
from tests.support.responses import tokenizer_for

SYSTEMS = [
    {"role": "system", "content": "One."},
    {"role": "user", "content": "Hi"},
    {"role": "system", "content": "Two."},
]

USER = SYSTEMS[1]
ANSWER = {"role": "assistant", "content": "Hello!"}


def call(name: str, call_id: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": {}}}


CALLS = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "", "tool_calls": [call("f", "1"), call("g", "2")]},
    {"role": "tool", "content": "r", "tool_call_id": "2"},
]


def test_the_last_system_message_replaces_the_others() -> None:
    with pytest.raises(MessageError, match="a system message must stand first"):
        get_renderer("stepfun_formalizer").render_text(SYSTEMS)
    ours = get_renderer("stepfun_formalizer", unsupported="as_template")
    with pytest.warns(UserWarning, match="must stand first"):
        text = ours.render_text(SYSTEMS, add_generation_prompt=False)
    assert text == "<｜begin▁of▁sentence｜>Two.<｜User｜>Hi"


def test_a_message_of_another_role_that_ends_a_conversation_is_not_extended_as_it_was() -> None:
    tokenizer = tokenizer_for("phi3")
    ours = renderer("phi3", tokenizer, unsupported="as_template")
    chat = [USER, ANSWER, {"role": "tool", "content": ""}]
    for _ in range(3):
        tokens = ours.render(chat, add_generation_prompt=False)
        assert tokens.text.endswith("<|endoftext|>")
        with pytest.raises(UnstableExtension):
            ours.extend(tokens, [USER])
        more = ours.extend(tokens, [USER], history="as_sampled")
        fresh = ours.render([*chat, USER])
        assert more.notes == (f"differs from a fresh render from token {len(tokens) - 1} on",)
        assert fresh[: len(tokens) - 1] == tokens[:-1]


def test_only_the_first_call_is_written() -> None:
    with pytest.raises(MessageError, match="a message can hold one tool call"):
        get_renderer("gpt_oss").render_text(CALLS)
    ours = get_renderer("gpt_oss", unsupported="as_template")
    with pytest.warns(UserWarning, match="only the first tool call"):
        text = ours.render_text(CALLS)
    assert "functions.g" not in text and text.count("functions.f") == 2


def test_a_value_that_is_not_listed_is_taken_for_another() -> None:
    with pytest.raises(OptionError, match="low"):
        get_renderer("glm5_2", reasoning_effort="low")
    ours = get_renderer("glm5_2", unsupported="as_template", reasoning_effort="low")
    assert ours.options["reasoning_effort"] == "max"
    with pytest.raises(OptionError, match="low"):
        get_renderer("qwen3", unsupported="as_template", low="low")


@pytest.mark.parametrize(
    "document",
    [
        {"text": "x", "source": "s"},
        {"page-no of it": 3, "text": "", "title": "t", "(URL": "é"},
        {"text": "x", "title": None, "list": [1, "a"], "kept": None, "really": True, "part": 1.5},
    ],
)
def test_further_fields_of_a_document_are_written_as_jamba_has_them(document: Any) -> None:
    ours = renderer("jamba", unsupported="as_template", documents=[document])
    for chat in ([USER], [SYSTEMS[0], USER, ANSWER, USER], [USER, ANSWER]):
        theirs = reference("jamba").render(chat, documents=[document])
        assert ours.render_text(chat, add_generation_prompt=False) == theirs


def test_a_document_without_a_text_is_written_where_jambas_template_fails() -> None:
    for document, text in (({"source": "s"}, ""), ({"text": 7}, "7")):
        ours = renderer("jamba", unsupported="as_template", documents=[document])
        assert f"\nText: {text}\n" in ours.render_text([USER])
        with pytest.raises(PublishedError) as raised:
            reference("jamba").render([USER], documents=[document])
        assert declared.superset("jamba", raised.value.reason)


def test_nothing_but_system_messages() -> None:
    """Granite's template writes the prompt behind the second one, Command's ends with one even behind the first."""
    lone = [{"role": "system", "content": "s"}]
    for name in ("granite_3_1", "granite_3_3", "granite_speech_3_3", "command_r7b"):
        ours = renderer(name, unsupported="as_template")
        for chat in (lone, 2 * lone, [*lone, USER], 3 * lone):
            for prompt in (False, True):
                theirs = reference(name).render(chat, add_generation_prompt=prompt)
                assert ours.render_text(chat, add_generation_prompt=prompt) == theirs
    assert renderer("granite_3_1").render_text(lone).endswith("assistant<|end_of_role|>")
