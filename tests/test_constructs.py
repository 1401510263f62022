"""Constructs of the language one by one, each in a small spec: numbers of calls, questions about system messages,
openers that read their message, counted parts, options that are numbers.

Each text is rendered by generated code and by the interpreter, which must agree. What is said about wrong use is in
`tests/cases`.
"""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from templc.cli.inputs import option_values
from templc.demo import vocabulary
from templc.ir.interpret import Interpreter
from templc.ir.settings import telling
from templc.pipeline import compile_source, load_class
from templc.runtime.errors import OptionError
from templc.runtime.options import Option
from templc.source.span import Source
from tests.support.small import HEAD, USER, asked, made, result, text

# the number of a call

NUMBERED = """\
roles:
  user: "<${content}>"
  assistant:
    opener: "A"
    body:
      - "${content}"
      - each: call in calls
        open: "["
        do: '{"n": "${call.number}", "name": "${call.name}", "arguments": ${call.arguments|json}}'
        between: ","
        close: "]"
    closer: "<|im_end|>"
  tool: "(${answered_number}=${content})"
"""


def test_calls_are_numbered_through_the_conversation_and_results_name_the_number() -> None:
    messages = [
        USER,
        asked(("a", "f"), ("b", "g")),
        result("2", "b"),
        result("1", "a"),
        asked(("c", "f")),
        result("3", "c"),
    ]
    assert text(NUMBERED, messages) == (
        '<u>A[{"n": "0", "name": "f", "arguments": {"k": "v"}},'
        '{"n": "1", "name": "g", "arguments": {"k": "v"}}]<|im_end|>(1=2)(0=1)'
        'A[{"n": "2", "name": "f", "arguments": {"k": "v"}}]<|im_end|>(2=3)'
    )


def test_calls_may_be_counted_from_one() -> None:
    numbered = NUMBERED.replace("${call.number}", "${call.ordinal}")
    found = text(numbered, [USER, asked(("a", "f"), ("b", "g")), asked(("c", "f"))])
    assert [found.count(f'"n": "{number}"') for number in range(5)] == [0, 1, 1, 1, 0]


def test_a_result_without_an_id_answers_the_next_call_and_one_of_no_call_has_no_number() -> None:
    messages = [
        asked(("", "f"), ("", "g")),
        result("x"),
        result("y"),
        result("z"),
        result("w", "q"),
    ]
    assert text(NUMBERED, messages).endswith("<|im_end|>(0=x)(1=y)(=z)(=w)")


def test_of_calls_with_one_id_the_first_counts() -> None:
    messages = [asked(("a", "f")), result("1", "a"), asked(("a", "f")), result("2", "a")]
    assert text(NUMBERED, messages).endswith('{"k": "v"}}]<|im_end|>(0=2)')


def test_numbers_go_on_where_a_conversation_is_extended() -> None:
    renderer = type(made(NUMBERED)[0])(vocabulary("qwen3"))
    old = [USER, asked(("a", "f"), ("b", "g")), result("1", "a"), result("2", "b")]
    new = [asked(("c", "f")), result("3", "c"), result("again", "a")]
    tokens = renderer.render(old, add_generation_prompt=False)
    longer = tokens + renderer.extend(tokens, new, add_generation_prompt=False)
    assert longer.text == text(NUMBERED, [*old, *new])
    assert longer.text.endswith("(2=3)(0=again)")


def test_a_number_that_a_model_writes_is_the_id_of_its_call() -> None:
    renderer = made(NUMBERED)[0]
    said = 'yes[{"n": "0", "name": "f", "arguments": {"k": "v"}}]<|im_end|>'
    parsed = renderer.parse(said)
    (call,) = parsed.message["tool_calls"]
    assert (call["id"], call["function"]["name"], parsed.canonical) == ("0", "f", True)
    turns = [USER, parsed.message, result("r", "0")]
    assert text(NUMBERED, turns).endswith(said + "(0=r)")
    other = renderer.parse(said.replace('"0"', '"7"'))
    assert other.message["tool_calls"][0]["id"] == "7" and not other.canonical


# what the head may ask about system messages

SYSTEMS = """\
head:
  - {when: systems, then: {each: s in systems, open: "{", do: "${s.content}", between: "|", close: "}"}, else: "{none}"}
roles:
  system: {at: head, later: hoist}
  user: "<${content}>"
  assistant: {opener: "A", body: "${content}", closer: "<|im_end|>"}
"""


