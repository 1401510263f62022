"""Problems: what is wrong with a spec, as data. Stages report them; nothing is printed here.

`problems.error("unknown-key", "a spec has no key `rols`", span, helps=("did you mean `roles`?",))`
adds one; `problems.ok` says whether the next stage may run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from templc.problems.codes import CODES

if TYPE_CHECKING:
    from templc.source.span import Span

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Label:
    """A further place, with what it has to do with the problem; it gets a frame of its own."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem: what is wrong, where, and what to do.

    `message` says what, `label` why the span shows it, `notes` the facts that led here, `helps` the
    cure; `body` is a block of lines shown as it is, such as a witness.
    """

    code: str
    message: str
    severity: Severity = "error"
    span: Span | None = None
    label: str = ""
    others: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    helps: tuple[str, ...] = ()
    body: str = ""


class Problems:
    """The problems of one compilation, in the order of report; an equal one is kept once."""

    def __init__(self) -> None:
        self._found: dict[Problem, None] = {}

    def __iter__(self) -> Iterator[Problem]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def add(self, problem: Problem) -> None:
        """Report a problem; its code must be one of `CODES`."""
        assert problem.code in CODES, f"unknown code {problem.code}"
        self._found.setdefault(problem)

    def error(
        self,
        code: str,
        message: str,
        span: Span | None = None,
        *,
        label: str = "",
        others: tuple[Label, ...] = (),
        notes: tuple[str, ...] = (),
        helps: tuple[str, ...] = (),
        body: str = "",
    ) -> None:
        """Report what stops the pipeline after this stage."""
        self.add(Problem(code, message, "error", span, label, others, notes, helps, body))

    def warning(
        self,
        code: str,
        message: str,
        span: Span | None = None,
        *,
        label: str = "",
        others: tuple[Label, ...] = (),
        notes: tuple[str, ...] = (),
        helps: tuple[str, ...] = (),
        body: str = "",
    ) -> None:
        """Report what deserves a look and stops nothing."""
        self.add(Problem(code, message, "warning", span, label, others, notes, helps, body))

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that are errors."""
        return tuple(problem for problem in self if problem.severity == "error")

    @property
    def ok(self) -> bool:
        """Whether no error was reported."""
        return not self.errors


class SpecError(Exception):
    """A spec with problems; `str()` is all of them, with their places."""

    def __init__(self, problems: Problems) -> None:
        super().__init__(problems)
        self.problems = problems

    def __str__(self) -> str:
        # The renderer imports this module.
        from templc.problems.render import render_text

        return render_text(self.problems)
