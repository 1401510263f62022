"""The search: which earlier messages would change, over all conversations at once.

    walk = Walk(alphabet, places)
    for node in walk.nodes: node.past, node.changed, node.word

A pair is two views of the future that one message has: in the conversation alone, and in the extended one. Walking
forward over all conversations, a node is the past state together with the set of pairs under which some message so
far would be written otherwise. There are finitely many; breadth first, so `word` is a shortest conversation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from templc.proof.classes import MessageClass, TooMany
from templc.proof.emission import Emission
from templc.proof.joint import COMPLETION, END, PROMPT, Joint, Place
from templc.proof.letters import Alphabet, Letter, settled
from templc.proof.machine import State
from templc.proof.outcomes import Node, Outcomes, Outlook, Pair, Spot, Stand, Way

LIMIT = 20_000
# Pairs looked at over all nodes: about a quarter of a minute.
WORK = 1_000_000
CASES = 60_000
# Of two witnesses of one length, the one that looks more like a conversation.
_ORDER = ("user", "assistant", "tool", "system", "developer")


class CutOff(Exception):
    """The search was stopped by its limit, so nothing is proved."""


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
        self._differs: dict[tuple[Letter, State, Pair], bool] = {}
        self.explained: dict[object, tuple[Any, ...]] = {}
        self._outcomes: dict[Place, Outcomes] = {}
        self._ways: dict[Place, list[Way]] = {}
        self._fitting: dict[tuple[Place, State], list[Way]] = {}
        self.pairs = self._pairs(places)
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
            for way in self.ways(place):
                if way.addition.end == end:
                    yield old, way.addition.view

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

    def ways(self, place: Place) -> list[Way]:
        """Every way to go on from a place, whatever the format accepts."""
        if place not in self._ways:
            self._ways[place] = list(self._every_way(place))
        return self._ways[place]

    def _every_way(self, place: Place) -> Iterator[Way]:
        for answer, then in self._added(place):
            classes = tuple(letter.sample for letter in (answer, then) if letter is not None)
            for end in self.machine.ends:
                addition = self.joint.addition(classes, end, answered=answer is not None)
                yield Way(answer, then, addition)

    def _accepted(self, place: Place, behind: State) -> list[Way]:
        """The ways on that the format accepts behind a last message."""
        key = (place, behind)
        if key not in self._fitting:
            ways = self.ways(place)
            self._fitting[key] = [way for way in ways if self._fits(behind, way.addition.classes)]
        return self._fitting[key]

    def _fits(self, behind: State, added: tuple[MessageClass, ...]) -> bool:
        for found in added:
            if not self.machine.admits(behind, found):
                return False
            behind = self.machine.after(behind, found)
        return True

    def outcomes(self, place: Place) -> Outcomes:
        """For every case of a place, whether everything that was written is kept."""
        if place not in self._outcomes:
            self._outcomes[place] = Outcomes(self._spots(place))
        return self._outcomes[place]

    def _spots(self, place: Place) -> Iterator[Spot]:
        """Every way to stand at a place."""
        views = list(dict.fromkeys(way.addition.view for way in self.ways(place)))
        known: dict[object, Outlook] = {}
        outlooks: dict[State, list[tuple[Letter, Outlook]]] = {}
        for node in self.nodes:
            found = outlooks.get(node.past)
            if found is None:
                found = outlooks[node.past] = list(self._outlooks(place, node.past, views, known))
            for last, outlook in found:
                yield Spot(node, last, outlook.where(node.changed))

    def _outlooks(
        self, place: Place, past: State, views: list[State], known: dict[object, Outlook]
    ) -> Iterator[tuple[Letter, Outlook]]:
        """The last messages behind a past, and how it goes on behind each. views: what a last message may see."""
        machine = self.machine
        seen = (machine.end(prompt=place.prompted), *views)
        for last in self.letters if place.prompted else self._of(place.after):
            if machine.admits(past, last.sample):
                texts = [machine.emission(last.sample, past, view) for view in seen]
                behind = machine.after(past, last.sample)
                # That is all that the joint reads of a past.
                key = (last, behind, *map(id, texts))
                if key not in known:
                    written = dict(zip(seen, texts, strict=True))
                    known[key] = Outlook(tuple(self._stands(place, last, behind, written)))
                yield last, known[key]

    def _stands(
        self, place: Place, last: Letter, behind: State, written: Mapping[State, Emission]
    ) -> Iterator[Stand]:
        """Whether the last message keeps its text on each way on, and what the message before it sees.

        written: how the last message is written under each view of the future.
        """
        pairs: dict[State, Pair] = {}
        for way in self._accepted(place, behind):
            match = self.joint.followed(place.prompted, behind, last.sample, written, way.addition)
            unclear = match.kind == "unclear"
            self.doubted = self.doubted or unclear
            kept = match.prefix or (unclear and not self.doubt)
            view = way.addition.view
            if view not in pairs:
                pairs[view] = self.step(self.joint.views(place.prompted, way.addition), last)
            yield Stand(way, kept, pairs[view])


def places_of(roles: Iterable[str]) -> tuple[Place, ...]:
    """Every cell of the table, row by row."""
    listed = tuple(roles)
    plain = [Place(after, then) for after in listed for then in listed]
    completed = [Place(COMPLETION, then) for then in (*listed, END)]
    return (*plain, Place(PROMPT, "assistant"), *completed)
