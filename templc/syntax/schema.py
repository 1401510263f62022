"""The shape of a spec: what the JSON schema finds, as problems at the nodes that they are about.

`check_shape(node, problems)` reports everything at once; without a problem, later stages need not look for missing
keys or wrong types.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from templc.problems.problem import Problems
from templc.source.nodes import Node, plain
from templc.syntax.accepts import Accepts, compiled
from templc.syntax.branches import findings
from templc.syntax.shapes import fits, report, spot

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError


@cache
def schema() -> dict[str, Any]:
    """The schema, which editors use too."""
    text = Path(__file__).with_name("schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


@cache
def accepts() -> Accepts:
    """Whether an instance has the shape of a spec."""
    return compiled(schema())


@cache
def validator() -> Any:
    """The schema for jsonschema, which says what is wrong."""
    from jsonschema import Draft202012Validator, validators

    extend: Any = validators.extend
    return extend(Draft202012Validator, {"pattern": _pattern})(schema())


def _pattern(_: object, pattern: str, instance: object, __: object) -> Iterator[ValidationError]:
    """jsonschema's own reading of `pattern` lets a newline through at the end."""
    from jsonschema.exceptions import ValidationError

    if isinstance(instance, str) and not fits(pattern, instance):
        yield ValidationError(f"does not match {pattern}")


def check_shape(root: Node, problems: Problems) -> None:
    """Report everything in which the node does not have the shape of a spec.

    `root` is merged over its base, so it must be whole: that it extends another one no longer matters.
    """
    instance = plain(root)
    if isinstance(instance, dict):
        instance.pop("extends", None)
    if accepts()(instance):
        return
    found = [(spot(root, item.path), item) for item in findings(validator().iter_errors(instance))]
    for place, item in sorted(found, key=lambda pair: pair[0].span.start):
        report(place, item, schema(), problems)
