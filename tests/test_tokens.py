"""Tokens: a list of ids that keeps its attributes aligned."""

from __future__ import annotations

import copy
import gc
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from templc.runtime.columns import Run
from templc.runtime.errors import (
    ControlTokenError,
    MessageError,
    OptionError,
    TemplcError,
    UnstableExtension,
)
from templc.runtime.tokens import Later, Span, Tokens


def example() -> Tokens:
    return Tokens(
        [7, 8, 9],
        weights=[0.0, 1.0, 0.5],
        sampled=[False, True, True],
        message_index=[0, 1, 1],
        text="abc",
        spans=[Span(0, 1, 0, "content", False), Span(1, 3, 1, "content", True)],
        state={"past": 1},
        notes=("first",),
    )


def attributes(tokens: Tokens) -> dict[str, Any]:
    names = ("weights", "sampled", "message_index", "text", "spans", "state", "notes")
    return {"ids": list(tokens)} | {name: getattr(tokens, name) for name in names}


def test_is_a_list_of_ids() -> None:
    tokens = example()
    assert isinstance(tokens, list)
    assert tokens == [7, 8, 9]
    assert tokens != [7, 8]
    assert json.dumps(tokens) == "[7, 8, 9]"
    assert tokens[1] == 8 and type(tokens[:2]) is list and tokens[:2] == [7, 8]


def test_without_attributes_nothing_is_trained_or_sampled() -> None:
    tokens = Tokens([1, 2])
    assert (tokens.weights, tokens.sampled, tokens.message_index) == (
        [0.0] * 2,
        [False] * 2,
        [-1] * 2,
    )
    assert tokens.spans == [] and tokens.text == "" and tokens.state is None


@pytest.mark.parametrize("name", ["weights", "sampled", "message_index"])
def test_an_attribute_of_another_length_is_refused(name: str) -> None:
    arguments: dict[str, Any] = {name: [0]}
    with pytest.raises(ValueError, match="2 entries each"):
        Tokens([1, 2], **arguments)


def test_sum_keeps_every_attribute_aligned() -> None:
    other = Tokens(
        [5],
        weights=[2.0],
        sampled=[True],
        message_index=[2],
        text="d",
        spans=[Span(0, 1, 2, "reasoning", True)],
        state="new",
        notes=("first", "second"),
    )
    assert attributes(example() + other) == {
        "ids": [7, 8, 9, 5],
        "weights": [0.0, 1.0, 0.5, 2.0],
        "sampled": [False, True, True, True],
        "message_index": [0, 1, 1, 2],
        "text": "abcd",
        "spans": [*example().spans, Span(3, 4, 2, "reasoning", True)],
        "state": "new",
        "notes": ("first", "second"),
    }


def test_sum_with_a_plain_list_is_a_plain_list() -> None:
    one = [1]
    right, left = example() + one, one + example()
    assert type(right) is list and right == [7, 8, 9, 1]
    assert type(left) is list and left == [1, 7, 8, 9]


def test_sum_in_place_makes_a_new_object() -> None:
    first = tokens = example()
    tokens += Tokens([1])
    assert tokens == [7, 8, 9, 1] and len(tokens.weights) == 4
    assert first == [7, 8, 9] and len(first.weights) == 3


def test_spans_are_worked_out_once_and_only_when_asked_for() -> None:
    calls: list[int] = []

    def spans() -> list[Span]:
        calls.append(1)
        return [Span(0, 1, 0, "", False)]

    tokens = Tokens([1], spans=spans) + Tokens([2], spans=spans)
    assert calls == []
    assert tokens.spans == [Span(0, 1, 0, "", False), Span(1, 2, 0, "", False)]
    assert tokens.spans is tokens.spans and len(calls) == 2


@pytest.mark.parametrize(
    "duplicate",
    [
        Tokens.copy,
        copy.copy,
        copy.deepcopy,
        *(lambda t, p=p: pickle.loads(pickle.dumps(t, p)) for p in range(6)),
    ],
)
def test_copies_are_equal_in_everything(duplicate: Callable[[Tokens], Tokens]) -> None:
    found = duplicate(example())
    assert type(found) is Tokens
    assert attributes(found) == attributes(example())


def test_spans_that_nobody_asked_for_yet_pickle() -> None:
    tokens = Tokens([1], spans=lambda: [Span(0, 1, 3, "name", True)])
    assert pickle.loads(pickle.dumps(tokens)).spans == [Span(0, 1, 3, "name", True)]


