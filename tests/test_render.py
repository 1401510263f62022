"""Rendering for callers: formats by name, options, what is known of tokens, tokenizers of every kind."""

from __future__ import annotations

import inspect
import os
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

import templc
from templc import FormatError, MessageError, OptionError
from templc.problems.problem import SpecError
from templc.runtime import misplaced
from tests.support import vocabularies
from tests.support.formats import FORMATS, SPECS, VOCABULARIES, renderer

USER = {"role": "user", "content": "hi"}


ANSWER = {"role": "assistant", "content": "yo"}


@pytest.mark.parametrize(
    "name", ["qwen3_instruct", "qwen3-2507", "Qwen3-Instruct", "QWEN3_INSTRUCT_2507"]
)
def test_names_and_aliases_without_regard_to_case_and_hyphens(name: str) -> None:
    assert templc.get_renderer(name).info.name == "qwen3_instruct"


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("kimi-k2", "kimi_k2_instruct"),
        ("kimi_k2_thinking", "kimi_k2"),
        ("deepseek-v3", "deepseekv3"),
    ],
)
def test_names_of_other_projects_lead_to_the_revision_that_they_mean(alias: str, name: str) -> None:
    assert templc.get_renderer(alias).info.name == name


def test_every_alias_leads_to_one_format() -> None:
    for name in templc.list_formats():
        for alias in templc.get_renderer(name).info.aliases:
            assert templc.get_renderer(alias).info.name == name


def test_an_unknown_format_gets_the_nearest_names() -> None:
    with pytest.raises(FormatError) as caught:
        templc.get_renderer("qwen3_instrct")
    assert caught.value.message == "there is no format `qwen3_instrct`"
    assert "did you mean qwen3_instruct" in caught.value.help


def test_a_name_like_no_other_gets_the_list() -> None:
    with pytest.raises(FormatError) as caught:
        templc.get_renderer("zzzzzz")
    assert "known: " in caught.value.help and "qwen3_instruct" in caught.value.help


