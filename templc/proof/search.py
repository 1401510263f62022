"""The search: which earlier messages would change, over all conversations at once.

    walk = Walk(alphabet, places)
    for node in walk.nodes: node.past, node.changed, node.word

A pair is two views of the future that one message has: in the conversation alone, and in the extended one. Walking
forward over all conversations, a node is the past state together with the set of pairs under which some message so
far would be written otherwise. There are finitely many; breadth first, so `word` is a shortest conversation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from templc.proof.classes import TooMany
from templc.proof.joint import COMPLETION, END, PROMPT, Ending, Joint, Place
from templc.proof.letters import Alphabet, Letter, settled
from templc.proof.machine import State

LIMIT = 20_000
# Pairs looked at over all nodes: about a quarter of a minute.
WORK = 1_000_000
CASES = 60_000
# Of two witnesses of one length, the one that looks more like a conversation.
_ORDER = ("user", "assistant", "tool", "system", "developer")
Pair = tuple[State, State]
Way = tuple["Letter | None", "Letter | None", Ending]


class CutOff(Exception):
    """The search was stopped by its limit, so nothing is proved."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """All conversations that end in the same past state with the same changes; `word` is a shortest of them."""

    past: State
    changed: frozenset[Pair]
    word: tuple[Letter, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One way to stand at a joint: a node, the messages around the joint, and what the last added one sees."""

    node: Node
    last: Letter
    answer: Letter | None
    next: Letter | None
    end: State
    ending: Ending

    @property
    def added(self) -> tuple[Letter, ...]:
        """The letters behind the last message."""
        return tuple(found for found in (self.answer, self.next) if found is not None)

    @property
    def length(self) -> int:
        return len(self.node.word) + 1 + len(self.added)


