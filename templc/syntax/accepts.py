"""Whether an instance fits a JSON schema, yes or no: the schema as one function, for the specs without a mistake.

    accepts = compiled(schema())        accepts({"format": "x", ...})    True

jsonschema finds the same and says what is wrong, but takes thirty times as long; so it is asked only about what is
refused here. A keyword that is not known here is an error of whoever writes the schema, never passed over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from templc.syntax.shapes import pattern_of

Accepts = Callable[[Any], bool]
Schema = Mapping[str, Any]

_SAYS_NOTHING = frozenset(
    {"$schema", "$id", "$defs", "title", "description", "examples", "patternErrorMessage"}
)
# Words that are read together with another one.
_READ_WITH = frozenset({"else", "then", "patternProperties"})
_KINDS: Mapping[str, Accepts] = {
    "string": lambda it: isinstance(it, str),
    "object": lambda it: isinstance(it, dict),
    "array": lambda it: isinstance(it, list),
    "boolean": lambda it: isinstance(it, bool),
    "integer": lambda it: isinstance(it, int) and not isinstance(it, bool),
    "null": lambda it: it is None,
}


def compiled(root: Schema) -> Accepts:
    """The function of a schema; ValueError for one with a keyword that is not known here."""
    return _Compiler(root).whole(root)


_text = partial(json.dumps, sort_keys=True)


class _Compiler:
    """Schemas to functions; `_known` has those that `$ref` names, since they may name each other."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._known: dict[str, Accepts] = {}

    def whole(self, schema: Schema) -> Accepts:
        """Whether everything that the schema says holds."""
        checks = [
            self._one(word, value, schema)
            for word, value in schema.items()
            if word not in _SAYS_NOTHING | _READ_WITH
        ]
        if "patternProperties" in schema and "properties" not in schema:
            checks.append(self._members(schema))
        if len(checks) == 1:
            return checks[0]
        return lambda it: all(check(it) for check in checks)

    def _one(self, word: str, value: Any, schema: Schema) -> Accepts:
        match word:
            case "$ref":
                return self._named(value)
            case "type":
                kinds = [_KINDS[kind] for kind in ([value] if isinstance(value, str) else value)]
                return lambda it: any(kind(it) for kind in kinds)
            case "enum":
                return lambda it: any(type(it) is type(one) and it == one for one in value)
            case "const":
                return lambda it: type(it) is type(value) and bool(it == value)
            case "oneOf":
                parts = [self.whole(part) for part in value]
                return lambda it: sum(part(it) for part in parts) == 1
            case "anyOf":
                parts = [self.whole(part) for part in value]
                return lambda it: any(part(it) for part in parts)
            case "if" if "then" not in schema:
                asked, other = self.whole(value), self.whole(schema["else"])
                return lambda it: asked(it) or other(it)
            case "properties":
                return self._members(schema)
            case "additionalProperties" | "propertyNames" | "required" | "dependentRequired":
                return self._about_keys(word, value, schema)
            case _:
                return self._about_size(word, value)

    def _named(self, name: str) -> Accepts:
        if name not in self._known:
            # Filled in below, since a schema may name itself.
            self._known[name] = lambda it: self._known[name](it)
            part: Any = self._root
            for step in name.removeprefix("#/").split("/"):
                part = part[step]
            self._known[name] = self.whole(part)
        known = self._known
        return lambda it: known[name](it)

    def _members(self, schema: Schema) -> Accepts:
        """What is said of members by their names."""
        by_name = {key: self.whole(part) for key, part in schema.get("properties", {}).items()}
        by_look = [
            (re.compile(look), self.whole(part))
            for look, part in schema.get("patternProperties", {}).items()
        ]

        def fits(it: Any) -> bool:
            if not isinstance(it, dict):
                return True
            named = all(by_name[key](member) for key, member in it.items() if key in by_name)
            return named and all(
                part(member)
                for look, part in by_look
                for key, member in it.items()
                if look.search(key)
            )

        return fits

    def _about_keys(self, word: str, value: Any, schema: Schema) -> Accepts:
        if word == "required":
            return lambda it: not isinstance(it, dict) or all(key in it for key in value)
        if word == "dependentRequired":
            return lambda it: (
                not isinstance(it, dict)
                or all(other in it for key in value if key in it for other in value[key])
            )
        if word == "propertyNames":
            name = self.whole(value)
            return lambda it: not isinstance(it, dict) or all(name(key) for key in it)
        if "patternProperties" in schema:
            raise ValueError("additionalProperties beside patternProperties is not known here")
        own = frozenset(schema.get("properties", ()))
        other: Accepts = self.whole(value) if isinstance(value, dict) else (lambda it: bool(value))
        return lambda it: (
            not isinstance(it, dict)
            or all(other(member) for key, member in it.items() if key not in own)
        )

    def _about_size(self, word: str, value: Any) -> Accepts:
        """Texts, numbers and lists by themselves; each says nothing of another kind."""
        match word:
            case "pattern":
                look = pattern_of(value)
                return lambda it: not isinstance(it, str) or look.search(it) is not None
            case "minLength":
                return lambda it: not isinstance(it, str) or len(it) >= value
            case "maxLength":
                return lambda it: not isinstance(it, str) or len(it) <= value
            case "minimum":
                return lambda it: not _KINDS["integer"](it) or it >= value
            case "maximum":
                return lambda it: not _KINDS["integer"](it) or it <= value
            case "minItems":
                return lambda it: not isinstance(it, list) or len(it) >= value
            case "uniqueItems":
                return lambda it: not isinstance(it, list) or len({*map(_text, it)}) == len(it)
            case "items":
                item = self.whole(value)
                return lambda it: not isinstance(it, list) or all(item(one) for one in it)
            case _:
                raise ValueError(f"the keyword {word} is not known here")