@pytest.mark.parametrize("kind", [str, Path])
def test_a_spec_file_needs_no_build(kind: type, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    text = (SPECS / "qwen3_instruct.yaml").read_text(encoding="utf-8")
    path.write_text(text.replace("format: qwen3_instruct", "format: mine"), encoding="utf-8")
    found = templc.get_renderer(kind(path))
    assert found.info.name == "mine"
    assert found.render_text([USER]) == renderer("qwen3_instruct").render_text([USER])
    assert type(templc.get_renderer(kind(path))) is type(found), "compiled once"


def test_a_spec_file_that_changed_is_compiled_again(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    text = "format: mine\ntitle: Mine\nextends: qwen2\nreference: {note: none}\ntexts: {identity: %s}\n"
    for at, identity in enumerate(("One", "Two")):
        path.write_text(text % identity, encoding="utf-8")
        os.utime(path, ns=(at + 1, at + 1))
        assert identity in templc.get_renderer(path).render_text([USER])


def test_a_spec_file_is_compiled_again_when_one_that_it_extends_changed(tmp_path: Path) -> None:
    path, base = tmp_path / "mine.yaml", tmp_path / "qwen2.yaml"
    text = "format: mine\ntitle: Mine\nextends: qwen2\nreference: {note: none}\n"
    path.write_text(text, encoding="utf-8")
    first = templc.get_renderer(path)
    assert type(templc.get_renderer(path)) is type(first), "compiled once"
    shipped = (SPECS / "qwen2.yaml").read_text(encoding="utf-8")
    for at, identity in enumerate(("You are one", "You are two")):
        changed = shipped.replace("You are a helpful assistant", identity)
        base.write_text(changed, encoding="utf-8")
        os.utime(base, ns=(at + 1, at + 1))
        assert identity in templc.get_renderer(path).render_text([USER])


def test_a_missing_spec_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        templc.get_renderer(tmp_path / "none.yaml")
    assert "none.yaml" in str(caught.value)


def test_an_unknown_option_gets_the_nearest_and_the_list() -> None:
    with pytest.raises(OptionError) as caught:
        templc.get_renderer("qwen3", enable_thinkng=False)
    assert caught.value.message == "qwen3 has no option `enable_thinkng`"
    assert (
        caught.value.help == "did you mean `enable_thinking`? its options: enable_thinking (bool)"
    )


def test_a_format_without_options_says_so() -> None:
    with pytest.raises(OptionError) as caught:
        templc.get_renderer("qwen3_instruct", enable_thinking=False)
    assert caught.value.help == "its options: none"


def test_what_belongs_to_a_render_is_no_option() -> None:
    with pytest.raises(OptionError, match="`tools` is no option: it is given to each render") as e:
        templc.get_renderer("qwen3", tools=[])
    assert e.value.help == "renderer.render(messages, tools=...)"


def test_other_names_of_tools_are_told() -> None:
    with pytest.raises(OptionError, match="tools are given to each render") as caught:
        templc.get_renderer("granite_4", available_tools=[])
    assert caught.value.help == "renderer.render(messages, tools=...)"


@pytest.mark.parametrize("call", ["render", "render_text", "pieces", "start", "supervised"])
def test_options_belong_to_the_renderer(call: str) -> None:
    renderer = templc.get_renderer("granite_4")
    with pytest.raises(OptionError, match="the option `documents` is given when") as caught:
        getattr(renderer, call)([USER], documents=[])
    assert caught.value.help == 'get_renderer("granite_4", documents=...)'
    with pytest.raises(OptionError, match=f"{call} takes no `enable_thinking`") as caught:
        getattr(renderer, call)([USER], enable_thinking=True)
    assert caught.value.help == "granite_4 has no such option either"
    with pytest.raises(OptionError) as caught:
        getattr(renderer, call)([USER], tool=[])
    assert caught.value.help == "did you mean `tools`?"


def test_signatures_show_what_a_call_takes_and_no_more() -> None:
    for name in misplaced.CALLS:
        method = getattr(templc.Renderer, name)
        parameters = inspect.signature(method).parameters
        assert "misplaced" not in parameters and "self" in parameters, name
        with pytest.raises(OptionError, match=f"{name} takes no `_x`"):
            getattr(templc.get_renderer("granite_4"), name)([], [], _x=1)


def test_how_a_renderer_treats_its_input_is_said_when_it_is_made() -> None:
    renderer = templc.get_renderer("granite_4")
    for name in ("unsupported", "content_specials"):
        with pytest.raises(OptionError, match=f"`{name}` is given when the renderer") as caught:
            renderer.render([USER], **{name: "x"})  # type: ignore[arg-type]
        assert caught.value.help == f'get_renderer("granite_4", {name}=...)'
    with pytest.raises(OptionError, match="extend takes no `tools`") as caught:
        renderer.extend([], [USER], tools=[])  # type: ignore[call-arg, arg-type]
    assert caught.value.help == "render takes it: renderer.render(messages, tools=...)"


@pytest.mark.parametrize(
    ("value", "cure"),
    [
        (None, "leave it out to keep it unset"), ("false", "it must be true or false"), (0, "it must be true or false"),
    ],
)  # fmt: skip
def test_options_are_typed(value: object, cure: str) -> None:
    with pytest.raises(OptionError) as caught:
        templc.get_renderer("qwen3", enable_thinking=value)
    assert "enable_thinking" in caught.value.message and caught.value.help == cure


@pytest.mark.parametrize("name", ["unsupported", "content_specials"])
def test_settings_of_a_renderer_are_checked(name: str) -> None:
    with pytest.raises(OptionError, match=f"{name} is 'ignore'"):
        templc.get_renderer("qwen3", **{name: "ignore"})


@pytest.mark.parametrize(
    "name", ["enable_thinking", "content_specials", "as_template", "options", "rules"]
)
def test_settings_of_a_renderer_are_never_changed(name: str) -> None:
    renderer = templc.get_renderer("qwen3")
    was = getattr(renderer, name)
    with pytest.raises(OptionError, match=f"`{name}` of a renderer is never changed"):
        setattr(renderer, name, False)
    assert getattr(renderer, name) == was
    renderer.tokenizer = None  # which each call asks for


def test_a_member_of_an_enumeration_is_the_text_that_it_is_equal_to() -> None:
    effort = Enum("effort", {"NONE": "none"}, type=str)
    texts = [
        templc.get_renderer("mistral_small_4", reasoning_effort=given).render_text(
            [{"role": "user", "content": "hi"}]
        )
        for given in (effort.NONE, "none")
    ]
    assert texts[0] == texts[1]


def test_an_unset_option_is_neither_true_nor_false() -> None:
    prompts = {
        value: templc.get_renderer("qwen3", **value_of(value)).render_text([USER])
        for value in ("unset", True, False)
    }
    assert prompts["unset"] == prompts[True] != prompts[False]
    assert prompts[False] == prompts[True] + "<think>\n\n</think>\n\n"


def value_of(value: object) -> dict[str, Any]:
    return {} if value == "unset" else {"enable_thinking": value}


def test_a_renderer_shows_its_options() -> None:
    assert (
        repr(templc.get_renderer("qwen3", enable_thinking=False))
        == "<renderer qwen3, enable_thinking=False>"
    )


def test_an_unknown_role_gets_the_list_of_roles() -> None:
    with pytest.raises(MessageError) as caught:
        templc.get_renderer("role_colon").render_text([USER, {"role": "narrator", "content": "x"}])
    error = caught.value
    assert (error.message_index, error.field) == (1, "role")
    assert error.message == "role_colon has no role `narrator`"
    assert error.help == "its roles: system, developer, user, tool, assistant"


def test_what_would_be_lost_is_refused_or_warned_about_once() -> None:
    messages = [USER, {"role": "narrator", "content": "x"}]
    with pytest.raises(MessageError):
        templc.get_renderer("qwen3").render_text(messages)
    lossy = templc.get_renderer("qwen3", unsupported="as_template")
    with pytest.warns(UserWarning, match="qwen3: .* lost") as caught:
        lossy.render_text(messages)
        lossy.render_text(messages)
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("qwen3", {"role": "user", "content": "x\ud800y"}),
        ("qwen3", {"role": "assistant", "content": "a", "reasoning": "x\ud800y"}),
        ("kimi_k2", {"role": "user", "content": "a", "name": "x\ud800y"}),
    ],
)
def test_a_lone_surrogate_is_refused_by_place(name: str, message: dict[str, Any]) -> None:
    with pytest.raises(MessageError) as caught:
        renderer(name).render([USER, message], vocabularies.hf(VOCABULARIES[name]))
    assert "lone surrogate (U+D800)" in caught.value.message
    assert (caught.value.message_index, caught.value.field) == (1, list(message)[-1])


PROMPTED = {0: True, 1: False, 2: True}


"""Whether a prompt follows the first messages of the conversation, by the last of them."""


@pytest.mark.parametrize("name", FORMATS)
def test_the_prompt_is_added_unless_the_last_message_is_an_answer(name: str) -> None:
    made = renderer(name)
    for last, prompted in PROMPTED.items():
        messages = [USER, ANSWER, USER][: last + 1]
        automatic = made.render_text(messages)
        assert automatic == made.render_text(messages, add_generation_prompt=prompted)
        if name in VOCABULARIES and prompted:
            assert automatic != made.render_text(messages, add_generation_prompt=False)
