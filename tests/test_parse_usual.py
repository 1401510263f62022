"""The short way of reading completions keeps nothing of a caller's that may change, and changes nothing of others."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer

from templc.runtime.codec import codec_of
from templc.runtime.parser.alphabet import COUNT
from tests.support.responses import TOOLS, Case, answered


def prepared(name: str) -> tuple[Case, list[int]]:
    """A case, and an answer all of whose tokens were met before."""
    case, answer = answered(name)
    completion = case.completion(answer)
    assert completion is not None
    case.renderer.parse(completion.ids, prompt=case.prompt(), tokenizer=case.tokenizer)
    return case, completion.ids


@pytest.mark.parametrize("name", ("qwen3", "gpt_oss"))
def test_what_is_found_out_later_is_of_what_was_given(name: str) -> None:
    case, whole = prepared(name)
    ids, prompt = list(whole), list(case.prompt())
    given: dict[str, Any] = {"tools": TOOLS, "tokenizer": case.tokenizer}
    parser = case.renderer.parser(prompt=list(prompt), **given)
    parser.feed(list(ids))
    wanted = parser.finish()
    parsed = case.renderer.parse(ids, prompt=prompt, **given)
    # A rollout goes on with the lists that it has.
    prompt += ids
    ids.clear()
    assert parsed.spans == wanted.spans
    assert parsed == wanted


def test_a_stop_is_a_plain_number_whatever_the_ids_were() -> None:
    case, ids = prepared("qwen3")
    parsed = case.renderer.parse(
        list(np.array(ids)), prompt=case.prompt(), tokenizer=case.tokenizer
    )
    assert json.dumps(parsed.stop) == str(ids[-1])


def test_control_tokens_of_one_prompt_take_no_room_from_other_completions() -> None:
    case, ids = prepared("qwen3")
    tokenizer = Tokenizer.from_str(case.tokenizer.to_str())
    tokenizer.add_special_tokens([f"<|more_{number}|>" for number in range(COUNT + 1)])
    added = codec_of(tokenizer).added()
    prompt = list(case.prompt())
    given: dict[str, Any] = {"tools": TOOLS, "tokenizer": tokenizer}
    case.renderer.parse(ids, prompt=prompt, **given)
    more = [added[f"<|more_{number}|>"] for number in range(COUNT)]
    case.renderer.parse(ids, prompt=[*prompt[:-3], *more, *prompt[-3:]], **given)
    rare = f"<|more_{COUNT}|>"
    parsed = case.renderer.parse([added[rare], *ids], prompt=prompt, **given)
    assert any(rare in note.message for note in parsed.notes)
