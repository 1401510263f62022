"""Published template, interpreter and generated class agree on all small conversations."""

from __future__ import annotations

from typing import Any

import pytest

from tests.exhaustive import cases, check
from tests.support.formats import REFERENCED, option_sets

SETS = [(name, options) for name in REFERENCED for options in option_sets(name)]


@pytest.mark.parametrize(("name", "options"), SETS, ids=lambda value: str(value))
def test_every_small_conversation_is_equal_to_the_published_template(
    name: str, options: dict[str, Any]
) -> None:
    first = options == option_sets(name)[0]
    given = list(cases(options, 4 if first else 2, every=17))
    generated, interpreted = check(name, options, given)
    assert generated.ok, generated.as_text()
    assert interpreted.ok, interpreted.as_text()
    assert 2 * generated.total > (15_000 if first else 10_000)
