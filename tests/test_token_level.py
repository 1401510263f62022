"""Token level: what the table says of cuts, held against real tokenizers on conversations of every boundary."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

import templc
from templc.proof.boundary import analyse
from templc.proof.cuts import Cut, cuts
from templc.proof.joint import Place
from templc.proof.outcomes import Case
from templc.proof.stability import Stability, prove
from templc.proof.token_level import PIECES, SEALED, token_level
from tests.support import vocabularies
from tests.support.formats import MISSION, fitting, program

FORMATS = (*MISSION, "gpt_oss", "glm4_5")
EXAMPLES = 60
HOSTILE = ("\n", "\n\n/x", " \n", "'s", "\u0301e", "1", "/", ">")
AFTER_ANSWER = ("user", "tool", "system")


def table(name: str) -> Stability:
    return prove(program(name))


def texts(name: str, vocabulary: str) -> dict[str, str]:
    """What holds at each boundary, as `prompt > assistant`."""
    facts = analyse(vocabularies.backend(vocabulary))
    return {
        f"{place.after} > {place.then}": one.text
        for one in token_level(table(name), facts)
        for place in one.places
    }


def test_cuts_are_the_texts_that_meet() -> None:
    found = cuts(table("qwen3_instruct"))
    assert found[Place("prompt", "assistant")] >= {Cut("<|im_start|>assistant\n", None)}
    assert found[Place("user", "user")] == {Cut("<|im_end|>\n", "<|im_start|>user\n")}


def test_control_tokens_seal_all_but_what_follows_a_prompt() -> None:
    found = texts("qwen3_instruct", "qwen3")
    prompt = found.pop("prompt > assistant")
    assert set(found.values()) == {SEALED} and len(found) > 15
    assert prompt.startswith("safe behind 'assistant\\n' unless a message goes on with: \\n, \\r;")


def test_a_format_without_control_tokens_is_judged_by_its_pieces() -> None:
    assert set(texts("role_colon", "qwen3").values()) == {PIECES}


def conversations(
    stability: Stability, place: Place
) -> Iterator[tuple[list[dict[str, Any]], list[dict[str, Any]]]]:
    """Conversations that stand at a place, with what is added, with simple and with hostile contents."""
    for case, kept in itertools.islice(stability.walk.outcomes(place).cases(), EXAMPLES):
        if not kept or case.end != stability.machine.ends[0]:
            continue
        old, added = (list(side) for side in _messages(case))
        yield old, added
        for content in HOSTILE:
            yield [*old[:-1], _with(old[-1], content)], [_with(added[0], content), *added[1:]]


def _messages(case: Case) -> tuple[Iterator[dict[str, Any]], Iterator[dict[str, Any]]]:
    def raw(letters: Any) -> Iterator[dict[str, Any]]:
        return (dict(letter.sample.examples[0][0]) for letter in letters)

    return raw((*case.node.word, case.last)), raw(case.added)


def _with(message: dict[str, Any], content: str) -> dict[str, Any]:
    return {**message, "content": content} if message.get("content") else message


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_called_safe_keeps_its_tokens(name: str) -> None:
    compared = 0
    stability = table(name)
    for vocabulary in fitting(name)[:3]:
        renderer = templc.get_renderer(name, vocabularies.hf(vocabulary))
        facts = analyse(vocabularies.backend(vocabulary))
        for one in token_level(stability, facts):
            for place in one.places:
                if one.text in (SEALED, PIECES) and place.after != "completion":
                    compared += kept_tokens(renderer, stability, place)
    assert compared > 100


def kept_tokens(renderer: templc.Renderer, stability: Stability, place: Place) -> int:
    """How many extensions whose text is kept were seen to keep their tokens."""
    compared = 0
    for old, added in conversations(stability, place):
        try:
            first = renderer.render(old, add_generation_prompt=place.prompted)
            second = renderer.render([*old, *added], add_generation_prompt=False)
        except templc.MessageError:
            continue
        if second.text.startswith(first.text):
            assert list(second[: len(first)]) == list(first), (place, old, added)
            compared += 1
    return compared


def test_what_is_called_unsafe_can_lose_a_token() -> None:
    """The characters that the table names are those that merge."""
    renderer = templc.get_renderer("qwen3_instruct", vocabularies.hf("qwen3"))
    user = {"role": "user", "content": "x"}
    prompt = renderer.render([user])
    for content, merges in {"\nx": True, " \nx": True, " x": False, "x": False}.items():
        whole = renderer.render([user, {"role": "assistant", "content": content}])
        assert whole.text.startswith(prompt.text)
        assert (list(whole[: len(prompt)]) != list(prompt)) is merges, content
