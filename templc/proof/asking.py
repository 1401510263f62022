"""Questions about messages that are not known, and texts with holes: what the checkers of certificates stand on.

    list(asking.all_ways(check))        the complaints of a check, made for every way to answer what it asks

A text is a string in which one character of a private plane stands for a text that is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any

from templc.ir.ops import Body
from templc.model.expr import LOOPED, Test

PRIVATE = 0xF0000
Say = Iterator[str]


class Asking:
    """`said`: what was asked in this way to answer: by the script, then yes. `fixed`: where there is no choice.

    `meant`: what conditions ask, and which texts are empty, as they are or behind filters. All else is chance: whether
    two texts are alike; `strict`: nothing is.
    `at`: where a message stands, as the truth of each fact about those before it.
    """

    def __init__(self) -> None:
        self.signs: dict[Any, str] = {}
        self.holes: dict[str, Any] = {}
        self.known: dict[Any, Any] = {}
        self.trace: list[Any] = []
        self.script: tuple[bool, ...] = ()
        self.said: dict[Any, bool] = {}
        self.fixed: set[int] = set()
        self.meant: set[Any] = set()
        self.at: dict[str, Any] = {}
        self.strict = False
        self.parted = ("", "")

    def ask(self, who: str, question: Any) -> bool:
        found = self.answer(who, question)
        self.meant.add((who, question))
        self.trace.append((who, question, found))
        return found

    def wonder(self, who: str, question: Any) -> bool:
        """Asks what only the likeness of two texts hangs on."""
        return self.ask(who, question) if self.strict else self.answer(who, question)

    def answer(self, who: str, question: Any) -> bool:
        key, at = (who, question), len(self.said)
        if key not in self.said:
            if at < len(self.script):
                self.said[key] = self.script[at]
            else:
                only = self.only(who, question)
                self.said[key] = only is not False
                self.fixed |= set() if only is None else {at}
        return self.said[key]

    def only(self, who: str, question: Any) -> bool | None:
        """The answer that the others leave; None where both can be given."""
        return None

    def once(self, key: Any, work: Callable[[], Any]) -> Any:
        """What some work gives, remembered by the answers that it hangs on; a branch for each answer."""
        root = branch = self.known.setdefault(key, {})
        while "found" not in branch:
            if "asks" not in branch:
                outer, self.trace = self.trace, []
                found = work()
                told, branch = self.trace, root
                self.trace = outer + told
                for who, question, said in told:
                    branch["asks"] = (who, question)
                    branch = branch.setdefault(said, {})
                branch["found"] = found
                break
            branch = branch.setdefault(self.ask(*branch["asks"]), {})
        return branch["found"]

    def all_ways(self, check: Callable[..., Say], *given: Any) -> Say:
        todo: list[tuple[bool, ...]] = [()]
        while todo:
            self.script, self.said, self.trace, self.fixed = todo.pop(), {}, [], set()
            self.meant, self.at = set(), {}
            yield from check(*given)
            said = tuple(self.said.values())
            free = (at for at in range(len(self.script), len(said)) if at not in self.fixed)
            todo += [(*said[:at], not said[at]) for at in free]

    def hole(self, part: Any, who: str) -> str:
        if not isinstance(part, Body):
            return str(part.text)
        who = "" if part.value.ref.scope == "lead" else who
        sign = self.sign(who, part.value, part.default)
        if part.value.ref.scope not in LOOPED:
            self.holes[sign] = (who, part.value, part.default or "")
        return sign

    def sign(self, *unknown: Any) -> str:
        return self.signs.setdefault(unknown, chr(PRIVATE + len(self.signs)))

    def rest(self, old: str, new: str) -> str | None:
        """What the new text has behind the old one; None where they part."""
        left, more = self.parted = self.apart(old, new)
        return None if left else more

    def apart(self, old: str, new: str) -> tuple[str, str]:
        """What both texts have from the place on where they part."""
        while True:
            pairs = enumerate(zip_longest(old, new, fillvalue=""))
            at = next((at for at, pair in pairs if pair[0] != pair[1]), len(old))
            signs = old[at : at + 1], new[at : at + 1]
            held = [self.holes.get(sign, ("", None, "")) for sign in signs]
            for sign, (who, value, default) in zip(signs, held, strict=True):
                if value and not self.ask(who, Test("truth", value)):
                    old, new = old.replace(sign, default), new.replace(sign, default)
                    break
            else:
                if not old[at:] or not self.alike(*held):
                    return old[at:], new[at:]
                old, new = (text.replace(signs[1], signs[0]) for text in (old, new))

    def alike(self, one: Any, other: Any) -> bool:
        """Whether two holes hold the same: it is asked of one field under different filters, when neither is empty."""
        same = one[1] and other[1] and one[0] == other[0] and one[1].ref == other[1].ref
        return bool(same) and self.wonder(one[0], frozenset({one[1], other[1]}))
