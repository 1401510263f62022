"""Name resolution: what a dotted name means where it stands.

A `Scope` knows the names of the spec and of the place (head, a role's turn, opener, predicate, requirement).
`scope.value(tree)` is the resolved value and its type, or None after it reported a problem.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from templc.model import expr
from templc.model.filters import FILTERS
from templc.model.names import FACT_WORDS as FACT_WORDS
from templc.model.names import (
    ITEM_FIELDS,
    LEAD_FIELDS,
    MESSAGE_FIELDS,
    PLACES,
    TYPES,
    Place,
    Type,
    listed,
)
from templc.model.names import RESERVED as RESERVED
from templc.model.names import ROLES as ROLES
from templc.model.names import fact_name as fact_name
from templc.model.names import words_of as words_of
from templc.model.spec import Option
from templc.problems.problem import Problems
from templc.problems.render import suggest
from templc.source.span import Span
from templc.syntax import tree

_READS_MESSAGE = frozenset({"turn", "predicate", "requirement"})
_READS_LEAD = frozenset({"head", "turn", "opener", "prompt", "finish"})


@dataclass(slots=True)
class Used:
    """The names of a spec's own that were read so far; `further`: options whose further fields were."""

    options: set[str] = field(default_factory=set)
    predicates: set[str] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    further: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Scope:
    """The names that are known at one place of a spec.

    `inside_fact`: the condition is about another message than the one at hand; `inside_call`: about
    each call of a message. `later`: predicates that are defined further down; `broken`: names that
    were reported already; `hidden`: loop variables of the message at hand. `used` is shared by all
    scopes of a spec.
    """

    problems: Problems
    options: Mapping[str, Option]
    predicates: Mapping[str, expr.Cond]
    texts: Mapping[str, str]
    place: Place
    kept: expr.Cond | None = None
    items: Mapping[str, str] = field(default_factory=dict)
    inside_fact: bool = False
    inside_call: bool = False
    later: frozenset[str] = frozenset()
    broken: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    used: Used = field(default_factory=Used)

    def at(self, place: Place) -> Scope:
        return replace(self, place=place, items={})

    def with_item(self, variable: str, over: str) -> Scope:
        return replace(self, items={**self.items, variable: over})

    def about_call(self, variable: str) -> Scope:
        """The scope inside `some(call: ...)`: a call and its message, but no fact about the conversation."""
        return replace(self.with_item(variable, "calls"), inside_call=True)

    def about_another(self) -> Scope:
        """The scope inside `previous(...)` and the like: fields of that message, nothing else."""
        return replace(self, inside_fact=True, items={}, hidden=frozenset(self.items))

    @property
    def reads_message(self) -> bool:
        return self.inside_fact or self.place in _READS_MESSAGE

    @property
    def reads_lead(self) -> bool:
        return self.place in _READS_LEAD and not self.inside_fact

    @property
    def only_message(self) -> bool:
        """Whether nothing but the fields of a message may be read: no options, no tools."""
        return self.inside_fact or self.place == "predicate"

    def value(self, value: tree.Value) -> tuple[expr.Value, Type] | None:
        """The resolved value and its type after all filters."""
        found = self._ref(value)
        if found is None:
            return None
        ref, kind = found
        filters: list[expr.FilterUse] = []
        for call in value.filters:
            use = self._filter(call, kind, value)
            if use is None:
                return None
            if FILTERS[use.name].takes == "record":
                self.used.further.add(self.record_of(ref).name)
            filters.append(use)
            kind = "text"
        return expr.Value(ref, tuple(filters), value.span), kind

    def option_of(self, ref: expr.Ref) -> Option | None:
        """The option that a value is, None for anything else, and for what stands under a key of one."""
        return self.options.get(ref.name) if ref.scope == "option" and not ref.part else None

    def record_of(self, ref: expr.Ref) -> Option:
        """The option of whose records a value is one, or part of one."""
        return self.options[self.items[ref.name].removeprefix(OPTION)]

    def _ref(self, value: tree.Value) -> tuple[expr.Ref, Type] | None:
        first, rest = value.words[0].text, ".".join(word.text for word in value.words[1:])
        if first in self.items:
            return self._item(value, first, rest)
        if first == "system" and self.reads_lead:
            ref = expr.Ref("lead", "system", rest)
            return self._part(value, ref, LEAD_FIELDS, "the leading system message")
        if first == "systems" and not rest and self.place == "head" and not self.inside_fact:
            return expr.Ref("systems", first), "flag"
        if first in self.hidden:
            self._hidden(value)
            return None
        known = first in MESSAGE_FIELDS or first in self.options or first in _FIXED
        if not known:
            self._unknown(value)
            return None
        if first in MESSAGE_FIELDS and not rest:
            return self._message(value, first)
        keys = self.options[first].values if self._held(first) else ()
        if rest and rest not in keys:
            self._no_parts(value, first)
            return None
        found = self._fixed(value, first)
        return (replace(found[0], part=rest), "key") if found and rest else found

    def _held(self, name: str) -> bool:
        """Whether a name is an option that is a mapping."""
        return name in self.options and self.options[name].type == "record"

    def _item(self, value: tree.Value, name: str, part: str) -> tuple[expr.Ref, Type] | None:
        """A loop variable, or a part of it."""
        over = self.items[name]
        if over in ITEM_FIELDS:
            return self._part(value, expr.Ref("item", name, part), ITEM_FIELDS[over], _ITEMS[over])
        option = over.removeprefix(OPTION)
        written: dict[str, Type] = dict.fromkeys(self.options[option].fields, "text")
        fields: dict[str, Type] = {**written, "number": "number", "": "record"}
        return self._part(value, expr.Ref("record", name, part), fields, f"a record of `{option}`")

    def _fixed(self, value: tree.Value, name: str) -> tuple[expr.Ref, Type] | None:
        """Options and tools: the same for a whole conversation."""
        if self.only_message:
            self.problems.error(
                "misplaced-name",
                f"`{name}` is not part of a message",
                words_span(value),
                label="the same for every message",
                helps=(f"combine it outside: `later(user) and {name}`",),
            )
            return None
        if name == "tools":
            return expr.Ref("tools"), "list"
        if name == "as_template":
            return expr.Ref("option", name), "flag"
        self.used.options.add(name)
        option = self.options[name]
        if option.type == "token":
            return expr.Ref("option", name), "token"
        if option.type in ("bool", "date"):
            return expr.Ref("option", name), "flag" if option.type == "bool" else "date"
        if option.type in _LISTS:
            return expr.Ref("option", name), _LISTS[option.type]
        return expr.Ref("option", name), "maybe" if option.default is None else "text"

    def _message(self, value: tree.Value, name: str) -> tuple[expr.Ref, Type] | None:
        opener = self.place == "opener" and name == "name"
        if self.reads_message or opener:
            return expr.Ref("message", name), MESSAGE_FIELDS[name]
        self.problems.error(
            "misplaced-name",
            f"`{name}` cannot be read in {PLACES[self.place]}",
            words_span(value),
            label="belongs to one message",
            helps=(_ABOUT_MESSAGE.get(self.place, "read it in a role's own steps"),),
        )
        return None

    def _part(
        self, value: tree.Value, ref: expr.Ref, fields: Mapping[str, Type], owner: str
    ) -> tuple[expr.Ref, Type] | None:
        if ref.part in fields:
            return ref, fields[ref.part]
        known = [name for name in fields if name]
        close = suggest(ref.part, known) if ref.part else None
        self.problems.error(
            "unknown-field",
            f"{owner} has no field `{ref.part}`"
            if ref.part
            else f"`{ref.name}` alone is not a value",
            _rest_span(value),
            label="unknown" if ref.part else owner,
            notes=(f"its fields are {listed(known)}",),
            helps=(f"did you mean `{ref.name}.{close}`?",)
            if close
            else (f"name a field, such as `{ref.name}.{known[0]}`",),
        )
        return None

    def _hidden(self, value: tree.Value) -> None:
        self.problems.error(
            "misplaced-name",
            f"`{value.words[0].text}` is of the message at hand, and this asks about another one",
            words_span(value),
            label="a loop variable",
            helps=("move the question outside of the loop, or combine it outside of the brackets",),
        )

    def _no_parts(self, value: tree.Value, first: str) -> None:
        walk = {"calls": "call in calls", "tools": "tool in tools"}.get(first)
        if first in self.options and self.options[first].type == "records":
            walk = f"record in {first}"
        part = value.words[1].text
        help_text = f"write `{first}`"
        if walk:
            help_text = f"walk it: `each: {walk}`, then `${{{walk.split()[0]}.{part}}}`"
        keys = self.options[first].values if self._held(first) else ()
        if keys:
            close = suggest(part, keys)
            help_text = f"did you mean `{first}.{close}`?" if close else f"its keys: {listed(keys)}"
        self.problems.error(
            "unknown-field",
            f"`{first}` has no field `{part}`",
            _rest_span(value),
            label="a list has no fields" if walk else "unknown" if keys else "it is one value",
            helps=(help_text,),
        )

    def _unknown(self, value: tree.Value) -> None:
        name = value.words[0].text
        fixed = [] if self.only_message else ["tools", *self.options]
        fields = [*MESSAGE_FIELDS, *self.predicates] if self.reads_message else []
        fields += ROLES if self.only_message else []
        known = [*fields, *self.items, *fixed, *(["system"] if self.reads_lead else [])]
        below = value.words[1].text if len(value.words) > 1 else ""
        close = below if below in known else suggest(name, known)
        help_text = f"did you mean `{close}`?" if close else f"known here: {listed(known)}"
        if name == "systems":
            help_text = "all system messages can be asked for and walked in `head` only"
            if self.place == "head":
                help_text = "walk them: `each: s in systems`, then `${s.content}`"
        elif name == "system" and not self.reads_lead:
            help_text = "the leading system message is read in `head`"
        self.problems.error(
            "unknown-field" if self.reads_message else "unknown-name",
            f"nothing is called `{name}` here",
            words_span(value) if close == below else value.words[0].span,
            label=f"unknown in {PLACES[self.place]}",
            helps=(help_text,),
        )

    def _filter(
        self, call: tree.FilterCall, kind: Type, value: tree.Value
    ) -> expr.FilterUse | None:
        row = FILTERS.get(call.name.text)
        if row is None:
            close = suggest(call.name.text, FILTERS)
            cure = f"did you mean `{close}`?" if close else f"the filters are {listed(FILTERS)}"
            self.problems.error(
                "unknown-filter",
                f"there is no filter `{call.name.text}`",
                call.name.span,
                label="unknown",
                helps=(cure,),
            )
            return None
        if row.argument != (call.argument is not None):
            wanted = f'needs a text: `{row.name}:"X"`' if row.argument else "takes no argument"
            self._bad_filter(call.span, f"the filter `{row.name}` {wanted}", "here", "")
            return None
        unfit = self._unfit(row.takes, kind, value)
        if unfit is not None:
            label = f"`{value.dotted}` is {TYPES[kind]}"
            self._bad_filter(call.span, f"the filter `{row.name}` does not fit", label, unfit)
            return None
        return expr.FilterUse(row.name, call.argument)

    def _unfit(self, takes: str, kind: Type, value: tree.Value) -> str | None:
        """What to do instead of applying a filter; None where it fits."""
        name = value.dotted
        option = self.options.get(name)
        match kind:
            case "maybe":
                return f"give the option a default, or decide with `when: {name} is unset`"
            case "flag" if option is not None and option.default is None:
                return f"decide with `when: {name} is true`"
            case "int" if option is not None and option.default is None:
                return f"give the option a default, or decide with `when: {name} is unset`"
            case "int" if takes == "text":
                return f"write it as it is: `${{{name}}}`"
            case "token" | "number":
                return f"write it as it is: `${{{name}}}`"
            case "calls":
                return "walk them: `each: call in calls`"
            case "present":
                return f"name a field, such as `{name}.content`"
            case "values":
                return f'ask what is in it: `when: {name} contains "X"`'
            case "records":
                return f"walk them: `each: record in {name}`"
            case "key" if takes == "text":
                return f"encode it first: `{name}|python`"
            case "date" if takes != "date":
                return f'say in which form: `{name}|date:"%Y-%m-%d"`'
            case _ if takes == "tool" and kind != "tool":
                return "only a tool is declared so: `each: tool in tools`"
            case _ if takes == "record" and kind != "record":
                return "only a record of an option has fields: `each: document in documents`"
            case _ if takes == "int" and kind != "int":
                return "only an option of the type `int` is a number"
            case _ if takes == "date" and kind != "date":
                return "only an option of the type `date` has a form"
            case _ if takes == "text" and kind != "text":
                return "encode it first: `|json`"
        return None

    def _bad_filter(self, span: Span, message: str, label: str, cure: str) -> None:
        helps = (cure,) if cure else ()
        self.problems.error("bad-filter", message, span, label=label, helps=helps)


def words_span(value: tree.Value) -> Span:
    """The place of a dotted name, without its filters."""
    return value.words[0].span.to(value.words[-1].span)


def _rest_span(value: tree.Value) -> Span:
    """The place of what follows the first dot; of the whole name where nothing does."""
    words = value.words[1:] or value.words
    return words[0].span.to(words[-1].span)


OPTION = "option "
"""Stands before the name of an option whose records a loop walks; no other list is called so."""
_FIXED = ("tools", "as_template")
_LISTS: Mapping[str, Type] = {
    "int": "int",
    "list": "values",
    "record": "mapping",
    "records": "records",
}
_ITEMS = {
    "calls": "a tool call",
    "arguments": "an argument",
    "tools": "a tool",
    "systems": "a system message",
}
_ABOUT_MESSAGE: dict[Place, str] = {
    "head": "the head knows `system`, `tools` and the options",
    "opener": "an opener is also the generation prompt, where there is no message yet: move it into `body`, or"
    " say under `prompt` what the prompt is",
    "prompt": "a prompt is written before its message is there: move it into `body`",
}
