"""Checks on a resolved spec that need the whole of it: control tokens, stop tokens, branches that cannot be taken.

`check(spec, problems, root)` reports them all; `root` are the spec's own keys, for the places of list items.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from templc.model.expr import Cond, Fact, Predicate, leaves, negation
from templc.model.fields import Fields
from templc.model.names import listed
from templc.model.spec import (
    Assistant,
    Block,
    Choice,
    Hole,
    Leading,
    Literal,
    Loop,
    Run,
    Spec,
    Step,
    Turn,
    Written,
)
from templc.model.steps import literals
from templc.model.truth import verdict
from templc.problems.problem import Problems
from templc.problems.render import suggest
from templc.source.span import Span

# What control tokens look like in every family that was studied: <|name|>, <｜name｜>.
_LOOKS_SPECIAL = re.compile(r"<[|｜][^\s<>|｜]+[|｜]>")


def check(spec: Spec, problems: Problems, root: Fields) -> None:
    """Report what is wrong with the whole spec."""
    _undeclared(spec, problems)
    _stops(spec, problems, root)
    _closer(spec, problems)
    _branches(spec, problems)
    _conditions(spec, problems, root)
    _hoisting(spec, problems)
    _leading(spec, problems)
    _roles(spec, problems, root)


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
            case Assistant(opener, prefill, body, closer, trailer, _, accept):
                yield from (opener, prefill, body, closer, trailer, *accept)
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


def _undeclared_problem(
    token: str, literal: Literal, declared: list[str], problems: Problems
) -> None:
    problems.error(
        "undeclared-special",
        f"`{token}` looks like a control token but is not declared",
        literal.span.find(token),
        label="not under `specials`",
        helps=(_similar(token, declared, "add it to `specials`"),),
    )


def _similar(token: str, declared: list[str] | tuple[str, ...], otherwise: str) -> str:
    close = suggest(token, declared)
    return f"did you mean `{close}`?" if close else otherwise


def _stops(spec: Spec, problems: Problems, root: Fields) -> None:
    if not spec.stop and not spec.stop_strings:
        problems.error(
            "no-stop-token",
            "nothing ends sampling",
            root.key_span("stop") or root.key_span("format") or spec.span.first_line,
            label="an empty list" if root.key_span("stop") else "this format",
            helps=("list the tokens under `stop`, or texts under `stop_strings`",),
        )
    for item in root.items("stop"):
        declared = (*spec.specials, *spec.markers)
        if item.value not in declared and not _bound(spec, item.value):
            problems.error(
                "undeclared-special",
                f"the stop token `{item.value}` is not declared",
                item.span,
                label="neither under `specials` nor under `markers`",
                helps=(
                    _similar(
                        item.value,
                        declared,
                        "add it to `specials`, or to `markers` if a tokenizer may lack it",
                    ),
                ),
            )
    for item in root.items("markers"):
        if item.value in spec.specials:
            problems.error(
                "name-clash",
                f"`{item.value}` is a special and a marker",
                item.span,
                label="under `specials` too",
                helps=("a marker is a token that a tokenizer may lack: keep it in one list",),
            )


def _bound(spec: Spec, token: str) -> bool:
    return any(
        option.type == "token" and option.default == token for option in spec.options.values()
    )


def _closer(spec: Spec, problems: Problems) -> None:
    assistant = spec.roles.get("assistant")
    if not isinstance(assistant, Assistant) or not (spec.stop or spec.stop_strings):
        return
    for part in _first_parts(assistant.closer):
        if not _stops_there(spec, part):
            problems.error(
                "no-stop-token",
                "the closer does not start with a stop token, so sampling would run past it",
                part.span,
                label="written first",
                helps=(
                    f"list one under `stop`, or move what is not sampled to `trailer`; `stop` has"
                    f" {', '.join(f'`{token}`' for token in spec.stop) or 'none'}",
                ),
            )


def _stops_there(spec: Spec, part: Literal | Hole) -> bool:
    if isinstance(part, Hole):
        option = spec.options.get(part.value.ref.name)
        return part.value.ref.scope == "option" and option is not None and option.type == "token"
    if part.text.startswith(spec.stop) if spec.stop else False:
        return True
    return any(text.startswith(part.text) for text in spec.stop_strings)


def _first_parts(block: Block) -> list[Literal | Hole]:
    """What a block may write first."""
    for step in block:
        match step:
            case Written(parts):
                return [parts[0]]
            case Choice(then=then, otherwise=otherwise):
                return _first_parts(then) + _first_parts(otherwise)
            case Loop(open=opening, do=do):
                return _first_parts(opening or do)
    return []


def _branches(spec: Spec, problems: Problems) -> None:
    for block in blocks(spec):
        for choice, given in _choices(block, ()):
            always = verdict(choice.cond, given)
            if always is not None:
                inside = " where it stands" if verdict(choice.cond) is None else ""
                _constant(always, inside, choice.span, problems)


def _constant(always: bool, inside: str, span: Span, problems: Problems) -> None:
    branch = "else" if always else "then"
    problems.error(
        "unreachable",
        f"this condition {'always' if always else 'never'} holds{inside}",
        span.first_line,
        label=f"`{branch}` can never be written",
        helps=("write what can be written, without the `when`",),
    )


def _choices(block: Block, given: tuple[Cond, ...]) -> Iterator[tuple[Choice, tuple[Cond, ...]]]:
    """Every choice of a block, with the conditions that hold where it stands."""
    for step in block:
        match step:
            case Choice(cond, then, otherwise):
                yield step, given
                yield from _choices(then, (*given, cond))
                yield from _choices(otherwise, (*given, negation(cond)))
            case Loop(open=opening, do=do, between=between, close=close):
                for part in (opening, do, between, close):
                    yield from _choices(part, given)
            case Written():
                pass


def _conditions(spec: Spec, problems: Problems, root: Fields) -> None:
    """Predicates, requirements, facts and retention that are always the same."""
    own = {name: node.span for name, node in root.child("predicates").pairs()}
    named = [(cond, own[name]) for name, cond in spec.predicates.items()]
    named += [(item.that, item.span) for item in spec.requirements]
    kept = root.child("thinking").node("kept")
    if spec.kept is not None and kept is not None:
        named.append((spec.kept, kept.span))
    for cond, span in named:
        always = verdict(cond)
        if always is not None:
            problems.error(
                "unreachable",
                f"this condition {'always' if always else 'never'} holds",
                span.first_line,
                label="always the same",
                helps=("remove it, or write what can be true and false",),
            )
    _facts(spec, [cond for cond, _ in named], problems)


def _facts(spec: Spec, conds: list[Cond], problems: Problems) -> None:
    """Facts about messages that there cannot be: `later(user and tool)`."""
    for block in blocks(spec):
        conds += [choice.cond for choice, _ in _choices(block, ())]
    for cond in conds:
        for fact in leaves(cond):
            # A predicate that never holds was reported where it is defined.
            if not isinstance(fact, Fact) or isinstance(fact.term, Predicate | None):
                continue
            if verdict(fact.term) is False:
                problems.error(
                    "unreachable",
                    "no message can be like this",
                    fact.span,
                    label="never holds",
                    helps=("a message has one role: join roles with `or`",),
                )


def _hoisting(spec: Spec, problems: Problems) -> None:
    system = spec.roles.get("system")
    loops = [step for step in _all_steps(spec.head) if isinstance(step, Loop)]
    walked = next((loop for loop in loops if loop.over == "systems"), None)
    hoists = isinstance(system, Leading) and system.later in ("hoist", "replace")
    if walked is None and hoists and system is not None:
        problems.error(
            "unreachable",
            "the system messages are hoisted, and the head does not write them",
            system.span.first_line,
            label="they would be lost",
            helps=('write them in `head`: `{each: s in systems, do: "${s.content}"}`',),
        )
    elif walked is not None and not hoists:
        problems.error(
            "unreachable",
            "the head writes all system messages, and their role does not say so",
            walked.span,
            label="written here",
            helps=("say `system: {at: head, later: hoist}` under `roles`",),
        )


def _leading(spec: Spec, problems: Problems) -> None:
    """A leading system message is written once: by the head, or by its role."""
    system = spec.roles.get("system")
    lead = [
        part for block in blocks(spec) for part in _holes(block) if part.value.ref.scope == "lead"
    ]
    hole = next(iter(lead), None)
    leads = isinstance(system, Leading) and system.later not in ("hoist", "replace")
    if leads and hole is None and system is not None:
        problems.error(
            "unreachable",
            "the leading system message is no turn of its own, and nothing else writes it",
            system.span.first_line,
            label="it would be lost",
            helps=("write `${system.content}` in `head`",),
        )
    elif hole is not None and not leads:
        problems.error(
            "unreachable",
            "this writes the leading system message, and its role does so too"
            if system
            else "this writes the leading system message, and there is no role `system`",
            hole.span,
            label="it would be written twice" if system else "it would be refused",
            helps=("say `system: {at: head, later: ...}` under `roles`",),
        )


def _holes(block: Block) -> Iterator[Hole]:
    for step in _all_steps(block):
        if isinstance(step, Written):
            yield from (part for part in step.parts if isinstance(part, Hole))


def _all_steps(block: Block) -> Iterator[Step]:
    for step in block:
        yield step
        match step:
            case Choice(then=then, otherwise=otherwise):
                yield from _all_steps(then)
                yield from _all_steps(otherwise)
            case Loop(open=opening, do=do, between=between, close=close):
                for part in (opening, do, between, close):
                    yield from _all_steps(part)
            case Written():
                pass


def _roles(spec: Spec, problems: Problems, root: Fields) -> None:
    """Rules and demands about roles that the format does not have."""
    named = [
        *((item, "of") for key in ("require", "unsupported") for item in root.children(key)),
        *(
            (item, key)
            for item in root.child("extend").children("must_allow")
            for key in ("after", "then")
        ),
    ]
    for item, key in named:
        node = item.node(key)
        if node is not None and item.text(key) not in spec.roles:
            problems.error(
                "unreachable",
                f"this format has no role `{item.text(key)}`",
                node.span,
                label="no such message is ever written",
                helps=(f"remove the rule, or add the role; there are {listed(spec.roles)}",),
            )
