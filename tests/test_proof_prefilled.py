"""Answers whose text may or may not begin with what the prompt already holds: that hangs on contents.

Where it does, a model adds to the prompt only what follows; where it does not, all of it. A cell is stable only where
text is kept in both cases, and what the proof says of single messages is held against the generated class.
"""

from __future__ import annotations

import functools
import json
from itertools import product
from typing import Any

import pytest

from templc.ir.ops import Program
from templc.pipeline import compile_source
from templc.proof.certificate import certificate
from templc.proof.recheck import recheck
from templc.proof.recheck_if import recheck_conditions
from templc.proof.stability import Stability, prove
from templc.source.span import Source
from tests.support.proof_truth import sampled_text
from tests.support.small import HEAD, USER, made

ROLES = """\
roles:
  user: "<${content}>"
  assistant:
    opener: "A"
    prefill: "PREFILL"
    body: BODY
    closer: "<|im_end|>"
"""
LIVE = '{when: live, then: "TEXT", else: "PREFILLTEXT"}'
WORDS = ["".join(word) for size in range(4) for word in product("xya", repeat=size)]


def spec(prefill: str, body: str, text: str = "") -> str:
    body = ROLES.replace("BODY", body).replace("TEXT", text)
    return body.replace("PREFILL", prefill)


def answers(*fields: str) -> list[dict[str, Any]]:
    """Messages with every short text in each field."""
    words = WORDS if len(fields) == 1 else WORDS[:13]
    texts = product(words, repeat=len(fields))
    return [
        {"role": "assistant", "content": "", **dict(zip(fields, one, strict=True))} for one in texts
    ]


def small(body: str) -> Program:
    return compile_source(Source("small.yaml", HEAD + body)).checked()


both = functools.cache(made)


def kept(body: str, answer: dict[str, Any]) -> bool:
    """Whether the prompt and what the model samples begin the render with the answer and one more query."""
    renderer, interpreter = both(body)
    whole = [USER, answer, USER]
    text = renderer.render_text(whole, add_generation_prompt=False)
    assert text == interpreter.render_text(whole)
    sampled = sampled_text(renderer, [USER, answer])
    assert sampled is not None
    return text.startswith(renderer.render_text([USER], add_generation_prompt=True) + sampled)


def wrong(body: str, table: Stability, *fields: str) -> list[dict[str, Any]]:
    """The answers of which the table says something else than what happens."""
    return [
        one
        for one in answers(*fields)
        if table.continues([USER], one, [USER]) is not kept(body, one)
    ]


def complaints(found: Program, table: Stability) -> list[str]:
    data = json.loads(json.dumps(certificate(table)))
    return [*recheck(found, data), *recheck_conditions(found, data)]


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        # "xb" is "b" behind the prompt "Ax", and the finished turn is "Axxb"
        (
            spec("x", LIVE, "${content}"),
            "stable if the sampled message has no `content` that starts with 'x'",
        ),
        (
            spec("x", LIVE, "${content|strip}"),
            "stable if the sampled message has no `content|strip` that starts with 'x'",
        ),
        (spec("x", LIVE, "y${content}"), "stable"),
        (spec("x", LIVE, "x${content}"), "never"),
        # what begins with the prefill is kept by what the finished turn asks
        (
            spec(
                "x",
                """{when: live, then: "${content}", else: {when: 'content and content starts with "x"',"""
                """ then: "${content}", else: "x${content}"}}""",
            ),
            "stable",
        ),
    ],
)
def test_text_that_may_begin_with_the_prefill_is_asked_about(body: str, verdict: str) -> None:
    found = small(body)
    table = prove(found)
    assert {table.at("completion", then).text for then in ("user", "assistant", "end")} == {verdict}
    assert wrong(body, table, "content") == []
    assert complaints(found, table) == []


@pytest.mark.parametrize(
    ("body", "fields", "told"),
    [
        # "x" and the "y" behind it are the prefill too
        (
            spec("xy", LIVE, "${content}y"),
            ("content",),
            "has not 'x' as `content` and has no `content` that starts with 'xy'",
        ),
        (
            spec("xy", LIVE, "${reasoning}${content}"),
            ("reasoning_content", "content"),
            "has no `content` that starts with 'y'",
        ),
    ],
)
def test_the_prefill_may_be_written_by_a_text_and_what_follows_it(
    body: str, fields: tuple[str, ...], told: str
) -> None:
    """The checker of conditions does not know what stands behind a part of the prefill, and says so."""
    found = small(body)
    table = prove(found)
    assert told in table.at("completion", "user").text
    assert wrong(body, table, *fields) == []
    data = json.loads(json.dumps(certificate(table)))
    assert recheck(found, data) == []
    assert "completion, user: the condition holds, and text is not kept" in recheck_conditions(
        found, data
    )


def test_a_condition_that_says_the_contrary_is_refused() -> None:
    found = small(spec("x", LIVE, "${content}"))
    data = json.loads(json.dumps(certificate(prove(found))))
    (cell,) = (one for one in data["conditions"] if one["then"] == "user")
    [[[want, *literal]]] = cell["terms"]
    claim = {**data, "conditions": [{**cell, "terms": [[[1 - want, *literal]]]}]}
    said = recheck_conditions(found, claim)
    assert "completion, user: the condition holds, and text is not kept" in said


def test_what_is_not_known_to_begin_so_is_not_proved() -> None:
    """No question tells how the texts of a loop begin, so nothing is claimed; an example shows that text changes."""
    calls = '{each: call in calls, do: "${call.name}"}'
    body = spec(
        "x",
        f'{{when: live, then: [{calls}, "${{content}}"], else: ["x", {calls}, "${{content}}"]}}',
    )
    table = prove(small(body))
    assert table.at("completion", "user").verdict == "not proved"
    assert complaints(small(body), table) == []


def test_by_chance_text_that_is_not_kept_may_begin_so_and_be_kept() -> None:
    """No condition speaks of that, as of no content that spells a mark."""
    body = spec("x", '"${content}"')
    table = prove(small(body))
    assert table.at("completion", "user").verdict == "never"
    assert [
        one for one in answers("content") if kept(body, one) != one["content"].startswith("x")
    ] == []
    assert complaints(small(body), table) == []


def test_a_cell_that_hangs_on_the_prefill_has_a_witness_that_replays() -> None:
    body = spec("x", LIVE, "${content}")
    renderer, interpreter = made(body)
    witness = prove(small(body)).at("completion", "user").witness
    assert witness is not None and witness.sampled
    size, word = len(witness.conversation), [*witness.conversation, *witness.extension]
    sampled = sampled_text(renderer, word[: size + 1])
    assert sampled == "aa<|im_end|>"
    for one in (renderer, interpreter):
        old = one.render_text(word[:size], add_generation_prompt=True)
        assert old + sampled == "".join(witness.before) == "<u>Axaa<|im_end|>"
        new = one.render_text(word, add_generation_prompt=False)
        assert new == "".join(witness.after) == "<u>Axxaa<|im_end|><u>"
