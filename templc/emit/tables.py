"""The class attributes of a generated renderer: what is known of the format, message rules, options."""

from __future__ import annotations

from templc.emit.layout import Lines, columns, literal
from templc.ir.facts import line_of, meaning
from templc.ir.opaque import opaque_turns
from templc.ir.ops import Program, reads, tells_missing
from templc.ir.sought import asked_closely, sought
from templc.model.spec import InlineReasoning, Option
from templc.runtime.opaque import Look, Opaque


class Tables:
    """Emits `info`, `rules`, `known_options` and the annotations of option attributes."""

    def __init__(self, program: Program, lines: Lines) -> None:
        self._program = program
        self._lines = lines

    def emit(self) -> None:
        program, lines = self._program, self._lines
        lines.listed("info = Info(", self._info(), ")")
        rules = self._rules()
        if rules:
            lines.listed("rules = MessageRules(", rules, ")")
        if program.options:
            entries = [
                f"{literal(name)}: {_option(option)}" for name, option in program.options.items()
            ]
            lines.listed("known_options = {", entries, "}")
        closed = {fact.term for fact in program.future if fact.time == "next"}
        runs = [
            name
            for fact, name in program.past.items()
            if fact.time == "run" and fact.term in closed
        ]
        if runs:
            lines.add(f"runs = {_tuple(tuple(runs), 4)}")
        opaque = [f"{literal(name)}: {_opaque(one)}" for name, one in opaque_turns(program).items()]
        lines.listed("opaque = {", opaque, "}")
        texts = sought(program)
        if texts is not None:
            lines.add(f"sought = {_tuple(texts, 4)}")
            if closely := asked_closely(program):
                lines.add(f"asked_closely = {_tuple(closely, 4)}")
        if tells_missing(program, "reasoning"):
            lines.add("tells_missing_reasoning = True")
        if program.past:
            lines.add("past_type = Past")
        if program.future:
            lines.add("future_type = Future")
        for name, option in program.options.items():
            kind = _KINDS.get(option.type, "str") if not option.texts else _OR_TEXTS
            unset = "" if option.default is not None and option.type != "token" else " | None"
            lines.add(f"{name}: {kind}{unset}")

    def _info(self) -> list[str]:
        program, reference = self._program, self._program.reference
        entries = [
            f"name={literal(program.format)}",
            f"title={literal(program.title)}",
            f"source={literal(program.source)}",
            f"stop={_tuple(program.stop, 8)}",
            f"specials={_tuple(program.specials, 8)}",
        ]
        optional = {
            "stop_strings": _tuple(program.stop_strings, 8) if program.stop_strings else "",
            "markers": _tuple(program.markers, 8) if program.markers else "",
            "leading": "True" if program.leading else "",
            "hoisting": "True" if program.hoisting else "",
            "replacing": "True" if program.replacing else "",
            "head_line": str(program.head[0].span.line) if program.hoisting else "",
            "aliases": _tuple(program.aliases, 8) if program.aliases else "",
            "models": _tuple(program.models, 8) if program.models else "",
            "repository": literal(reference.repository) if reference.repository else "",
            "revision": literal(reference.revision) if reference.revision else "",
            "sha256": literal(reference.sha256) if reference.sha256 else "",
        }
        return (
            entries + [f"{name}={text}" for name, text in optional.items() if text] + self._facts()
        )

    def _facts(self) -> list[str]:
        """What each future fact means and where it is read, for refusals."""
        facts = self._program.future
        if not facts:
            return []
        lines = [_fact(name, meaning(fact), line_of(fact)) for fact, name in facts.items()]
        return ["facts={\n" + "".join(lines) + "        }"]

    def _rules(self) -> list[str]:
        rules = self._program.rules
        inline = rules.inline_reasoning
        optional = {
            "content": literal(rules.content) if rules.content else "",
            "inline_reasoning": _inline(inline) if inline else "",
            "lists": literal(rules.lists) if rules.lists != "refuse" else "",
            "lists_by_role": _dict("lists_by_role", rules.lists_by_role),
            "parts": _dict("parts", rules.parts),
            "between": literal(rules.between) if rules.between else "",
            "between_texts": literal(rules.between_texts) if rules.between_texts else "",
            "call_id": literal(rules.call_id) if rules.call_id else "",
            "calls": literal(rules.calls) if rules.calls != "all" else "",
            "roles": _dict("roles", rules.roles),
            "labels": _dict("labels", rules.labels),
            "labelled": _dict("labelled", rules.labelled),
            "part_text": literal(rules.part_text) if rules.part_text else "",
            "parts_in": _tuple(rules.parts_in, 8) if rules.parts_in else "",
            "parts_alone": _tuple(rules.parts_alone, 8) if rules.parts_alone else "",
            "parts_first": _tuple(rules.parts_first, 8) if rules.parts_first else "",
            "told_apart": _tuple(rules.told_apart, 8) if rules.told_apart else "",
            "first_roles": _dict("first_roles", rules.first_roles),
        }
        numbered = ["numbered=True"] if reads(self._program, "answered_number") else []
        return [f"{name}={text}" for name, text in optional.items() if text] + numbered


