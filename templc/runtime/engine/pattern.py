"""Condition two: one regular expression that cuts a text as the pre-tokenizer does.

tiktoken has one pattern; pre-tokenizers are rows of splits. Accepted: one split, and before it splits at runs of one
class of characters (digits, ideographs). Such a run becomes a *region*: the last pattern is written once for each
region, every class in it cut down to the region's characters, so that a match ends where the piece would end.

    one_pattern({"type": "ByteLevel", "use_regex": True, "add_prefix_space": False})  ->  "'(?:[sdmt]|ll|..."
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from templc.runtime.engine.reasons import Unfit

GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_CLASS = r"\[(?:[^\[\]\\]|\\p\{[^}]*\}|\\P\{[^}]*\}|\\.)+\]|\\[pP]\{[^}]*\}|\\[sSdDwW]"
_ATOM = re.compile(
    rf"(?P<open>\(\?i:|\(\?:|\(\?!|\(\?=|\)|\|)|(?P<count>[?*+]|\{{\d+,?\d*\}})|(?P<set>{_CLASS})"
    r"|(?P<escape>\\[^A-Za-z0-9])|(?P<control>\\[rnt])|(?P<char>[^\\()\[\]{}|?*+.^$])",
    re.S,
)
_RUN = re.compile(rf"(?P<set>{_CLASS})(?P<count>\+|\{{1,[1-9]\}}|)", re.S)
_ANY = r"[\s\S]"
Step = Mapping[str, Any]


def one_pattern(pre_tokenizer: Step | None) -> str:
    """The pattern for tiktoken; `Unfit` with the reason where there is none."""
    steps = byte_steps(pre_tokenizer)
    last = steps.pop()
    if last.get("use_regex", True):
        steps.append({"type": "Split", "pattern": {"Regex": GPT2}, "behavior": "Isolated"})
    if not steps:
        return f"{_ANY}+"
    *runs, words = steps
    match _regex(words), words.get("behavior"), bool(words.get("invert")):
        case pattern, "Isolated", False:
            return _by_region([_run(step) for step in runs], pattern)
        case pattern, "Removed", True if not runs:
            return pattern
        case _, behavior, invert:
            raise Unfit(f"the pre-tokenizer splits with behavior {behavior}, invert {invert}")


def byte_steps(pre_tokenizer: Step | None) -> list[Step]:
    """The steps in order; `Unfit` unless the last one turns words into bytes and adds nothing."""
    steps = list(_steps(pre_tokenizer))
    if not steps or steps[-1]["type"] != "ByteLevel":
        raise Unfit("the pre-tokenizer does not end in bytes")
    if steps[-1].get("add_prefix_space"):
        raise Unfit("the pre-tokenizer puts a blank before the first word")
    return steps


def _steps(step: Step | None) -> Iterator[Step]:
    if step is None:
        return
    if step["type"] != "Sequence":
        yield step
        return
    for inner in step["pretokenizers"]:
        yield from _steps(inner)


def _regex(step: Step) -> str:
    if step["type"] != "Split" or "Regex" not in step["pattern"]:
        raise Unfit(f"the pre-tokenizer has a step {step['type']} that is not a split at a pattern")
    found: str = step["pattern"]["Regex"]
    if any(set_operation in found for set_operation in ("--", "~~")):
        raise Unfit("the pattern means something else to tiktoken")
    return found


def _run(step: Step) -> tuple[str, str]:
    """The class and the count of a split at runs of one class."""
    if step["type"] == "Digits":
        return r"\p{N}", "" if step.get("individual_digits") else "+"
    found = _RUN.fullmatch(_regex(step))
    if found is None or step.get("behavior") != "Isolated" or step.get("invert"):
        raise Unfit("the pre-tokenizer splits at several patterns, one after the other")
    return found["set"], found["count"]


def _by_region(runs: list[tuple[str, str]], pattern: str) -> str:
    """Each region's own alternatives: a match never leaves the region that it starts in.

    A count (`{1,3}`) makes pieces inside a run. They stay whole here; where the last pattern would cut them, the
    trial finds a difference.
    """
    parts: list[str] = []
    outside = ""
    for kind, count in runs:
        region = f"[{kind}{outside}]"
        parts += _cut(_within(pattern, region), region) if count == "+" else [region + count]
        outside += f"&&{_negated(kind)}"
    if not outside:
        return "|".join(_cut(pattern, _ANY))
    rest = f"[{outside.removeprefix('&&')}]"
    return "|".join([*parts, *_cut(_within(pattern, rest), rest)])


def _cut(pattern: str, region: str) -> list[str]:
    """The matches of a pattern, and what lies between two of them, which is a word too."""
    return [pattern, f"(?:(?!{pattern}){region})+"]


def _negated(kind: str) -> str:
    if kind.startswith("["):
        return f"[^{kind}]"
    return kind[0] + kind[1].swapcase() + kind[2:]


def _within(pattern: str, region: str) -> str:
    """The pattern with every character class cut down to the region."""
    found: list[str] = []
    at = 0
    while at < len(pattern):
        atom = _ATOM.match(pattern, at)
        if atom is None:
            raise Unfit(f"the pattern has {pattern[at : at + 4]!r}, behind other splits")
        at = atom.end()
        text = atom.group()
        if atom["open"] or atom["count"]:
            found.append(text)
            continue
        kind = re.escape(text) if atom["char"] else text
        found.append(f"[{kind}&&{region}]")
    return "".join(found)
