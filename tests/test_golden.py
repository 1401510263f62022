"""Named conversations: what transformers rendered is the snapshot, and ours must equal it.

The two assertions are apart on purpose: updating snapshots can never bless a mistake of templc, and an update of
transformers shows as a diff of its own. Declared deviations are tested: each must exist, and vanish as_template.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

import templc
from templc.ir.interpret import Interpreter
from templc.runtime.errors import TemplcError
from templc.verify import PublishedError
from tests.support.formats import FORMATS, REFERENCED, option_sets, program, reference

FOLDER = Path(__file__).parent / "conversations"
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("*.json")))
REFUSED = "(refused)"


class TextFiles(SingleFileSnapshotExtension):
    """One readable file for each snapshot."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"


@pytest.fixture
def text_file(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(TextFiles)


def conversation(name: str) -> dict[str, Any]:
    """The arguments of one render."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


def theirs(name: str, chat: str, options: dict[str, Any]) -> str:
    try:
        return reference(name).render(**conversation(chat), **options)
    except PublishedError:
        return REFUSED


def rendered(renderer: Any, chat: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            text: str = renderer.render_text(**conversation(chat))
        except TemplcError:
            return REFUSED
    return text


@pytest.mark.parametrize("name", REFERENCED)
def test_published_templates_render_as_recorded(name: str, text_file: SnapshotAssertion) -> None:
    parts = []
    for options in option_sets(name):
        for chat in NAMES:
            parts.append(f"=== {chat} {json.dumps(options)}\n{theirs(name, chat, options)}\n")
    assert "".join(parts) == text_file


@pytest.mark.parametrize("name", REFERENCED)
def test_generated_class_and_interpreter_equal_the_published_template(name: str) -> None:
    for options in option_sets(name):
        generated = templc.get_renderer(name, unsupported="as_template", **options)
        interpreted = Interpreter(program(name), True, options)
        for chat in NAMES:
            wanted = theirs(name, chat, options)
            assert rendered(generated, chat) == wanted, (chat, options)
            assert rendered(interpreted, chat) == wanted, (chat, options)


@pytest.mark.parametrize("name", FORMATS)
def test_each_declared_deviation_exists(name: str) -> None:
    for deviation in program(name).deviations:
        assert deviation.shows in NAMES, deviation
        ours = rendered(templc.get_renderer(name), deviation.shows)
        assert ours != REFUSED
        assert ours != theirs(name, deviation.shows, {}), deviation


@pytest.mark.parametrize("name", REFERENCED)
def test_by_default_ours_differs_from_the_template_only_where_it_is_declared(name: str) -> None:
    declared = {deviation.shows for deviation in program(name).deviations}
    renderer = templc.get_renderer(name)
    for chat in NAMES:
        ours, wanted = rendered(renderer, chat), theirs(name, chat, {})
        if ours in (REFUSED, wanted) or chat in declared:
            continue
        same_input = STRING_ARGUMENTS if chat in STRING_ARGUMENTS else set()
        normalised = wanted == REFUSED and chat in NORMALISED
        assert normalised or declared & same_input, (chat, ours, wanted)


STRING_ARGUMENTS = {
    "tool_loop",
    "call_then_prompt",
    "result_then_prompt",
    "parallel_calls",
    "text_before_call",
    "nonascii_arguments",
    "string_arguments",
    "missing_call_ids",
    "none_content",
    "reasoning_loop",
    "reasoning_loop_answered",
}
"""Conversations whose arguments are JSON strings: a deviation for one shows in all of them."""

NORMALISED = STRING_ARGUMENTS | {"mapping_arguments", "text_parts"}
"""Input that every format takes in one canonical form, also where its template raises: arguments as a mapping or
as JSON text, lists of text parts, content that is None."""

TEXTS = {
    ("role_colon", "one_user"): "User: Hello!\n\nAssistant:",
    (
        "role_colon",
        "two_turns",
    ): "User: Hi\n\nAssistant: Hello!\n\nUser: Bye\n\nAssistant: Ciao.\n\n",
    ("role_colon", "system_first"): "System: Be brief.\n\nUser: Hi\n\nAssistant:",
    ("qwen3", "text_parts"): "<|im_start|>user\nName a fruit<|im_end|>\n<|im_start|>assistant\n",
    ("qwen2_5", "string_arguments"): (
        "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n"
        "<|im_start|>user\nHow warm is Oslo?<|im_end|>\n<|im_start|>assistant\n"
        '<tool_call>\n{"name": "get_temp", "arguments": {"place": "Oslo"}}\n</tool_call><|im_end|>\n'
    ),
    ("llama3", "text_parts"): (
        "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nName a fruit<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n"
    ),
    ("deepseekv3", "tool_loop"): (
        "<｜begin▁of▁sentence｜><｜User｜>Weather?<｜Assistant｜><｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function"
        '<｜tool▁sep｜>get_weather\n```json\n{"city": "Lima"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
        "<｜end▁of▁sentence｜><｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>18 C<｜tool▁output▁end｜>"
        "<｜tool▁outputs▁end｜>18 degrees.<｜end▁of▁sentence｜><｜User｜>And Oslo?<｜Assistant｜>"
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n"
        '{"city": "Oslo"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>'
        "<｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>3 C<｜tool▁output▁end｜><｜tool▁outputs▁end｜>"
        "3 degrees.<｜end▁of▁sentence｜>"
    ),
}


@pytest.mark.parametrize(("name", "chat"), TEXTS)
def test_texts_that_no_template_gives_are_written_out(name: str, chat: str) -> None:
    assert rendered(templc.get_renderer(name), chat) == TEXTS[name, chat]
