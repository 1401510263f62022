"""What makes compiling fast reads nothing otherwise: libyaml beside PyYAML, the compiled schema beside jsonschema."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from templc.pipeline import spec_folder
from templc.problems.problem import Problems
from templc.source import nodes
from templc.source.nodes import parse_nodes, plain
from templc.source.span import Source
from templc.syntax.accepts import compiled
from templc.syntax.schema import accepts, schema, validator

TEXTS = {
    path.name: path.read_text(encoding="utf-8", errors="replace")
    for folder in (spec_folder(), Path(__file__).parent / "cases")
    for path in sorted(folder.rglob("*.yaml"))
}
EDITS = list("\t\n\n  :-#'\"{}[],&*!|>%@`?\\ax1é中😀\u2028\r\u0085\ufeff")
EDITS += ["\r\n", "---\n", "...\n", "- ", ": ", "? ", "!!str ", "&a ", "*a", "|-\n", ">+\n", "|#"]
ROUNDS = 3_000
EDITS_OF_DATA: list[Any] = [
    "",
    "x",
    "X-1",
    "a\n",
    0,
    7,
    True,
    None,
    [],
    {},
    ["x", "x"],
    {"use": "x"},
]


def edited(dice: random.Random, text: str) -> str:
    """A part of a text, changed at up to three places."""
    lines = text.split("\n")
    at = dice.randrange(len(lines))
    text = "\n".join(lines[at : at + 12]) if dice.random() < 0.7 else text
    for _ in range(dice.randint(0, 3)):
        at = dice.randrange(len(text) + 1)
        text = text[:at] + dice.choice([*EDITS, ""]) + text[at + dice.randint(0, 2) :]
    return text


def read(text: str) -> tuple[str, str]:
    """The whole tree with its places, and what is wrong with it."""
    problems = Problems()
    return repr(parse_nodes(Source("x.yaml", text), problems)), repr(list(problems))


def test_libyaml_is_there() -> None:
    assert nodes.loader("a: b") is yaml.CSafeLoader
    assert nodes.loader("a:\tb") is None


def test_libyaml_reads_as_pyyaml_does(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(1)
    texts = [
        *TEXTS.values(),
        *(edited(dice, dice.choice(list(TEXTS.values()))) for _ in range(ROUNDS)),
    ]
    fast = [read(text) for text in texts]
    read_fast = [nodes._without_mistake(Source("x.yaml", text)) is not None for text in texts]
    monkeypatch.setattr(nodes, "loader", lambda text: None)
    nodes._read.cache_clear()
    for text, found in zip(texts, fast, strict=True):
        assert found == read(text), text
    nodes._read.cache_clear()
    assert 400 < sum(read_fast) < len(texts) - 400


def changed(dice: random.Random, data: Any) -> Any:
    """Data with one part of it, however deep, put in place of another, left out, renamed or doubled."""
    if isinstance(data, dict) and data and dice.random() < 0.85:
        key = dice.choice(list(data))
        match dice.randrange(8):
            case 0:
                return {name: part for name, part in data.items() if name != key}
            case 1:
                return {**data, dice.choice(["then", "do", "x", "open", "each", key + "\n"]): "x"}
            case _:
                return {**data, key: changed(dice, data[key])}
    if isinstance(data, list) and data and dice.random() < 0.85:
        at = dice.randrange(len(data))
        more = [data[at]] if dice.random() < 0.2 else []
        return [*data[:at], changed(dice, data[at]), *more, *data[at + 1 :]]
    return dice.choice(EDITS_OF_DATA)


def test_the_compiled_schema_accepts_what_jsonschema_accepts() -> None:
    dice, told = random.Random(2), [0, 0]
    whole = [
        plain(node)
        for text in TEXTS.values()
        if (node := parse_nodes(Source("x", text), Problems()))
    ]
    for one in [*whole, *(changed(dice, dice.choice(whole)) for _ in range(ROUNDS // 2))]:
        valid = next(iter(validator().iter_errors(one)), None) is None
        assert accepts()(one) == valid, one
        told[valid] += 1
    assert min(told) > 300


@pytest.mark.parametrize("word", ["not", "contains", "multipleOf"])
def test_a_keyword_that_is_not_known_is_an_error(word: str) -> None:
    with pytest.raises(ValueError, match=word):
        compiled({"properties": {"a": {word: {}}}})


def test_every_definition_can_be_reached() -> None:
    """So that each keyword of the schema was looked at when it was compiled."""
    for name in schema()["$defs"]:
        assert callable(compiled({**schema(), "$ref": f"#/$defs/{name}"}))
