"""Spellings that are read and never written: the `accept` of a spec."""

from __future__ import annotations

import itertools

import pytest

from templc.registry import compile_spec, get_renderer
from tests.support.responses import TOOLS, USER, tokenizer_for

THOUGHT = "<|channel|>analysis<|message|>Need it.<|end|><|start|>assistant"
HEADERS = (
    "<|channel|>commentary to=functions.f <|constrain|>json",
    "<|channel|>commentary to=functions.f<|constrain|>json",
    "<|channel|>commentary to=functions.f json",
    "<|channel|>commentary to=functions.f",
    "<|channel|>analysis to=functions.f <|constrain|>json",
    "<|channel|>analysis to=functions.f",
    " to=functions.f<|channel|>commentary <|constrain|>json",
    " to=functions.f<|channel|>commentary",
    " to=functions.f<|channel|>analysis <|constrain|>json",
)


@pytest.mark.parametrize(("thought", "header"), list(itertools.product(("", THOUGHT), HEADERS)))
def test_harmony_headers_say_the_same_call(thought: str, header: str) -> None:
    renderer = get_renderer("gpt_oss", tokenizer_for("gpt_oss"))
    prompt = renderer.render([USER], tools=TOOLS)
    text = f'{thought}{header}<|message|>{{"k":"v"}}<|call|>'
    ids = renderer.codec(None).control(text)
    for parsed in (
        renderer.parse(ids, prompt=prompt, tools=TOOLS),
        renderer.parse(text, prompt=prompt.text, tools=TOOLS),
    ):
        (call,) = parsed.message["tool_calls"]
        assert (call["function"]["name"], call["function"]["arguments"]) == ("f", {"k": "v"})
        assert parsed.message.get("reasoning_content", "") == ("Need it." if thought else "")
        assert (parsed.status, parsed.canonical, parsed.message["content"]) == ("ok", False, "")
        assert text not in renderer.render_text([USER, parsed.message], tools=TOOLS)


SPEC = """
format: tiny
title: A tiny format
reference: {note: none is published}
specials: ["<|end|>"]
stop: ["<|end|>"]
roles:
  user: "U: ${content}\\n"
  assistant:
    opener: "A: "
    body: "${content}"
    closer: "<|end|>"
    accept:
      - ["<think>${reasoning}</think>", "${content}"]
"""


def test_what_is_accepted_is_never_written() -> None:
    renderer = compile_spec(SPEC)()
    parsed = renderer.parse("<think>hm</think>Yo<|end|>")
    assert parsed.message == {"role": "assistant", "content": "Yo", "reasoning_content": "hm"}
    assert (parsed.status, parsed.canonical) == ("ok", False)
    assert "<think>" not in renderer.render_text([{"role": "user", "content": "Hi"}])
    assert renderer.parse("Yo<|end|>").canonical


@pytest.mark.parametrize("text", ["Yo", "\nYo", "\n\nYo"])
def test_an_empty_block_in_the_prompt_takes_no_line_end_of_the_answer(text: str) -> None:
    renderer = get_renderer(
        "nemotron3_nano", tokenizer_for("nemotron3_nano"), enable_thinking=False
    )
    prompt = renderer.render([USER])
    parsed = renderer.parse(renderer.codec(None).control(f"{text}<|im_end|>"), prompt=prompt)
    assert (parsed.message["content"], parsed.canonical, parsed.status) == (text, True, "ok")


PYTHON = [
    ("f(k=1)", [("f", {"k": 1})]),
    ('f(k="a, b)", n=[1, {"x": null}])\nget-it.v2()', [
        ("f", {"k": "a, b)", "n": [1, {"x": None}]}),
        ("get-it.v2", {}),
    ]),
    ("f(k=True, n=None, s='it\\'s', l=['a', (1, 2)])", [
        ("f", {"k": True, "n": None, "s": "it's", "l": ["a", (1, 2)]}),
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "calls"), PYTHON)
def test_calls_as_python_writes_them(text: str, calls: list[tuple[str, dict[str, object]]]) -> None:
    renderer = get_renderer("olmo3_instruct", tokenizer_for("olmo3_instruct"))
    completion = f"Yo<function_calls>{text}</function_calls><|im_end|>"
    for parsed in (
        renderer.parse(completion),
        renderer.parse(renderer.codec(None).control(completion)),
    ):
        functions = [call["function"] for call in parsed.message["tool_calls"]]
        assert [(one["name"], one["arguments"]) for one in functions] == calls
        assert (parsed.status, parsed.message["content"]) == ("ok", "Yo")


def test_python_calls_come_back_as_they_were_written() -> None:
    renderer = get_renderer("olmo3_instruct")
    text = '<function_calls>f(k="v", n=[1, true])\nf()</function_calls><|endoftext|>'
    parsed = renderer.parse(text)
    assert (parsed.status, parsed.canonical) == ("ok", True)
    raw = [call["function"]["raw_arguments"] for call in parsed.message["tool_calls"]]
    assert raw == ['k="v", n=[1, true]', ""]
    assert text in renderer.render_text([USER, parsed.message])


BAD_PYTHON = (
    "f(",
    "f(1)",
    "f(k=)",
    "f(k=__import__('os'))",
    "f(k=[1)",
    "k=1",
    "f(k=1) and g()",
    "",
)


@pytest.mark.parametrize("text", BAD_PYTHON)
def test_what_is_no_call_is_an_error_with_its_text(text: str) -> None:
    parsed = get_renderer("olmo3_instruct").parse(
        f"<function_calls>{text}</function_calls><|im_end|>"
    )
    assert (parsed.status, parsed.message.get("tool_calls")) == ("malformed", None)
    assert [error.raw for error in parsed.errors] == [text]
