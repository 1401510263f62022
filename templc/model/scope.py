"""Name resolution: what a dotted name or a condition means where it stands.

A `Scope` knows the names of the spec and of the place (head, a role's turn, opener, predicate, requirement).
Each method returns the resolved term, or None after it reported a problem.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from templc.model import expr
from templc.model.filters import FILTERS
from templc.model.spec import Option
from templc.problems.problem import Problems
from templc.problems.render import suggest
from templc.source.span import Span
from templc.syntax import tree

Place = Literal["head", "turn", "opener", "prompt", "predicate", "requirement", "finish"]
Type = Literal["text", "flag", "list", "any", "present", "token"]

ROLES = ("system", "developer", "user", "assistant", "tool")
MESSAGE_FIELDS: dict[str, Type] = {
    "content": "text",
    "reasoning": "text",
    "name": "text",
    "call_id": "text",
    "calls": "list",
    "parts": "flag",
    "role": "text",
}
ITEM_FIELDS: dict[str, dict[str, Type]] = {
    "calls": {"name": "text", "arguments": "any", "id": "text", "type": "text"},
    "arguments": {"name": "text", "value": "any"},
    "tools": {"": "any", "function": "any", "name": "text"},
    "systems": {"content": "text"},
}
LEAD_FIELDS: dict[str, Type] = {"": "present", "content": "text", "name": "text", "parts": "flag"}
FACT_WORDS = ("first", "last", "end", "live")
RESERVED = frozenset(
    {*ROLES, *MESSAGE_FIELDS, *FACT_WORDS, "tools", "systems", "kept", "text", "as_template", "mapping"}
    | {"previous", "next", "earlier", "later", "some", "every", "count", "among", "and", "or", "not", "is"}
    | {"true", "false", "unset", "starts", "ends", "with", "contains", "other"}
)
_READS_MESSAGE = frozenset({"turn", "predicate", "requirement"})
_READS_PAST = frozenset({"turn", "opener", "prompt", "requirement", "finish"})


@dataclass(frozen=True, slots=True)
class Scope:
    """The names that are known at one place of a spec."""

    problems: Problems
    options: Mapping[str, Option]
    predicates: Mapping[str, expr.Cond]
    texts: Mapping[str, str]
    place: Place
    kept: expr.Cond | None = None
    items: Mapping[str, str] = field(default_factory=dict)
    inside_fact: bool = False

    def at(self, place: Place) -> Scope:
        return replace(self, place=place, items={})

    def with_item(self, variable: str, over: str) -> Scope:
        return replace(self, items={**self.items, variable: over})

    # values

    def value(self, value: tree.Value) -> tuple[expr.Value, Type] | None:
        """The resolved value and its type after all filters."""
        found = self._ref(value)
        if found is None:
            return None
        ref, kind = found
        filters: list[expr.FilterUse] = []
        for call in value.filters:
            use = self._filter(call, kind)
            if use is None:
                return None
            filters.append(use)
            kind = "text"
        return expr.Value(ref, tuple(filters), value.span), kind

    def _ref(self, value: tree.Value) -> tuple[expr.Ref, Type] | None:
        first, rest = value.words[0].text, ".".join(word.text for word in value.words[1:])
        if first in self.items:
            over = self.items[first]
            return self._part(value, expr.Ref("item", first, rest), ITEM_FIELDS[over], over)
        if first == "system" and self.place in ("head", "finish"):
            return self._part(value, expr.Ref("lead", "system", rest), LEAD_FIELDS, "the leading system message")
        if rest:
            return self._unknown(value, f"`{first}` has no parts here")
        if first == "tools":
            return expr.Ref("tools"), "list"
        if first in self.options:
            option = self.options[first]
            types: dict[str, Type] = {"bool": "flag", "token": "token"}
            return expr.Ref("option", first), types.get(option.type, "text")
        if first == "as_template":
            return expr.Ref("option", first), "flag"
        if first in MESSAGE_FIELDS:
            return self._field(value, first)
        return self._unknown(value, f"nothing is called `{first}`")

    def _field(self, value: tree.Value, name: str) -> tuple[expr.Ref, Type] | None:
        opener = self.place == "opener" and name == "name"
        if not (self.inside_fact or opener or self.place in _READS_MESSAGE):
            self.problems.error(
                "misplaced-name",
                f"`{name}` cannot be read in {_PLACES[self.place]}",
                value.span,
                label="belongs to one message",
                helps=(_ABOUT_MESSAGE.get(self.place, "read it in a role's own steps"),),
            )
            return None
        return expr.Ref("message", name), MESSAGE_FIELDS[name]

    def _part(
        self, value: tree.Value, ref: expr.Ref, fields: Mapping[str, Type], owner: str
    ) -> tuple[expr.Ref, Type] | None:
        if ref.part in fields:
            return ref, fields[ref.part]
        known = [name for name in fields if name]
        close = suggest(ref.part, known)
        self.problems.error(
            "unknown-field",
            f"`{ref.name}` has no field `{ref.part}`" if ref.part else f"`{ref.name}` alone is not a value",
            value.span,
            label=f"an item of {owner}" if owner in ITEM_FIELDS else owner,
            notes=(f"its fields are {_listed(known)}",),
            helps=(f"did you mean `{ref.name}.{close}`?",) if close else (),
        )
        return None

    def _unknown(self, value: tree.Value, message: str) -> None:
        known = [*MESSAGE_FIELDS, *self.options, *self.items, "tools", "system"]
        close = suggest(value.words[0].text, known)
        self.problems.error(
            "unknown-field" if self.place in _READS_MESSAGE else "unknown-name",
            message,
            value.span,
            label=f"not one of the {len(MESSAGE_FIELDS)} message fields, an option or a loop variable",
            helps=(f"did you mean `{close}`?",) if close else (f"known here: {_listed(known)}",),
        )

    def _filter(self, call: tree.FilterCall, kind: Type) -> expr.FilterUse | None:
        row = FILTERS.get(call.name.text)
        if row is None:
            close = suggest(call.name.text, FILTERS)
            self.problems.error(
                "unknown-filter",
                f"there is no filter `{call.name.text}`",
                call.name.span,
                label="unknown",
                helps=(f"did you mean `{close}`?",) if close else (f"the filters are {_listed(list(FILTERS))}",),
            )
            return None
        if row.argument != (call.argument is not None):
            wanted = f'needs a text: `{row.name}:"X"`' if row.argument else "takes no argument"
            self.problems.error("bad-filter", f"the filter `{row.name}` {wanted}", call.span, label="here")
            return None
        if row.takes == "text" and kind != "text":
            self.problems.error(
                "bad-filter",
                f"the filter `{row.name}` works on text",
                call.span,
                label=f"this value is {_TYPES[kind]}",
                helps=("encode it first: `|json`",),
            )
            return None
        return expr.FilterUse(row.name, call.argument)

    # conditions

    def condition(self, node: tree.Condition) -> expr.Cond | None:
        """The resolved condition."""
        match node:
            case tree.Or(terms):
                return self._all(terms, expr.disjunction)
            case tree.And(terms):
                return self._all(terms, expr.conjunction)
            case tree.Not(term):
                inner = self.condition(term)
                return None if inner is None else expr.negation(inner)
            case tree.Temporal():
                return self._temporal(node)
            case tree.Quantified():
                return self._quantified(node)
            case tree.Counted():
                return self._counted(node)
            case tree.Test(kind="truth") if len(node.value.words) == 1 and not node.value.filters:
                return self._word(node)
            case tree.Test():
                return self._test(node)

    def _all(self, terms: tuple[tree.Condition, ...], join: object) -> expr.Cond | None:
        found = [self.condition(term) for term in terms]
        kept = [term for term in found if term is not None]
        return join(*kept) if len(kept) == len(found) else None  # type: ignore[operator, no-any-return]

    def _word(self, node: tree.Test) -> expr.Cond | None:
        word = node.value.words[0].text
        if word in FACT_WORDS:
            return self._fact(word, None, None, node.span)  # type: ignore[arg-type]
        if word == "kept":
            return self._kept(node.span)
        if word in self.items:
            return self._test(node)
        if word in self.predicates:
            return self._predicate(word, node)
        if word in ROLES and not (word == "system" and self.place in ("head", "finish")):
            return self._role_word(word, node.span)
        return self._test(node)

    def _predicate(self, word: str, node: tree.Test) -> expr.Cond | None:
        if self.inside_fact or self.place in _READS_MESSAGE:
            return expr.Predicate(word, self.predicates[word])
        return self._test(node)

    def _role_word(self, word: str, span: Span) -> expr.Cond | None:
        if not (self.inside_fact or self.place == "predicate"):
            self.problems.error(
                "misplaced-name",
                f"`{word}` says which message is meant, and here it is this one",
                span,
                label="always the same here",
                helps=(f"ask about other messages: `later({word})`, `previous({word})`",)
                + (("did you mean `tools`?",) if word == "tool" else ()),
            )
            return None
        return expr.RoleIs(word)

    def _kept(self, span: Span) -> expr.Cond | None:
        if self.kept is None:
            self.problems.error("unknown-name", "`kept` is not defined", span, helps=("say it under `thinking`",))
        elif self.place != "turn":
            self.problems.error("misplaced-name", "`kept` is about one assistant turn", span)
        else:
            return self.kept
        return None

    def _temporal(self, node: tree.Temporal) -> expr.Cond | None:
        if self.inside_fact:
            self.problems.error(
                "misplaced-fact",
                f"`{node.time.text}` cannot stand inside another one",
                node.span,
                label="reads a third message",
                helps=("name what you mean with a predicate, which reads one message only",),
            )
            return None
        inner = replace(self, inside_fact=True)
        term = inner.condition(node.term)
        among = None if node.among is None else inner.condition(node.among)
        if term is None or (node.among is not None and among is None):
            return None
        if among is not None and node.time.text in ("earlier", "later"):
            self.problems.error("misplaced-fact", "`among` goes with `previous` and `next`", node.span)
            return None
        return self._fact(node.time.text, term, among, node.span)  # type: ignore[arg-type]

    def _fact(
        self, time: expr.Time, term: expr.Cond | None, among: expr.Cond | None, span: Span
    ) -> expr.Cond | None:
        past = time in expr.PAST
        allowed = not self.inside_fact and (self.place in _READS_PAST if past else self.place == "turn")
        if not allowed:
            self.problems.error(
                "misplaced-fact",
                f"`{time}` cannot be read in {_PLACES[self.place]}",
                span,
                label=f"looks to {'earlier' if past else 'later'} messages",
                helps=(_ABOUT_FACT.get(self.place, "move the condition into a role's own steps"),),
            )
            return None
        return expr.Fact(time, term, among, fact_name(time, term, among), span)

    def _quantified(self, node: tree.Quantified) -> expr.Cond | None:
        inner = self.with_item(node.variable.text, "calls")
        term = inner.condition(node.term)
        if term is None:
            return None
        return expr.Quantified(node.quantifier.text, node.variable.text, term)

    def _counted(self, node: tree.Counted) -> expr.Cond | None:
        found = self.value(node.value)
        if found is None:
            return None
        value, kind = found
        if kind != "list":
            self.problems.error("bad-condition", "only a list can be counted", node.value.span, label=_TYPES[kind])
            return None
        return expr.Counted(value, node.compare, node.number)

    def _test(self, node: tree.Test) -> expr.Cond | None:
        found = self.value(node.value)
        if found is None:
            return None
        value, kind = found
        problem = self._misuse(node, value, kind)
        if problem:
            message, help_text = problem
            self.problems.error("bad-condition", message, node.span, label="here", helps=(help_text,))
            return None
        return expr.Test(node.kind, value, node.argument)

    def _misuse(self, node: tree.Test, value: expr.Value, kind: Type) -> tuple[str, str] | None:
        name = node.value.dotted
        option = self.options.get(value.ref.name) if value.ref.scope == "option" else None
        match node.kind:
            case "truth":
                if option and option.default is None and option.type != "token" and not value.filters:
                    return (
                        f"the option `{name}` may be unset, so it is neither true nor false",
                        f"say which: `{name} is true`, `{name} is false` or `{name} is unset`",
                    )
                if kind == "any":
                    return f"`{name}` is not simply true or false", f"test its kind: `{name} is text`"
            case "is_text" | "is_mapping":
                if kind != "any":
                    return f"`{name}` is always {_TYPES[kind]}", "this test is for call.arguments and arg.value"
            case "is":
                if isinstance(node.argument, bool) and kind != "flag":
                    return f"`{name}` is {_TYPES[kind]}, never true or false", f"test it bare: `{name}`"
                if isinstance(node.argument, str) and kind not in ("text", "token"):
                    return f"`{name}` is {_TYPES[kind]}, never a text", f"test it bare: `{name}`"
                if option and option.values and isinstance(node.argument, str) and node.argument not in option.values:
                    close = suggest(node.argument, option.values)
                    cure = f'did you mean "{close}"?' if close else f"its values are {_listed(option.values)}"
                    return f'the option `{name}` is never "{node.argument}"', cure
            case _:
                if kind != "text":
                    return f"`{name}` is {_TYPES[kind]}, not text", "only text starts, ends or contains"
        return None


def fact_name(time: str, term: expr.Cond | None, among: expr.Cond | None) -> str:
    """A Python identifier for a fact: `previous(tool)` is `previous_tool`."""
    words = [time] if term is None else [time, words_of(term)]
    if among is not None:
        words += ["among", words_of(among)]
    return re.sub(r"_+", "_", "_".join(words)).strip("_")


def words_of(cond: expr.Cond) -> str:
    """A condition as words joined by underscores, for names."""
    match cond:
        case expr.Or(terms):
            return "_or_".join(words_of(term) for term in terms)
        case expr.And(terms):
            return "_and_".join(words_of(term) for term in terms)
        case expr.Not(term):
            return f"not_{words_of(term)}"
        case expr.RoleIs(role):
            return role
        case expr.Predicate(name):
            return name
        case expr.Test(kind, value, argument):
            tail = "" if kind == "truth" else f"_{kind}_{argument}"
            return re.sub(r"\W+", "_", f"{value.ref.name}_{value.ref.part}{tail}").strip("_")
        case expr.Counted(value, _, number):
            return f"count_{value.ref.name}_{number}"
        case expr.Quantified(quantifier, _, term):
            return f"{quantifier}_{words_of(term)}"
        case expr.Const(value):
            return str(value).lower()
        case expr.Fact(name=name):
            return name


def _listed(names: object) -> str:
    return ", ".join(f"`{name}`" for name in names)  # type: ignore[attr-defined]


_TYPES: dict[str, str] = {
    "text": "text",
    "flag": "true or false",
    "list": "a list",
    "any": "a value of any kind",
    "present": "a message",
    "token": "a control token",
}
_PLACES: dict[str, str] = {
    "head": "the head",
    "turn": "a turn",
    "opener": "an opener or prefill",
    "prompt": "the generation prompt",
    "predicate": "a predicate",
    "requirement": "a requirement",
    "finish": "the finish",
}
_ABOUT_MESSAGE = {
    "head": "the head knows `system`, `tools` and the options",
    "opener": "an opener is also the generation prompt, where there is no message yet: move it into `body`",
}
_ABOUT_FACT = {
    "opener": "an opener is also the generation prompt, which nothing follows: move it into `body`",
    "predicate": "a predicate reads one message; combine it where it is used: `later(query)`",
    "requirement": "a message is refused or not whatever follows it, else an extension could make a past one wrong",
    "head": "the head is written before any message",
}
