"""Vocabulary: the few tests that tell the letters of each role apart, in the spec author's own words where it can.

    Vocabulary(alphabet).terms["user"]      (Predicate("query"),)

A predicate of the spec is preferred to the tests that it is made of, and a plain field to a filtered one.
"""

from __future__ import annotations

from templc.model import expr
from templc.proof.atoms import known, truth
from templc.proof.classes import MessageClass
from templc.proof.letters import Alphabet, Letter
from templc.proof.minimise import needed, packed
from templc.proof.values import Alike, Atom

Named = Atom | expr.Predicate
Values = tuple[bool, ...]

_PLAIN = {"content": 6, "calls": 7, "reasoning": 8}


class Vocabulary:
    """The terms of each role, and the truth of each for a class."""

    def __init__(self, alphabet: Alphabet) -> None:
        self._alphabet = alphabet
        roles = dict.fromkeys(letter.role for letter in alphabet.letters)
        self.every = {role: self._every(role) for role in roles}
        self.terms = {role: self._reduced(role) for role in roles}
        self._values = {
            found: tuple(self.truth(term, found) for term in self.terms[letter.role])
            for letter in alphabet.letters
            for found in letter.classes
        }
        self._vectors = {
            letter: tuple(dict.fromkeys(self._values[found] for found in letter.classes))
            for letter in alphabet.letters
        }

    def values(self, found: MessageClass) -> Values:
        """The truth of the role's terms."""
        return self._values[found]

    def vectors(self, letter: Letter) -> tuple[Values, ...]:
        """Every combination of truths that the letter has."""
        return self._vectors[letter]

    def truth(self, term: Named, found: MessageClass) -> bool:
        """The truth of one term for a class."""
        if not isinstance(term, expr.Predicate):
            return found.bits[term]
        settings = self._alphabet.machine.settings
        return bool(truth(known(term, found.role, settings), found.bits, {}))

    def _every(self, role: str) -> tuple[Named, ...]:
        program = self._alphabet.machine.program
        sample = next(letter for letter in self._alphabet.letters if letter.role == role).sample
        predicates = [expr.Predicate(name, term) for name, term in program.predicates.items()]
        return (*predicates, *sample.bits)

    def _reduced(self, role: str) -> tuple[Named, ...]:
        terms = self.every[role]
        letters = [letter for letter in self._alphabet.letters if letter.role == role]
        rows = {
            packed(self.truth(term, found) for term in terms): number
            for number, letter in enumerate(letters)
            for found in letter.classes
        }
        order = sorted(range(len(terms)), key=lambda at: preference(terms[at]))
        return tuple(terms[at] for at in needed(rows, order))


def preference(term: Named) -> int:
    """How readable a term is: those with the least are dropped first."""
    match term:
        case Alike():
            return 0
        case expr.Predicate():
            return 9
        case expr.Test("truth", value) if not value.filters:
            return _PLAIN.get(value.ref.name, 5)
        case expr.Test("truth"):
            return 1
        case _:
            return 3
