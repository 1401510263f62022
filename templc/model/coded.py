"""Conditions as plain data, for certificates: lists of a kind and its parts.

coded(Test("truth", Value(Ref("message", "calls"))))    ["Test", "truth", ["Value", ["Ref", ...], []], None]
decoded(coded(cond)) == cond
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from templc.model import expr

_KINDS = ("Const", "Or", "And", "Not", "RoleIs", "Test", "Counted", "Quantified")
_PARTS = ("Value", "Ref", "FilterUse")


def coded(part: Any) -> Any:
    """A condition without facts, or a part of one, as JSON holds it; places in the spec are left out."""
    if isinstance(part, expr.Predicate):
        return coded(part.term)
    if is_dataclass(part):
        held = [getattr(part, field.name) for field in fields(part) if field.compare]
        return [type(part).__name__, *map(coded, held)]
    return ["tuple", *map(coded, part)] if isinstance(part, tuple) else part


def decoded(data: Any) -> Any:
    """What was coded; ValueError for anything else."""
    if not isinstance(data, list):
        return data
    kind, *held = data
    if kind == "tuple":
        return tuple(map(decoded, held))
    if kind not in (*_KINDS, *_PARTS):
        raise ValueError(f"{kind} is no part of a condition")
    return getattr(expr, kind)(*map(decoded, held))
