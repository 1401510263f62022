"""Reading completions back: the laws that hold for every format.

A message that the format can express, rendered and read back, is the same message; whatever is read, every token is in
exactly one span; and a cut of the input anywhere changes nothing.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from templc.registry import get_renderer
from templc.runtime.codec import codec_of
from templc.runtime.parsed import Delta, Parsed
from tests.support.responses import (
    TOOLS,
    USER,
    Case,
    Completion,
    answered,
    cases,
    formats,
    message,
    small_messages,
    tokenizer_for,
)
from tests.support.strategies import bodies

FAMILIES = (
    "qwen3",
    "qwen3_instruct",
    "kimi_k2",
    "deepseekv3_1",
    "llama3_1",
    "qwen3_coder",
    "role_colon",
)
# Tests of every format take a few of the small messages; `python -m tests.parse_fuzz --laws` takes all of them.
SOME = 40


def said(parsed: Parsed) -> tuple[str, str, list[tuple[str, Any]]]:
    calls = [call["function"] for call in parsed.message.get("tool_calls", [])]
    return (
        parsed.message["content"],
        parsed.message.get("reasoning_content", ""),
        [(call["name"], call["arguments"]) for call in calls],
    )


def covers(parsed: Parsed, size: int) -> bool:
    """Whether the spans hold every token once, in order."""
    ends = [0, *(span.end for span in parsed.spans)]
    starts = [*(span.start for span in parsed.spans), size]
    return ends == starts and all(span.start < span.end for span in parsed.spans)


def check_round_trip(case: Case, completion: Completion) -> None:
    parsed = case.renderer.parse(
        completion.ids, prompt=case.prompt(), tools=TOOLS, tokenizer=case.tokenizer
    )
    assert said(parsed) == (completion.content, completion.reasoning, completion.calls)
    assert (parsed.status, parsed.canonical, parsed.differs) == ("ok", True, None)
    assert covers(parsed, len(completion.ids))


@pytest.mark.parametrize("name", FAMILIES)
def test_small_messages_come_back(name: str) -> None:
    drawn = random.Random(0)
    found = 0
    for case in cases(name):
        messages = list(small_messages(case.renderer))
        for item in drawn.sample(messages, min(SOME, len(messages))):
            completion = case.completion(item)
            if completion is not None:
                check_round_trip(case, completion)
                found += 1
    assert found


@pytest.mark.parametrize("name", formats())
def test_calls_come_back(name: str) -> None:
    case = next(cases(name))
    with_calls = [item for item in small_messages(case.renderer) if "tool_calls" in item]
    # One and two calls, without content and with some, and hostile arguments.
    for item in (*with_calls[:8], *with_calls[-6:]):
        completion = case.completion(item)
        if completion is not None and (completion.calls or not case.reads_calls()):
            check_round_trip(case, completion)


@pytest.mark.parametrize("name", FAMILIES)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_hostile_contents_come_back(name: str, data: st.DataObject) -> None:
    case = next(cases(name))
    item = message(data.draw(bodies()), None, [])
    completion = case.completion(item)
    if (
        completion is not None
        and codec_of(case.tokenizer).decode(completion.ids) == completion.text
    ):
        check_round_trip(case, completion)


def samples(name: str) -> Iterator[tuple[Case, Completion]]:
    case = next(cases(name))
    call = {
        "id": "functions.f:1",
        "function": {"name": "f", "arguments": '{"k": "é </tool_call>"}'},
    }
    for item in (
        message("One.\n", "hm", [call]),
        message("One 🧑.", None, [call]),
        message("a", None, []),
    ):
        completion = case.completion(item)
        if completion is not None:
            yield case, completion


@pytest.mark.parametrize("name", FAMILIES)
def test_a_cut_anywhere_is_read(name: str) -> None:
    for case, completion in samples(name):
        prompt = case.prompt()
        for size in range(len(completion.ids)):
            ids = completion.ids[:size]
            parsed = case.renderer.parse(ids, prompt=prompt, tokenizer=case.tokenizer)
            assert parsed.status == "truncated" or not get_renderer(name).info.stop
            assert covers(parsed, size)


def streamed(case: Case, pieces: list[Any]) -> tuple[list[Delta], Parsed]:
    parser = case.renderer.parser(prompt=case.prompt(), tools=TOOLS, tokenizer=case.tokenizer)
    deltas = [delta for piece in pieces for delta in parser.feed(piece)]
    parsed = parser.finish()
    return [*deltas, *parser.last], parsed


def joined(deltas: list[Delta], kind: str) -> str:
    return "".join(delta.text for delta in deltas if delta.kind == kind)


@pytest.mark.parametrize("name", FAMILIES)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32))
def test_chunks_change_nothing(name: str, seed: int) -> None:
    drawn = random.Random(seed)
    case, ids = mutated(name, drawn)
    whole = case.renderer.parse(ids, prompt=case.prompt(), tools=TOOLS, tokenizer=case.tokenizer)
    cuts = sorted(drawn.sample(range(len(ids) + 1), min(len(ids), drawn.randint(0, 9))))
    pieces = [ids[a:b] for a, b in itertools.pairwise([0, *cuts, len(ids)])]
    for chunks in (pieces, [[token] for token in ids]):
        deltas, parsed = streamed(case, chunks)
        assert parsed == whole
        assert joined(deltas, "content") == whole.message["content"]
        assert joined(deltas, "reasoning") == whole.message.get("reasoning_content", "")
        assert sum(delta.kind == "tool_name" for delta in deltas) == len(said(whole)[2])


def mutated(name: str, drawn: random.Random) -> tuple[Case, list[int]]:
    """A completion with tokens taken out, doubled, swapped or drawn anew."""
    case, completion = drawn.choice(list(samples(name)))
    ids = list(completion.ids)
    codec = codec_of(case.tokenizer)
    controls = [codec.token_id(text) for text in case.renderer.info.specials]
    for _ in range(drawn.randint(0, 5)):
        at = drawn.randrange(len(ids) + 1)
        new = drawn.choice(
            [token for token in controls if token is not None] + [drawn.randrange(5000)]
        )
        ids[at : at + drawn.randint(0, 2)] = drawn.choice([[], [new], [new, new], ids[:at][-3:]])
    return case, ids


@pytest.mark.parametrize("name", FAMILIES)
def test_mutated_completions_never_raise(name: str) -> None:
    drawn = random.Random(1)
    for _ in range(60):
        case, ids = mutated(name, drawn)
        parsed = case.renderer.parse(ids, prompt=case.prompt(), tokenizer=case.tokenizer)
        assert covers(parsed, len(ids))


@pytest.mark.parametrize("name", formats())
def test_every_format_reads_an_answer(name: str) -> None:
    case, answer = answered(name)
    completion = case.completion(answer)
    assert completion is not None
    check_round_trip(case, completion)


@pytest.mark.parametrize("name", ("qwen3", "deepseekv3", "llama3", "gpt_oss", "kimi_k2", "qwen3_5"))
def test_an_answer_is_read_the_short_way(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case, answer = answered(name)
    completion = case.completion(answer)
    assert completion is not None
    given: dict[str, Any] = {"prompt": case.prompt(), "tools": TOOLS, "tokenizer": case.tokenizer}
    monkeypatch.setattr("templc.runtime.parser.stream.Parser", None)
    parsed = case.renderer.parse(completion.ids, **given)
    assert (parsed.message["content"], parsed.status) == (completion.content, "ok")
    # Spans, and whether a render gives it back, are left to the machine, which finds the same otherwise too.
    monkeypatch.undo()
    parser = case.renderer.parser(**given)
    parser.feed(completion.ids)
    assert parser.finish() == parsed


@pytest.mark.parametrize("name", formats())
def test_the_short_way_and_the_machine_say_the_same(name: str) -> None:
    drawn = random.Random(1)
    case = next(cases(name))
    whole = [item.ids for _, item in itertools.islice(samples(name), SOME)]
    given: dict[str, Any] = {"prompt": case.prompt(), "tools": TOOLS, "tokenizer": case.tokenizer}
    for ids in whole:
        at, other = drawn.randrange(len(ids)), drawn.choice(drawn.choice(whole))
        for edited in (ids, ids[:at], [*ids[:at], other, *ids[at:]], [*ids[:at], *ids[at + 1 :]]):
            parser = case.renderer.parser(**given)
            parser.feed(edited)
            assert parser.finish() == case.renderer.parse(edited, **given)


BROKEN = {
    "not JSON": ('{"name": "f", "arguments": {"k": NaN}}', "invalid_json"),
    "too deep": (
        '{"name": "f", "arguments": {"k": ' + "[" * 3000 + "]" * 3000 + "}}",
        "invalid_json",
    ),
    "long number": ('{"name": "f", "arguments": {"k": ' + "9" * 5000 + "}}", "invalid_json"),
    "no name": ('{"arguments": {}}', "no_name"),
    "a list": ('{"name": "f", "arguments": [1]}', "bad_arguments"),
}


@pytest.mark.parametrize("body, code", BROKEN.values(), ids=BROKEN)
def test_broken_calls_are_errors_with_their_text(body: str, code: str) -> None:
    renderer = get_renderer("qwen3_instruct")
    parsed = renderer.parse(f"<tool_call>\n{body}\n</tool_call><|im_end|>")
    assert (parsed.status, said(parsed)[2]) == ("malformed", [])
    assert [(error.code, error.raw) for error in parsed.errors] == [(code, body)]


def test_the_last_of_equal_keys_counts_and_the_text_keeps_both() -> None:
    raw = '{"k": 1, "k": 2}'
    text = f'<tool_call>\n{{"name": "f", "arguments": {raw}}}\n</tool_call><|im_end|>'
    parsed = get_renderer("qwen3_instruct").parse(text)
    function = parsed.message["tool_calls"][0]["function"]
    assert (function["arguments"], function["raw_arguments"]) == ({"k": 2}, raw)
    assert parsed.canonical


def test_unknown_tools_are_kept_and_noted() -> None:
    text = '<tool_call>\n{"name": "zz", "arguments": {}}\n</tool_call><|im_end|>'
    parsed = get_renderer("qwen3_instruct").parse(text, tools=TOOLS)
    assert said(parsed)[2] == [("zz", {})]
    assert [note.code for note in parsed.notes] == ["unknown_tool"]
    assert parsed.status == "ok"


def test_calls_in_reasoning_are_read_where_asked() -> None:
    text = '<think>\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call><|im_end|>'
    renderer = get_renderer("qwen3")
    assert said(renderer.parse(text))[2] == []
    accepted = renderer.parse(text, calls_in_reasoning="accept")
    assert (said(accepted)[2], accepted.status) == ([("f", {})], "unclosed_reasoning")


def test_arguments_edited_after_parsing_are_rendered() -> None:
    text = '<tool_call>\n{"name": "f", "arguments": {"k":1}}\n</tool_call><|im_end|>'
    renderer = get_renderer("qwen3_instruct")
    parsed = renderer.parse(text)
    assert '{"k":1}' in renderer.render_text([USER, parsed.message])
    parsed.message["tool_calls"][0]["function"]["arguments"]["k"] = 2
    assert '{"k": 2}' in renderer.render_text([USER, parsed.message])


TYPED = [
    ("s", {"type": "string"}, "null", "null", "ok"),
    ("n", {"type": "integer"}, "7", 7, "ok"),
    ("n", {"type": "integer"}, "1.5", "1.5", "malformed"),
    ("n", {"type": "integer"}, "true", "true", "malformed"),
    ("x", {"type": "number"}, "1.5", 1.5, "ok"),
    ("b", {"type": "boolean"}, "True", True, "ok"),
    ("b", {"type": "boolean"}, "maybe", "maybe", "malformed"),
    ("u", {"type": ["string", "null"]}, "None", None, "ok"),
    ("o", {"type": "object"}, '{"a": [1]}', {"a": [1]}, "ok"),
    ("a", {}, "5", "5", "ok"),
    ("s", {"type": "string"}, "a </parameter> b", "a </parameter> b", "ok"),
    ("s", {"type": "string"}, "a </tool_call> b", "a </tool_call> b", "ok"),
]


@pytest.mark.parametrize("key, schema, text, value, status", TYPED)
def test_arguments_by_schema(key: str, schema: Any, text: str, value: object, status: str) -> None:
    function = {"name": "f", "parameters": {"type": "object", "properties": {key: schema}}}
    inner = f"<function=f>\n<parameter={key}>\n{text}\n</parameter>\n</function>"
    completion = f"<tool_call>\n{inner}\n</tool_call><|im_end|>"
    parsed = get_renderer("qwen3_coder").parse(
        completion, tools=[{"type": "function", "function": function}]
    )
    assert said(parsed)[2] == [("f", {key: value})]
    assert parsed.status == status
    assert parsed.message["tool_calls"][0]["function"]["raw_arguments"] == {key: text}


def test_a_text_stop_ends_the_turn_and_leaves_nothing_behind() -> None:
    tokenizer = tokenizer_for("role_colon")
    parsed = get_renderer("role_colon", tokenizer).parse(" 4\n\nUser:")
    assert (parsed.message["content"], parsed.status, parsed.canonical) == ("4", "ok", True)
    assert get_renderer("role_colon").parse(" 4").status == "truncated"
    assert get_renderer("role_colon").parse(" 4", finished=True).status == "ok"