def test_a_head_asks_whether_there_is_a_system_message_anywhere() -> None:
    one, two = ({"role": "system", "content": letter} for letter in "st")
    assert text(SYSTEMS, [USER]) == "{none}<u>"
    assert text(SYSTEMS, [one, USER]) == "{s}<u>"
    assert text(SYSTEMS, [USER, one, USER, two]) == "{s|t}<u><u>"


# an opener that reads its message, beside a prompt of its own

OPENERS = """\
roles:
  user: "<${content}>"
  assistant:
    opener: {when: calls, then: "C", else: {when: not content, then: "E", else: "A"}}
    body: ["${content}", {each: call in calls, do: '[${call.name}|${call.arguments|json}]'}]
    closer: "<|im_end|>"
prompt: "A"
"""


def test_an_opener_reads_its_message_where_the_prompt_is_said_apart() -> None:
    answer = {"role": "assistant", "content": "a"}
    empty = {"role": "assistant", "content": ""}
    assert text(OPENERS, [USER, answer, USER], add_generation_prompt=True) == "<u>Aa<|im_end|><u>A"
    assert text(OPENERS, [USER, empty]) == "<u>E<|im_end|>"
    assert text(OPENERS, [USER, asked(("a", "f"))]) == '<u>C[f|{"k": "v"}]<|im_end|>'


def test_where_the_opener_is_not_the_prompt_the_table_says_so() -> None:
    found = made(OPENERS)[0].stability.to_json()
    cells = {(row["after"], row["then"]): row["verdict"] for row in found["cells"]}
    assert cells["user", "assistant"] == "stable"
    assert cells["prompt", "assistant"] == "stable if"


# parts that are counted

COUNTED = """\
messages:
  lists: join
  parts: {image: "P{index}:I", image_url: "P{index}:I", video: "V{index};", audio: "A;"}
roles:
  user: "<|im_end|><${content}>"
  assistant: {opener: "A", body: "${content}", closer: "<|im_end|>"}
"""


def parts(*kinds: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": [{"type": kind, kind: "t"} for kind in kinds]}


def test_parts_are_counted_over_the_conversation_by_their_text() -> None:
    first, second = parts("image", "text", "video", "image_url"), parts("audio", "image", "video")
    assert text(COUNTED, [first, second]) == "<|im_end|><P1:ItV1;P2:I><|im_end|><A;P3:IV2;>"


def test_parts_are_counted_on_where_a_conversation_is_extended() -> None:
    renderer = type(made(COUNTED)[0])(vocabulary("qwen3"))
    old = renderer.render([parts("image", "video")], add_generation_prompt=False)
    new = renderer.extend(pickle.loads(pickle.dumps(old)), [USER, parts("video", "image")])
    assert new.text == "<|im_end|><u><|im_end|><V2;P2:I>A"
    assert renderer.extend(old, [USER, parts("image")]).text == "<|im_end|><u><|im_end|><P2:I>A"


LABELLED = """\
options:
  numbered: {type: bool, default: false, doc: parts have numbers}
  told: {type: bool, default: false, doc: so have films}
messages:
  lists: join
  part_text: strip
  parts: {image: "I", image_url: "I", video: "V"}
  labels: {numbered: {image: "P{index}:", image_url: "p{index}:"}, told: {video: "V{index}:"}}
roles:
  user: "<|im_end|><${content}>"
  assistant: {opener: "A", body: "${content}", closer: "<|im_end|>"}
"""


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, "<|im_end|><I t VI><|im_end|><I>"),
        ({"numbered": True}, "<|im_end|><P1:I t Vp2:I><|im_end|><P3:I>"),
        ({"told": True}, "<|im_end|><I t V1:VI><|im_end|><I>"),
        ({"numbered": True, "told": True}, "<|im_end|><P1:I t V1:Vp2:I><|im_end|><P3:I>"),
    ],
)
def test_labels_stand_in_front_of_parts_while_their_option_is_on(
    options: dict[str, Any], wanted: str
) -> None:
    first, second = parts("image", "text", "video", "image_url"), parts("image")
    first["content"][1]["text"] = " t "
    assert text(LABELLED, [first, second], **options) == wanted
    renderer = pickle.loads(pickle.dumps(made(LABELLED, **options)[0]))
    assert renderer.render_text([first, second]).startswith(wanted)


