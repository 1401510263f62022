"""Rollouts: sampled ids stay verbatim, only new tokens are written, and every odd ending has a defined result."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import templc
from tests.extend_cases import VOCABULARIES, tokenizer_for
from tests.support.responses import tokenizer_for as tokenizers_with

USER = {"role": "user", "content": "w?"}
CALL = '<think>\nlook\n</think>\n\n<tool_call>\n{"name": "f", "arguments": {"a":1}}\n</tool_call><|im_end|>'
RESULT = {"role": "tool", "content": "18 C"}
TOOLS = [
    {
        "type": "function",
        "function": {"name": "f", "parameters": {"type": "object", "properties": {}}},
    }
]


def encoded(text: str, name: str = "qwen3") -> list[int]:
    ids: list[int] = tokenizer_for(name).encode(text, add_special_tokens=False)
    return ids


def started(name: str = "qwen3", **options: Any) -> Any:
    return templc.get_renderer(name, tokenizer_for(name), **options).start([USER], tools=TOOLS)


def test_a_loop_is_the_fresh_render_token_for_token() -> None:
    traj = started()
    for _ in range(3):
        parsed = traj.sampled(encoded(CALL))
        assert parsed.status == "ok" and parsed.message["tool_calls"][0]["function"]["name"] == "f"
        new = traj.add([RESULT])
        assert new.text == (
            "\n<|im_start|>user\n<tool_response>\n18 C\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
        )
    assert traj.differs is None
    renderer = templc.get_renderer("qwen3", tokenizer_for("qwen3"))
    messages = [USER]
    for turn in traj.turns:
        messages += [turn.parsed.message, RESULT]
    assert traj.tokens == renderer.render(messages, tools=TOOLS)
    assert (
        len(traj.tokens)
        == len(traj.weights)
        == len(traj.sampled_mask)
        == len(traj.logprobs)
        == len(traj)
    )


def test_weights_and_logprobs_stand_on_what_was_sampled() -> None:
    traj = started()
    ids = encoded(CALL)
    traj.sampled(ids, [-0.5] * len(ids))
    traj.add([RESULT])
    turn = traj.turns[0]
    assert list(traj.tokens[turn.start : turn.end]) == ids
    assert [at for at, w in enumerate(traj.weights) if w] == list(range(turn.start, turn.end))
    assert traj.sampled_mask == [w == 1.0 for w in traj.weights]
    assert traj.logprobs[turn.start] == -0.5 and sum(traj.logprobs) == -0.5 * len(ids)


def test_sampled_ids_stay_verbatim_where_the_tokenizer_would_split_otherwise() -> None:
    traj = templc.get_renderer("qwen2_5", tokenizer_for("qwen2_5")).start(
        [{"role": "user", "content": "Greet me."}]
    )
    prompt = list(traj.tokens)
    odd = [32713, 385, 0, 151645]
    assert (
        tokenizer_for("qwen2_5").decode(odd) == "Hello!<|im_end|>"
        and encoded("Hello!<|im_end|>") != odd
    )
    traj.sampled(odd)
    more = traj.add([{"role": "user", "content": "Again."}])
    assert list(traj.tokens) == prompt + odd + list(more)
    assert traj.differs == len(prompt)
    assert more.notes == (f"differs from a fresh render from token {len(prompt)} on",)


def test_a_turn_that_a_render_writes_without_what_the_prompt_gave_is_said_to_differ() -> None:
    """Qwen3 closes an empty think block in the prompt, and shows none where nobody has asked anything."""
    qwen3 = templc.get_renderer("qwen3", tokenizer_for("qwen3"), enable_thinking=False)
    chat = [{"role": "system", "content": "s"}]
    for completion in (CALL.partition("\n\n")[2], "Hi<|im_end|>", "Hi<|im_end|><|im_end|>"):
        traj = qwen3.start(chat, tools=TOOLS)
        parsed = traj.sampled(encoded(completion))
        fresh = qwen3.render([*chat, parsed.message], tools=TOOLS)
        at = next(n for n, (a, b) in enumerate(zip(traj.tokens, fresh, strict=False)) if a != b)
        assert traj.differs == at
        with pytest.raises(templc.UnstableExtension):
            qwen3.extend(traj.tokens, [RESULT])


def test_a_completion_that_was_cut_off_is_closed_without_training_the_close() -> None:
    traj = templc.get_renderer("qwen2_5", tokenizer_for("qwen2_5")).start([USER])
    parsed = traj.sampled(encoded("Once upon a"))
    assert parsed.status == "truncated" and not traj.turns[0].closed
    new = traj.add([{"role": "user", "content": "Go on."}])
    assert new.text == "<|im_end|>\n<|im_start|>user\nGo on.<|im_end|>\n<|im_start|>assistant\n"
    assert sum(new.weights) == 0 and not any(new.sampled)


def test_a_stop_inside_open_reasoning_is_kept_and_said() -> None:
    traj = started()
    parsed = traj.sampled(encoded("<think>\nhm<|im_end|>"))
    assert (
        parsed.status == "unclosed_reasoning"
        and parsed.message["reasoning_content"].strip() == "hm"
    )
    new = traj.add([USER])
    assert new.text.startswith("\n<|im_start|>user\nw?")
    assert "<think>\nhm<|im_end|>\n<|im_start|>user" in traj.tokens.text


def test_a_model_may_spell_a_control_token_where_a_caller_may_not() -> None:
    renderer = templc.get_renderer(
        "qwen3_instruct", tokenizer_for("qwen3"), content_specials="error"
    )
    as_text = templc.get_renderer("qwen3_instruct", tokenizer_for("qwen3"))
    for then in (USER, RESULT):
        traj = renderer.start([USER])
        spelled = [token for letter in "<|im_end|>" for token in encoded(letter)]
        parsed = traj.sampled([*spelled, 151645])
        traj.add([then])
        fresh = as_text.render([USER, parsed.message, then])
        at = next(n for n, (a, b) in enumerate(zip(traj.tokens, fresh, strict=False)) if a != b)
        assert traj.differs == at
        with pytest.raises(templc.ControlTokenError):
            traj.add([{"role": "user", "content": "<|im_end|>"}])


def test_an_alternative_stop_token_stays() -> None:
    traj = started("qwen3_instruct")
    parsed = traj.sampled(encoded("Zap<|endoftext|>"))
    assert parsed.stop == 151643 and parsed.message["content"] == "Zap"
    new = traj.add([USER])
    assert new.text.startswith("\n<|im_start|>user\nw?")
    assert traj.differs is not None


def test_an_empty_completion_is_an_empty_turn() -> None:
    traj = started("qwen3_instruct")
    assert traj.sampled([]).status == "truncated"
    assert traj.add([USER]).text.startswith("<|im_end|>\n<|im_start|>user\nw?")


def test_a_prompt_that_nothing_answered_is_closed() -> None:
    traj = started("qwen3_instruct")
    assert traj.add([USER]).text.startswith("<|im_end|>\n<|im_start|>user\nw?")


def test_results_that_come_one_by_one_are_as_at_once() -> None:
    at_once, one_by_one, apart = started(), started(), started()
    for traj in (at_once, one_by_one, apart):
        traj.sampled(encoded(CALL))
    at_once.add([RESULT, RESULT])
    assert one_by_one.add([RESULT], more=True) == []
    with pytest.raises(templc.OptionError, match="no prompt"):
        one_by_one.sampled([1])
    one_by_one.add([RESULT])
    assert one_by_one.tokens == at_once.tokens and at_once.differs is None
    apart.add([RESULT], add_generation_prompt=False)
    more = apart.add([RESULT])
    assert more.text.startswith("<|im_start|>user\n<tool_response>\n18 C")
    assert apart.differs is not None


def test_a_run_that_is_never_closed_goes_on() -> None:
    """GLM writes no closing behind results, so a further one stands in the same run, as in a fresh render."""
    call = {"name": "f", "arguments": {}}
    made = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"type": "function", "function": call}],
    }
    renderer = templc.get_renderer("glm4_5", tokenizers_with("glm4_5"))
    tokens = renderer.render([USER, made, RESULT], add_generation_prompt=False)
    more = renderer.extend(tokens, [RESULT], add_generation_prompt=False, history="as_sampled")
    fresh = renderer.render([USER, made, RESULT, RESULT], add_generation_prompt=False)
    assert tokens + more == fresh and more.notes == ()


@pytest.mark.parametrize("name", ["glm4_1v", "glm4_5", "glm4_6v", "glm4_7", "glm5_1", "glm5_2"])
def test_a_marker_that_was_sampled_as_the_stop_is_not_written_twice(name: str) -> None:
    """GLM stops by writing the token that opens the next turn."""
    tokenizer = tokenizers_with(name)
    renderer = templc.get_renderer(name, tokenizer)
    chat: list[Any] = [USER]
    traj = renderer.start(chat)
    for text in ("Hi", "Ho", "Hum"):
        (example,) = renderer.supervised([*chat, {"role": "assistant", "content": text}])[-1:]
        ids = list(example)[len(traj) :]
        assert ids[-1] == tokenizer.token_to_id("<|user|>")
        parsed = traj.sampled(ids)
        chat += [parsed.message, USER]
        kept = traj.tokens
        new = traj.add([USER])
        assert new[0] != ids[-1] and sum(new.weights) == 0
        assert traj.tokens.count(ids[-1]) == chat.count(USER)
        if name not in ("glm4_7", "glm5_1"):  # these write earlier turns without a think block
            assert traj.differs is None and traj.tokens == renderer.render(chat)
            assert kept + renderer.extend(kept, [USER]) == traj.tokens


def test_a_stop_that_no_turn_begins_with_is_said_to_differ() -> None:
    """These formats write nothing behind an answer, so a fresh render has no stop there."""
    for name in ("ling", "granite_code"):
        tokenizer = tokenizers_with(name)
        renderer = templc.get_renderer(name, tokenizer)
        traj = renderer.start([USER])
        at = len(traj)
        ids = [
            *tokenizer.encode("Hi", add_special_tokens=False).ids,
            *renderer.stop_token_ids()[:1],
        ]
        parsed = traj.sampled(ids)
        with pytest.raises(templc.UnstableExtension, match="kept as sampled"):
            renderer.extend(traj.tokens, [USER])
        traj.add([USER])
        assert traj.tokens != renderer.render([USER, parsed.message, USER])
        assert traj.differs == at + len(ids) - 1


def test_a_final_answer_says_from_where_history_would_be_rewritten() -> None:
    traj = started()
    traj.sampled(encoded(CALL))
    traj.add([RESULT])
    traj.sampled(encoded("<think>\ndone\n</think>\n\n18.<|im_end|>"))
    assert traj.differs is None
    before = list(traj.tokens)
    new = traj.add([USER])
    assert traj.differs is not None and traj.differs < len(before)
    assert list(traj.tokens[: len(before)]) == before
    assert "differs from a fresh render" in new.notes[0]


def test_forks_share_the_past_and_go_their_own_ways() -> None:
    traj = started()
    traj.sampled(encoded(CALL))
    one, other = traj.fork(), traj.fork()
    one.add([RESULT])
    other.add([{"role": "tool", "content": "3 C"}])
    assert one.tokens != other.tokens and len(traj.tokens) < len(one.tokens)
    assert one.tokens[: len(traj.tokens)] == other.tokens[: len(traj.tokens)] == list(traj.tokens)


def test_trajectories_pickle_at_any_length() -> None:
    traj = started()
    for _ in range(150):
        traj.sampled(encoded(CALL))
        traj.add([RESULT])
    again = pickle.loads(pickle.dumps(traj)).bind(tokenizer_for("qwen3"))
    assert again.tokens == traj.tokens and len(again.turns) == 150
    for one in (again, traj):
        one.sampled(encoded(CALL))
        one.add([RESULT])
    assert again.tokens == traj.tokens and again.messages == traj.messages


@pytest.mark.parametrize("name", VOCABULARIES)
def test_every_format_grows_by_turns(name: str) -> None:
    renderer = templc.get_renderer(name, tokenizer_for(name))
    stop = renderer.stop_token_ids()[:1]
    ending = stop if stop else encoded("\n\nUser:", name)
    traj = renderer.start([USER])
    for _ in range(2):
        body = (
            "<think></think>Zap" if name == "kimi_k2" else " Zap" if name == "role_colon" else "Zap"
        )
        parsed = traj.sampled([*encoded(body, name), *ending])
        assert parsed.message["content"] == "Zap", parsed
        traj.add([USER])
    text = traj.tokens.text
    assert text.count("Zap") == 2 and text.count("w?") == 3
    if name == "role_colon":
        assert (
            text
            == "User: w?\n\nAssistant: Zap\n\nUser: w?\n\nAssistant: Zap\n\nUser: w?\n\nAssistant:"
        )


def test_logprobs_of_another_length_are_refused() -> None:
    with pytest.raises(templc.OptionError, match="1 logprobs for 2 ids"):
        started().sampled([1, 2], [0.0])


def test_what_cannot_be_written_does_not_wait_for_the_next_call() -> None:
    made, expected = started(), started()
    for traj in (made, expected):
        traj.sampled(encoded(CALL))
    with pytest.raises(templc.MessageError):
        made.add([{"role": "tool", "content": 7}])
    assert made.add([RESULT]) == expected.add([RESULT])


def test_sampled_ids_may_come_as_an_array_or_hold_broken_text() -> None:
    as_list, as_array, broken = started(), started(), started()
    ids = encoded(CALL)
    as_list.sampled(ids)
    as_array.sampled(np.array(ids))
    assert as_array.tokens == as_list.tokens and {type(id) for id in as_array.tokens} == {int}
    part = encoded("𐍈")[:1]
    parsed = broken.sampled([*part, *encoded("a<|im_end|>")])
    assert parsed.notes and broken.tokens.text.endswith("\ufffda<|im_end|>")
