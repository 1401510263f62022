"""The stage `model`: the resolved spec, fragments in place, every name bound."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from templc.cli.stages.expressions import condition, hole, walked
from templc.cli.stages.margin import Margin, quoted
from templc.model import spec
from templc.pipeline import Compilation


def lines(compilation: Compilation) -> list[str] | None:
    """One part of the spec a line."""
    model = compilation.model
    if model is None:
        return None
    margin = Margin(compilation.source)
    for line in _head(model):
        margin.put(0, line)
    for option in model.options.values():
        default = "unset" if option.default is None else repr(option.default)
        margin.put(0, f"option {option.name}: {option.type}, default {default}", option.span)
    for name, cond in model.predicates.items():
        margin.put(0, f"predicate {name}: {condition(cond)}")
    for rule in model.requirements:
        kind = "unsupported" if rule.soft else "require"
        margin.put(0, f"{kind} of {rule.role}: {condition(rule.that)} ({rule.say})", rule.span)
    _block(margin, 0, "head", model.head)
    for name, role in model.roles.items():
        _role(margin, name, role)
    _block(margin, 0, "prompt", model.prompt)
    _block(margin, 0, "finish", model.finish)
    for deviation in model.deviations:
        margin.put(0, f"deviation: {deviation.what} ({deviation.why})", deviation.span)
    for fault in model.faults:
        margin.put(0, f"fault: {fault.code} ({fault.why})", fault.span)
    return margin.lines


def _head(model: spec.Spec) -> Iterator[str]:
    yield f"format {model.format}: {model.title}"
    for word, items in (
        ("aliases", model.aliases),
        ("models", model.models),
        ("specials", model.specials),
        ("markers", model.markers),
        ("stop", model.stop),
        ("stop strings", tuple(map(quoted, model.stop_strings))),
    ):
        if items:
            yield f"{word} {' '.join(items)}"


def _role(margin: Margin, name: str, role: spec.Role) -> None:
    match role:
        case spec.Turn(block, span):
            margin.put(0, f"role {name}", span)
            _steps(margin, 1, block)
            return
        case spec.Run(span=span):
            margin.put(
                0, f"role {name}: neighbouring messages share an opening and a closing", span
            )
            parts = {"open": role.open, "do": role.do, "between": role.between, "close": role.close}
        case spec.Leading(later, span):
            then = f", a later one: {later}" if isinstance(later, str) else ""
            margin.put(0, f"role {name}: the head writes a leading one{then}", span)
            parts = {} if isinstance(later, str) else {"later": later}
        case spec.Assistant(span=span):
            margin.put(0, f"role {name}: sampled by the model", span)
            names = ("opener", "prefill", "body", "closer", "trailer")
            parts = {part: getattr(role, part) for part in names}
        case _:
            assert_never(role)
    for part, block in parts.items():
        _block(margin, 1, part, block)


def _block(margin: Margin, depth: int, name: str, block: spec.Block | None) -> None:
    if block:
        margin.put(depth, name)
        _steps(margin, depth + 1, block)


def _steps(margin: Margin, depth: int, block: spec.Block) -> None:
    for step in block:
        match step:
            case spec.Written(parts, span):
                margin.put(depth, " ".join(map(_part, parts)), span)
            case spec.Choice(cond, then, otherwise, span):
                margin.put(depth, f"when {condition(cond)}", span)
                _steps(margin, depth + 1, then)
                if otherwise:
                    margin.put(depth, "else")
                    _steps(margin, depth + 1, otherwise)
            case spec.Loop(variable, over, of, span=span):
                margin.put(depth, f"each {variable} in {walked(over, of)}", span)
                for name in ("open", "do", "between", "close"):
                    _block(margin, depth + 1, name, getattr(step, name))
            case _:
                assert_never(step)


def _part(part: spec.Literal | spec.Hole) -> str:
    match part:
        case spec.Literal(text):
            return quoted(text)
        case spec.Hole(value, default):
            return hole(value, default)
        case _:
            assert_never(part)
