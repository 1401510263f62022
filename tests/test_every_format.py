"""What holds for every format: equal ways to say a thing are written alike, and nothing is dropped in silence."""

from __future__ import annotations

import contextlib
import itertools
import json
import warnings
from typing import Any

import pytest

import templc
from templc.runtime.errors import TemplcError
from templc.runtime.messages import Reader
from tests.support.formats import FORMATS, renderer
from tests.support.responses import tokenizer_for

ARGUMENTS = {"city": "São Paulo", "days": 2, "exact": True, "tags": ["a", "b"], "more": {"x": "y"}}
TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}


USER = {"role": "user", "content": "q"}
ANSWER = {"role": "assistant", "content": "a"}
RESULT = {"role": "tool", "tool_call_id": "call00001", "name": "weather", "content": "18"}


def called(arguments: object, **fields: object) -> dict[str, Any]:
    """An answer that makes one call."""
    function = {"name": "weather", "arguments": arguments}
    call = {"id": "call00001", "type": "function", "function": function}
    return {"role": "assistant", "content": "", "tool_calls": [call], **fields}


def text(name: str, messages: list[Any], **given: Any) -> str | None:
    """The text of a conversation, None where it is refused."""
    try:
        return templc.get_renderer(name).render_text(messages, **given)
    except TemplcError:
        return None


def written(name: str, arguments: object, tools: list[Any] | None) -> str | None:
    return text(name, [USER, called(arguments), RESULT], tools=tools)


@pytest.mark.parametrize("tools", [None, [TOOL]], ids=["", "tools"])
@pytest.mark.parametrize("name", FORMATS)
def test_json_text_is_written_as_the_mapping_is(name: str, tools: list[Any] | None) -> None:
    wire = json.dumps(ARGUMENTS, ensure_ascii=False)
    assert written(name, wire, tools) == written(name, ARGUMENTS, tools)


def test_most_formats_write_calls() -> None:
    assert sum(written(name, ARGUMENTS, [TOOL]) is not None for name in FORMATS) > len(FORMATS) / 2


@pytest.mark.parametrize("name", FORMATS)
def test_a_call_without_arguments_is_one_however_it_says_so(name: str) -> None:
    usual = written(name, {}, [TOOL])
    assert all(written(name, none, [TOOL]) == usual for none in (None, "", "null", "{}"))


@pytest.mark.parametrize("name", FORMATS)
def test_no_content_beside_a_call_is_empty_content_and_no_calls_are_none(name: str) -> None:
    usual = text(name, [USER, called({"city": "Lima"}), RESULT], tools=[TOOL])
    for none in (None, [], [{"type": "text", "text": ""}]):
        said = called({"city": "Lima"}, content=none)
        assert text(name, [USER, said, RESULT], tools=[TOOL]) == usual
    nothing: tuple[object, ...] = (None, [])
    for calls in nothing:
        assert text(name, [USER, {**ANSWER, "tool_calls": calls}]) == text(name, [USER, ANSWER])


@pytest.mark.parametrize("name", FORMATS)
def test_no_message_is_dropped_in_silence(name: str) -> None:
    for later in (
        [{"role": "system", "content": "LATER"}, USER],
        [{"role": "user", "content": "LATER"}],
        [{"role": "assistant", "content": "LATER"}],
        [USER, called({"city": "LATER"})],
        [{**RESULT, "content": "LATER"}],
    ):
        for given in ({}, {"tools": [TOOL]}):
            found = text(name, [USER, ANSWER, *later], add_generation_prompt=True, **given)
            assert found is None or "LATER" in found, (later, given)


@pytest.mark.parametrize("name", FORMATS)
def test_tools_that_a_format_does_not_declare_are_spoken_of_once(name: str) -> None:
    renderer = templc.get_renderer(name)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        shown = [renderer.render_text([USER], tools=[TOOL]) for _ in range(2)]
    said = [str(one.message) for one in told if "declares no tools" in str(one.message)]
    assert len(said) == ("weather" not in shown[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        renderer.render_text([USER], tools=[])


@pytest.mark.parametrize("name", FORMATS)
def test_an_unfinished_answer_keeps_its_last_space(name: str) -> None:
    begun = {"role": "assistant", "content": "So: "}
    found = text(name, [USER, begun], continue_final_message=True)
    assert found is not None and found.endswith("So: ")


@pytest.mark.parametrize("as_template", [False, True], ids=["strict", "as_template"])
@pytest.mark.parametrize("name", FORMATS)
def test_a_role_and_a_text_are_read_as_any_message_is(name: str, as_template: bool) -> None:
    rules = templc.get_renderer(name).rules
    inline = rules.inline_reasoning
    thought = f"{inline.open}x{inline.close} y " if inline else ""
    taken = 0
    for role in ("user", "assistant", "system", "tool", "other"):
        for content in ("", " a\n", thought):
            raw = {"role": role, "content": content}
            found = Reader(rules, as_template).plain(raw)
            taken += found is not None
            # one key more, which says nothing, leads past the short way
            assert found in (None, Reader(rules, as_template).read({**raw, "name": None}, 0))
    assert taken or rules.content


SYSTEM = {"role": "system", "content": "s"}
PLAIN = ([USER], [SYSTEM, USER], [USER, ANSWER, SYSTEM, USER], [USER, called({}), RESULT, ANSWER])


@pytest.mark.parametrize("name", FORMATS)
def test_every_control_token_that_a_format_writes_is_one_token(name: str) -> None:
    tokenizer = tokenizer_for(name)
    made = renderer(name, tokenizer)
    for chat, tools in itertools.product(PLAIN, (None, [TOOL])):
        with warnings.catch_warnings(), contextlib.suppress(templc.MessageError):
            warnings.simplefilter("ignore")
            tokens = made.render(chat, tools=tools)
            assert tokens == tokenizer.encode(tokens.text, add_special_tokens=False).ids
