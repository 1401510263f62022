"""What tests know of each shipped format: its published template, its options, the vocabularies that fit.

`REFERENCED` are the formats that follow a published template, and `reference(name)` is that template under
transformers, at the date that `renderer(name)` is given too:

    reference("qwen3").render([{"role": "user", "content": "hi"}], enable_thinking=False)
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import templc
from templc.ir.interpret import Interpreter
from templc.ir.ops import Program
from templc.ir.settings import telling
from templc.pipeline import Compilation, compile_path
from templc.runtime.records import Record, RecordText
from templc.verify import Published
from tests.support import vocabularies
from tests.support.published import path_of

SPECS = Path(__file__).parents[2] / "specs"
FORMATS = tuple(sorted(path.stem for path in SPECS.glob("*.yaml")))
NOW = datetime(2026, 3, 4, 5, 6, 7)

VOCABULARIES: Mapping[str, str] = {
    "qwen3": "qwen3",
    "qwen3_instruct": "qwen3",
    "qwen2_5": "qwen3",
    "kimi_k2": "kimi-k2-thinking",
    "kimi_k2_instruct": "kimi-k2",
    "llama3": "llama3",
    "deepseekv3": "deepseek-v3",
    "deepseekv3_1": "deepseek-v3",
    "role_colon": "qwen3",
}
"""The vocabulary of a format's own models, for the formats that most tests of tokens use."""

COPIES: Mapping[str, str] = {
    "Qwen-Qwen3-0.6B.jinja": "qwen3",
    "moonshotai-Kimi-K2-Instruct-0905.jinja": "kimi_k2_instruct",
}
"""Other files that hold the template which a format follows, in another revision that writes the same."""


@functools.cache
def compilation(name: str) -> Compilation:
    """A shipped spec, compiled."""
    return compile_path(SPECS / f"{name}.yaml", f"specs/{name}.yaml")


def program(name: str) -> Program:
    """The program of a shipped spec; SpecError where the spec has problems."""
    return compilation(name).checked()


MISSION = (
    *("qwen3_instruct", "qwen3", "kimi_k2", "kimi_k2_instruct", "deepseekv3", "deepseekv3_1"),
    *("role_colon", "qwen2_5", "llama3"),
)
"""The formats that the project was made for."""
REFERENCED = tuple(name for name in FORMATS if program(name).reference.file)


@functools.cache
def reference(name: str) -> Published:
    """The published template that a format follows, with its bos and eos tokens, on the day NOW."""
    stem = program(name).reference.file.removesuffix(".jinja")
    return Published.from_file(path_of(stem), token_options(name), now=NOW)


def token_options(name: str) -> dict[str, str]:
    """The variables of a template that hold a control token, with the tokens of its own model."""
    options = program(name).options.items()
    return {key: str(o.default or "") for key, o in options if o.type == "token"}


def dates(name: str) -> dict[str, Any]:
    """The options that tell a format what day it is."""
    options = program(name).options.items()
    return {key: NOW.isoformat() for key, option in options if option.type == "date"}


def renderer(name: str, tokenizer: object | None = None, **options: Any) -> templc.Renderer:
    """The generated renderer, on the day NOW."""
    return templc.get_renderer(name, tokenizer, **{**dates(name), **options})


def interpreter(name: str, options: Mapping[str, Any], *, as_template: bool = True) -> Interpreter:
    """The interpreter of the same program, on the day NOW."""
    return Interpreter(program(name), as_template, {**dates(name), **options})


def format_of(template: str) -> str | None:
    """The format that follows the template in this file; None where none does."""
    followed = {program(name).reference.file: name for name in REFERENCED}
    return followed.get(template, COPIES.get(template))


def values(name: str, key: str) -> tuple[Any, ...]:
    """The values of an option that may make a difference; of records, lists of one and of two, hostile ones.

    The last one is the most telling of a list: all values, or two records.
    """
    option = program(name).options[key]
    if option.type != "records":
        return telling(program(name))[key]
    fields = option.fields or ("doc_id", "title", "text")
    one = {field: f"{field} é <|im_end|><|end_of_text|>\n" for field in fields}
    if option.further:
        one = {"page-no": 3, **one, "SOURCE of it": "é\n<|im_end|>", "(URL": ""}
    other = {field: 7 if "id" in field else f' "{field}" </documents>' for field in fields}
    other = {field: value for field, value in other.items() if field not in option.optional}
    first: Record | RecordText = Record(one, 0)
    second = RecordText('def f("x") é </tools><|im_end|>', 1) if option.texts else Record(other, 1)
    return ((first,), (first, second))


MOST = 64
"""More combinations of options than these are not worth their time."""
LISTS = frozenset({"list", "record", "records"})
"""The kinds of options that hold several things."""


def option_kinds(name: str, options: Mapping[str, Any]) -> set[str]:
    """The types of these options of a format."""
    return {program(name).options[key].type for key in options}


@functools.cache
def option_sets(name: str, *, brief: bool = False) -> tuple[dict[str, Any], ...]:
    """Every combination of the options that take a few values, each also left out; the first one has none.

    A number is set alone, since it takes many values; records also beside each value of another option. brief: lists
    and records are set once, all at the same time, for what is kept of every set. Where there are more combinations
    than `MOST`, a record is set as records are, and a default, which is the same as none, alone.
    """
    crossed: list[list[dict[str, Any]]] = []
    alone: list[dict[str, Any]] = []
    telling_all: dict[str, Any] = {}
    options = program(name).options
    given = {key: [{key: one} for one in values(name, key)] for key in options}
    kinds = {"int", "records", *(LISTS if brief else ())}
    sizes = (len(given[key]) + 1 for key, option in options.items() if option.type not in kinds)
    many = math.prod(sizes) > MOST
    for key, option in options.items():
        if option.type == "int":
            alone += given[key]
        elif brief and option.type in LISTS:
            telling_all |= given[key][-1]
        elif option.type == "records" or (many and option.type == "record"):
            others = [one for other in given.values() for one in other if key not in one]
            alone += [*given[key], *({**one, **given[key][-1]} for one in others)]
        else:
            default = (
                [{key: option.default}] if many and {key: option.default} in given[key] else []
            )
            crossed.append([{}, *(one for one in given[key] if one not in default)])
            alone += default
    rows = itertools.product(*crossed)
    combined = ({key: value for part in row for key, value in part.items()} for row in rows)
    return (*combined, *alone, *([telling_all] if telling_all else ()))


@functools.cache
def fitting(name: str) -> tuple[str, ...]:
    """The real vocabularies that have every control token of a format."""
    wanted = set(templc.get_renderer(name).info.specials)
    return tuple(
        vocabulary
        for vocabulary in vocabularies.NAMES
        if wanted <= vocabularies.hf(vocabulary).get_added_vocab().keys()
    )


@functools.cache
def pairs() -> list[tuple[str, str]]:
    """Every format with every real vocabulary that has its control tokens."""
    return [(name, vocabulary) for name in FORMATS for vocabulary in fitting(name)]
