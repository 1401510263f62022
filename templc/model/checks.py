"""Checks on a resolved spec that need the whole of it: control tokens, stop tokens, branches that cannot be taken."""

from __future__ import annotations

import re
from collections.abc import Iterator

from templc.model.expr import Const
from templc.model.spec import Assistant, Block, Choice, Leading, Literal, Loop, Run, Spec, Turn
from templc.model.steps import literals
from templc.problems.problem import Problems
from templc.problems.render import suggest

# What control tokens look like in every family that was studied: <|name|>, <｜name｜>.
_LOOKS_SPECIAL = re.compile(r"<[|｜][^\s<>|｜]+[|｜]>")


def check(spec: Spec, problems: Problems) -> None:
    """Report what is wrong with the whole spec."""
    _undeclared(spec, problems)
    _stops(spec, problems)
    _branches(spec, problems)
    _hoisting(spec, problems)


def blocks(spec: Spec) -> Iterator[Block]:
    """Every block of the spec."""
    yield spec.head
    for role in spec.roles.values():
        match role:
            case Turn(block):
                yield block
            case Run(opening, do, between, close):
                yield from (opening, do, between, close)
            case Leading(later):
                if not isinstance(later, str):
                    yield later
            case Assistant(opener, prefill, body, closer, trailer):
                yield from (opener, prefill, body, closer, trailer)
    yield spec.prompt or ()
    yield spec.finish


def _undeclared(spec: Spec, problems: Problems) -> None:
    declared = sorted((*spec.specials, *spec.markers), key=len, reverse=True)
    seen: set[str] = set()
    for block in blocks(spec):
        for literal in literals(block):
            for found in _LOOKS_SPECIAL.finditer(literal.text):
                token = found.group()
                if token not in seen and not any(token in known for known in declared):
                    seen.add(token)
                    _undeclared_problem(token, literal, declared, problems)


def _undeclared_problem(token: str, literal: Literal, declared: list[str], problems: Problems) -> None:
    close = suggest(token, declared)
    problems.error(
        "undeclared-special",
        f"`{token}` looks like a control token but is not declared",
        literal.span,
        label="not under `specials`",
        helps=(f"did you mean `{close}`?",) if close else ("add it to `specials`",),
    )


def _stops(spec: Spec, problems: Problems) -> None:
    if not spec.stop and not spec.stop_strings:
        problems.error(
            "no-stop-token",
            "nothing ends sampling",
            spec.span,
            label="this format",
            helps=("list the tokens under `stop`, or texts under `stop_strings`",),
        )
    for token in spec.stop:
        if token not in spec.specials and not _bound(spec, token):
            close = suggest(token, spec.specials)
            problems.error(
                "undeclared-special",
                f"the stop token `{token}` is not declared",
                spec.span,
                label="under `stop`",
                helps=(f"did you mean `{close}`?",) if close else ("add it to `specials`",),
            )
    _closer(spec, problems)


def _bound(spec: Spec, token: str) -> bool:
    return any(option.type == "token" and option.default == token for option in spec.options.values())


def _closer(spec: Spec, problems: Problems) -> None:
    assistant = spec.roles.get("assistant")
    if not isinstance(assistant, Assistant):
        return
    for literal in literals(assistant.closer):
        stops = literal.text.startswith(spec.stop) if spec.stop else False
        if not stops and not any(text.startswith(literal.text) for text in spec.stop_strings):
            problems.error(
                "no-stop-token",
                "the closer is not a stop token, so sampling would run past it",
                literal.span,
                label="written here",
                helps=("list it under `stop`",),
            )


def _branches(spec: Spec, problems: Problems) -> None:
    for block in blocks(spec):
        for choice in _choices(block):
            if isinstance(choice.cond, Const):
                problems.error(
                    "unreachable", "this condition is always the same", choice.span, label="never both branches"
                )


def _choices(block: Block) -> Iterator[Choice]:
    for step in block:
        match step:
            case Choice(then=then, otherwise=otherwise):
                yield step
                yield from _choices(then)
                yield from _choices(otherwise)
            case Loop(open=opening, do=do, between=between, close=close):
                for part in (opening, do, between, close):
                    yield from _choices(part)
            case _:
                pass


def _hoisting(spec: Spec, problems: Problems) -> None:
    system = spec.roles.get("system")
    walked = any(isinstance(step, Loop) and step.over == "systems" for step in _all_steps(spec.head))
    hoists = isinstance(system, Leading) and system.later == "hoist"
    if walked != hoists:
        message = "the head does not write the hoisted system messages" if hoists else "system messages are not hoisted"
        problems.error(
            "unreachable",
            message,
            system.span if system else spec.span,
            helps=("write them: `each: s in systems`" if hoists else "say `system: {at: head, later: hoist}`",),
        )


def _all_steps(block: Block) -> Iterator[object]:
    for step in block:
        yield step
        match step:
            case Choice(then=then, otherwise=otherwise):
                yield from _all_steps(then)
                yield from _all_steps(otherwise)
            case Loop(open=opening, do=do, between=between, close=close):
                for part in (opening, do, between, close):
                    yield from _all_steps(part)
            case _:
                pass
