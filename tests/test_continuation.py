"""Going on with an unfinished answer: what stands so far is the beginning of what the model would have sampled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import templc
from tests.support.responses import TOOLS, Case, Completion, cases, formats, message

WHOLE, PART = "Rome it is.", "Rome i"
THOUGHT, HALF = "Think of Italy.", "Think of"


def said(name: str, item: dict[str, Any]) -> Iterator[tuple[Case, Completion]]:
    """Every place of a format where a model can say the message, and how it says it."""
    for case in cases(name):
        completion = case.completion(item)
        if completion is not None:
            yield case, completion


def begun(case: Case, before: str) -> str:
    """The prompt and what the model samples before the text; some prompts open the thought that it opens too."""
    text = prompt(case)
    return text if before and text.endswith(before) else text + before


def prompt(case: Case) -> str:
    return case.renderer.render_text(
        case.messages, case.tokenizer, tools=TOOLS, add_generation_prompt=True
    )


def written(case: Case, item: dict[str, Any], text: str, size: int) -> str:
    """A render of the whole message, up to the first `size` characters of a text in its last turn."""
    whole = case.renderer.render_text([*case.messages, item], case.tokenizer, tools=TOOLS)
    return whole[: whole.rindex(text) + size]


def continued(case: Case, item: dict[str, Any]) -> str:
    return case.renderer.render_text(
        [*case.messages, item], case.tokenizer, tools=TOOLS, continue_final_message=True
    )


@pytest.mark.parametrize("name", formats())
def test_an_answer_is_gone_on_with(name: str) -> None:
    found = 0
    for case, completion in said(name, message(WHOLE, None, [])):
        before, _, _ = completion.text.partition(WHOLE)
        text = continued(case, message(PART, None, []))
        # Some templates write a turn otherwise than their own prompt begins it: then as they write it.
        assert text == begun(case, before) + PART or text == written(
            case, message(WHOLE, None, []), WHOLE, len(PART)
        )
        tokens = case.renderer.render(
            [*case.messages, message(PART, None, [])],
            case.tokenizer,
            tools=TOOLS,
            continue_final_message=True,
        )
        rest = completion.text[len(before) + len(PART) :]
        parsed = case.renderer.parse(rest, prompt=tokens, tools=TOOLS)
        assert (parsed.message["content"], parsed.status) == (WHOLE[len(PART) :], "ok")
        found += 1
    # A format whose every answer has a thought is tested below.
    assert found or any(said(name, message(WHOLE, THOUGHT, [])))


@pytest.mark.parametrize("name", formats())
def test_an_empty_answer_is_where_it_begins(name: str) -> None:
    for case, completion in said(name, message(WHOLE, None, [])):
        before, _, _ = completion.text.partition(WHOLE)
        text = continued(case, message("", None, []))
        assert (prompt(case) + before).startswith(text) and text.startswith(prompt(case))


@pytest.mark.parametrize("name", formats())
def test_an_open_thought_is_gone_on_with(name: str) -> None:
    for case, completion in said(name, message(WHOLE, THOUGHT, [])):
        if THOUGHT not in completion.text:
            # The prompt has closed the block: what comes now is no thought.
            continue
        before, _, _ = completion.text.partition(THOUGHT)
        item = {"role": "assistant", "reasoning_content": HALF}
        text = continued(case, item)
        assert text == begun(case, before) + HALF or text == written(
            case, message(WHOLE, THOUGHT, []), THOUGHT, len(HALF)
        )


def test_what_cannot_be_gone_on_with_is_refused() -> None:
    renderer = templc.get_renderer("qwen3")
    with pytest.raises(templc.TemplcError):
        renderer.render_text([{"role": "user", "content": "u"}], continue_final_message=True)