class Told(Later):
    """Tells what `example` has, and notes what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def runs(self, ids: list[int]) -> list[Run]:
        self.asked.append("runs")
        assert ids == [7, 8, 9]
        return [(1, 0, False, 0.0), (1, 1, True, 1.0), (1, 1, True, 0.5)]

    def weights(self, ids: list[int]) -> list[float]:
        self.asked.append("weights")
        assert ids == [7, 8, 9]
        return [0.0, 1.0, 0.5]

    def text(self) -> str:
        self.asked.append("text")
        return "abc"

    def spans(self) -> list[Span]:
        self.asked.append("spans")
        return [Span(0, 1, 0, "content", False), Span(1, 3, 1, "content", True)]

    def state(self) -> object:
        self.asked.append("state")
        return {"past": 1}


def told_example() -> tuple[Tokens, Told]:
    later = Told()
    made = Tokens.__new__(Tokens)
    list.extend(made, [7, 8, 9])
    return made.told(later), later


@pytest.mark.parametrize("name", ["weights", "sampled", "message_index", "text", "spans", "state"])
def test_what_is_told_later_is_asked_for_once(name: str) -> None:
    tokens, later = told_example()
    assert getattr(tokens, name) == getattr(example(), name)
    assert getattr(tokens, name) is getattr(tokens, name) and len(later.asked) == 1


@pytest.mark.parametrize("first", ["weights", "sampled", "message_index", "text", "spans", "state"])
@pytest.mark.parametrize(
    "duplicate", [lambda t: t, Tokens.copy, copy.copy, copy.deepcopy, lambda t: t + Tokens()]
)
def test_what_is_told_later_is_as_if_it_had_been_given(
    first: str, duplicate: Callable[[Tokens], Tokens]
) -> None:
    tokens, _ = told_example()
    getattr(tokens, first)
    more = {"state": None} if duplicate(Tokens([1], state=1)).state is None else {}
    assert attributes(duplicate(tokens)) == attributes(example()) | {"notes": ()} | more
    both = attributes(tokens + example()) | {"notes": ()}
    assert both == attributes(example() + example()) | {"notes": ()}


def test_weights_are_told_alone_and_stay_when_the_rest_is() -> None:
    tokens, later = told_example()
    weights = tokens.weights
    assert later.asked == ["weights"]
    assert tokens.sampled == example().sampled and tokens.weights is weights
    assert later.asked == ["weights", "runs"]


def test_what_is_set_counts_and_not_what_would_have_been_told() -> None:
    tokens, later = told_example()
    tokens.weights, tokens.text, tokens.state, tokens.notes = [3.0] * 3, "d", None, ("n",)
    assert attributes(tokens) == attributes(example()) | {
        "weights": [3.0] * 3,
        "text": "d",
        "state": None,
        "notes": ("n",),
    }
    assert later.asked == ["runs", "spans"]


def test_tokens_are_in_no_circle() -> None:
    gc.collect()
    for _ in range(3):
        tokens, _ = told_example()
        attributes(tokens + tokens)
        del tokens
    assert gc.collect() == 0


MUTATIONS: dict[str, Callable[[Any], object]] = {
    "append": lambda t: t.append(1),
    "extend": lambda t: t.extend([1]),
    "insert": lambda t: t.insert(0, 1),
    "pop": lambda t: t.pop(),
    "remove": lambda t: t.remove(7),
    "clear": lambda t: t.clear(),
    "sort": lambda t: t.sort(),
    "reverse": lambda t: t.reverse(),
    "item": lambda t: t.__setitem__(0, 1),
    "slice": lambda t: t.__setitem__(slice(0, 1), [1]),
    "delete": lambda t: t.__delitem__(0),
    "times": lambda t: t.__imul__(2),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_change_in_place_is_refused(name: str) -> None:
    tokens = example()
    with pytest.raises(TypeError, match=r"list\(tokens\)"):
        MUTATIONS[name](tokens)
    assert attributes(tokens) == attributes(example())


def test_columns_for_training() -> None:
    assert example().columns() == {
        "input_ids": [7, 8, 9],
        "labels": [-100, 8, 9],
        "attention_mask": [1, 1, 1],
        "assistant_masks": [0, 1, 1],
    }


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OptionError("no option `x`", help="use `y`"), "no option `x`\n  help: use `y`"),
        (
            MessageError("is empty", message_index=2, field="content"),
            "message 2, content: is empty",
        ),
        (ControlTokenError("bad", field="tools", token="<x>"), "tools: bad"),
        (UnstableExtension("moves", spec_line=9, keep=4, witness=["w"]), "spec line 9: moves"),
    ],
)
def test_errors_read_well_and_pickle(error: TemplcError, text: str) -> None:
    assert str(error) == text
    restored = pickle.loads(pickle.dumps(error))
    assert str(restored) == text and vars(restored) == vars(error)
