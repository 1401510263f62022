"""Two renders of the same conversations, held against each other.

Input: a renderer of ours, a published template, cases. Output: a `Report`.

    report = compare(renderer, published, crossed(conversations(3)))
    report.ok or print(report.as_text())
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from templc.runtime.errors import TemplcError
from templc.verify.errors import PublishedError
from templc.verify.report import Example, Render, Report
from templc.verify.shapes import Case, Message, Tools

PROGRESS_STEP = 256


class TextRenderer(Protocol):
    """What is compared; a refusal is a TemplcError, any other exception counts as a crash."""

    def render_text(
        self, messages: Sequence[Any], *, tools: Any = None, add_generation_prompt: bool = False
    ) -> str: ...


class Oracle(Protocol):
    """What it is compared with: a `Published` template, or anything that acts like one."""

    name: str

    def render(
        self,
        messages: Sequence[Message],
        *,
        tools: Tools = None,
        add_generation_prompt: bool = False,
        **options: object,
    ) -> str: ...


def compare(
    ours: TextRenderer,
    published: Oracle,
    cases: Iterable[Case],
    *,
    limit: int | None = None,
    with_options: Callable[..., TextRenderer] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Report:
    """Render every case twice and count how the renders stand to each other.

    limit: stop after so many mismatches. with_options: makes the renderer for the options of a
    case, called with them as keywords; `ours` is the one without. progress: called with the number
    of cases done, now and then and at the end.
    """
    report = Report(published.name)
    renderer_for = _chooser(ours, with_options)
    for done, case in enumerate(cases):
        if progress and done % PROGRESS_STEP == 0:
            progress(done)
        report.add(Example(case, _ours(renderer_for(case.options), case), _theirs(published, case)))
        if limit is not None and report.mismatches >= limit:
            report.stopped = True
            break
    if progress:
        progress(report.total)
    return report


def _chooser(
    ours: TextRenderer, with_options: Callable[..., TextRenderer] | None
) -> Callable[[Mapping[str, object]], TextRenderer]:
    """The renderer for given options, made once for each combination."""

    @functools.cache
    def made(options: tuple[tuple[str, object], ...]) -> TextRenderer:
        if with_options is None:
            raise TypeError(
                "cases have options, and there is no `with_options` to make a renderer for them"
            )
        return with_options(**dict(options))

    return lambda options: made(tuple(options.items())) if options else ours


def _ours(renderer: TextRenderer, case: Case) -> Render:
    try:
        return Render(
            renderer.render_text(
                case.messages, tools=case.tools, add_generation_prompt=case.add_generation_prompt
            )
        )
    except TemplcError as error:
        return Render(None, error.message)
    # Whatever a renderer raises is a finding about this case and must not hide the cases after it.
    except Exception as error:
        return Render(None, f"{type(error).__name__}: {error}", crashed=True)


def _theirs(published: Oracle, case: Case) -> Render:
    try:
        return Render(
            published.render(
                case.messages,
                tools=case.tools,
                add_generation_prompt=case.add_generation_prompt,
                **case.options,
            )
        )
    except PublishedError as error:
        return Render(None, error.reason)
