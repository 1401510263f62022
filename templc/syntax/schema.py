"""The shape of a spec: jsonschema's findings as problems, each at the node it is about."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from templc.problems.problem import Problems
from templc.problems.render import suggest
from templc.source.nodes import MappingNode, Node, ScalarNode, SequenceNode, plain


@cache
def validator() -> Draft202012Validator:
    """The compiled schema."""
    text = Path(__file__).with_name("schema.json").read_text(encoding="utf-8")
    return Draft202012Validator(json.loads(text))


def check_shape(root: Node, problems: Problems) -> None:
    """Report everything in which the node does not have the shape of a spec."""
    for error in sorted(_deepest(validator().iter_errors(plain(root))), key=lambda found: list(map(str, found.absolute_path))):
        _report(root, error, problems)


def _deepest(errors: Iterator[ValidationError]) -> Iterator[ValidationError]:
    """Of an alternative that failed as a whole, the errors of the branch that was most likely meant."""
    for error in errors:
        if error.validator in ("oneOf", "anyOf") and error.context:
            yield from _deepest(iter(_meant(error)))
        else:
            yield error


def _meant(error: ValidationError) -> list[ValidationError]:
    """The errors of the branch that fits best: right type, then most known keys, then deepest."""
    branches: dict[int, list[ValidationError]] = {}
    for found in error.context or []:
        branches.setdefault(int(found.schema_path[0]), []).append(found)
    return min(branches.values(), key=_misfit)


def _misfit(errors: list[ValidationError]) -> tuple[int, int, int]:
    wrong_type = sum(found.validator in ("type", "enum", "const") and not found.path for found in errors)
    missing = sum(found.validator == "required" and not found.path for found in errors)
    return wrong_type, missing, len(errors)


def _report(root: Node, error: ValidationError, problems: Problems) -> None:
    node = _find(root, list(error.absolute_path))
    match error.validator:
        case "additionalProperties" | "propertyNames":
            _unknown_keys(node, error, problems)
        case "required":
            missing = [key for key in error.validator_value if isinstance(error.instance, dict) and key not in error.instance]
            problems.error(
                "missing-key",
                f"{_where(node)} has no `{missing[0]}`",
                node.span,
                label="required here",
                helps=_example(error.schema, missing[0]),
            )
        case _:
            problems.error("wrong-type", f"{_where(node)} {_wrong(error)}", node.span, label="here", helps=_examples(error.schema))


def _unknown_keys(node: Node, error: ValidationError, problems: Problems) -> None:
    known = list(error.schema.get("properties", {}))
    entries = node.entries if isinstance(node, MappingNode) else ()
    pattern = error.schema.get("propertyNames", {}).get("pattern")
    for entry in entries:
        if pattern is None and entry.key.value in known:
            continue
        if pattern is not None and Draft202012Validator({"pattern": pattern}).is_valid(entry.key.value):
            continue
        close = suggest(entry.key.value, known)
        cure = f"did you mean `{close}`?" if close else f"known here: {', '.join(known)}" if known else "use lower case, digits and _"
        problems.error(
            "unknown-key", f"{_where(node)} has no key `{entry.key.value}`", entry.key.span, label="unknown", helps=(cure,)
        )


def _where(node: Node) -> str:
    return f"`{node.path}`" if node.path else "a spec"


def _wrong(error: ValidationError) -> str:
    match error.validator:
        case "type":
            wanted = error.validator_value
            names = [wanted] if isinstance(wanted, str) else list(wanted)
            return f"must be {' or '.join(_TYPES.get(name, name) for name in names)}"
        case "enum":
            return f"must be one of {', '.join(map(str, error.validator_value))}"
        case "const":
            return f"must be `{error.validator_value}`"
        case "pattern":
            return "has a character that cannot stand there"
        case "minLength" | "minItems":
            return "is empty"
        case "maxLength":
            return "is too long"
        case _:
            return "does not have the right shape"


_TYPES = {"string": "a text", "object": "a mapping", "array": "a list", "boolean": "true or false", "integer": "a number", "null": "nothing"}


def _examples(schema: Any) -> tuple[str, ...]:
    examples = schema.get("examples", []) if isinstance(schema, dict) else []
    return (f"for example: {json.dumps(examples[0], ensure_ascii=False)}",) if examples else ()


def _example(schema: Any, key: str) -> tuple[str, ...]:
    part = schema.get("properties", {}).get(key, {})
    examples = part.get("examples")
    shown = f", for example {json.dumps(examples[0], ensure_ascii=False)}" if examples else ""
    return (f"`{key}`: {part.get('description', 'needed')}{shown}",)


def _find(root: Node, path: list[Any]) -> Node:
    node = root
    for step in path:
        match node:
            case MappingNode():
                node = node.get(str(step)) or node
            case SequenceNode(items=items):
                node = items[int(step)]
            case ScalarNode():
                return node
    return node