def test_texts_of_parts_are_stripped_as_the_template_does_it_only() -> None:
    compilation = compile_source(Source("small.yaml", HEAD + LABELLED))
    strict = load_class(compilation)(unsupported="as_template")
    chat = [{"role": "user", "content": [" a ", {"type": "text", "text": "b "}]}]
    assert text(LABELLED, chat) == "<|im_end|>< a b >"
    for one in (strict, Interpreter(compilation.checked(), True)):
        assert one.render_text(chat, add_generation_prompt=False) == "<|im_end|><ab>"


# options that are numbers

BUDGET = """\
options:
  budget: {type: int, default: 5, least: -1, doc: how much}
head:
  when: budget is 0
  then: "none"
  else: {when: budget is at most 9, then: "few", else: {when: budget is at least 100, then: "many"}}
roles:
  user: "<${content}|${budget}>"
  assistant: {opener: "A", body: "${content}", closer: "<|im_end|>"}
"""


@pytest.mark.parametrize(
    ("budget", "head"),
    [(-1, "few"), (0, "none"), (1, "few"), (9, "few"), (10, ""), (99, ""), (100, "many")],
)
def test_a_number_is_compared_and_written(budget: int, head: str) -> None:
    assert text(BUDGET, [USER], budget=budget) == f"{head}<u|{budget}>"


LISTED = """\
options:
  offered: {type: list, values: [web, python], doc: what there is}
head:
  - {when: offered, then: "T"}
  - {when: offered contains "web", then: "(web)"}
  - {when: offered contains "python", then: "(python)"}
roles:
  user: "<${content}>"
  assistant: {opener: "A", body: "${content}", closer: "<|im_end|>"}
"""


@pytest.mark.parametrize(
    ("offered", "head"),
    [
        ([], ""),
        (("web",), "T(web)"),
        (["python", "web", "web"], "T(web)(python)"),
        ({"python"}, "T(python)"),
    ],
)
def test_a_list_holds_some_of_its_values(offered: Any, head: str) -> None:
    assert text(LISTED, [USER], offered=offered) == f"{head}<u>"
    assert text(LISTED, [USER]) == "<u>"


@pytest.mark.parametrize(
    ("value", "message", "cure"),
    [
        ("web", "is 'web'", "a list of some of web, python"),
        (["web", "shell"], "holds 'shell'", "some of web, python"),
        ([["web"]], "holds ", "some of web, python"),
        (None, "is None", "leave it out"),
    ],
)
def test_a_value_that_is_no_such_list_is_refused(value: Any, message: str, cure: str) -> None:
    with pytest.raises(OptionError, match="the option `offered`") as caught:
        made(LISTED, offered=value)
    assert message in str(caught.value) and cure in caught.value.help


def test_a_list_counts_with_each_value_and_with_all() -> None:
    program = compile_source(Source("small.yaml", HEAD + LISTED)).checked()
    assert telling(program) == {"offered": (("web",), ("python",), ("web", "python"))}
    known = {"offered": Option("list", (), values=("web", "python"))}
    assert option_values(known, ["offered=web, python"]) == {"offered": ["web", "python"]}


def test_what_may_make_a_difference_is_on_both_sides_of_each_number() -> None:
    program = compile_source(Source("small.yaml", HEAD + BUDGET)).checked()
    assert telling(program) == {"budget": (-1, 0, 1, 9, 10, 99, 100)}


@pytest.mark.parametrize(
    ("value", "cure"),
    [
        ("5", "a whole number"),
        (True, "a whole number"),
        (1.5, "a whole number"),
        (-2, "at least -1"),
        (None, "leave it out"),
    ],
)
def test_a_value_that_is_no_such_number_is_refused(value: Any, cure: str) -> None:
    with pytest.raises(OptionError, match="the option `budget` is") as caught:
        made(BUDGET, budget=value)
    assert cure in caught.value.help


def test_a_number_on_the_command_line() -> None:
    known = {"budget": Option("int", 5, least=-1), "name": Option("text")}
    given = ["budget=12", "name=12"]
    assert option_values(known, given) == {"budget": 12, "name": "12"}
    assert option_values(known, ["budget=-1"]) == {"budget": -1}
    assert option_values(known, ["budget=much"]) == {"budget": "much"}
