"""Constructs of the language one by one, each in a small spec: numbers of calls, questions about system messages,
openers that read their message, calls as maps, arguments in two spellings.

Each text is rendered by generated code and by the interpreter, which must agree. What is said about wrong use is in
`tests/cases`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from templc.cli.inputs import option_values
from templc.demo import vocabulary
from templc.ir.interpret import Interpreter
from templc.ir.settings import telling
from templc.pipeline import compile_source, load_class
from templc.runtime.encoders import typescript
from templc.runtime.errors import OptionError
from templc.runtime.options import Option
from templc.runtime.renderer import Renderer
from templc.runtime.signatures import python_def, signature_json
from templc.runtime.trees import tree, tree_parts
from templc.source.span import Source

HEAD = """\
format: small
title: A small format
reference: {note: none is published}
specials: ["<|im_end|>"]
stop: ["<|im_end|>"]
"""
USER = {"role": "user", "content": "u"}


def made(body: str, **options: Any) -> tuple[Renderer, Interpreter]:
    """The renderer of a small spec, and its interpreter."""
    compilation = compile_source(Source("small.yaml", HEAD + body))
    program = compilation.checked()
    return load_class(compilation)(**options), Interpreter(program, False, options)


def text(body: str, messages: Sequence[dict[str, Any]], **options: Any) -> str:
    """What both write."""
    tools = options.pop("tools", None)
    prompt = options.pop("add_generation_prompt", False)
    found = [
        one.render_text(messages, tools=tools, add_generation_prompt=prompt)
        for one in made(body, **options)
    ]
    assert found[0] == found[1]
    return found[0]


def asked(*calls: tuple[str, str], content: str = "") -> dict[str, Any]:
    """An assistant message that calls functions, each given by id and name."""
    made = [{"id": id, "function": {"name": name, "arguments": {"k": "v"}}} for id, name in calls]
    return {"role": "assistant", "content": content, "tool_calls": made}


def result(content: str, call_id: str | None = None) -> dict[str, Any]:
    given = {} if call_id is None else {"tool_call_id": call_id}
    return {"role": "tool", "content": content, **given}


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


# how calls are read back

MAPPED = """\
markers: ["<call>", "</call>"]
roles:
  user: "<${content}>"
  assistant:
    opener: "A"
    body:
      - "${content}"
      - each: call in calls
        do:
          - "<call>do ${call.name}{"
          - {each: arg in sorted(call.arguments), do: "${arg.name}:${arg.value|gemma}", between: ","}
          - "}</call>"
    closer: "<|im_end|>"
"""


def test_calls_as_maps_are_read_back() -> None:
    renderer = made(MAPPED)[0]
    arguments = {"a": 'x, {"y"}', "b": [1, None, {"c": True}]}
    call = {"id": "", "function": {"name": "f", "arguments": arguments}}
    written = text(MAPPED, [{"role": "assistant", "content": "", "tool_calls": [call]}])
    parsed = renderer.parse(written.removeprefix("A"))
    (found,) = parsed.message["tool_calls"]
    assert found["function"]["arguments"] == arguments and parsed.canonical
    broken = renderer.parse('<call>do f{a:<|"|>x}</call><|im_end|>')
    assert broken.status == "malformed" and "not closed" in broken.errors[0].message


TWICE = """\
roles:
  user: "<${content}>"
  assistant:
    opener: "A"
    body:
      - "${content}"
      - each: call in calls
        do:
          - "<call ${call.name}>"
          - each: arg in call.arguments
            do:
              when: arg.value is text
              then: "<a ${arg.name} text>${arg.value|text_or_json}</a>"
              else: "<a ${arg.name} json>${arg.value|json}</a>"
          - "</call>"
    closer: "<|im_end|>"
