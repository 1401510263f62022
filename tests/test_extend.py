"""extend: equal to a fresh render, or refused for a reason; as_sampled: never refused, and says where it differs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import templc
from templc.proof.stability import prove
from templc.verify import CORE
from tests.extend_cases import VOCABULARIES, Checker, tokenizer_for
from tests.support import vocabularies
from tests.support.formats import FORMATS, fitting, program

USER = {"role": "user", "content": "Hi"}
THOUGHT = {"role": "assistant", "content": "Yo", "reasoning_content": "hm"}
ANSWER = {"role": "assistant", "content": "Yo"}
CALL = {
    "role": "assistant",
    "content": "",
    "reasoning_content": "look",
    "tool_calls": [
        {"id": "functions.f:0", "type": "function", "function": {"name": "f", "arguments": {}}}
    ],
}
RESULT = {"role": "tool", "content": "18 C", "tool_call_id": "functions.f:0"}
TOOLS = [
    {
        "type": "function",
        "function": {"name": "f", "parameters": {"type": "object", "properties": {}}},
    }
]


def renderer(name: str, **options: Any) -> templc.Renderer:
    return templc.get_renderer(name, tokenizer_for(name), **options)


@pytest.mark.parametrize("name", VOCABULARIES)
def test_extension_is_the_suffix_of_a_fresh_render_or_is_refused(name: str) -> None:
    checker = Checker(name)
    checker.run(2, CORE[:9])
    assert not checker.wrong, "\n".join(checker.wrong[:5])
    assert checker.counts["extended"] > 300
    if name not in ("llama3", "role_colon"):
        assert checker.counts["refused"] > 20


def test_a_refusal_names_reason_line_and_what_stays() -> None:
    tokens = renderer("qwen3").render([USER, THOUGHT])
    with pytest.raises(templc.UnstableExtension) as caught:
        renderer("qwen3").extend(tokens, [USER])
    refusal = caught.value
    assert "query" in refusal.reason and "message 1 (assistant)" in refusal.reason
    spec_line = next(
        number
        for number, line in enumerate(Path("specs/qwen3.yaml").read_text("utf-8").splitlines(), 1)
        if "kept:" in line
    )
    assert refusal.spec_line == spec_line
    assert tokens.text.startswith("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")
    fresh = renderer("qwen3").render([USER, THOUGHT, USER])
    assert fresh[: refusal.keep] == tokens[: refusal.keep]
    assert fresh[refusal.keep] != tokens[refusal.keep]
    old, new = refusal.witness
    assert [message.role for message in (*old, *new)] == ["user", "assistant", "user"]


def test_what_stays_does_not_hang_on_what_became_of_the_callers_lists() -> None:
    refusals = []
    for later in ([1], [2, "and more"]):
        given: dict[str, Any] = {"name": "f", "arguments": {"k": {"inner": [1]}}}
        calls = [{"id": "functions.f:0", "function": given}]
        asked = {"role": "assistant", "content": "", "tool_calls": calls}
        tokens = renderer("qwen3").render([USER, asked, RESULT, THOUGHT])
        given["arguments"]["k"]["inner"][:] = later
        with pytest.raises(templc.UnstableExtension) as caught:
            renderer("qwen3").extend(tokens, [USER])
        refusals.append(caught.value.keep)
    assert refusals[0] == refusals[1]


def test_render_with_extend_is_the_same_call() -> None:
    one = renderer("qwen3_instruct")
    tokens = one.render([USER])
    assert one.render([ANSWER], extend=tokens) == one.extend(tokens, [ANSWER])


def test_other_tools_or_options_are_refused() -> None:
    one = renderer("qwen3")
    tokens = one.render([USER], tools=TOOLS)
    other = [{"type": "function", "function": {"name": "g", "parameters": {}}}]
    with pytest.raises(templc.OptionError, match="tools are not those"):
        one.render([THOUGHT], extend=tokens, tools=other)
    with pytest.raises(templc.OptionError, match="must stay the same"):
        renderer("qwen3", enable_thinking=False).extend(tokens, [THOUGHT])
    with pytest.raises(templc.OptionError, match="carry no conversation"):
        one.extend(list(tokens), [THOUGHT])  # type: ignore[arg-type]
    assert one.render([THOUGHT], extend=tokens, tools=TOOLS)


def test_as_sampled_keeps_every_token_and_says_where_it_differs() -> None:
    one = renderer("qwen3")
    tokens = one.render([USER, THOUGHT])
    more = one.extend(tokens, [USER], history="as_sampled")
    whole = tokens + more
    assert whole[: len(tokens)] == list(tokens)
    assert whole.text.startswith(tokens.text)
    fresh = one.render([USER, THOUGHT, USER])
    at = next(n for n, (a, b) in enumerate(zip(whole, fresh, strict=False)) if a != b)
    assert more.notes == (f"differs from a fresh render from token {at} on",)
    with pytest.raises(templc.UnstableExtension, match="kept as sampled"):
        one.extend(whole, [ANSWER])


def test_as_sampled_is_a_fresh_render_where_that_is_stable() -> None:
    one = renderer("qwen3")
    tokens = one.render([USER], tools=TOOLS)
    for message in (CALL, RESULT):
        more = one.extend(tokens, [message], history="as_sampled")
        assert more.notes == ()
        tokens = tokens + more
    assert tokens == one.render([USER, CALL, RESULT], tools=TOOLS)


def test_a_tool_result_after_a_closed_run_opens_its_own() -> None:
    one = renderer("qwen3_instruct")
    tokens = one.render([USER, {**CALL, "reasoning_content": None}, RESULT], tools=TOOLS)
    with pytest.raises(templc.UnstableExtension):
        one.extend(tokens, [RESULT])
    before = one.render(
        [USER, {**CALL, "reasoning_content": None}, RESULT], add_generation_prompt=False
    )
    more = one.extend(before, [RESULT], history="as_sampled")
    assert more.text.startswith(
        "<|im_start|>user\n<tool_response>\n18 C\n</tool_response><|im_end|>\n"
    )


def test_extension_costs_the_same_at_every_length() -> None:
    """The work of an extension is counted, not timed: which turns are written again."""
    one = renderer("qwen3")
    written: list[int] = []
    plain = templc.runtime.fold.write_turn

    def counting(*arguments: Any) -> None:
        written.append(1)
        plain(*arguments)

    tokens = one.render([USER], tools=TOOLS)
    costs = []
    templc.runtime.fold.write_turn = counting  # type: ignore[assignment]
    try:
        for _ in range(40):
            for message in (CALL, RESULT):
                written.clear()
                tokens = tokens + one.extend(tokens, [message], add_generation_prompt=False)
                costs.append(len(written))
    finally:
        templc.runtime.fold.write_turn = plain
    assert max(costs[4:]) == max(costs[4:8])


HOISTING = tuple(name for name in FORMATS if program(name).hoisting and fitting(name))
SYSTEMS = [{"role": "system", "content": text} for text in ("s", "", "\n t ")]
ASKS = {"role": "user", "content": "u"}


@pytest.mark.parametrize("name", HOISTING)
def test_a_head_that_gathers_system_messages_grows_while_nothing_stands_behind_it(
    name: str,
) -> None:
    """The runtime extends exactly where the proof says so, and to what a fresh render has."""
    found = templc.get_renderer(name, vocabularies.hf(fitting(name)[0]))
    stability, kept = prove(program(name)), 0
    starts = [[one] for one in SYSTEMS] + [[one, other] for one in SYSTEMS for other in SYSTEMS]
    for old in (*starts, [ASKS], [SYSTEMS[0], ASKS]):
        for new in ([SYSTEMS[2]], [SYSTEMS[0], ASKS], [ASKS, SYSTEMS[0]]):
            for asked in (False, True):
                try:
                    before = found.render(old, add_generation_prompt=asked)
                    whole = found.render([*old, *new], add_generation_prompt=False)
                except templc.TemplcError:
                    continue
                said = stability.decide(old, new, prompt=asked)
                try:
                    more = found.extend(before, new, add_generation_prompt=False)
                except templc.UnstableExtension:
                    # The proof speaks of texts; the runtime also of tokens.
                    stays = list(whole[: len(before)]) == list(before)
                    assert not (said and stays), (old, new, asked)
                    continue
                assert said, (old, new, asked)
                kept += 1
                joined = before + more
                assert list(joined) == list(whole) and joined.text == whole.text
                assert joined.message_index == whole.message_index
                if not asked:
                    kind = {"add_generation_prompt": False, "history": "as_sampled"}
                    free = found.extend(before, new, **kind)
                    assert list(free) == list(more) and not free.notes
    assert kept > 5 or stability.at("system", "system").verdict == "refused"
