"""Changes among the earlier messages, as properties of a conversation that can be said in words.

    for change in changes(walk, vocabulary):
        change.said.no      "no assistant message after the last query message has reasoning"

All pairs that change the same conversations are one `Change`. Where the messages that change are a set of their own
and a kind of message ends their being at risk, the words are "a ... since the last ..."; the words are only used
after they were checked against every node of the walk.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from templc.ir.facts import meaning
from templc.model.expr import Fact
from templc.proof.letters import Letter
from templc.proof.machine import State
from templc.proof.minimise import cover, needed, packed, projected
from templc.proof.outcomes import Node, Pair
from templc.proof.search import Walk
from templc.proof.vocabulary import Vocabulary, preference
from templc.proof.words import Said, about, kind, listed, placed


@dataclass(frozen=True, slots=True)
class Change:
    """Pairs that change the same conversations; `lasting`: messages far back can be the ones that change."""

    pairs: frozenset[Pair]
    lasting: bool
    said: Said

    @property
    def key(self) -> tuple[str, ...]:
        """One of the pairs, as digits."""
        return tuple("".join("1" if bit else "0" for bit in view) for view in min(self.pairs))

    def of(self, changed: frozenset[Pair]) -> bool:
        """Whether it is among the changes of a node."""
        return next(iter(self.pairs)) in changed


def changes(walk: Walk, vocabulary: Vocabulary) -> tuple[Change, ...]:
    """Every change that some conversation has, told apart by conversations."""
    grouped: dict[tuple[bool, ...], list[Pair]] = {}
    for pair in walk.pairs:
        grouped.setdefault(tuple(pair in node.changed for node in walk.nodes), []).append(pair)
    return tuple(
        _change(walk, vocabulary, pairs) for present, pairs in grouped.items() if any(present)
    )


def _change(walk: Walk, vocabulary: Vocabulary, pairs: list[Pair]) -> Change:
    group = frozenset(pairs)
    for pair in pairs:
        if any(walk.step(pair, letter) in group for letter in walk.letters):
            said = _Since(walk, vocabulary, pair, group).said() or _vague(walk, pair)
            return Change(group, True, said)
    return Change(group, False, _vague(walk, pairs[0]))


def flipped(walk: Walk, pair: Pair) -> list[Fact]:
    """The facts that the two views of a pair differ in."""
    facts = walk.machine.future_facts
    return [fact for fact, old, new in zip(facts, *pair, strict=True) if old != new]


def _vague(walk: Walk, pair: Pair) -> Said:
    facts = listed([meaning(fact) for fact in flipped(walk, pair)])
    said = f"message so far is written according to {facts}"
    return Said(f"some {said}", f"no {said}")


@dataclass(frozen=True, slots=True)
class _Since:
    """One pair as "a message that ... since the last ..."."""

    walk: Walk
    vocabulary: Vocabulary
    pair: Pair
    group: frozenset[Pair]

    def said(self) -> Said | None:
        """The words, or None where they would not be exact."""
        if not all(self._agrees(node) for node in self.walk.nodes):
            return None
        reset, seen = self._reset()
        events = [phrase for role in self._roles() for phrase in self._events(role, seen)]
        if reset is None or not events:
            return None
        since = reset if seen is not None else f"{reset} (or the start)" if reset else ""
        where = f" {'after' if seen is not None else 'since'} the last {since}" if reset else ""
        told = [f"{role} message{where}{which}" for role, which in events]
        return Said(
            listed([f"some {item}" for item in told], "or"), listed([f"no {item}" for item in told])
        )

    def _event(self, letter: Letter, past: State) -> bool:
        return self.walk.differs(letter, past, self.pair)

    def _stays(self, letter: Letter) -> bool:
        return self.walk.step(self.pair, letter) in self.group

    def _agrees(self, node: Node) -> bool:
        """Whether, one message on from a node, "event, or still at risk" is what the walk found."""
        machine = self.walk.machine
        for letter in self.walk.letters:
            if machine.admits(node.past, letter.sample):
                found = self.pair in self.walk.follow(node.past, node.changed, letter)
                kept = self.pair in node.changed and self._stays(letter)
                if found != (kept or self._event(letter, node.past)):
                    return False
        return True

    def _reset(self) -> tuple[str | None, Fact | None]:
        """What ends the risk, and the past fact that says it has been there, where every event reads that."""
        if all(self._stays(letter) for letter in self.walk.letters):
            return "", None
        facts = flipped(self.walk, self.pair)
        if len(facts) != 1 or facts[0].time not in ("later", "next"):
            return None, None
        fact = facts[0]
        ends = fact.term if fact.time == "later" else fact.among
        if ends is None:
            return None, None
        events = [past for _, past in self._all() if self._event(_, past)]
        for at, seen in enumerate(self.walk.machine.past_facts):
            if seen.time == "earlier" and seen.term == ends and all(past[at] for past in events):
                return kind(ends), seen
        return kind(ends), None

    def _all(self) -> Iterable[tuple[Letter, State]]:
        machine = self.walk.machine
        for past in self.walk.alphabet.pasts:
            for letter in self.walk.letters:
                if machine.admits(past, letter.sample):
                    yield letter, past

    def _roles(self) -> list[str]:
        found = dict.fromkeys(
            letter.role for letter, past in self._all() if self._event(letter, past)
        )
        return list(found)

    def _events(self, role: str, seen: Fact | None) -> list[tuple[str, str]]:
        """Which messages of a role change: every way, as words behind "message"."""
        facts, terms = self.walk.machine.past_facts, self.vocabulary.every[role]
        resets = any(
            self._event(letter, past) and not self._stays(letter) for letter, past in self._all()
        )
        rows: dict[int, bool] = {}
        for letter, past in self._all():
            if letter.role != role or (not resets and not self._stays(letter)):
                continue
            if seen is not None and not past[facts.index(seen)]:
                continue
            for found in letter.classes:
                values = tuple(self.vocabulary.truth(term, found) for term in terms)
                rows[packed((*past[: len(facts)], *values))] = self._event(letter, past)
        said = [*(placed(fact, "it") for fact in facts), *(about(term) for term in terms)]
        ranks = [*([2] * len(facts)), *(preference(term) for term in terms)]
        columns = needed(rows, sorted(range(len(said)), key=lambda at: ranks[at]))
        return [
            (role, _which(term, [said[at] for at in columns]))
            for term in cover(projected(rows, columns))
        ]


def _which(term: tuple[bool | None, ...], said: list[Said]) -> str:
    words = [one.of(want) for one, want in zip(said, term, strict=True) if want is not None]
    return f" {listed(words)}" if words else ""
