"""How calls of each spelling are read back, and the filters that declare tools, each in a small spec."""

from __future__ import annotations

from typing import Any

import pytest

from templc.runtime.encoders import typescript
from templc.runtime.signatures import python_def, signature_json
from templc.runtime.trees import tree, tree_parts
from tests.support.small import USER, made, text

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
