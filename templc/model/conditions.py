"""Conditions: their trees to resolved terms, checked for the place where they stand.

`condition(tree, scope)` for `later(user) and not calls` is an `And` of a fact and a test; None after a problem was
reported.
"""

from __future__ import annotations

from collections.abc import Callable

from templc.model import expr
from templc.model.names import (
    FACT_WORDS,
    ITEM_FIELDS,
    PLACES,
    RESERVED,
    ROLES,
    TYPES,
    Place,
    Type,
    fact_name,
    listed,
    taken,
)
from templc.model.scope import Scope
from templc.model.spec import COMPARISONS, Option
from templc.problems.render import suggest
from templc.source.span import Span
from templc.syntax import tree

_READS_PAST = frozenset({"turn", "opener", "prompt", "requirement", "finish"})


def condition(node: tree.Condition, scope: Scope) -> expr.Cond | None:
    """The resolved condition; None after a problem was reported."""
    match node:
        case tree.Or(terms):
            return _joined(terms, scope, expr.disjunction)
        case tree.And(terms):
            return _joined(terms, scope, expr.conjunction)
        case tree.Not(term):
            inner = condition(term, scope)
            return None if inner is None else expr.negation(inner)
        case tree.Temporal():
            return _temporal(node, scope)
        case tree.Quantified():
            return _quantified(node, scope)
        case tree.Counted():
            return _counted(node, scope)
        case tree.Test(kind="truth") if len(node.value.words) == 1 and not node.value.filters:
            return _word(node, scope)
        case tree.Test():
            return _test(node, scope)


def free_name(name: str, scope: Scope) -> str | None:
    """Why a loop variable cannot have this name; None when it can."""
    if name in scope.items:
        return "another loop variable"
    if name in scope.options:
        return "an option"
    if name in scope.predicates or name in scope.later:
        return "a predicate"
    # A loop over arguments keeps its list under the plural of its variable.
    if any(other in (f"{name}s", name.removesuffix("s")) for other in scope.items):
        return "too close to another loop variable"
    return None if name == "tool" else taken(name, "loop variable")


def _joined(
    terms: tuple[tree.Condition, ...], scope: Scope, join: Callable[..., expr.Cond]
) -> expr.Cond | None:
    found = [condition(term, scope) for term in terms]
    kept = [term for term in found if term is not None]
    return join(*kept) if len(kept) == len(found) else None


def _word(node: tree.Test, scope: Scope) -> expr.Cond | None:
    """A bare name: a fact, a predicate, a role, or the truth of a value."""
    word = node.value.words[0].text
    if word in scope.items:
        return _test(node, scope)
    if word in FACT_WORDS:
        return _fact(word, None, None, node.span, scope)
    if word == "kept":
        return _kept(node.span, scope)
    if word in scope.predicates:
        return _predicate(word, node.span, scope)
    if word in ROLES and not (word == "system" and scope.reads_lead):
        return _role_word(word, node.span, scope)
    if word in scope.broken:
        return None
    if word in scope.later and word not in RESERVED:
        scope.problems.error(
            "unknown-name",
            f"the predicate `{word}` is not defined yet",
            node.span,
            label="defined here or further down",
            helps=("a predicate reads the ones before it: move it up, or say what is meant",),
        )
        return None
    return _test(node, scope)


def _predicate(word: str, span: Span, scope: Scope) -> expr.Cond | None:
    scope.used.predicates.add(word)
    if scope.reads_message:
        return expr.Predicate(word, scope.predicates[word])
    scope.problems.error(
        "misplaced-name",
        f"the predicate `{word}` is about one message, and {PLACES[scope.place]} has none",
        span,
        label="which message?",
        helps=(f"ask about another one, where that can be read: `previous({word})`",),
    )
    return None


def _role_word(word: str, span: Span, scope: Scope) -> expr.Cond | None:
    if scope.only_message:
        return expr.RoleIs(word)
    tools = ("did you mean `tools`?",) if word == "tool" else ()
    scope.problems.error(
        "misplaced-name",
        f"`{word}` alone asks for the role of the message at hand, which is known here",
        span,
        label="always the same",
        helps=(*tools, f"ask about other messages: `later({word})`, `previous({word})`"),
    )
    return None


def _kept(span: Span, scope: Scope) -> expr.Cond | None:
    known = scope.place == "turn" and not scope.inside_fact
    if not known or scope.inside_call:
        scope.problems.error(
            "misplaced-name",
            f"`kept` cannot be read in {_where(scope)}",
            span,
            label="about the assistant turn at hand",
            helps=(_SAME_FOR_CALLS if known else "read it in the body of `assistant`",),
        )
        return None
    if scope.kept is None and "kept" not in scope.broken:
        scope.problems.error(
            "unknown-name",
            "`kept` is not defined",
            span,
            label="nothing under `thinking`",
            helps=("say it under `thinking`: `kept: not later(user)`",),
        )
    return scope.kept


