"""Skeletons: an opaque turn that is filled in is the turn that its method writes, for every format and content."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import templc
from templc.ir.opaque import opaque_turns
from templc.ir.sought import asked_closely, sought
from templc.runtime import fold
from templc.runtime.codec import codec_of
from templc.runtime.encode import encode
from templc.runtime.ending import write_pending
from templc.runtime.history import Node
from templc.runtime.messages import Call, Message
from templc.runtime.opaque import Look, Opaque
from templc.runtime.pieces import Piece
from templc.runtime.skeleton import Filled, Frames, frames_of, unfilled
from templc.runtime.tools import read_tools
from templc.runtime.writer import Writer
from tests.support import formats, small, vocabularies

TOOL = {"type": "function", "function": {"name": "f", "description": "d", "parameters": {}}}
TEXTS = (
    "a",
    " b\n",
    "\n",
    "<think>\n\n</think>\n\nyes",
    "</think>",
    "é<|im_end|>",
    "/nothink",
    "<",
    "",
)
ROLES = ("system", "user", "assistant", "tool", "developer", "other")


def message(role: str, content: str, *, rich: bool = False) -> dict[str, Any]:
    """A message with nothing else, or with what keeps its turn from being filled in."""
    found: dict[str, Any] = {"role": role, "content": content}
    if rich and role == "assistant":
        call = {
            "id": "x1y2z3w4v",
            "type": "function",
            "function": {"name": "f", "arguments": {"a": 1}},
        }
        found |= {"reasoning_content": "r", "tool_calls": [call]}
    if rich and role == "tool":
        found |= {"tool_call_id": "x1y2z3w4v", "name": "f"}
    return found


def both(
    renderer: templc.Renderer, messages: Sequence[object], tools: Any, prompt: bool, frames: Frames
) -> tuple[list[Piece], list[Piece], int]:
    """The pieces by the turn methods and by skeletons, and how many skeletons were filled."""
    declared = read_tools(tools, as_template=renderer.as_template)
    turns, _ = renderer.read(messages, declared)
    items = fold.items_of(renderer, turns, declared, prompt, frames)
    written = fold.whole(renderer, turns, declared, prompt)
    assert "".join(item.text for item in items) == "".join(piece.text for piece in written)
    return written, unfilled(items), sum(isinstance(item, Filled) for item in items)


def chats() -> st.SearchStrategy[list[dict[str, Any]]]:
    """Any messages in any order, or what most formats take: a user and the assistant in turn."""
    texts, flags = st.sampled_from(TEXTS), st.booleans()
    one = st.builds(message, st.sampled_from(ROLES), texts, rich=flags)
    turns = st.lists(st.tuples(texts, texts, flags), min_size=1, max_size=3)
    return st.lists(one, min_size=1, max_size=6) | turns.map(alternating)


def alternating(turns: Sequence[tuple[str, str, bool]]) -> list[dict[str, Any]]:
    pairs = ((message("user", a), message("assistant", b, rich=rich)) for a, b, rich in turns)
    return [one for pair in pairs for one in pair]


@pytest.mark.parametrize("name", formats.FORMATS)
def test_every_format_writes_filled_turns_as_its_methods_do(name: str) -> None:
    renderers = [
        formats.renderer(name, unsupported="as_template", **options)
        for options in formats.option_sets(name, brief=True)
    ]
    known = [Frames(renderer.opaque) for renderer in renderers]
    counts = [0]

    @given(chats(), st.booleans(), st.booleans(), st.integers(0, len(renderers) - 1))
    @settings(max_examples=80, deadline=None)
    def check(messages: list[dict[str, Any]], tools: bool, prompt: bool, which: int) -> None:
        try:
            found = both(
                renderers[which], messages, [TOOL] if tools else None, prompt, known[which]
            )
        except templc.MessageError:
            return
        assert found[0] == found[1]
        counts[0] += found[2]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check()
    assert counts[0] > 0


@pytest.mark.parametrize("name", formats.FORMATS)
def test_what_a_sampled_turn_lacks_is_the_same_for_every_message(name: str) -> None:
    renderer = formats.renderer(name)
    frames, past = Frames(renderer.opaque), renderer.past_type()
    calls = (Call("f", {"a": 1}, "x1y2z3w4v"),)
    for said in (
        Message("assistant", "a"),
        Message("assistant", "", "r"),
        Message("assistant", calls=calls),
    ):
        for prompt, parts in itertools.product(
            (False, True), (("trailer",), ("closer", "trailer"))
        ):
            node, future = Node(said, 3, past, None, None), renderer.future(prompt=prompt)
            found = frames.pending(renderer, Writer(), node, parts, future)
            written = Writer()
            write_pending(renderer, written, node, parts, future)
            assert found is None or unfilled([found]) == written.pieces
            assert (found is None) == ("closing" not in renderer.opaque)


@pytest.mark.parametrize(("name", "vocabulary"), sorted(formats.VOCABULARIES.items()))
def test_filled_turns_have_the_tokens_of_their_pieces(name: str, vocabulary: str) -> None:
    tokenizer = vocabularies.backend(vocabulary)
    renderer, codec = formats.renderer(name, tokenizer), codec_of(tokenizer)
    frames = frames_of(renderer.bound(codec), codec)
    assert frames is not None
    contents = ("a", "\n\nb", " c ", "dé\n", "<|im_end|>", "ein Wort mehr")
    for roles in itertools.product(("system", "user", "assistant"), repeat=3):
        for shift in range(len(contents)):
            messages = [
                message(role, contents[(shift + at) % len(contents)])
                for at, role in enumerate(roles)
            ]
            try:
                filled = renderer.render(messages, add_generation_prompt=True)
            except templc.MessageError:
                continue
            plain = encode(renderer.pieces(messages, add_generation_prompt=True), codec)
            assert list(filled) == list(plain)
            assert filled.columns() == plain.columns() and filled.weights == plain.weights
            assert (filled.message_index, filled.text) == (plain.message_index, plain.text)
            assert filled.spans == plain.spans


@pytest.mark.parametrize(
    "name", ["qwen3", "llama3", "deepseekv3", "gpt_oss", "mistral_v0_3", "gemma3"]
)
def test_a_plain_conversation_is_all_skeletons(name: str) -> None:
    renderer = formats.renderer(name)
    messages = [message("user", "a"), message("assistant", "b"), message("user", "c")]
    frames = Frames(renderer.opaque)
    _, pieces, filled = both(renderer, messages, None, True, frames)
    assert filled == 5 and pieces


SPEC = """
roles:
  user: "[U]{user}"
  assistant: {{opener: "[A]", body: [{body}], closer: "<|im_end|>"}}