_KINDS = {
    "bool": "bool",
    "int": "int",
    "list": "tuple[str, ...]",
    "record": "Record",
    "records": "tuple[Record, ...]",
}
_OR_TEXTS = "tuple[Record | RecordText, ...]"


def _tuple(items: tuple[str, ...], indent: int) -> str:
    """A tuple on one line, or one item a line, as the layout has it at that indentation."""
    inner = ", ".join(literal(item) for item in items)
    one = f"({inner},)" if len(items) == 1 else f"({inner})"
    if columns(one) + indent + len("specials=,") <= 100:
        return one
    pad = " " * (indent + 4)
    return "(\n" + "".join(f"{pad}{literal(item)},\n" for item in items) + " " * indent + ")"


def _fact(name: str, text: str, line: int) -> str:
    """An entry of `facts`, twelve columns in."""
    one = f"{' ' * 12}{literal(name)}: ({literal(text)}, {line}),\n"
    if columns(one) - 1 <= 100:
        return one
    inner = "".join(f"{' ' * 16}{item},\n" for item in (literal(text), str(line)))
    return f"{' ' * 12}{literal(name)}: (\n{inner}{' ' * 12}),\n"


def _dict(name: str, items: tuple[tuple[str, str], ...]) -> str:
    """A dict on one line, or one entry a line, as an argument eight columns in."""
    entries = [f"{literal(key)}: {literal(value)}" for key, value in items]
    one = "{" + ", ".join(entries) + "}"
    if columns(one) + 8 + len(name) + 2 <= 100:
        return one if items else ""
    return "{\n" + "".join(f"            {entry},\n" for entry in entries) + "        }"


def _opaque(turn: Opaque) -> str:
    parts = [literal(name) for name in sorted(turn.reads)]
    copies = [
        f"{literal(name)}: Look({', '.join(_look(one))})" for name, one in turn.copies.items()
    ]
    parts += _look(turn)
    parts += [f"copies={{{', '.join(copies)}}}"] if copies else []
    parts += [f"arguments={literal(turn.arguments)}"] if turn.arguments else []
    whole = f"Opaque({', '.join(parts)})"
    # Of the line, the role and a comma beside it.
    if columns(whole) <= 74:
        return whole
    return "Opaque(\n" + "".join(f"            {part},\n" for part in parts) + "        )"


def _look(look: Look) -> list[str]:
    parts = [f"{name}=True" for name in ("strips", "newlines", "quotes") if getattr(look, name)]
    return [*parts, f"sought={_tuple(look.sought, 8)}"] if look.sought else parts


def _inline(inline: InlineReasoning) -> str:
    """The call on one line, or one argument a line, as an argument eight columns in."""
    parts = [literal(text) for text in (inline.open, inline.close, inline.content)]
    if inline.reasoning != "newlines":
        parts.append(literal(inline.reasoning))
    if not inline.in_template:
        parts.append("in_template=False")
    if inline.over_field:
        parts.append("over_field=True")
    one = f"InlineReasoning({', '.join(parts)})"
    if columns(one) + 8 + len("inline_reasoning=,") <= 100:
        return one
    return "InlineReasoning(\n" + "".join(f"            {part},\n" for part in parts) + "        )"


def _option(option: Option) -> str:
    one = f"Option({', '.join(_option_parts(option, 8))})"
    if columns(one) + columns(option.name) + 13 <= 100:
        return one
    parts = _option_parts(option, 12)
    return "Option(\n" + "".join(f"            {part},\n" for part in parts) + "        )"


def _option_parts(option: Option, indent: int) -> list[str]:
    parts = [literal(option.type)]
    if option.default is not None:
        parts.append(
            literal(option.default) if isinstance(option.default, str) else str(option.default)
        )
    if option.values:
        parts.append(f"values={_tuple(option.values, indent)}")
    if option.bind:
        parts.append(f"bind={literal(option.bind)}")
    if option.otherwise:
        parts.append(f"otherwise={literal(option.otherwise)}")
    parts.append(f"doc={literal(option.doc)}")
    if option.least is not None:
        parts.append(f"least={option.least}")
    if option.fields:
        parts.append(f"fields={_tuple(option.fields, indent)}")
    if option.optional:
        parts.append(f"optional={_tuple(option.optional, indent)}")
    if option.texts:
        parts.append("texts=True")
    if option.further:
        parts.append("further=True")
    return parts