def _temporal(node: tree.Temporal, scope: Scope) -> expr.Cond | None:
    time = node.time.text
    if scope.inside_fact:
        scope.problems.error(
            "misplaced-fact",
            f"`{time}` cannot stand inside another one",
            node.time.span,
            label="reads a third message",
            helps=("name what you mean with a predicate, which reads one message only",),
        )
        return None
    if not _allowed(time, node.span, scope):
        return None
    inner = scope.about_another()
    term = condition(node.term, inner)
    among = None if node.among is None else condition(node.among, inner)
    if term is None or (node.among is not None and among is None):
        return None
    if node.among is not None and time in ("earlier", "later"):
        scope.problems.error(
            "misplaced-fact",
            f"`among` does not go with `{time}`",
            node.among.span,
            label="it narrows down which message is the nearest",
            helps=(
                f"join the two: `{time}(A and B)`, or ask for the nearest with `previous` or `next`",
            ),
        )
        return None
    return _fact(time, term, among, node.span, scope)


def _allowed(time: str, span: Span, scope: Scope) -> bool:
    """Whether the place may read a fact; reports it when not."""
    past = time in expr.PAST
    known = scope.place in _READS_PAST if past else scope.place == "turn"
    if known and not scope.inside_fact and not scope.inside_call:
        return True
    where = _where(scope)
    cure = _ABOUT_FACT.get(scope.place, "move the condition into a role's own steps")
    if scope.inside_fact:
        cure = "a condition in brackets reads one message only: put the fact outside of them"
    elif known:
        cure = _SAME_FOR_CALLS
    scope.problems.error(
        "misplaced-fact",
        f"`{time}` cannot be read in {where}",
        span,
        label=f"looks to {'earlier' if past else 'later'} messages",
        helps=(cure,),
    )
    return False


def _where(scope: Scope) -> str:
    """The place of a condition, for people."""
    if scope.inside_fact:
        return "another condition"
    return "a question about calls" if scope.inside_call else PLACES[scope.place]


def _fact(
    time: str, term: expr.Cond | None, among: expr.Cond | None, span: Span, scope: Scope
) -> expr.Cond | None:
    if not _allowed(time, span, scope):
        return None
    return expr.Fact(time, term, among, fact_name(time, term, among), span)  # type: ignore[arg-type]


def _quantified(node: tree.Quantified, scope: Scope) -> expr.Cond | None:
    variable = node.variable.text
    if not scope.reads_message:
        scope.problems.error(
            "misplaced-name",
            f"`{node.quantifier.text}` asks about the calls of a message, and {PLACES[scope.place]} has none",
            node.span,
            label="which message?",
            helps=("move the condition into a role's own steps",),
        )
        return None
    reason = free_name(variable, scope)
    if reason:
        scope.problems.error(
            "name-clash",
            f"a loop variable cannot be called `{variable}`",
            node.variable.span,
            label=reason,
            helps=("call it `call`",),
        )
        return None
    term = condition(node.term, scope.about_call(variable))
    return None if term is None else expr.Quantified(node.quantifier.text, variable, term)


def _counted(node: tree.Counted, scope: Scope) -> expr.Cond | None:
    found = scope.value(node.value)
    if found is None:
        return None
    value, kind = found
    if kind not in ("list", "calls", "text"):
        scope.problems.error(
            "bad-condition",
            "only a list or a text can be counted",
            node.value.span,
            label=f"this is {TYPES[kind]}",
            helps=("count `calls` or `tools`",),
        )
        return None
    return expr.Counted(value, node.compare, node.number)


def _test(node: tree.Test, scope: Scope) -> expr.Cond | None:
    found = scope.value(node.value)
    if found is None:
        return None
    value, kind = found
    misuse = _misuse(node, value, kind, scope)
    if misuse is None:
        return expr.Test(node.kind, value, node.argument)
    message, cure = misuse
    scope.problems.error("bad-condition", message, node.span, label="here", helps=(cure,))
    return None


