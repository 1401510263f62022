"""Canonical messages: every form that people have is read alike, and what cannot be understood is refused by place."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

from templc import get_renderer
from templc.runtime.errors import MessageError
from templc.runtime.messages import (
    Call,
    Message,
    Reader,
)
from templc.runtime.parts import Media
from templc.runtime.pieces import Piece
from templc.runtime.rules import InlineReasoning, MessageRules
from templc.runtime.tools import read_tools


def read(raw: object, *, as_template: bool = False) -> Message:
    return Reader(MessageRules(), as_template).read(raw, 0)


def refusal(raw: object) -> MessageError:
    with pytest.raises(MessageError) as caught:
        Reader(MessageRules()).read(raw, 3)
    return caught.value


@dataclass
class Turn:
    role: str
    content: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[Any] = field(default_factory=list)


class Model:
    """Acts like a pydantic model: its own attributes are none of the fields."""

    def __init__(self, **fields: Any) -> None:
        self._private = fields

    def model_dump(self) -> dict[str, Any]:
        return self._private


FUNCTION = {"name": "f", "arguments": '{"k": 1}'}
CALL = {"id": "c1", "type": "function", "function": FUNCTION}
SDK_CALL = SimpleNamespace(id="c1", type="function", function=SimpleNamespace(**FUNCTION))

SAID = Message(
    "assistant", content="a", reasoning="r", absent=frozenset({"name", "call_id", "calls"})
)
SAME: dict[str, object] = {
    "mapping": {"role": "assistant", "content": "a", "reasoning_content": "r"},
    "frozen mapping": MappingProxyType({"role": "assistant", "content": "a", "reasoning": "r"}),
    "thinking as a field": {"role": "assistant", "content": "a", "thinking": "r"},
    "twice the same": {"role": "assistant", "content": "a", "thinking": "r", "reasoning": "r"},
    "pydantic": Model(role="assistant", content="a", reasoning_content="r", refusal=None, audio=None),
    "plain object": SimpleNamespace(role="assistant", content="a", reasoning="r", function_call=None),
    "from and value": {"from": "gpt", "value": "a", "reasoning": "r"},
    "from model": {"from": "model", "value": "a", "reasoning": "r"},
    "thinking part": {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "r"}, {"type": "text", "text": "a"}],
    },
    "reasoning part": {
        "role": "assistant",
        "content": ({"type": "reasoning", "reasoning": "r"}, {"type": "text", "text": "a"}),
    },
    "reasoning part that holds text": {
        "role": "assistant",
        "content": [{"type": "reasoning", "text": "r"}, {"type": "text", "text": "a"}],
    },
    "parts in pieces": {
        "role": "assistant",
        "content": [{"type": "text", "text": ""}, {"type": "text", "text": "a"}],
        "reasoning_content": "r",
    },
    "bare parts": {"role": "assistant", "content": [{"text": "a"}, ""], "reasoning": "r"},
    "ids and times": {"role": "assistant", "content": "a", "reasoning": "r", "id": "x", "created_at": 1},
}  # fmt: skip


@pytest.mark.parametrize("form", SAME)
def test_every_form_of_one_message_is_read_alike(form: str) -> None:
    assert read(SAME[form]) == SAID


def test_a_dataclass_is_read_by_its_fields() -> None:
    found = read(Turn("assistant", "a", "r"))
    assert (found.role, found.content, found.reasoning, found.calls) == ("assistant", "a", "r", ())


@pytest.mark.parametrize(
    ("given", "role"),
    [
        ("human", "user"), ("gpt", "assistant"), ("model", "assistant"), ("observation", "tool"),
        ("function", "tool"), ("system", "system"), ("developer", "developer"),
    ],
)  # fmt: skip
def test_roles_of_other_conventions(given: str, role: str) -> None:
    assert read({"from": given, "value": "x"}).role == role


@pytest.mark.parametrize("content", [None, "", []])
def test_no_content_is_empty_content(content: object) -> None:
    assert read({"role": "user", "content": content}).content == ""
    assert read({"role": "user"}).content == ""


def test_what_is_missing_is_told_from_what_is_empty() -> None:
    assert "content" in read({"role": "user", "content": None}).absent
    assert "content" not in read({"role": "user", "content": ""}).absent
    assert "reasoning" not in read({"role": "assistant", "content": "", "reasoning": ""}).absent


CALLS: dict[str, object] = {
    "wrapped": CALL,
    "bare": {"id": "c1", **FUNCTION},
    "SDK object": SDK_CALL,
    "SDK object around a mapping": SimpleNamespace(id="c1", function=FUNCTION),
    "pydantic": Model(id="c1", type="function", function=FUNCTION),
    "without a type": {"id": "c1", "function": FUNCTION},
}


@pytest.mark.parametrize("form", CALLS)
def test_every_form_of_one_call_is_read_alike(form: str) -> None:
    found = read({"role": "assistant", "content": None, "tool_calls": [CALLS[form]]})
    assert found.calls == (Call("f", '{"k": 1}', "c1"),)


@pytest.mark.parametrize(
    ("given", "read_as"),
    [
        (None, {}), ("", {}), ("null", {}), ({}, {}), ({"k": 1}, {"k": 1}),
        ('{"k":1}', '{"k":1}'), (' {"k": 1}\n', ' {"k": 1}\n'), ("not JSON", "not JSON"),
    ],
)  # fmt: skip
def test_arguments_as_text_are_kept_byte_for_byte(given: object, read_as: object) -> None:
    call = {"function": {"name": "f", "arguments": given}}
    assert read({"role": "assistant", "tool_calls": [call]}).calls[0].arguments == read_as


def test_arguments_may_be_missing() -> None:
    assert read({"role": "assistant", "tool_calls": [{"name": "f"}]}).calls == (Call("f", {}),)


@pytest.mark.parametrize("calls", [None, [], ()])
def test_no_calls(calls: object) -> None:
    assert read({"role": "assistant", "content": "a", "tool_calls": calls}).calls == ()
    assert read({"role": "user", "content": "a", "tool_calls": calls}).calls == ()


@pytest.mark.parametrize("key", ["train", "trainable", "loss", "weight"])
@pytest.mark.parametrize(
    ("given", "weight"), [(True, 1.0), (False, 0.0), (0, 0.0), (0.25, 0.25), (None, None)]
)
def test_training_weights(key: str, given: object, weight: float | None) -> None:
    assert read({"role": "assistant", "content": "a", key: given}).train == weight


def test_messages_are_not_changed() -> None:
    raw = {"role": "assistant", "content": [{"type": "text", "text": "a"}], "tool_calls": [CALL]}
    before = repr(raw)
    get_renderer("qwen3_instruct").render_text([{"role": "user", "content": "u"}, raw])
    assert repr(raw) == before


def test_ids_that_a_format_needs_are_made_up_in_order() -> None:
    reader = Reader(MessageRules(call_id="functions.{name}:{index}"))
    two = [{"name": "f"}, {"name": "g", "id": "mine"}]
    first = reader.read({"role": "assistant", "tool_calls": two}, 0)
    answers = [reader.read({"role": "tool", "content": "t"}, at).call_id for at in (1, 2, 3)]
    second = reader.read({"role": "assistant", "tool_calls": [{"name": "f"}]}, 4)
    assert [call.id for call in first.calls] == ["functions.f:0", "mine"]
    assert answers == ["functions.f:0", "mine", ""]
    assert second.calls[0].id == "functions.f:2"


def test_results_in_another_order_keep_their_ids() -> None:
    reader = Reader(MessageRules(call_id="functions.{name}:{index}"))
    reader.read({"role": "assistant", "tool_calls": [{"name": "f"}, {"name": "g"}]}, 0)
    second = reader.read({"role": "tool", "content": "t", "tool_call_id": "functions.g:1"}, 1)
    first = reader.read({"role": "tool", "content": "t"}, 2)
    assert (second.call_id, first.call_id) == ("functions.g:1", "functions.f:0")


# Refusals: message, field, words of the cure.
REFUSED: dict[str, tuple[object, str, str, str]] = {
    "no message": (7, "", "a value of type int is not a message", "role and content"),
    "a text": ("hi", "", "a value of type str is not a message", "role and content"),
    "None": (None, "", "None is not a message", "role and content"),
    "a class": (Turn, "", "a value of type type is not a message", "role and content"),
    "no role": ({"content": "x"}, "role", "there is no role", '"role": "user"'),
    "role None": ({"role": None, "content": "x"}, "role", "there is no role", '"role": "user"'),
    "unknown key": (
        {"role": "user", "content": "x", "contents": "y"}, "contents", "no key `contents`", "did you mean `content`",
    ),
    "key like no other": (
        {"role": "user", "content": "x", "zzz": 1}, "zzz", "no key `zzz`", 'unsupported="as_template"',
    ),
    "reasoning of a user": (
        {"role": "user", "content": "x", "reasoning": "r"}, "reasoning", "a user message has no `reasoning`",
        "only assistant messages",
    ),
    "calls of a tool": (
        {"role": "tool", "content": "x", "tool_calls": [CALL]}, "tool_calls", "a tool message has no `tool_calls`",
        "only assistant messages",
    ),
    "two reasonings": (
        {"role": "assistant", "content": "x", "reasoning": "r", "thinking": "s"}, "reasoning_content",
        "reasoning is given twice, and differently", "give one of reasoning_content, reasoning, thinking",
    ),
    "reasoning beside a part": (
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "s"}], "reasoning": "r"},
        "reasoning_content", "reasoning is given twice", "give one of",
    ),
    "reasoning that is no text": (
        {"role": "assistant", "content": "x", "reasoning": ["r"]}, "reasoning", "reasoning is not text", "",
    ),
    "content that is a number": (
        {"role": "user", "content": 5}, "content", "content is a value of type int", "a text, None or a list",
    ),
    "content that is a mapping": (
        {"role": "user", "content": {"text": "x"}}, "content", "content is a value of type dict",
        "a text, None or a list",
    ),
    "an image": (
        {"role": "user", "content": [{"type": "image", "image": "x"}]}, "content", "a part of type `image`",
        "parts of type text",
    ),
    "a part without a type": ({"role": "user", "content": [{}]}, "content", "a part has no type", "parts of type text"),
    "a part that is a number": (
        {"role": "user", "content": [1]}, "content", "a part has no type", "parts of type text",
    ),
    "a text part without text": (
        {"role": "user", "content": [{"type": "text", "text": None}]}, "content", "a part of type `text`",
        "parts of type text",
    ),
    "a call that is text": (
        {"role": "assistant", "tool_calls": [CALL, "f()"]}, "tool_calls", "a value of type str is not a tool call",
        "the keys name and arguments",
    ),
    "a function of a call that is text": (
        {"role": "assistant", "tool_calls": [{"function": "f()"}]}, "tool_calls", "is not a tool call",
        "the keys name and arguments",
    ),
    "calls as text": (
        {"role": "assistant", "tool_calls": "f()"}, "tool_calls", "tool_calls is not a list", "",
    ),
    "a call without a name": (
        {"role": "assistant", "tool_calls": [{"arguments": {}}]}, "tool_calls", "a tool call has no name",
        "give function.name",
    ),
    "a call with an empty name": (
        {"role": "assistant", "tool_calls": [{"function": {"name": "", "arguments": {}}}]}, "tool_calls",
        "a tool call has no name", "give function.name",
    ),
    "arguments that are a value of type list": (
        {"role": "assistant", "tool_calls": [{"name": "f", "arguments": [1]}]}, "tool_calls",
        "the arguments of the call to `f` are a value of type list", "a mapping, or the JSON text",
    ),
    "a name that is no text": (
        {"role": "user", "content": "x", "name": 5}, "name", "name is a value of type int, not text", "",
    ),
    "an id that is no text": (
        {"role": "tool", "content": "x", "tool_call_id": 5}, "tool_call_id",
        "tool_call_id is a value of type int, not text", "",
    ),
    "a weight above one": (
        {"role": "assistant", "content": "x", "weight": 2}, "weight", "weight is 2", "true, false or 0 to 1",
    ),
    "a weight that is text": (
        {"role": "assistant", "content": "x", "train": "yes"}, "train", 'train is "yes"', "true, false or 0 to 1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_name_message_field_and_cure(case: str) -> None:
    raw, field_name, words, cure = REFUSED[case]
    error = refusal(raw)
    assert (error.message_index, error.field) == (3, field_name)
    assert words in error.message
    assert cure in error.help and bool(cure) == bool(error.help)
    place = f"message 3, {field_name}: " if field_name else "message 3: "
    assert str(error).startswith(place + error.message)


def test_empty_values_of_unknown_keys_are_what_sdks_dump() -> None:
    extras: dict[str, Any] = {
        "refusal": None,
        "audio": None,
        "annotations": [],
        "function_call": "",
    }
    assert read({"role": "assistant", "content": "a", **extras}).content == "a"


def test_like_the_template_unknown_keys_are_ignored() -> None:
    raw = {"role": "user", "content": "x", "zzz": 1, "reasoning": "r", "tool_calls": [CALL]}
    found = read(raw, as_template=True)
    assert (found.content, found.reasoning, found.calls) == ("x", "", ())


TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


def test_tools_flat_and_wrapped_are_one_and_the_same() -> None:
    assert read_tools([TOOL, TOOL["function"], Model(**TOOL)]) == (TOOL, TOOL, TOOL)
    assert read_tools(None) is None and read_tools([]) == ()


def test_flat_and_wrapped_tools_render_alike() -> None:
    renderer = get_renderer("qwen3_instruct")
    user = [{"role": "user", "content": "u"}]
    assert renderer.render_text(user, tools=[TOOL["function"]]) == renderer.render_text(
        user, tools=[TOOL]
    )


@pytest.mark.parametrize(
    ("tools", "words"),
    [
        ("f", "tools is not a list"),
        (TOOL, "tools is not a list"),
        ([print], "is not a tool"),
        ([TOOL, {"type": "function"}], "tool 1 has no name"),
        ([{"function": {"name": ""}}], "tool 0 has no name"),
        ([{"function": "f"}], "tool 0 has no name"),
    ],
)
def test_tools_that_cannot_be_declared_are_refused(tools: object, words: str) -> None:
    with pytest.raises(MessageError) as caught:
        read_tools(tools)
    assert words in caught.value.message and caught.value.field == "tools"


def test_an_error_behind_other_messages_names_its_own() -> None:
    messages: list[Any] = [{"role": "user", "content": "u"}, {"role": "assistant", "content": 5}]
    with pytest.raises(MessageError) as caught:
        get_renderer("qwen3").render_text(messages)
    assert (caught.value.message_index, caught.value.field) == (1, "content")


def test_inline_reasoning_that_the_template_leaves_in_content_is_left_for_it_only() -> None:
    said = {"role": "assistant", "content": "<think> hm\n</think> so"}
    rules = MessageRules(inline_reasoning=InlineReasoning("<think>", "</think>", "", "whole"))
    ours = MessageRules(
        inline_reasoning=InlineReasoning("<think>", "</think>", "", "whole", in_template=False)
    )
    for read_so in (Reader(rules), Reader(rules, as_template=True), Reader(ours)):
        found = read_so.read(said, 0)
        assert (found.reasoning, found.content) == (" hm\n", " so")
    kept = Reader(ours, as_template=True).read(said, 0)
    assert (kept.reasoning, kept.content) == ("", said["content"])


def test_inline_reasoning_takes_the_place_of_the_field_only_as_templates_have_it() -> None:
    said = {"role": "assistant", "content": "<think>in</think>so", "reasoning_content": "field"}
    for over in (False, True):
        inline = InlineReasoning("<think>", "</think>", over_field=over)
        rules = MessageRules(inline_reasoning=inline)
        kept, template = Reader(rules).read(said, 0), Reader(rules, as_template=True).read(said, 0)
        assert (kept.reasoning, kept.content) == ("field", said["content"])
        wanted = ("in", "so") if over else ("field", said["content"])
        assert (template.reasoning, template.content) == wanted


def test_media_are_the_formats_where_a_text_repeats_them_they_are_not() -> None:
    media = Media("<img> and <img>", ((0, 5),))
    whole = Piece("<img> and <img>", body=True, message=0, field="content")
    assert [(one.text, one.body) for one in media.split(whole)] == [
        ("<img>", False),
        (" and <img>", True),
    ]
    # A part of the content that could be either one is the user's.
    assert media.split(whole._replace(text="<img>")) == [whole._replace(text="<img>")]
