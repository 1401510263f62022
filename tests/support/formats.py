"""What tests know of each shipped format: its published template, its options, the vocabulary that fits.

`REFERENCED` are the formats that follow a published template; `reference(name)` is that template under transformers.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from templc.ir.ops import Program
from templc.pipeline import Compilation, compile_path
from templc.verify import Published
from tests.support.published import published

SPECS = Path(__file__).parents[2] / "specs"
FORMATS = tuple(sorted(path.stem for path in SPECS.glob("*.yaml")))

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


@functools.cache
def compilation(name: str) -> Compilation:
    """A shipped spec, compiled."""
    return compile_path(SPECS / f"{name}.yaml", f"specs/{name}.yaml")


def program(name: str) -> Program:
    return compilation(name).checked()


REFERENCED = tuple(name for name in FORMATS if program(name).reference.file)


@functools.cache
def reference(name: str) -> Published:
    """The published template that a format follows, with its bos and eos tokens."""
    given = program(name)
    tokens = {key: o.default for key, o in given.options.items() if o.type == "token"}
    return published(given.reference.file.removesuffix(".jinja"), **tokens)


def option_sets(name: str) -> list[dict[str, Any]]:
    """Every combination of the options that change text, each also left out."""
    choices: list[list[dict[str, Any]]] = []
    for key, option in program(name).options.items():
        match option.type:
            case "bool":
                choices.append([{}, {key: True}, {key: False}])
            case "choice":
                choices.append([{}, *({key: value} for value in option.values)])
            case _:
                pass
    return [
        {key: value for part in row for key, value in part.items()}
        for row in itertools.product(*choices)
    ]