"""


def each(do: str) -> str:
    return f'"${{content}}", {{each: it in calls, do: {do}}}'


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        ("${content}", Opaque()),
        ("${content | strip}", Opaque(strips=True)),
        ("${content | capitalize}", None),
        ("${content}${content}", Opaque()),
        ("${name}: ${content}", Opaque("name", copies={"name": Look()})),
        ("${name | capitalize}: ${content}", Opaque("name")),
        ("${content | strip_newlines}", Opaque(newlines=True)),
        ("${content | json}", Opaque(quotes=True)),
        ("${content | json}${content}", None),
        (r"${content | after:\"</a>\" | strip}", Opaque(strips=True, sought=("</a>",))),
        (r"${content | remove:\"/x\"}", Opaque(sought=("/x",))),
        (r"${content | drop_spans:\"<a> </a>\"}", Opaque(sought=("<a>", "</a>"))),
    ],
)
def test_a_spec_says_which_turns_are_opaque(user: str, expected: Opaque | None) -> None:
    found = turns_of(user=user)
    assert described(found.get("user")) == described(expected)


def turns_of(**texts: str) -> Mapping[str, Opaque]:
    made, _ = small.made(SPEC.format(**{"user": "${content}", "body": '"${content}"'} | texts))
    return made.opaque


def described(turn: Opaque | None) -> tuple[Any, ...] | None:
    return None if turn is None else turn.told()


@pytest.mark.parametrize(
    ("body", "copies", "arguments"),
    [
        ('"${content}${reasoning}"', {"reasoning": Look()}, ""),
        (
            '{when: reasoning, then: "${reasoning | strip_newlines}", else: "${content}"}',
            {"reasoning": Look(newlines=True)},
            "",
        ),
        ('"${content}${reasoning | capitalize}"', {}, ""),
        ('"${content}", {when: count(reasoning) > 1, then: "x"}', {}, ""),
        (each('"${it.name}${it.arguments | json}"'), {}, "json"),
        (each('"${it.id}${it.arguments | text_or_json}"'), {}, "text_or_json"),
        (each('"${it.type}"'), {}, "text_or_json"),
        (each('"${it.arguments | json}${it.arguments | text_or_json}"'), {}, "json"),
        (each('"${it.arguments | json_indent}"'), {}, ""),
        (each('"${it.name | capitalize}"'), {}, ""),
        (each('"${it.number}"'), {}, ""),
        (each('{each: a in it.arguments, do: "${a.name}"}'), {}, ""),
        (each('{when: it.arguments is text, then: "${it.name}"}'), {}, ""),
        (each('{when: it.id, then: "${it.name}"}'), {}, "text_or_json"),
        ('{when: "some(it: it.name is \\"f\\")", then: "x", else: "${content}"}', {}, ""),
    ],
)
def test_a_spec_says_which_fields_are_only_copied(
    body: str, copies: Mapping[str, Look], arguments: str
) -> None:
    found = turns_of(body=body)["assistant"]
    assert found.told()[-2:] == ({name: look.told() for name, look in copies.items()}, arguments)


@pytest.mark.parametrize(
    ("that", "closely"),
    [
        ("not calls", ()),
        ("count(calls) < 2", ()),
        ('not reasoning contains "x"', ()),
        ('not reasoning|capitalize contains "x"', ("reasoning",)),
        ("not name or earlier(call_id)", ()),
        ('not name is "x"', ("name",)),
        ("not answered", ()),
        ("not caller_content", ("caller_content",)),
        ('not some(it: it.name is "f")', ("calls",)),
        ('not (as_template and some(it: it.name is "f"))', ()),
    ],
)
def test_a_spec_says_of_which_fields_more_is_asked_than_whether_they_are_there(
    that: str, closely: tuple[str, ...]
) -> None:
    wanted = f"require:\n  - {{of: assistant, that: {that!r}, say: not this}}\n"
    texts = {"user": "${content}", "body": '"${content}"'}
    made, _ = small.made(SPEC.format(**texts) + wanted)
    assert (made.sought is not None, made.asked_closely) == (True, closely)


def test_results_without_an_id_are_written_with_those_that_are_made_up_for_them() -> None:
    renderer = formats.renderer("kimi_k2")
    calls = [{"function": {"name": name, "arguments": {}}} for name in ("f", "g")]
    asked = {"role": "assistant", "content": "", "tool_calls": calls}
    chat = [message("user", "a"), asked, message("tool", "1"), message("tool", "2")]
    written, filled, _ = both(renderer, chat, None, True, Frames(renderer.opaque))
    assert filled == written
    assert [one.text for one in written if one.field == "call_id"][-2:] == [
        "functions.f:0",
        "functions.g:1",
    ]


def test_a_content_that_is_written_twice_is_never_filled_in() -> None:
    renderer, _ = small.made(SPEC.format(user="${content}${content}", body='"${content}"'))
    found = both(renderer, [message("user", "a")], None, True, Frames(renderer.opaque))
    assert found[0] == found[1] and found[2] == 2


def test_generated_classes_say_what_their_programs_say() -> None:
    for name in formats.FORMATS:
        program = {
            role: described(turn) for role, turn in opaque_turns(formats.program(name)).items()
        }
        made = formats.renderer(name)
        assert program == {role: described(turn) for role, turn in made.opaque.items()}
        assert made.sought == sought(formats.program(name))
        closely = asked_closely(formats.program(name))
        assert made.sought is None or made.asked_closely == closely


@pytest.mark.parametrize("role", ["head", "prompt", "closing"])
def test_a_role_may_have_the_name_of_what_stands_around_turns(role: str) -> None:
    spec = (
        SPEC.format(user="${content}", body='"${content}"') + '  other: "[O]${content | strip}"\n'
    )
    renderer, _ = small.made(spec, unsupported="as_template")
    found = both(renderer, [message(role, " x ")], None, False, Frames(renderer.opaque))
    assert found[0] == found[1]


def test_a_class_with_methods_of_its_own_is_not_taken_for_what_it_extends() -> None:
    base: Any = type(formats.renderer("qwen3"))

    class Shouting(base):  # type: ignore[misc]
        head, opener, body, closer = base.head, base.opener, base.body, base.closer

        def user(self, out: Any, m: Any) -> None:
            out.write(m.content.upper() if "!" in m.content else m.content)

    tokenizer = vocabularies.backend("qwen3")
    found = Shouting().render([message("user", "a!")], tokenizer, add_generation_prompt=False)
    assert base.opaque and not Shouting.opaque and found.text == "A!"
