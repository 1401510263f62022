"""Options of the test run."""

from __future__ import annotations

import pytest

from tests.support.lines import run_as_python

run_as_python()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-cases", action="store_true", help="rewrite the expected texts under tests/cases"
    )
