"""Mutants of shipped specs: one text edit each that changes what is stable.

`MUTANTS` names the format, the text that is replaced and its replacement; `mutated(mutant)` is the program.
"""

from __future__ import annotations

from dataclasses import dataclass

from templc.ir.ops import Program
from templc.pipeline import compile_source
from templc.source.span import Source
from tests.support.formats import SPECS


@dataclass(frozen=True, slots=True)
class Mutant:
    """One edit; `old` must stand in the spec exactly once."""

    name: str
    spec: str
    old: str
    new: str


KEPT = "kept: earlier(query) and not later(query)"
SHOWN = "when: kept and (reasoning or last)"
CLOSE = 'close: "<|im_end|>\\n"'
USER = 'user: "<|im_start|>user\\n${content}<|im_end|>\\n"'
PLAIN = 'body: ["${content}", {use: calls}]'
LLAMA = 'body: "${content|strip}"'
TURN = '\\n\\n${content|strip}<|eot_id|>"'
THOUGHT = '{when: kept, then: "<think>${reasoning}</think>", else: "<think></think>"}'

MUTANTS = (
    Mutant("the guard on the past is dropped", "qwen3", KEPT, "kept: not later(query)"),
    Mutant("the guard on the future is dropped", "qwen3", KEPT, "kept: earlier(query)"),
    Mutant("any user ends the turn", "qwen3", KEPT, "kept: earlier(query) and not later(user)"),
    Mutant("an assistant ends the turn", "qwen3", KEPT, "kept: not later(assistant)"),
    Mutant(
        "later becomes earlier", "qwen3", KEPT, "kept: earlier(query) and not earlier(assistant)"
    ),
    Mutant("last is dropped", "qwen3", SHOWN, "when: kept and reasoning"),
    Mutant("reasoning is dropped", "qwen3", SHOWN, "when: kept and last"),
    Mutant("last only", "qwen3", SHOWN, "when: last"),
    Mutant("always shown", "qwen3", SHOWN, "when: reasoning"),
    Mutant("nothing closes a run", "qwen3", CLOSE, ""),
    Mutant("end instead of last", "qwen3", SHOWN, "when: kept and (reasoning or end)"),
    Mutant("next instead of last", "qwen3", SHOWN, "when: kept and (reasoning or not next(tool))"),
    Mutant(
        "users close as a run",
        "qwen3",
        USER,
        'user: {open: "<|im_start|>user\\n", do: "${content}", between: "\\n", close: "<|im_end|>\\n"}',
    ),
    Mutant(
        "the last answer is stripped",
        "qwen3_instruct",
        PLAIN,
        'body: [{when: last, then: "${content|strip}", else: "${content}"}, {use: calls}]',
    ),
    Mutant(
        "the first answer sees the last user",
        "qwen3_instruct",
        PLAIN,
        'body: [{when: first and later(user), then: "x"}, "${content}", {use: calls}]',
    ),
    Mutant(
        "answers before results lose their text",
        "qwen3_instruct",
        PLAIN,
        'body: [{when: not next(tool), then: "${content}"}, {use: calls}]',
    ),
    Mutant(
        "the end is marked",
        "llama3",
        LLAMA,
        'body: ["${content|strip}", {when: end, then: "."}]',
    ),
    Mutant(
        "old answers are cut",
        "llama3",
        LLAMA,
        'body: {when: later(user), then: "", else: "${content|strip}"}',
    ),
    Mutant(
        "old answers keep what follows a mark",
        "llama3",
        LLAMA,
        'body: {when: later(user), then: "${content|after:\\"|\\"|strip}", else: "${content|strip}"}',
    ),
    Mutant(
        "the stop token only at the end",
        "llama3",
        TURN,
        '\\n\\n${content|strip}", {when: last, then: "<|eot_id|>"}]',
    ),
    Mutant("reasoning is always shown", "kimi_k2", THOUGHT, '"<think>${reasoning}</think>"'),
    Mutant(
        "final answers keep theirs",
        "kimi_k2",
        "live or not final and not later(final)",
        "live or not later(final)",
    ),
    Mutant(
        "only the last turn keeps it",
        "kimi_k2",
        "live or not final and not later(final)",
        "live or last",
    ),
    Mutant(
        "sampled as it is kept",
        "kimi_k2",
        "live or not final and not later(final)",
        "not later(final)",
    ),
    Mutant(
        "a user ends it",
        "kimi_k2",
        "live or not final and not later(final)",
        "live or not later(user)",
    ),
    Mutant("hoisting is refused", "deepseekv3_1", "later: hoist", "later: refuse"),
)


def mutated(mutant: Mutant) -> Program:
    """The program of a mutant."""
    text = (SPECS / f"{mutant.spec}.yaml").read_text()
    old, new = mutant.old, mutant.new
    assert text.count(old) == 1, mutant.name
    text = text.replace(old, new)
    if mutant.name == "the stop token only at the end":
        text = text.replace('  turn: "<|start_header_id|>', '  turn: ["<|start_header_id|>')
    if mutant.name == "hoisting is refused":
        text = text.replace(
            '{each: s in systems, do: "${s.content}", between: "\\n\\n"}', '"${system.content}"'
        )
    return compile_source(Source(f"{mutant.spec}.yaml", text), folders=(SPECS,)).checked()
