"""What a spec says under `messages`: parts by role and order, what is told apart, roles of the first message."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from templc.demo import vocabulary
from templc.runtime.errors import MessageError
from templc.runtime.messages import Message, Reader
from templc.runtime.rules import MessageRules
from tests.support.formats import renderer
from tests.support.small import USER, made, text

IMAGE = {"type": "image", "image": "x"}
A, B = {"type": "text", "text": "a"}, {"type": "text", "text": "b"}
PICTURES = {"image": "I", "image_url": "I"}


def read(rules: MessageRules, raw: dict[str, Any], *, as_template: bool = False) -> Message:
    return Reader(rules, as_template).read(raw, 0)


def content(rules: MessageRules, *parts: Any, role: str = "user", as_template: bool = False) -> str:
    raw = {"role": role, "content": list(parts)}
    return read(rules, raw, as_template=as_template).content


def test_parts_stand_in_messages_of_their_roles_only() -> None:
    rules = MessageRules(lists="join", parts=PICTURES, parts_in=("user",))
    assert content(rules, IMAGE, A) == "Ia"
    assert content(rules, A, role="system") == "a"
    for as_template in (False, True):
        with pytest.raises(MessageError, match="in a message of the role `system`"):
            content(rules, IMAGE, role="system", as_template=as_template)


def test_an_address_that_is_missing_is_refused() -> None:
    rules = MessageRules(lists="join", parts=PICTURES)
    assert content(rules, {"type": "image_url", "image_url": {"url": "x"}}) == "I"
    with pytest.raises(MessageError, match="a part of type `image_url` has no `image_url`"):
        content(rules, {"type": "image_url"})


def test_a_picture_stands_before_a_single_text() -> None:
    rules = MessageRules(lists="join", parts=PICTURES, parts_first=("user",))
    assert content(rules, A, IMAGE) == content(rules, IMAGE, A) == "Ia"
    assert content(rules, A, IMAGE, role="system") == "aI"
    assert content(rules, A, IMAGE, B) == "aIb" and content(rules, A, B) == "ab"


def test_two_texts_that_meet_are_parted() -> None:
    rules = MessageRules(lists="join", parts=PICTURES, between_texts="|")
    assert content(rules, A, B, IMAGE, A, IMAGE) == "a|bIaI"
    media = read(rules, {"role": "user", "content": [A, B, IMAGE]}).media
    assert media is not None and media.spans == ((3, 4),)


def test_parts_are_parted_once_there_is_text() -> None:
    rules = MessageRules(lists="join", between="|")
    assert content(rules, {"type": "text", "text": ""}, A, B) == "a|b"


def test_lists_as_templates_write_them() -> None:
    for policy, wanted, marked in (
        ("json", '[{"type": "text", "text": "a"}]', True),
        ("repr", "[{'type': 'text', 'text': 'a'}]", True),
        ("note", "a", True),
        ("join", "a", False),
    ):
        rules = MessageRules(lists=policy)
        raw = {"role": "user", "content": [A]}
        found = read(rules, raw, as_template=True)
        assert (found.content, found.parts) == (wanted, marked)
        assert read(rules, raw).content == "a" and not read(rules, raw).parts
        with pytest.raises(MessageError, match="a list without a text"):
            content(rules, as_template=True)
        assert content(rules) == ""


ALONE = """\
messages:
  lists: join
  parts: {image: "I"}
  parts_alone: [user]
roles:
  user: "<${content}>"
  assistant: {opener: "<|im_end|>A", body: "${content}", closer: "<|im_end|>"}
"""


def test_a_message_with_a_picture_has_no_neighbour_of_its_role() -> None:
    seen: dict[str, Any] = {"role": "user", "content": [IMAGE]}
    answer = {"role": "assistant", "content": "a"}
    assert (
        text(ALONE, [USER, USER, answer, seen, answer, USER])
        == "<u><u><|im_end|>Aa<|im_end|><I><|im_end|>Aa<|im_end|><u>"
    )
    renderer = made(ALONE)[0]
    for chat in ([seen, USER], [USER, seen], [seen, seen]):
        with pytest.raises(MessageError, match="next to another one of its role") as refused:
            renderer.render_text(chat)
        assert refused.value.message_index == 1
    bound = type(renderer)(vocabulary("qwen3"))
    old = pickle.loads(pickle.dumps(bound.render([seen], add_generation_prompt=False)))
    with pytest.raises(MessageError, match="next to another one of its role"):
        bound.extend(old, [USER])
    assert bound.extend(old, [answer, USER]).text.startswith("<|im_end|>Aa<|im_end|><u>")


def test_what_a_template_tells_apart_is_refused_for_it_only() -> None:
    rules = MessageRules(told_apart=("tool", "calls", "other"))
    call = {"function": {"name": "f", "arguments": {}}}
    for raw, words in (
        ({"role": "tool", "content": None}, "missing content as empty"),
        ({"role": "narrator"}, "missing content as empty"),
        ({"role": "assistant", "content": "a", "tool_calls": []}, "an empty list of tool calls"),
    ):
        with pytest.raises(MessageError, match=words):
            read(rules, raw, as_template=True)
        assert read(rules, raw).content in ("", "a")
    for raw in (
        {"role": "user", "content": None},
        {"role": "tool", "content": ""},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "assistant", "content": "a", "tool_calls": None},
    ):
        assert read(rules, raw, as_template=True) == read(rules, raw)


def test_a_role_is_another_one_in_the_first_message() -> None:
    rules = MessageRules(first_roles={"developer": "system"})
    told = {"role": "developer", "content": "d"}
    assert read(rules, told).role == "system"
    with pytest.raises(MessageError, match="a developer message must stand first"):
        Reader(rules).read(told, 1)
    assert Reader(rules, as_template=True).read(told, 1).role == "developer"


def test_calls_that_a_template_tells_apart() -> None:
    rules = MessageRules(told_apart=("flat", "arguments"))
    flat: dict[str, Any] = {"name": "f", "arguments": {}}
    for call, words in (
        (flat, "a tool call has no `function`"),
        ({"function": {"name": "f", "arguments": ""}}, "empty arguments"),
    ):
        raw = {"role": "assistant", "content": "", "tool_calls": [call]}
        with pytest.raises(MessageError, match=words):
            read(rules, raw, as_template=True)
        assert read(rules, raw).calls[0].name == "f"
    whole = {"role": "assistant", "content": "", "tool_calls": [{"function": flat}]}
    assert read(rules, whole, as_template=True) == read(rules, whole)


def test_keys_of_a_declaration_that_a_format_leaves_out() -> None:
    spec = ALONE.replace(
        "roles:",
        'head: {each: tool in tools, do: "${tool.function|json_without:\\"strict a\\"}"}\nroles:',
    )
    tool = {"type": "function", "function": {"name": "f", "strict": True, "a": 1, "b": [2]}}
    assert text(spec, [USER], tools=[tool]) == '{"name": "f", "b": [2]}<u>'


def test_a_declaration_without_its_wrapper_is_refused_where_the_inner_part_is_written() -> None:
    like = renderer("deepseekv3_2", unsupported="as_template")
    with pytest.raises(MessageError, match="a tool has no `function`"):
        like.render_text([USER], tools=[{"name": "f", "parameters": {}}])
    assert '"name": "f"' in renderer("deepseekv3_2").render_text([USER], tools=[{"name": "f"}])
