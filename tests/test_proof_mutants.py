"""Mutants of specs: the table changes with each edit, and is as true of the mutant as of the spec."""

from __future__ import annotations

import pytest

from templc.proof.certificate import certificate
from templc.proof.recheck import recheck
from templc.proof.stability import Stability, prove
from tests.support.formats import program
from tests.support.proof_mutants import MUTANTS, Mutant, mutated
from tests.support.proof_truth import cell_errors, check, interpreted

SHAPES = ("u", "a", "a.r", "a.rc", "a.space", "t.id", "u.response", "s")


def said(stability: Stability) -> dict[tuple[str, str], str]:
    return {(cell.place.after, cell.place.then): cell.text for cell in stability.cells}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.spec}: {mutant.name}")
def test_the_table_changes_and_stays_true(mutant: Mutant) -> None:
    found = mutated(mutant)
    stability = prove(found)
    assert said(stability) != said(prove(program(mutant.spec)))
    assert not any(cell.verdict == "not proved" for cell in stability.cells)
    tally = check(stability, interpreted(found, {}), SHAPES, old=2, new=1)
    assert tally.wrong == []
    assert tally.total > 100
    assert cell_errors(stability, tally) == []
    assert recheck(found, certificate(stability)) == []


def test_there_are_enough_mutants() -> None:
    assert len(MUTANTS) >= 20
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.spec}: {mutant.name}")
def test_no_cell_of_a_mutant_that_can_break_passes_as_stable(mutant: Mutant) -> None:
    found = mutated(mutant)
    stability = prove(found)
    data = certificate(stability)
    breaking = [cell.place for cell in stability.cells if cell.verdict in ("stable if", "never")]
    for after, then in breaking:
        assert recheck(found, {**data, "cells": [{"after": after, "then": then}]}) != []
