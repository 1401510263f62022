"""Running commands in this process: `runner(monkeypatch, capsys)("list", "--json").out`."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from templc.cli.app import main


class Ran(NamedTuple):
    """Exit status, and what was written to standard output and standard error."""

    status: int
    out: str
    err: str


Run = Callable[..., Ran]


def runner(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs one command after the other; `stdin` is what it can read."""

    def call(*arguments: str, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        status = main(arguments)
        captured = capsys.readouterr()
        return Ran(status, captured.out, captured.err)

    return call