"""


@pytest.mark.parametrize(
    "value", ["x", "5", "true", "[1]", "", 5, True, None, [1, "x"], {"l": "x"}]
)
def test_arguments_that_say_whether_they_are_text_keep_their_type(value: Any) -> None:
    call = {"id": "", "function": {"name": "f", "arguments": {"k": value}}}
    written = text(TWICE, [{"role": "assistant", "content": "", "tool_calls": [call]}])
    assert ("<a k text>" in written) == isinstance(value, str)
    parsed = made(TWICE)[0].parse(written.removeprefix("A"))
    (found,) = parsed.message["tool_calls"]
    assert found["function"]["arguments"] == {"k": value} and parsed.canonical


def test_an_argument_in_the_spelling_of_values_that_is_no_json_is_told() -> None:
    parsed = made(TWICE)[0].parse("<call f><a k json>{oops</a></call><|im_end|>")
    assert parsed.status == "malformed" and parsed.errors[0].code == "bad_value"


def test_spellings_that_do_not_begin_and_end_alike_are_not_read_as_calls() -> None:
    apart = TWICE.replace("<a ${arg.name} json>", "<b ${arg.name} json>")
    parsed = made(apart)[0].parse("<call f><b k json>5</a></call><|im_end|>")
    assert parsed.message["content"] == "<call f><b k json>5</a></call>"


def test_what_stands_in_the_place_of_an_argument_is_no_part_of_the_name() -> None:
    parsed = made(TWICE)[0].parse("<call f><b k>5</b></call><|im_end|>")
    assert parsed.status == "malformed" and "tool_calls" not in parsed.message
    assert "the arguments of 'f' do not begin as they should" in parsed.errors[0].message


# filters

TOOL = {
    "type": "function",
    "function": {
        "name": "f",
        "description": "d",
        "parameters": {
            "type": "object",
            "properties": {
                "k": {"type": "string", "description": "what"},
                "n": {"type": "array", "items": {"type": "integer"}},
            },
            "required": ["k"],
        },
    },
}


def test_a_tree_has_a_mark_before_each_tag_and_leaves_none_out() -> None:
    value = {"a": [1, True, "x"], "b": None, "c": {"d": 1.5}}
    assert tree(value, "^") == (
        "^<a>^<item>1^</item>^<item>true^</item>^<item>x^</item>^</a>^<c>^<d>1.5^</d>^</c>"
    )
    parts = tree_parts(str.upper, {"a": "x"}, "^")
    assert parts == ["^", "<A>", "X", "^", "</A>"]
    assert (tree(None, "^"), tree("x", "^"), tree([], "^"), tree({}, "^")) == ("", "x", "", "")


def test_a_tool_as_python_function() -> None:
    assert python_def(TOOL) == (
        'def f(k: str,n: list):\n    """\n    d\n\n    Args:\n'
        '    - k (str) [必填]: what\n    - n (list) [选填]: \n\n    """'
    )


def test_a_tool_as_json_with_a_signature() -> None:
    text = signature_json(TOOL)
    assert text.startswith(
        '{"type": "function", "function": {"name": "f", "description": "f(k: str, n: list[Union[]]) - d\n\n'
    )
    assert text.endswith('"required": ["k"]}}')


def test_a_typescript_parameter_list_ends_with_a_comma_or_not() -> None:
    closed, open = typescript(TOOL, last=""), typescript(TOOL)
    assert closed == "// d\ntype f = (_: {\n// what\nk: string,\nn?: number[]\n}) => any;"
    assert open == closed.replace("\n})", ",\n})")


FILTERED = """\
head: {each: tool in tools, do: "${tool|%s}", between: "\\n"}
roles:
  user: "<${content}>"
  assistant: {opener: "A", body: "${content}", closer: "<|im_end|>"}
"""


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("python_def", python_def),
        ("signature_json", signature_json),
        ("typescript_closed", lambda tool: typescript(tool, last="")),
        ('tree:\\"^\\"', lambda tool: tree(tool, "^")),
    ],
)
def test_a_filter_of_a_spec_is_its_function(name: str, function: Any) -> None:
    assert text(FILTERED % name, [USER], tools=[TOOL]) == function(TOOL) + "<u>"


def test_the_parameters_of_a_tool_are_a_value() -> None:
    body = FILTERED % "json"
    body = body.replace("${tool|", "${tool.function.name}=${tool.function.parameters|")
    bare = {"type": "function", "function": {"name": "g"}}
    one = text(body, [USER], tools=[bare])
    assert one == "g={}<u>"
    assert text(body, [USER], tools=[TOOL]).startswith('f={"type": "object", "properties"')
