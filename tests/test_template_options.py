"""Options of published templates that hold much: the same text as the template for values that people give, and what
stands in the reasons of `test_template_variables` for variables that are no options.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.support.formats import interpreter, reference, renderer
from tests.support.published import published

SYSTEM = {"role": "system", "content": "Be brief."}
USER = {"role": "user", "content": "Where is Lisbon?"}
ANSWER = {"role": "assistant", "content": "On the Tagus."}
CHATS = ([USER], [SYSTEM, USER], [SYSTEM, USER, ANSWER, USER])
TOOL = {"type": "function", "function": {"name": "f", "description": "é", "parameters": {}}}
PYTHON = [
    "def f(a: int) -> str:\n    ...",
    {"name": "g", "parameters": {"deep": [None, True, 1.5]}},
]
SCHEMA = {"type": "object", "properties": {"a": {"enum": ["é", None, True]}}}


def same(name: str, options: dict[str, Any], tools: Any = None, chats: Any = CHATS) -> None:
    """The class and the interpreter write what the template writes."""
    for chat, prompt in itertools.product(chats, (True, False)):
        given: dict[str, Any] = {"tools": tools, "add_generation_prompt": prompt}
        wanted = reference(name).render(chat, **given, **options)
        for one in (renderer(name, **options), interpreter(name, options, as_template=False)):
            assert one.render_text(chat, **given) == wanted


@pytest.mark.parametrize("tools", [None, [TOOL, TOOL]])
@pytest.mark.parametrize("thinking", [{}, {"enable_thinking": False}])
@pytest.mark.parametrize(
    "lists",
    [
        {"python_tools": PYTHON},
        {"python_tools": PYTHON[:1]},
        {"xml_tools": PYTHON},
        {"xml_tools": PYTHON[1:], "python_tools": PYTHON},
        {"xml_tools": [], "python_tools": []},
    ],
)
def test_smollm3_declares_tools_of_both_lists(tools: Any, thinking: Any, lists: Any) -> None:
    think = {"role": "system", "content": "Be brief. /no_think"}
    override = {"role": "system", "content": "Only this. /system_override"}
    chats = (*CHATS, [think, USER], [override, USER])
    same("smollm3", {**thinking, **lists}, tools, chats)


def test_calls_in_python_code_are_content() -> None:
    given = renderer("smollm3", python_tools=PYTHON)
    sampled = "<think>\nI ask.\n</think>\n<code>\nf(1)\n</code><|im_end|>"
    found = given.parse(sampled)
    assert found.status == "ok" and found.message == {
        "role": "assistant",
        "content": sampled.removesuffix("<|im_end|>"),
    }
    chat = [USER, found.message]
    text = given.render_text(chat, add_generation_prompt=False)
    assert text == given.render_text([USER]) + sampled + "\n"


@pytest.mark.parametrize("name", ["command_a_plus", "north_mini_code"])
@pytest.mark.parametrize(
    "form",
    [
        {},
        {"type": "text"},
        {"type": "json_object"},
        {"type": "json_object", "schema": SCHEMA},
        {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}},
        {"json_schema": {}, "schema": "as it is"},
    ],
)
def test_cohere_asks_for_json(name: str, form: Any) -> None:
    for tools in (None, [TOOL]):
        same(name, {"response_format": form}, tools)
    same(name, {"response_format": form, "grounding": "enabled"}, [TOOL])


@pytest.mark.parametrize("documents", [None, [{"title": "t", "text": "x"}]])
def test_cohere_writes_ids_as_they_were_given(documents: Any) -> None:
    call = {"id": "call_é-7", "type": "function", "function": {"name": "f", "arguments": {}}}
    calls = {"role": "assistant", "content": "", "tool_calls": [call, {**call, "id": "b:1"}]}
    results = [{"role": "tool", "tool_call_id": one, "content": "r"} for one in ("call_é-7", "b:1")]
    options = {"regen_tool_call_ids": False, **({"documents": documents} if documents else {})}
    chats = ([USER, calls], [USER, calls, *results], [USER, calls, *results, ANSWER, USER, calls])
    same("command_a_plus", options, [TOOL], chats)
    given = renderer("command_a_plus", **options)
    text = given.render_text([USER, calls], tools=[TOOL], add_generation_prompt=False)
    prompt = given.render_text([USER], tools=[TOOL])
    thought = "<|START_THINKING|>I ask.<|END_THINKING|>"
    sampled = thought.removeprefix("<|START_THINKING|>") + text.removeprefix(
        prompt.removesuffix("<|START_THINKING|>")
    )
    found = given.parse(sampled)
    assert found.status == "ok" and [one["id"] for one in found.message["tool_calls"]] == [
        "call_é-7",
        "b:1",
    ]
    again = given.render_text([USER, found.message], tools=[TOOL], add_generation_prompt=False)
    assert again == prompt + sampled


@pytest.mark.parametrize("documents", [{}, {"documents": [{"title": "t", "text": "x"}]}])
@pytest.mark.parametrize(
    "knobs",
    [
        {},
        {"is_set": True},
        {"is_set": True, "citation_mode": "fast"},
        {"is_set": True, "response_format": "json_object"},
        {"is_set": True, "citation_mode": "fast", "response_format": "json_object"},
        {"is_set": True, "citation_mode": "slow", "response_format": "text"},
        {"is_set": False, "citation_mode": "fast"},
        {"response_format": "json_object"},
    ],
)
def test_jamba_writes_modes_behind_documents(documents: Any, knobs: Any) -> None:
    for tools in (None, [TOOL]):
        same("jamba", {"knobs": knobs, **documents}, tools)


@pytest.mark.parametrize(
    ("name", "template", "variable"),
    [
        ("jamba", "ai21labs-Jamba-tiny-dev", "generation_preamble"),
        ("granite_4", "ibm-granite-granite-speech-4.1-2b-plus", "prefix_text"),
    ],
)
def test_the_beginning_of_an_answer_is_a_last_message(
    name: str, template: str, variable: str
) -> None:
    told: dict[str, Any] = {variable: "On the"}
    wanted = published(template).render([USER], add_generation_prompt=True, **told)
    begun = [USER, {"role": "assistant", "content": "On the"}]
    assert renderer(name).render_text(begun, continue_final_message=True) == wanted


def test_variables_that_change_nothing_change_nothing() -> None:
    for chat in CHATS:
        plain = reference("command_a_plus").render(chat, add_generation_prompt=True)
        for variable, value in (("convert_first_system_msg", False), ("reasoning", True)):
            told: dict[str, Any] = {variable: value}
            found = reference("command_a_plus").render(chat, add_generation_prompt=True, **told)
            assert found == plain
        same("command_a_plus", {"reasoning_effort": "none"}, chats=[chat])
        unthought = reference("command_a_plus").render(
            chat, add_generation_prompt=True, reasoning=False
        )
        ours = renderer("command_a_plus", reasoning_effort="none").render_text(chat)
        assert ours == unthought
        dated = reference("llama4").render(chat, date_string="x")
        assert dated == reference("llama4").render(chat)