def _misuse(node: tree.Test, value: expr.Value, kind: Type, scope: Scope) -> tuple[str, str] | None:
    """What is wrong with a test, and the cure; None for a sound one."""
    name = node.value.dotted
    if kind == "int" or node.kind in COMPARISONS:
        return _misused_number(node, value, kind, scope)
    if kind == "number":
        cure = "it can only be written"
        if value.ref.scope != "record":
            cure += ": ask for the name of what is called, `answered` or `call.name`"
        return f"`{name}` is {TYPES[kind]}, which nothing hangs on", cure
    match node.kind:
        case "truth":
            return _misused_truth(name, value, kind, scope)
        case "is_text" | "is_mapping":
            if kind != "any":
                return (
                    f"`{name}` is {TYPES[kind]}",
                    "this test is for `call.arguments` and `arg.value`",
                )
        case "is" if node.argument is None:
            return _misused_unset(name, value, scope)
        case "is":
            return _misused_is(node, value, kind, scope)
        case "contains" if kind in ("values", "mapping"):
            return _misused_value(name, node.argument, scope.option_of(value.ref))
        case _ if kind == "maybe":
            return f"the option `{name}` may be unset", "give it a default, or ask with `is`"
        case _:
            if kind != "text":
                cure = "only text starts, ends or contains"
                return f"`{name}` is {TYPES[kind]}", cure
    return None


def _misused_number(
    node: tree.Test, value: expr.Value, kind: Type, scope: Scope
) -> tuple[str, str] | None:
    """Only an option that is a number is compared with one, and it is asked nothing else."""
    name, option = node.value.dotted, scope.option_of(value.ref)
    if kind != "int":
        cure = f"`count({name}) > 1`" if kind in ("list", "calls") else f'`{name} is "X"`'
        return f"`{name}` is {TYPES[kind]}, not a number", f"say {cure}"
    if node.kind in COMPARISONS:
        if option is not None and option.default is None:
            return f"the option `{name}` may be unset, and no number", "give it a default"
        return None
    if node.kind == "is" and node.argument is None:
        return _misused_unset(name, value, scope)
    return f"`{name}` is a number", f"compare it: `{name} is 0`, `{name} is at most 9`"


def _misused_truth(
    name: str, value: expr.Value, kind: Type, scope: Scope
) -> tuple[str, str] | None:
    option = scope.option_of(value.ref)
    if option and option.default is None and option.type != "token" and not value.filters:
        which = (
            f"`{name} is true`, `{name} is false`" if option.type == "bool" else f'`{name} is "X"`'
        )
        return (
            f"the option `{name}` may be unset, so it is neither true nor false",
            f"say which: {which} or `{name} is unset`",
        )
    if kind == "tool":
        return f"`{name}` is a tool, and always there", "ask for a text of it: `tool.function.name`"
    if kind == "record":
        return f"`{name}` is a record, and always there", "ask for a field of it"
    if kind == "any":
        return f"`{name}` is not simply true or false", f"test its kind: `{name} is text`"
    return None


def _misused_unset(name: str, value: expr.Value, scope: Scope) -> tuple[str, str] | None:
    option = scope.option_of(value.ref)
    if value.filters:
        return "a filtered value is never unset", f"ask before: `{name} is unset`"
    if option is not None and option.default is not None:
        return f"the option `{name}` has a default, so it is never unset", "ask for its value"
    ref = value.ref
    always = ref.scope == "item" and ITEM_FIELDS["calls"].get(ref.part) == "text"
    if (
        always
        or (ref.scope == "record" and ref.part not in scope.record_of(ref).optional)
        or (ref.scope == "lead" and ref.part)
        or ref.name in ("as_template", "parts", "role")
    ):
        return f"`{name}` is never unset", f"ask whether it is empty: `not {name}`"
    return None


def _misused_is(
    node: tree.Test, value: expr.Value, kind: Type, scope: Scope
) -> tuple[str, str] | None:
    name, argument, option = node.value.dotted, node.argument, scope.option_of(value.ref)
    if isinstance(argument, bool) and kind != "flag":
        return f"`{name}` is {TYPES[kind]}, never true or false", f"test it bare: `{name}`"
    if isinstance(argument, str) and kind not in ("text", "token", "maybe", "key"):
        return f"`{name}` is {TYPES[kind]}, never a text", f"test it bare: `{name}`"
    return _misused_value(name, argument, option)


def _misused_value(
    name: str, argument: str | bool | None, option: Option | None
) -> tuple[str, str] | None:
    """A value that the option never has."""
    values = option.values if option is not None else ()
    if not values or not isinstance(argument, str) or argument in values:
        return None
    close = suggest(argument, values)
    cure = f'did you mean "{close}"?' if close else f"its values are {listed(values)}"
    return f'the option `{name}` is never "{argument}"', cure


_SAME_FOR_CALLS = "it is the same for every call: say it outside, `... and some(call: ...)`"
_ABOUT_FACT: dict[Place, str] = {
    "opener": "an opener is also the generation prompt, which nothing follows: move it into `body`",
    "prompt": "nothing follows a generation prompt when it is written: move it into `body`",
    "predicate": "a predicate reads one message; combine it where it is used: `later(query)`",
    "requirement": "a message is refused or not whatever follows it, else an extension could make a past one wrong",
    "head": "the head is written before any message",
}
