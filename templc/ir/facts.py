"""Facts: which ones a program reads, what each starts as, and how it steps when a message is appended.

There is no table by format: four words and their special cases have one rule each.

    past      start   after message m                         future    start   seen by the message before m
    previous  no      C(m) if D(m) else as before             next      no      C(m) if D(m) else as before
    earlier   no      as before or C(m)                       later     no      as before or C(m)
    first     yes     no                                      last      yes     no
    run       no      m has the role                          end       no prompt follows    no
                                                              live      only while sampling  no
"""

from __future__ import annotations

from collections.abc import Iterable

from templc.ir.ops import Check, Ops, conditions
from templc.model.expr import Cond, Fact, leaves
from templc.model.scope import words_of


def facts_of(cond: Cond) -> list[Fact]:
    """The facts that a condition reads, in reading order."""
    return [leaf for leaf in leaves(cond) if isinstance(leaf, Fact)]


def collect(
    blocks: Iterable[Ops], checks: Iterable[Check]
) -> tuple[dict[Fact, str], dict[Fact, str]]:
    """All past and all future facts of a program, each with its name, which is unique."""
    past: dict[Fact, str] = {}
    future: dict[Fact, str] = {}
    taken: set[str] = set()
    conds = [cond for block in blocks for cond, _ in conditions(block)] + [
        check.cond for check in checks
    ]
    for cond in conds:
        for fact in facts_of(cond):
            side = past if fact.horizon == "past" else future
            if fact not in side:
                side[fact] = _unique(fact.name, taken)
    return past, future


def _unique(name: str, taken: set[str]) -> str:
    short = name[:48].rstrip("_")
    found, number = short, 2
    while found in taken:
        found, number = f"{short}_{number}", number + 1
    taken.add(found)
    return found


def meaning(fact: Fact) -> str:
    """A fact in words, to stand behind "it depends on"."""
    what = "" if fact.term is None else words_of(fact.term).replace("_", " ")
    among = "" if fact.among is None else f" among {words_of(fact.among).replace('_', ' ')}"
    match fact.time:
        case "previous" | "run":
            return f"whether the message before it is {_a(what)}{among}"
        case "next":
            return f"whether the next message is {_a(what)}{among}"
        case "earlier":
            return f"whether {_a(what)} message came before"
        case "later":
            return f"whether {_a(what)} message comes later"
        case "first":
            return "whether it is the first message"
        case "last":
            return "whether it is the last message"
        case "end":
            return "whether the conversation ends with it"
        case "live":
            return "whether the model is sampling it"


def _a(what: str) -> str:
    return f"an {what}" if what[:1] in "aeiou" and not what.startswith("user") else f"a {what}"


def line_of(fact: Fact) -> int:
    """The line of the spec where the fact is read first."""
    return fact.span.line if fact.span else 0


def start(fact: Fact, *, end: bool = False, live: bool = False) -> bool:
    """The value of a fact where there is no message on its side."""
    match fact.time:
        case "first" | "last":
            return True
        case "end":
            return end
        case "live":
            return live
        case _:
            return False


def step(fact: Fact, value: bool, term: bool, among: bool) -> bool:
    """The value beyond a message for which C is `term` and D is `among`."""
    match fact.time:
        case "earlier" | "later":
            return value or term
        case "previous" | "next":
            return term if among else value
        case "run":
            return term
        case "first" | "last" | "end" | "live":
            return False
