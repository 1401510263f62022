"""jsonschema's errors as findings: one a mistake, and of alternatives only the one that was meant.

Input: the errors of a validator; output: `Finding`s. For `{when: tools, thne: "x"}` the validator says "valid under
none of five schemas"; the finding is that a `when` knows no `thne`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from templc.problems.render import suggest

Path = tuple[str | int, ...]
# jsonschema's ValidationError, whose attributes are declared as maybe unset, which they never are here.
Error = Any


@dataclass(frozen=True, slots=True)
class Finding:
    """One mistake at a path.

    `rule` is the schema keyword that is broken and `value` what it wants; "unknown" has the unknown keys, "missing"
    the missing ones, "either" those of which one must stand, "name" the key that is malformed.
    """

    path: Path
    rule: str
    value: Any
    instance: Any
    schema: Mapping[str, Any]


def findings(errors: Iterable[Error]) -> list[Finding]:
    """The mistakes behind the errors of a validator."""
    merged: dict[tuple[Path, str], Finding] = {}
    for error in errors:
        for found in _found(error):
            key = (found.path, f"name {found.value}" if found.rule == "name" else found.rule)
            merged[key] = _joined(merged[key], found) if key in merged else found
    kept = [_without_echo(item, merged) for item in merged.values()]
    return [item for item in kept if item is not None]


def _joined(first: Finding, second: Finding) -> Finding:
    """The missing keys of one mapping are one finding."""
    if first.rule != "missing":
        return first
    keys = list(dict.fromkeys([*first.value, *second.value]))
    return Finding(first.path, first.rule, keys, first.instance, first.schema)


def _without_echo(found: Finding, merged: Mapping[tuple[Path, str], Finding]) -> Finding | None:
    """A missing key that stands there misspelt is one mistake, not two."""
    unknown = merged.get((found.path, "unknown"))
    if unknown is None or found.rule not in ("missing", "either"):
        return found
    keys = [key for key in found.value if suggest(key, unknown.value) is None]
    if found.rule == "either" and len(keys) < len(found.value):
        return None
    return Finding(found.path, found.rule, keys, found.instance, found.schema) if keys else None


def _found(error: Error) -> Iterator[Finding]:
    if error.validator in ("oneOf", "anyOf") and error.context:
        yield from _alternatives(error)
        return
    schema: Mapping[str, Any] = error.schema if isinstance(error.schema, Mapping) else {}
    path: Path = tuple(error.absolute_path)
    rule, value, instance = str(error.validator), error.validator_value, error.instance
    if "propertyNames" in list(error.absolute_schema_path)[-4:]:
        rule, value = "name", instance
    elif rule == "dependentRequired":
        needed = dict.fromkeys(key for name in value if name in instance for key in value[name])
        rule, value = "missing", [key for key in needed if key not in instance]
    elif rule == "required":
        rule, value = "missing", [key for key in value if key not in instance]
    elif rule == "additionalProperties":
        rule, value = (
            "unknown",
            [key for key in instance if key not in schema.get("properties", {})],
        )
    yield Finding(path, rule, value, instance, schema)


def _alternatives(error: Error) -> Iterator[Finding]:
    """The findings of the branch that was meant; one of its own where none was."""
    path: Path = tuple(error.absolute_path)
    branches = [[item for found in errors for item in _here(found)] for errors in _branches(error)]
    if all(item.rule == "missing" for branch in branches for item in branch):
        keys = [item.value[0] for branch in branches for item in branch]
        yield Finding(path, "either", list(dict.fromkeys(keys)), error.instance, error.schema)
        return
    best = min(branches, key=lambda branch: _misfit(branch, path))
    if _misfit(best, path)[0] >= _FOREIGN:
        yield _none(branches, path, error)
        return
    yield from best


def _none(branches: list[list[Finding]], path: Path, error: Error) -> Finding:
    """No branch was meant: the kinds that would do, or for a mapping the keys that mark one."""
    here = [item for branch in branches for item in branch if item.path == path]
    marks = [key for item in here for key in _marks(item)]
    if isinstance(error.instance, dict) and marks:
        return Finding(path, "marks", list(dict.fromkeys(marks)), error.instance, error.schema)
    kinds = [kind for item in here for kind in _wanted(item, path)]
    return Finding(path, "type", list(dict.fromkeys(kinds)), error.instance, error.schema)


def _here(error: Error) -> list[Finding]:
    return findings([error])


def _branches(error: Error) -> Iterator[list[Error]]:
    """The errors of each branch; branches that are alternatives themselves are spread out."""
    groups: dict[int, list[Error]] = {}
    for found in error.context or ():
        groups.setdefault(int(found.relative_schema_path[0]), []).append(found)
    for group in groups.values():
        nested = next((found for found in group if _is_nested(found)), None)
        if nested is None:
            yield group
        else:
            yield from _branches(nested)


def _is_nested(error: Error) -> bool:
    return error.validator == "oneOf" and not error.relative_path and bool(error.context)


_FOREIGN = 3


def _misfit(branch: list[Finding], path: Path) -> tuple[int, int, int]:
    """How far the instance is from a branch: what marks it, unknown keys, all findings.

    A branch is marked by the first key that its schema requires: 0 it is there, 1 it is misspelt, 3 it is missing,
    4 the instance is of another kind.
    """
    here = [item for item in branch if item.path == path]
    unknown = [key for item in here if item.rule == "unknown" for key in item.value]
    mark = 0
    for item in here:
        if _wanted(item, path):
            mark = max(mark, 4)
        elif missing := _marks(item):
            near = any(suggest(key, unknown) for key in missing)
            mark = max(mark, 1 if near else _FOREIGN)
    return mark, len(unknown), len(branch)


def _marks(item: Finding) -> list[str]:
    """The keys that mark a branch and that the instance lacks."""
    match item.rule:
        case "either" if "required" not in item.schema:
            return list(item.value)
        case "missing" if "required" in item.schema:
            return [key for key in item.schema["required"][:1] if key in item.value]
        case _:
            return []


def _wanted(item: Finding, path: Path) -> list[str]:
    """The kinds that a branch takes, where the instance is of another kind."""
    if item.path != path:
        return []
    match item.rule:
        case "type":
            return [item.value] if isinstance(item.value, str) else list(item.value)
        case "enum" if not any(type(value) is type(item.instance) for value in item.value):
            return ["string"]
        case _:
            return []
