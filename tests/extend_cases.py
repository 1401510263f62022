"""extend against fresh renders: for every small conversation, `previous + extend(new)` or a refusal that is needed.

`python -m tests.extend_cases [--format F] [--length 2]` runs all shapes; the test runs the core ones.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from typing import Any

import templc
from templc.runtime.errors import TemplcError
from templc.verify import CORE, SHAPES, conversations
from tests.support import vocabularies
from tests.support.formats import VOCABULARIES


def tokenizer_for(name: str) -> Any:
    """The real vocabulary that a format is tested on."""
    return vocabularies.hf(VOCABULARIES[name])


class Checker:
    """Compares extension with fresh renders; `counts` and `wrong` say what was found."""

    def __init__(self, name: str) -> None:
        self.renderer = templc.get_renderer(name, tokenizer_for(name))
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._known: dict[tuple[Any, ...], templc.Tokens | None] = {}

    def run(self, length: int, shapes: Sequence[Any]) -> None:
        """Every conversation up to `length`, extended by one more message."""
        for size in range(1, length + 1):
            for old in conversations(size, shapes):
                for new in conversations(1, shapes):
                    for first in (False, True):
                        self._one(old, new, first)

    def _fresh(self, messages: tuple[Any, ...], prompt: bool) -> templc.Tokens | None:
        key = (*map(id, messages), prompt)
        if key not in self._known:
            try:
                self._known[key] = self.renderer.render(messages, add_generation_prompt=prompt)
            except TemplcError:
                self._known[key] = None
        return self._known[key]

    def _one(self, old: tuple[Any, ...], new: tuple[Any, ...], prompt: bool) -> None:
        before = self._fresh(old, prompt)
        for ask in (False, True):
            whole = self._fresh(old + new, ask)
            if before is None or whole is None:
                self.counts["refused input"] += 1
                continue
            self._compare(before, new, ask, whole)

    def _compare(
        self, before: templc.Tokens, new: tuple[Any, ...], ask: bool, whole: templc.Tokens
    ) -> None:
        stable = list(whole[: len(before)]) == list(before)
        try:
            found = self.renderer.extend(before, new, add_generation_prompt=ask)
        except templc.UnstableExtension as refusal:
            self.counts["refused"] += 1
            if stable:
                self.wrong.append(f"needless: {refusal} {before.text!r} {new}")
            if list(whole[: refusal.keep]) != list(before[: refusal.keep]) or not refusal.reason:
                self.wrong.append(f"wrong keep: {refusal} {before.text!r} {new}")
            return
        self.counts["extended"] += 1
        if list(before + found) != list(whole) or (before + found).text != whole.text:
            self.wrong.append(f"different: {before.text!r} {new} {found.text!r}")
        joined = before + found
        pairs = zip(joined.message_index, whole.message_index, strict=True)
        owners = all(
            mine in (their, -1) for mine, their in pairs
        )  # a prompt belongs to no message yet
        if joined.weights != whole.weights or joined.sampled != whole.sampled or not owners:
            self.wrong.append(f"attributes differ: {before.text!r} {new}")


def main() -> None:
    """Run the full comparison and print the counts."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--format", choices=sorted(VOCABULARIES))
    parser.add_argument("--length", type=int, default=2)
    given = parser.parse_args()
    for name in [given.format] if given.format else VOCABULARIES:
        checker = Checker(name)
        checker.run(given.length, SHAPES)
        print(
            f"{name:18} {dict(checker.counts)} wrong: {len(checker.wrong)}",
            *checker.wrong[:3],
            sep="\n  ",
        )


if __name__ == "__main__":
    main()

__all__ = ["CORE", "Checker", "tokenizer_for"]
