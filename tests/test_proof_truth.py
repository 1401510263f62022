"""The proof against what really happens: every prediction equals the published template under transformers.

Small conversations here; `python -m tests.prove_evidence` runs the large ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from templc.proof.certificate import certificate
from templc.proof.recheck import recheck
from templc.proof.recheck_if import recheck_conditions
from templc.proof.stability import Cell, Stability, prove
from templc.verify.shapes import TOOLS
from tests.stable_fuzz import search
from tests.support.formats import FORMATS, option_sets, program
from tests.support.proof_truth import (
    BLANK,
    CORE,
    SMALL,
    agreed,
    cell_errors,
    check,
    class_of,
    generated,
    replays,
    sampled_by,
    sampled_text,
)

# Proofs of these take seconds for each of many option values; `tests.prove_evidence` runs all of them.
BIG = ("gemma4", "gemma4_e4b")
CASES = [
    (name, options)
    for name in FORMATS
    for options in option_sets(name)
    if name not in BIG or not options
]
TINY = ("u", "a", "a.r", "t.id")
# Formats that take white space, or line ends, off reasoning before they write it.
STRIPPING = (
    *("glm4_5", "glm4_6v", "kanana2_thinking", "qwen3_thinking", "qwen3_5", "qwen3_5_small"),
    *("qwen3_no_thinking", "ernie4_5_vl"),
)
DEEP = ("qwen3", "kimi_k2", "deepseekv3")
KNOWN: dict[tuple[str, str], Stability] = {}


def proved(name: str, options: Mapping[str, object]) -> Stability:
    """One proof for each format and options in a test run."""
    key = (name, repr(options))
    if key not in KNOWN:
        KNOWN[key] = prove(program(name), options)
    return KNOWN[key]


@pytest.mark.parametrize("name", FORMATS)
def test_every_prediction_is_true(name: str) -> None:
    stability = proved(name, {})
    shapes = CORE if name in DEEP else SMALL
    tally = check(stability, agreed(name, {}), shapes, old=2, new=1, sampled=sampled_by(name, {}))
    assert tally.wrong == []
    assert tally.total > 2
    assert cell_errors(stability, tally) == []


@pytest.mark.parametrize(
    ("name", "options"), [case for case in CASES if case[1]], ids=lambda found: str(found)
)
def test_every_prediction_is_true_for_every_option(name: str, options: dict[str, object]) -> None:
    stability = proved(name, options)
    tally = check(
        stability, agreed(name, options), TINY, old=2, new=1, sampled=sampled_by(name, options)
    )
    assert tally.wrong == []
    assert cell_errors(stability, tally) == []
    assert recheck(program(name), certificate(stability)) == []


@pytest.mark.parametrize(
    "name", ("deepseekv3_2", "deepseekv4", "qwen3", "glm4_5", "olmo3_instruct")
)
def test_every_prediction_is_true_where_tools_are_given(name: str) -> None:
    """A head may write them behind the system messages, so that one more of these changes what stands."""
    renderer, [*_, tools] = class_of(name)(), TOOLS
    stability = prove(program(name), tools=True)
    tally = check(
        stability,
        generated(renderer, tools),
        (*TINY, "s", "s.empty"),
        old=2,
        new=1,
        sampled=lambda conversation: sampled_text(renderer, conversation, tools),
    )
    assert tally.wrong == []
    assert tally.total > 50
    assert cell_errors(stability, tally) == []


BLANKS = [(name, options) for name in STRIPPING for options in option_sets(name)]


@pytest.mark.parametrize(("name", "options"), BLANKS, ids=lambda found: str(found))
def test_text_that_is_only_white_space_is_no_chance(name: str, options: dict[str, object]) -> None:
    """Reasoning that a format strips to nothing is written as no reasoning is, so its loss changes no text."""
    stability = proved(name, options)
    tally = check(
        stability, agreed(name, options), BLANK, old=2, new=1, sampled=sampled_by(name, options)
    )
    assert tally.wrong == []
    assert tally.total > 50
    assert cell_errors(stability, tally) == []
    assert recheck_conditions(program(name), certificate(stability)) == []


@pytest.mark.parametrize("name", DEEP)
def test_longer_conversations_and_extensions(name: str) -> None:
    stability = proved(name, {})
    tally = check(
        stability,
        agreed(name, {}),
        ("u", "a", "a.rc", "t.id"),
        old=3,
        new=2,
        sampled=sampled_by(name, {}),
    )
    assert tally.wrong == []
    assert tally.kept["longer", "extension"] and tally.broken["longer", "extension"]


@pytest.mark.parametrize(("name", "options"), CASES, ids=lambda found: str(found))
def test_every_witness_replays(name: str, options: dict[str, object]) -> None:
    stability = proved(name, options)
    for cell in stability.cells:
        if cell.verdict != "not proved":
            assert (cell.witness is None) == (cell.verdict in ("stable", "refused")), cell.place
        if cell.witness is not None:
            assert replays(name, options, cell.witness) == [], cell.place
            assert cell.witness.kept < sum(map(len, cell.witness.before))


@pytest.mark.parametrize("name", ("qwen3", "kimi_k2", "llama3", "role_colon"))
def test_no_random_conversation_breaks_what_is_called_stable(name: str) -> None:
    """Few here; `python -m tests.stable_fuzz` draws a hundred thousand a format."""
    tally = search(name, {}, 300)
    assert tally.conversations > 50 and tally.stable > 50


def test_a_random_conversation_breaks_a_false_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """`stable` said of every cell: the search finds the one that is not, and shrinks it."""
    at = Stability.at

    def lied(self: Stability, after: str, then: str) -> Cell:
        return replace(at(self, after, then), verdict="stable")

    monkeypatch.setattr(Stability, "at", lied)
    with pytest.raises(AssertionError) as found:
        search("qwen3_instruct", {}, 2_000)
    place, messages, _ = found.value.args[0]
    assert place == ("tool", "tool")
    assert len(messages) <= 4 and all(not message.get("content") for message in messages)


def test_every_pair_of_a_drawn_conversation_is_looked_at_once() -> None:
    tally = search("role_colon", {}, 200)
    assert tally.conversations >= 200 and 0 < tally.draws < 200
