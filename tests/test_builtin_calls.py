"""Llama 3.1 and its option `builtin_tools`: written as the published template does, and read back.

`<|python_tag|>brave_search.call(query="x")<|eom_id|>`: the names of calls decide, which no general conversation has.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import pytest

from templc import get_renderer
from templc.runtime.errors import MessageError, OptionError
from templc.verify import PublishedError
from tests.support.formats import reference
from tests.support.responses import TOOLS, USER, Case, tokenizer_for
from tests.support.small import made, text

FORMATS = ("llama3_1", "llama3_1_raw")
NAMES = ("brave_search", "wolfram_alpha", "code_interpreter")
OFFERED = tuple(list(some) for size in (1, 2, 3) for some in itertools.combinations(NAMES, size))
VALUES = ("x", "", " a ", 'say "hi"', '"', 'x")', "print('é')\n", "<|eom_id|>", "5", "a, b=c", "\\")


def called(name: str, arguments: Any) -> dict[str, Any]:
    call = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def chats(name: str) -> Iterator[list[dict[str, Any]]]:
    for arguments in ({}, *({"query": value} for value in VALUES), {"a": "1", "b": 'c "d"'}):
        call = called(name, arguments)
        yield [USER, call]
        yield [{"role": "system", "content": "s"}, USER, call, {"role": "tool", "content": "r"}]


@pytest.mark.parametrize("offered", OFFERED, ids="+".join)
@pytest.mark.parametrize("format_name", FORMATS)
def test_builtin_calls_equal_the_published_template(format_name: str, offered: list[str]) -> None:
    for in_user, unsupported in itertools.product((True, False), ("refuse", "as_template")):
        options: dict[str, Any] = {"builtin_tools": offered, "tools_in_user_message": in_user}
        renderer = get_renderer(format_name, unsupported=unsupported, **options)
        for name, tools in itertools.product((*NAMES, "f"), (None, TOOLS)):
            for chat in chats(name):
                given: dict[str, Any] = {"tools": tools, "add_generation_prompt": True}
                theirs = reference(format_name).render(chat, **given, **options)
                assert renderer.render_text(chat, **given) == theirs


def test_no_other_format_of_the_family_has_the_option() -> None:
    for name in ("llama3_2", "llama4"):
        with pytest.raises(OptionError, match="has no option `builtin_tools`"):
            get_renderer(name, builtin_tools=["brave_search"])


def test_a_value_that_would_read_as_two_is_refused_or_written_as_asked() -> None:
    chat = [USER, called("brave_search", {"q": 'say "hi", then'})]
    with pytest.raises(MessageError, match="reads as two"):
        get_renderer("llama3_1", builtin_tools=NAMES).render_text(chat)
    asked = get_renderer("llama3_1", builtin_tools=NAMES, unsupported="as_template")
    with pytest.warns(UserWarning, match="reads as two"):
        assert 'brave_search.call(q="say "hi", then")' in asked.render_text(chat)
    other = get_renderer("llama3_1", builtin_tools=["wolfram_alpha"])
    assert '"parameters": {"q": "say \\"hi\\", then"}' in other.render_text(chat)


def test_where_the_template_raises_values_are_json_and_text_is_decoded() -> None:
    arguments = '{"n": 5, "l": ["a", null], "t": "x"}'
    chat = [USER, called("code_interpreter", arguments)]
    with pytest.raises(PublishedError):
        reference("llama3_1").render(chat, builtin_tools=list(NAMES))
    written = get_renderer("llama3_1", builtin_tools=NAMES).render_text(chat)
    assert 'code_interpreter.call(n=5, l=["a", null], t="x")<|eom_id|>' in written
    with pytest.raises(MessageError, match="as a mapping"):
        get_renderer("llama3_1", builtin_tools=NAMES, unsupported="as_template").render_text(chat)


def samples() -> Iterator[tuple[Case, dict[str, Any], dict[str, Any]]]:
    tokenizer = tokenizer_for("llama3_1")
    more: list[dict[str, Any]] = [
        {"a": "1", "b": 'c "d"', "c": ""},
        {"code": '[[{"' * 150},
        {"n": 5, "t": "x", "l": ["a", {"k": 'v"'}], "z": None},
    ]
    for offered in OFFERED[::3]:
        case = Case(get_renderer("llama3_1", builtin_tools=offered), tokenizer, [USER])
        for arguments in (*({"query": value, "b": value[:1] or "b"} for value in VALUES), *more):
            yield case, called(offered[-1], arguments), arguments


def test_builtin_calls_come_back_whole_and_in_chunks() -> None:
    drawn = random.Random(0)
    for case, message, arguments in samples():
        completion = case.completion(message)
        assert completion is not None and completion.text.endswith(")<|eom_id|>")
        given: dict[str, Any] = {"prompt": case.prompt(), "tokenizer": case.tokenizer}
        parsed = case.renderer.parse(completion.ids, **given)
        (call,) = parsed.message["tool_calls"]
        assert call["function"]["arguments"] == arguments
        assert (parsed.status, parsed.canonical, parsed.differs) == ("ok", True, None)
        for cut in drawn.sample(range(len(completion.ids)), 2):
            parser = case.renderer.parser(**given)
            for piece in (completion.ids[:cut], completion.ids[cut:]):
                parser.feed(piece)
            assert parser.finish() == parsed
            assert case.renderer.parse(completion.ids[:cut], **given).status == "truncated"


def test_a_parsed_call_renders_and_extends_to_what_was_sampled() -> None:
    for case, message, _ in itertools.islice(samples(), 14):
        completion = case.completion(message)
        assert completion is not None
        prompt, tokenizer = case.prompt(), case.tokenizer
        parsed = case.renderer.parse(completion.ids, prompt=prompt, tokenizer=tokenizer)
        chat = [USER, parsed.message]
        whole = case.renderer.render(chat, tokenizer, tools=TOOLS, add_generation_prompt=False)
        assert whole == prompt + completion.ids
        result = {"role": "tool", "content": "r"}
        added = case.renderer.extend(whole, [result], tokenizer)
        assert whole + added == case.renderer.render([*chat, result], tokenizer, tools=TOOLS)


@pytest.mark.parametrize("name", ("brave_search", "f"))
def test_a_call_is_trained_with_its_stop(name: str) -> None:
    case = Case(get_renderer("llama3_1", builtin_tools=NAMES), tokenizer_for("llama3_1"), [USER])
    message = called(name, {"k": "v"})
    completion = case.completion(message)
    assert completion is not None
    (tokens,) = case.renderer.supervised([USER, message], case.tokenizer, tools=TOOLS)
    trained = [id for id, weight in zip(tokens, tokens.weights, strict=True) if weight]
    assert trained == completion.ids
    assert trained[-1] == case.renderer.codec(case.tokenizer).token_id("<|eom_id|>")


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("print(1)", "bad_call"),
        (".call()", "no_name"),
        ('f.call(q="x"', "bad_arguments"),
        ("f.call(q=)", "bad_arguments"),
        ('f.call("x")', "bad_arguments"),
        ('f.call(q="x)', "bad_arguments"),
        ('f.call(n=5 q="x")', "bad_arguments"),
        (f"f.call(n={'[' * 300}{']' * 300})", "bad_arguments"),
        (f"f.call(n={'[' * 100000})", "bad_arguments"),
    ],
    ids=lambda value: value[:20],
)
def test_what_is_no_such_call_is_an_error_with_its_text(said: str, code: str) -> None:
    renderer = get_renderer("llama3_1", builtin_tools=NAMES)
    parsed = renderer.parse(f"<|python_tag|>{said}<|eom_id|>")
    assert (parsed.status, parsed.message.get("tool_calls")) == ("malformed", None)
    assert [(error.code, error.raw) for error in parsed.errors] == [(code, said)]


# the construct, in another format

OTHER = """\
markers: ["<run>"]
roles:
  user: "<${content}>"
  assistant:
    opener: "A"
    body:
      - each: call in calls
        do:
          - "<run>do ${call.name}["
          - {each: arg in call.arguments, do: "${arg.name}: '${arg.value|text_or_json}'", between: "; "}
          - "]"
      - {when: not calls, then: "${content}"}
    closer: "<|im_end|>"
"""


def test_keywords_of_another_spelling_are_read_back() -> None:
    arguments: dict[str, str] = {"a": "it's", "b": "c; d", "e": ""}
    written = text(OTHER, [called("f", arguments)])
    assert written == "A<run>do f[a: 'it's'; b: 'c; d'; e: '']<|im_end|>"
    parsed = made(OTHER)[0].parse(written.removeprefix("A"))
    (call,) = parsed.message["tool_calls"]
    assert (call["function"]["name"], call["function"]["arguments"]) == ("f", arguments)
    assert (parsed.status, parsed.canonical) == ("ok", True)