class Walk:
    """The nodes of a format, and the outcome of every case. `doubt`: count what is not shown to differ as differing."""

    def __init__(self, alphabet: Alphabet, places: Iterable[Place], *, doubt: bool) -> None:
        self.alphabet, self.machine = alphabet, alphabet.machine
        self.joint = Joint(alphabet.machine)
        self.doubt, self.doubted = doubt, False
        kept = [letter for letter in alphabet.letters if letter.real or doubt]
        self.doubted = any(not letter.real for letter in alphabet.letters)
        self.letters = tuple(sorted(kept, key=lambda letter: _ORDER.index(letter.role)))
        self._small_enough(len(alphabet.pasts))
        self.pairs = self._pairs(places)
        self._differs: dict[tuple[Letter, State, Pair], bool] = {}
        self.explained: dict[object, tuple[Any, ...]] = {}
        self._outcomes: dict[Place, dict[Case, bool]] = {}
        self._ways: dict[tuple[Place, State, Letter], list[Way]] = {}
        self._joints: dict[tuple[bool, State, int, State], tuple[bool, Pair]] = {}
        self.nodes = self._nodes()

    def _small_enough(self, nodes: int) -> None:
        """TooMany where there are more cases than can be looked at."""
        answers = len(self._of("assistant"))
        most = max(len(self._of(role)) for role in _ORDER)
        cases = nodes * len(self.letters) * answers * most
        if cases > CASES:
            raise TooMany(f"{cases} cases of one place")

    # pairs

    def step(self, pair: Pair, letter: Letter) -> Pair:
        """The pair that the message before this one has."""
        before = self.machine.before
        return before(pair[0], letter.sample), before(pair[1], letter.sample)

    def _pairs(self, places: Iterable[Place]) -> tuple[Pair, ...]:
        """Every pair that a message can have: the last one at a joint, then those before it."""
        joints = {pair: None for place in places for pair in self._joint_pairs(place)}
        found = {pair: None for pair in joints if pair[0] != pair[1]}
        queue = list(found)
        for pair in queue:
            for letter in self.letters:
                then = self.step(pair, letter)
                if then[0] != then[1] and then not in found:
                    found[then] = None
                    queue.append(then)
        return tuple(found)

    def _joint_pairs(self, place: Place) -> Iterator[Pair]:
        old = self.machine.end(prompt=place.prompted)
        for end in self.machine.ends:
            for answer, then in self._added(place):
                seen = end
                for letter in (then, answer):
                    seen = seen if letter is None else self.machine.before(seen, letter.sample)
                yield old, seen

    def _added(self, place: Place) -> Iterator[tuple[Letter | None, Letter | None]]:
        answers: list[Letter | None] = [None]
        if place.after == COMPLETION:
            answers = [one for one in self._of("assistant") if self.machine.sampleable(one.sample)]
        for answer in answers:
            if place.then == END:
                yield answer, None
            else:
                for then in self._of(place.then):
                    yield answer, then

    def _of(self, role: str) -> list[Letter]:
        return [letter for letter in self.letters if letter.role == role]

    # nodes

    def differs(self, letter: Letter, past: State, pair: Pair) -> bool:
        """Whether a message is written otherwise under the second view of a pair."""
        key = (letter, past, pair)
        if key not in self._differs:
            self._differs[key] = self._compared(letter, past, pair)
        return self._differs[key]

    def _compared(self, letter: Letter, past: State, pair: Pair) -> bool:
        old, new = (self.machine.emission(letter.sample, past, view) for view in pair)
        if old == new:
            return False
        match = settled(self.machine, old, new, letter.sample)
        if match.kind == "unclear":
            self.doubted = True
            return self.doubt
        return match.kind != "same"

    def follow(self, past: State, changed: frozenset[Pair], letter: Letter) -> frozenset[Pair]:
        """The pairs under which some message changes, behind one more message."""
        return frozenset(
            pair
            for pair in self.pairs
            if self.step(pair, letter) in changed or self.differs(letter, past, pair)
        )

    def _nodes(self) -> tuple[Node, ...]:
        start = Node(self.machine.start, frozenset(), ())
        found = {(start.past, start.changed): start}
        queue = [start]
        work = 0
        for node in queue:
            work += len(self.pairs) * len(self.letters)
            if work > WORK:
                raise CutOff(f"more than {WORK:,} comparisons of what earlier messages see")
            for letter in self.letters:
                if not self.machine.admits(node.past, letter.sample):
                    continue
                past = self.machine.after(node.past, letter.sample)
                changed = self.follow(node.past, node.changed, letter)
                if (past, changed) not in found:
                    found[past, changed] = then = Node(past, changed, (*node.word, letter))
                    queue.append(then)
            if len(queue) > LIMIT:
                raise CutOff(f"more than {LIMIT} states")
        return tuple(queue)

    # cases

    def cases(self, place: Place) -> Iterator[Case]:
        """Every way to stand at a place, up to what cannot be told apart."""
        lasts = self.letters if place.prompted else self._of(place.after)
        for node in self.nodes:
            for last in lasts:
                if self.machine.admits(node.past, last.sample):
                    yield from self._around(place, node, last)

    def _around(self, place: Place, node: Node, last: Letter) -> Iterator[Case]:
        key = (place, node.past, last)
        ways = self._ways.get(key)
        if ways is None:
            ways = self._ways[key] = list(self._fitting(place, node.past, last))
        for answer, then, ending in ways:
            for end in self.machine.ends:
                yield Case(node, last, answer, then, end, ending)

    def _fitting(self, place: Place, past: State, last: Letter) -> Iterator[Way]:
        """What the format accepts behind a last message."""
        behind = self.machine.after(past, last.sample)
        for answer, then in self._added(place):
            at, fits = behind, True
            added = tuple(letter.sample for letter in (answer, then) if letter is not None)
            for found in added:
                fits = fits and self.machine.admits(at, found)
                at = self.machine.after(at, found)
            if fits:
                yield answer, then, Ending(last.sample, added, answer is not None)

    def outcomes(self, place: Place) -> dict[Case, bool]:
        """For every case of a place, whether everything that was written is kept."""
        if place not in self._outcomes:
            self._outcomes[place] = {case: self.outcome(place, case) for case in self.cases(place)}
        return self._outcomes[place]

    def outcome(self, place: Place, case: Case) -> bool:
        """Whether everything that was written is kept."""
        # The ending stands for itself: `_ways` keeps it, and many nodes share it.
        key = (place.prompted, case.node.past, id(case.ending), case.end)
        known = self._joints.get(key)
        if known is None:
            known = self._joints[key] = self._at_joint(place, case)
        return known[0] and known[1] not in case.node.changed

    def _at_joint(self, place: Place, case: Case) -> tuple[bool, Pair]:
        """Whether the last message keeps its text, and what the message before it sees."""
        match = self.joint.match(place.prompted, case.node.past, case.ending, case.end)
        if match.kind == "unclear":
            self.doubted = True
        kept = match.prefix or not (self.doubt or match.kind != "unclear")
        views = self.joint.views(place.prompted, case.ending, case.end)
        return kept, self.step(views, case.last)


def places_of(roles: Iterable[str]) -> tuple[Place, ...]:
    """Every cell of the table, row by row."""
    listed = tuple(roles)
    plain = [Place(after, then) for after in listed for then in listed]
    completed = [Place(COMPLETION, then) for then in (*listed, END)]
    return (*plain, Place(PROMPT, "assistant"), *completed)
