"""How long property tests search: a fixed set of examples by default, any number of new ones on demand.

`TEMPLC_FUZZ=20 pytest tests/test_fuzz_render.py` draws twenty times as many examples, other ones in each run.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings

FACTOR = int(os.environ.get("TEMPLC_FUZZ", "0"))


def examples(number: int) -> Callable[[Any], Any]:
    """Settings for a test of `number` examples: the same ones in every run unless TEMPLC_FUZZ is set."""
    return settings(
        max_examples=number * max(FACTOR, 1),
        derandomize=FACTOR == 0,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
