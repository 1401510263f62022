"""What a spec declares without steps: options, message rules, the reference; and names that nothing reads.

Input: the spec's own keys; output: frozen parts of the model, or problems.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from templc.model import spec
from templc.model.fields import Fields
from templc.model.filters import FILTERS
from templc.model.names import listed, taken
from templc.model.scope import Scope, Used
from templc.problems.problem import Problems
from templc.problems.render import suggest
from templc.source.nodes import Node, ScalarNode
from templc.source.span import Span


def options(root: Fields, problems: Problems) -> dict[str, spec.Option]:
    """The options, by name."""
    owner = root.child("options")
    found = {}
    for name, node in owner.pairs():
        reason = taken(name, "option")
        if reason:
            problems.error(
                "name-clash",
                f"an option cannot be called `{name}`",
                owner.key_span(name) or node.span,
                label=reason,
                helps=("choose another name",),
            )
        found[name] = _option(name, Fields(node), problems)
    return found


def _option(name: str, fields: Fields, problems: Problems) -> spec.Option:
    empty = fields.text("type") in ("list", "record", "records")
    if empty and fields.node("default") is not None:
        problems.error(
            "bad-option",
            f"the {fields.text('type')} `{name}` has a default",
            fields.key_span("default") or fields.span,
            label="it is empty unless the caller fills it",
            helps=("remove it",),
        )
    option = spec.Option(
        name,
        fields.text("type"),  # type: ignore[arg-type]
        () if empty else fields.constant("default"),
        fields.texts("values"),
        fields.text("bind"),  # type: ignore[arg-type]
        fields.text("otherwise"),
        fields.text("doc"),
        fields.span,
        fields.number("least"),
        fields.texts("fields"),
        fields.texts("optional"),
        fields.constant("further") is True,
        fields.constant("texts") is True,
    )
    for message, key, cure in _wrong(option):
        node = fields.node(key)
        span = node.span.first_line if node is not None else fields.key_span("type")
        problems.error("bad-option", message, span, label=f"of `{name}`", helps=(cure,))
    return option


def _wrong(option: spec.Option) -> list[tuple[str, str, str]]:
    """What is wrong with an option, the key that shows it, and the cure."""
    name, kind, default, values = option.name, option.type, option.default, option.values
    found = []
    if kind in ("choice", "list", "record") and not values:
        found.append(
            (f"the {kind} `{name}` lists no values", "type", 'add `values: ["low", "high"]`')
        )
    if kind not in ("choice", "list", "record") and values:
        found.append((f"`{name}` has values and is no choice", "values", "say `type: choice`"))
    if option.otherwise and (option.otherwise not in values or kind != "choice"):
        cure = f"its values are {', '.join(values)}" if values else "only a choice has one"
        found.append((f"what `{name}` is otherwise is not one of its values", "otherwise", cure))
    if kind != "token" and option.bind:
        found.append((f"`{name}` is bound to a token and is none", "bind", "say `type: token`"))
    if kind == "token" and not option.bind and default is None:
        cure = "say `bind: bos` or `bind: eos`, or give it a default"
        found.append((f"the token `{name}` never has a value", "type", cure))
    if kind != "int" and option.least is not None:
        found.append((f"`{name}` has a least value and is no number", "least", "say `type: int`"))
    if kind != "records" and option.fields:
        found.append((f"`{name}` has fields and no records", "fields", "say `type: records`"))
    if option.texts and (kind != "records" or option.fields):
        cure = (
            "say `type: records`" if kind != "records" else "write whole records, without `fields`"
        )
        found.append((f"what `{name}` holds cannot be a text", "texts", cure))
    if not set(option.optional) <= set(option.fields):
        found.append((f"not every optional field of `{name}` is a field", "optional", "add it"))
    if option.further and not option.fields:
        found.append((f"`{name}` has further fields and no others", "further", "name the others"))
    if "number" in option.fields:
        cure = "call it otherwise: `number` is the place of a record in the list"
        found.append((f"a field of `{name}` is called `number`", "fields", cure))
    wanted = {"bool": bool, "int": int}.get(kind, str)
    if default not in (None, ()) and type(default) is not wanted:
        said = {bool: "true or false", int: "a whole number", str: "a text"}[wanted]
        cure = f'quote it: "{str(default).lower()}"' if wanted is str else f"write {said}"
        found.append((f"the default of `{name}` must be {said}", "default", cure))
    elif isinstance(default, int) and option.least is not None and default < option.least:
        cure = f"it is at least {option.least}"
        found.append((f"the default of `{name}` is too small", "default", cure))
    elif kind == "date" and default is not None and not _is_date(str(default)):
        found.append((f"the default of `{name}` is no date", "default", 'write it as "2026-03-04"'))
    elif kind == "choice" and values and default is not None and default not in values:
        close = suggest(str(default), values)
        cure = f"did you mean `{close}`?" if close else f"its values are {', '.join(values)}"
        found.append((f"the default of `{name}` is not one of its values", "default", cure))
    return found


def _is_date(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def messages(fields: Fields, scope: Scope, problems: Problems) -> spec.MessageRules:
    """What is done to messages before anything is read."""
    inline = fields.child("inline_reasoning")
    lists = fields.node("lists")
    labels, labelled = _labels(fields, scope, problems)
    return spec.MessageRules(
        content=_filter(fields, problems),
        inline_reasoning=(
            spec.InlineReasoning(
                inline.text("open"),
                inline.text("close"),
                _filter(inline, problems),
                inline.text("reasoning") or "newlines",
                inline.constant("in_template") is not False,
                inline.constant("over_field") is True,
            )
            if inline.present
            else None
        ),
        lists=lists.value if isinstance(lists, ScalarNode) else "refuse",  # type: ignore[arg-type]
        lists_by_role=tuple((name, node.value) for name, node in fields.child("lists").scalars()),
        parts=tuple((name, node.value) for name, node in fields.child("parts").scalars()),
        between=fields.text("between"),
        between_texts=fields.text("between_texts"),
        call_id=_call_id(fields, problems),
        calls=fields.text("calls") or "all",  # type: ignore[arg-type]
        roles=tuple((name, node.value) for name, node in fields.child("roles").scalars()),
        labels=labels,
        labelled=labelled,
        part_text=_filter(fields, problems, "part_text"),
        parts_in=fields.texts("parts_in"),
        parts_alone=fields.texts("parts_alone"),
        parts_first=fields.texts("parts_first"),
        told_apart=fields.texts("told_apart"),
        first_roles=tuple((n, node.value) for n, node in fields.child("first_roles").scalars()),
    )


def _labels(
    fields: Fields, scope: Scope, problems: Problems
) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """By type of a part: the text in front of it, and the option that switches it on."""
    parts, labels = [name for name, _ in fields.child("parts").pairs()], fields.child("labels")
    texts: list[tuple[str, str]] = []
    switches: list[tuple[str, str]] = []
    for option, of_option in labels.pairs():
        _labelled(option, labels.key_span(option) or of_option.span, scope, problems)
        labelled = labels.child(option)
        for name, node in labelled.scalars():
            texts.append((name, node.value))
            switches.append((name, option))
            if name not in parts:
                close = suggest(name, parts)
                problems.error(
                    "unknown-name",
                    f"no part of type `{name}` is written",
                    labelled.key_span(name) or node.span,
                    label="not under `parts`",
                    helps=(f"did you mean `{close}`?" if close else f"there are {listed(parts)}",),
                )
    return tuple(texts), tuple(switches)


def _labelled(name: str, span: Span, scope: Scope, problems: Problems) -> None:
    """Report what is no option that can switch labels on."""
    option = scope.options.get(name)
    scope.used.options.add(name)
    if option is None or option.type != "bool":
        flags = [one.name for one in scope.options.values() if one.type == "bool"]
        close = suggest(name, flags)
        problems.error(
            "unknown-name" if option is None else "bad-option",
            f"there is no option `{name}`" if option is None else f"`{name}` is not true or false",
            span,
            label="labels need an option that is a bool",
            helps=(f"did you mean `{close}`?" if close else "declare it under `options`",),
        )


def _filter(fields: Fields, problems: Problems, key: str = "content") -> str:
    """The filter named under `key`: one on text, without an argument."""
    name, node = fields.text(key), fields.node(key)
    usable = [row.name for row in FILTERS.values() if row.takes == "text" and not row.argument]
    if node is None or name in usable:
        return name
    close = suggest(name, usable)
    problems.error(
        "unknown-filter" if name not in FILTERS else "bad-filter",
        f"`{name}` is not a filter for content",
        node.span.first_line,
        label="unknown" if name not in FILTERS else "takes an argument, or is no filter on text",
        helps=(f"did you mean `{close}`?" if close else f"usable: {', '.join(usable)}",),
    )
    return name


def _call_id(fields: Fields, problems: Problems) -> str:
    text, node = fields.text("call_id"), fields.node("call_id")
    rest = text.replace("{name}", "").replace("{index}", "")
    if isinstance(node, ScalarNode) and ("{" in rest or "}" in rest or "{index}" not in text):
        problems.error(
            "bad-hole",
            "an id is made of text, `{name}` and `{index}`",
            node.span.first_line,
            label="`{index}` is missing" if "{index}" not in text else "another brace",
            helps=("for example: `functions.{name}:{index}`",),
        )
    return text


def reference(fields: Fields) -> spec.Reference:
    """The published template that the spec follows."""
    number = fields.text("transformers")
    return spec.Reference(
        fields.text("repository"),
        fields.text("revision"),
        fields.text("file"),
        fields.text("sha256"),
        int(number) if number else None,
        fields.text("note"),
    )


def unused(root: Fields, fragments: set[str], used: Used, problems: Problems) -> None:
    """Warn of names of this file that nothing reads; a variant may leave a base's aside."""
    groups = (
        ("fragments", "fragment", fragments),
        ("texts", "text", used.texts),
        ("predicates", "predicate", used.predicates),
        ("options", "option", used.options),
    )
    for key, what, read in groups:
        owner = root.child(key)
        for name, node in owner.pairs():
            if name not in read and _own(root, node):
                problems.warning(
                    "unused",
                    f"the {what} `{name}` is never used",
                    owner.key_span(name),
                    label="defined here",
                    helps=("remove it",),
                )


def unwritten(options: Mapping[str, spec.Option], used: Used, problems: Problems) -> None:
    """Report options whose records may have further fields that no step writes."""
    for name, option in options.items():
        if option.further and name not in used.further:
            problems.error(
                "bad-option",
                f"further fields of `{name}` are written nowhere",
                option.span,
                label="they would be lost",
                helps=(f'write `${{record|further_lines:"{" ".join(option.fields)}"}}`',),
            )


def _own(root: Fields, node: Node) -> bool:
    span: Span = root.span
    return node.span.source is span.source
