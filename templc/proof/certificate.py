"""Certificates: for every stable cell, a proof that small independent programs can check (`recheck`, `recheck_if`).

    data = certificate(prove(program))      plain data, ready for JSON

The proof is one invariant of all stable cells: `pasts` are the reachable past states, closed under every accepted
message, and with each the pairs of views, old and new, that the message before such a place may have. These are closed
under every message that can stand there, and each is written alike under both views. States are strings of 0 and 1,
one digit for each fact as listed; `facts` are those that the program does not list itself.

A condition of a `stable if` cell is written as literals, from which `recheck_if` decides by a walk of its own that it
is exact: neither too lax nor too strict. `samples` are messages that it needs for the second. A witness is the
certificate of a cell that is never stable.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from templc.ir.interpret import message_rules
from templc.model.coded import coded
from templc.model.expr import Test, Value
from templc.model.spec import MessageRules
from templc.proof import representatives
from templc.proof.classes import MessageClass, roles_of, settings_read
from templc.proof.joint import COMPLETION, END, Place
from templc.proof.machine import FIRST, Machine, State
from templc.proof.stability import Stability
from templc.proof.values import Atom, Settings, holds, value_of

VERSION = 2
Triple = tuple[State, State, State]


def certificate(stability: Stability) -> dict[str, Any]:
    """The certificate of a table: settings, the names of the state bits, the stable cells, and an invariant of them."""
    machine, program = stability.machine, stability.program
    pasts = stability.walk.alphabet.pasts
    into: dict[State, list[tuple[State, MessageClass]]] = {}
    for past in pasts:
        for one in machine.classes:
            if machine.admits(past, one):
                into.setdefault(machine.after(past, one), []).append((past, one))
    places = [cell.place for cell in stability.cells if cell.verdict in ("stable", "refused")]
    conditions = list(_conditions(stability))
    size, own = len(machine.past_facts), {FIRST, *program.past}
    pairs: dict[str, set[str]] = {digits(past[:size]): set() for past in pasts}
    for past, old, new in (one for place in places for one in _invariant(stability, place, into)):
        pairs[digits(past[:size])].add(f"{digits(old)}/{digits(new)}")
    return {
        "version": VERSION,
        "format": program.format,
        "options": dict(machine.settings.options),
        "tools": machine.settings.tools,
        "past": [fact.name for fact in machine.past_facts],
        "future": [fact.name for fact in machine.future_facts],
        "facts": {
            fact.name: coded((fact.time, fact.term, fact.among))
            for fact in machine.past_facts
            if fact not in own
        },
        "pasts": {past: sorted(pairs[past]) for past in sorted(pairs)},
        "cells": [{"after": place.after, "then": place.then} for place in places],
        "conditions": conditions,
        "samples": list(_samples(machine)) if conditions else [],
    }


def _conditions(stability: Stability) -> Iterator[dict[str, Any]]:
    """The condition of each cell that has one, as literals: whether it is wanted, its kind, and its parts."""
    names = stability.names
    for cell in stability.cells if names else ():
        if cell.condition is None or names is None:
            continue
        columns = names.columns(cell.place)
        keys = [columns[at].key for at in cell.condition.columns]
        terms = [
            [[int(want), *key] for key, want in zip(keys, term, strict=True) if want is not None]
            for term in cell.condition.terms
        ]
        yield {"after": cell.place.after, "then": cell.place.then, "terms": terms}


def _samples(machine: Machine) -> Iterator[str]:
    """Messages of every class, one for each way that what is written of them is empty or alike.

    What is read of no message tells no classes apart, but may be empty all the same: so messages are made anew.
    """
    rules = machine.program.rules
    for role in roles_of(machine.program):
        values = machine.written(role)
        atoms = tuple(next(one.bits for one in machine.classes if one.role == role))
        read = settings_read(
            (*atoms, *(Test("truth", value) for value in values)), machine.settings
        )
        for bits, given in _samples_of(rules, role, atoms, values, *read):
            assert machine.has_class(role, bits), "every message is of a class"
            yield given


@lru_cache(maxsize=1024)
def _samples_of(
    rules: MessageRules,
    role: str,
    atoms: tuple[Atom, ...],
    values: tuple[Value, ...],
    options: tuple[tuple[str, object], ...],
    tools: bool,
) -> tuple[tuple[tuple[bool, ...], str], ...]:
    """The samples of a role, with the truth of its atoms: the same for many formats."""
    settings = Settings(dict(options), tools)
    every = tuple(dict.fromkeys((*atoms, *(Test("truth", value) for value in values))))
    found: dict[object, tuple[tuple[bool, ...], str]] = {}
    for raw, message in representatives.candidates(message_rules(rules), role, every, settings):
        bits = tuple(holds(atom, message, settings) for atom in atoms)
        texts = [str(value_of(value, message, settings, {})) for value in values]
        key = (bits, *map(bool, texts), *(texts.index(text) for text in texts))
        if key not in found:
            answers = message.answered or message.caller_content
            caller = [representatives.caller(message.caller_content)] if answers else []
            found[key] = (bits, json.dumps([*caller, raw], ensure_ascii=False))
    return tuple(found.values())


def digits(state: State) -> str:
    """A state as digits: (True, False) is "10"."""
    return "".join("1" if bit else "0" for bit in state)


def _invariant(
    stability: Stability, place: Place, into: Mapping[State, Sequence[tuple[State, MessageClass]]]
) -> set[Triple]:
    """The triples of a cell: those in front of its last messages, and all that go before.

    into: what leads to each past.
    """
    machine = stability.machine
    found = set(_joints(stability, place))
    queue = list(found)
    for past, old, new in queue:
        for before, one in into.get(past, ()):
            triple = (before, machine.before(old, one), machine.before(new, one))
            if triple[1] != triple[2] and triple not in found:
                found.add(triple)
                queue.append(triple)
    return found


def _joints(stability: Stability, place: Place) -> Iterator[Triple]:
    """What the message in front of the last one sees, for every way to end and go on."""
    machine = stability.machine
    old = machine.end(prompt=place.prompted)
    views: dict[State, dict[State, None]] = {}
    for past in stability.walk.alphabet.pasts:
        for last in machine.classes:
            if not (place.prompted or last.role == place.after) or not machine.admits(past, last):
                continue
            behind = machine.after(past, last)
            if behind not in views:
                views[behind] = _views(stability, place, behind)
            before = machine.before(old, last)
            for view in views[behind]:
                after = machine.before(view, last)
                if before != after:
                    yield past, before, after


def _views(stability: Stability, place: Place, behind: State) -> dict[State, None]:
    """What a last message can see of what is added behind it."""
    machine, joint = stability.machine, stability.walk.joint
    found: list[tuple[MessageClass, ...]] = [()]
    if place.after == COMPLETION:
        found = [(one,) for one in machine.classes if machine.sampleable(one)]
    if place.then != END:
        found = [
            (*head, one) for head in found for one in machine.classes if one.role == place.then
        ]
    return dict.fromkeys(
        joint.addition(added, end).view
        for added in found
        if _accepted(machine, behind, added)
        for end in machine.ends
    )


def _accepted(machine: Machine, past: State, added: tuple[MessageClass, ...]) -> bool:
    for one in added:
        if not machine.admits(past, one):
            return False
        past = machine.after(past, one)
    return True
