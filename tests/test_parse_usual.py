"""The short way of reading completions takes calls, keeps nothing of a caller's, and changes nothing of others."""

from __future__ import annotations

import json
import random
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer

from templc.runtime.codec import codec_of
from templc.runtime.parser.alphabet import COUNT
from templc.runtime.parser.machine import Machine
from templc.runtime.parser.vocabulary import vocabulary_of
from tests.support.responses import TOOLS, Case, answered, cases, small_messages


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


def called(name: str) -> tuple[Case, list[list[int]]]:
    """A case, and its small answers with calls, all of whose tokens were met before."""
    case = next(cases(name))
    answers = (item for item in small_messages(case.renderer) if plainly_calls(item))
    found = [item.ids for answer in answers if (item := case.completion(answer)) is not None]
    for ids in found:
        case.renderer.parse(ids, prompt=case.prompt(), tools=TOOLS, tokenizer=case.tokenizer)
    return case, found


def plainly_calls(message: dict[str, Any]) -> bool:
    """Whether a message has calls, and no anchor of the format in its text."""
    calls = message.get("tool_calls", ())
    plain = all(isinstance(call["function"]["arguments"], str) for call in calls)
    return bool(calls) and plain and message["content"] in ("", "a")


@pytest.mark.parametrize("name", ("qwen3", "kimi_k2", "deepseekv3", "gpt_oss", "minimax_m2"))
def test_calls_that_a_format_writes_so_are_read_without_the_machine(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, completions = called(name)
    prompt, given = case.prompt(), {"tools": TOOLS, "tokenizer": case.tokenizer}
    wanted = [machine_read(case, ids) for ids in completions]
    monkeypatch.setattr(Machine, "feed", refused)
    parsed = [case.renderer.parse(ids, prompt=prompt, **given) for ids in completions]
    assert [one.message["tool_calls"] for one in parsed] == [
        one.message["tool_calls"] for one in wanted
    ]
    monkeypatch.undo()
    assert parsed == wanted


@pytest.mark.parametrize("name", ("qwen3", "deepseekv3", "gemma4", "qwen3_coder"))
@pytest.mark.parametrize("text", ('"', "\\", "}", "\n", " ", '","', "{", "</"))
def test_a_call_with_more_in_it_is_read_as_the_machine_reads_it(name: str, text: str) -> None:
    case, completions = called(name)
    more = codec_of(case.tokenizer).plain(text)
    ids = max(completions, key=len)
    for at in range(len(ids) + 1):
        changed = [*ids[:at], *more, *ids[at:]]
        parsed = case.renderer.parse(
            changed, prompt=case.prompt(), tools=TOOLS, tokenizer=case.tokenizer
        )
        assert parsed == machine_read(case, changed)


def machine_read(case: Case, ids: list[int]) -> Any:
    """What the machine says of a completion."""
    parser = case.renderer.parser(prompt=case.prompt(), tools=TOOLS, tokenizer=case.tokenizer)
    parser.feed(ids)
    return parser.finish()


def refused(self: Machine, text: str) -> None:
    """In place of the machine's reading: a prompt without a beginning of the answer may still be given."""
    assert not text


def fresh(case: Case) -> Tokenizer:
    """The tokenizer once more: nothing is known yet of its tokens."""
    return Tokenizer.from_str(case.tokenizer.to_str())


def test_tokens_that_never_came_are_read_without_the_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case, ids = prepared("qwen3")
    monkeypatch.setattr(Machine, "feed", refused)
    parsed = case.renderer.parse(ids, prompt=case.prompt(), tokenizer=fresh(case))
    assert parsed.status == "ok"


def test_only_tokens_that_came_take_memory() -> None:
    case, ids = prepared("qwen3")
    codec = codec_of(fresh(case))
    plain = set(ids) - set(codec.added().values())
    case.renderer.parse(ids, tokenizer=codec)
    known = vocabulary_of(codec)
    assert set(known._pieces) == plain | {*known.controls}


@pytest.mark.parametrize("odd", (-1, -151660, 2**31, 2**32, 2**40, 3.0, 3.7, True))
def test_odd_ids_are_read_as_the_machine_reads_them(odd: Any) -> None:
    case, ids = prepared("qwen3")
    for changed in ([odd, *ids], [*ids[:-1], odd, ids[-1]], [*ids, odd]):
        parsed = case.renderer.parse(
            changed, prompt=case.prompt(), tools=TOOLS, tokenizer=case.tokenizer
        )
        assert parsed == machine_read(case, changed)


def test_ids_may_be_a_tuple_or_an_array() -> None:
    case, ids = prepared("qwen3")
    given: dict[str, Any] = {"prompt": case.prompt(), "tokenizer": case.tokenizer}
    wanted = case.renderer.parse(ids, **given)
    others: list[Any] = [tuple(ids), np.array(ids)]
    for same in others:
        assert case.renderer.parse(same, **given) == wanted


def test_a_byte_that_no_text_has_is_no_control_token() -> None:
    case, ids = prepared("qwen3")
    codec = codec_of(case.tokenizer)
    bytes_of = {codec.token_bytes(token): token for token in range(256)}
    for others in ((0xFF,), (0xFF, 0, 0, 1), (0xED, 0xA0, 0x80)):
        changed = [*ids[:-1], *(bytes_of[bytes([byte])] for byte in others), ids[-1]]
        parsed = case.renderer.parse(
            changed, prompt=case.prompt(), tools=TOOLS, tokenizer=case.tokenizer
        )
        assert parsed == machine_read(case, changed)
        assert "\ufffd" in parsed.message["content"]


@pytest.mark.parametrize("said", ("be kind", "/no_think", "/think"))
def test_what_a_prompt_holds_of_the_answer_may_hang_on_the_system_message(said: str) -> None:
    renderer = next(cases("smollm3")).renderer
    tokenizer = next(cases("smollm3")).tokenizer
    chat = [{"role": "system", "content": said}, {"role": "user", "content": "q"}]
    conversation = renderer.start(chat, tokenizer)
    ids = [*codec_of(tokenizer).plain("Yes."), renderer.stop_token_ids(tokenizer)[0]]
    assert conversation.sampled(ids).canonical


def test_one_plan_is_for_tools_of_all_kinds() -> None:
    case, completions = called("qwen3")
    ids = max(completions, key=len)
    given: dict[str, Any] = {"prompt": case.prompt(), "tokenizer": case.tokenizer}
    for _ in range(2):
        assert not case.renderer.parse(ids, **given).notes
        assert not case.renderer.parse(ids, tools=TOOLS, **given).notes
        others = [{"type": "function", "function": {"name": "other"}}]
        notes = case.renderer.parse(ids, tools=others, **given).notes
        assert {note.code for note in notes} == {"unknown_tool"}


def test_a_call_without_content_is_read_the_short_way_and_needs_no_blank_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = next(cases("qwen3_coder"))
    call = {"id": "call_0", "function": {"name": "f", "arguments": {"k": "v"}}}
    completion = case.completion({"role": "assistant", "content": "", "tool_calls": [call]})
    assert completion is not None
    wanted = machine_read(case, completion.ids)
    assert not wanted.notes
    monkeypatch.setattr(Machine, "feed", refused)
    parsed = case.renderer.parse(
        completion.ids, prompt=case.prompt(), tools=TOOLS, tokenizer=case.tokenizer
    )
    monkeypatch.undo()
    assert parsed == wanted


@pytest.mark.parametrize("name", ("qwen3", "llama3", "gpt_oss", "kimi_k2"))
@pytest.mark.parametrize("finished", (True, False))
def test_an_answer_without_its_stop_is_read_without_the_machine(
    name: str, finished: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, whole = prepared(name)
    given: dict[str, Any] = {"prompt": case.prompt(), "tokenizer": case.tokenizer}
    parser = case.renderer.parser(**given)
    parser.feed(whole[:-1])
    wanted = parser.finish(finished=finished)
    monkeypatch.setattr(Machine, "feed", refused)
    parsed = case.renderer.parse(whole[:-1], finished=finished, **given)
    monkeypatch.undo()
    assert (parsed.status, parsed.stop) == ("ok" if finished else "truncated", None)
    assert parsed == wanted


@pytest.mark.parametrize("name", ("qwen3", "deepseekv3", "gpt_oss", "gemma4", "mistral_small_3_2"))
@pytest.mark.parametrize("finished", (True, False))
def test_an_end_anywhere_is_read_as_the_machine_reads_it(name: str, finished: bool) -> None:
    case, completions = called(name)
    given: dict[str, Any] = {"prompt": case.prompt(), "tokenizer": case.tokenizer}
    blank = codec_of(case.tokenizer).plain("\n")
    ids = max(completions, key=len)
    for at in range(1, len(ids)):
        for cut in (ids[:at], [*ids[:at], *blank]):
            parser = case.renderer.parser(**given)
            parser.feed(cut)
            assert parser.finish(finished=finished) == case.renderer.parse(
                cut, finished=finished, **given
            )


def test_threads_that_ask_the_same_result_find_the_same() -> None:
    case, ids = prepared("qwen3")
    dice = random.Random(1)
    completions = [[*dice.choices(range(20000), k=60), ids[-1]] for _ in range(40)]
    asked, wanted = (
        [case.renderer.parse(one, tokenizer=case.tokenizer) for one in completions]
        for _ in range(2)
    )
    told = [(one.spans, one.canonical, one.differs) for one in wanted]
    start = threading.Barrier(8)

    def found(_: int) -> list[Any]:
        start.wait()
        return [(one.spans, one.canonical, one.differs) for one in asked]

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(8) as pool:
            assert all(one == told for one in pool.map(found, range(8)))
    finally:
        sys.setswitchinterval(interval)
