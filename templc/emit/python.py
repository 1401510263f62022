"""The Python renderer module of a program: one class, one method a role, in writing order.

The spec's line stands at each decision, a method that takes `future` is exactly one whose text later messages may
change, and nothing is emitted that the format does not have.
"""

from __future__ import annotations

import re

from templc.emit.blocks import LONG_TEXT, Blocks
from templc.emit.expressions import Expressions
from templc.emit.header import docstring, header
from templc.emit.layout import Lines, columns, literal
from templc.emit.response import NAMES, emit_response
from templc.emit.state import State
from templc.emit.tables import Tables
from templc.ir.facts import facts_of
from templc.ir.ops import (
    Body,
    Check,
    Each,
    Ops,
    Plain,
    Program,
    Sampled,
    Text,
    Write,
    conditions,
    walk,
)
from templc.model.expr import (
    And,
    Cond,
    Counted,
    Not,
    Or,
    Quantified,
    Ref,
    Test,
    children,
    conjunction,
    disjunction,
    leaves,
    negation,
)
from templc.model.filters import FILTERS
from templc.source.span import Span

RUNTIME = "templc.runtime"


def emit_python(program: Program, digest: str, command: str) -> str:
    """The text of the module; `digest` is the sha256 of the spec's text, `command` rebuilds it."""
    return _Module(program).text(digest, command)


def class_name(format_name: str) -> str:
    """`qwen3_instruct` is `Qwen3Instruct`."""
    return "".join(part.capitalize() for part in format_name.split("_"))


class _Module:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.lines = Lines()
        tokens = frozenset(
            name for name, option in program.options.items() if option.type == "token"
        )
        self.expressions = Expressions({**program.past, **program.future}, tokens)
        self.constants = _constants(program)
        self.blocks = Blocks(self.lines, self.expressions, self.constants, program.source)

    def text(self, digest: str, command: str) -> str:
        program, lines = self.program, self.lines
        self._texts()
        State(program, lines, self.expressions, self.blocks).emit()
        lines.add("", "", f"class {class_name(program.format)}(Renderer):")
        with lines.indented():
            lines.add(f'"""{docstring(program.title)}"""', "")
            Tables(program, lines).emit()
            self._methods()
        body = str(lines)
        return header(program, digest, command) + self._imports(body) + body

    def _imports(self, body: str) -> str:
        names = sorted(set(_RUNTIME_NAMES).intersection(_USED.findall(body)))
        lines = Lines()
        if "(NamedTuple)" in body:
            lines.add("from typing import NamedTuple", "")
        one = f"from {RUNTIME} import {', '.join(names)}"
        if columns(one) <= lines.room:
            lines.add(one)
        else:
            lines.listed(f"from {RUNTIME} import (", names, ")")
        return str(lines)

    def _texts(self) -> None:
        for text, name in self.constants.items():
            self.lines.add("")
            self.lines.text(name, text)

    def _methods(self) -> None:
        program = self.program
        self._method("head", program.head, program.span, always=True)
        for name, role in program.roles.items():
            match role:
                case Plain(ops, span):
                    self._check(name)
                    self._method(name, ops, span, always=True)
                case Sampled(opener, prefill, body, closer, trailer, span):
                    self._check(name)
                    self._method("opener", opener, span, always=True)
                    self._method("prefill", prefill, span)
                    self._method("body", body, span, always=True)
                    self._method("closer", closer, span)
                    self._method("trailer", trailer, span)
        if program.prompt != program.assistant.opener + program.assistant.prefill:
            self._method("prompt", program.prompt, program.span, always=True)
        self._method("finish", program.finish, program.span)
        emit_response(program, self.lines, self.expressions)

    def _method(self, name: str, ops: Ops, span: Span, *, always: bool = False) -> None:
        if not ops and not always:
            return
        used = _reads(ops)
        names = ["m: Message"] if "message" in used else []
        names += ["past: Past"] if "past" in used else []
        names += ["future: Future"] if "future" in used else []
        place = ops[0].span if ops else span
        self.lines.add("")
        head = f"def {name}({', '.join(['self', 'out: Writer', *names])}) -> None:"
        if ops and not isinstance(ops[0], Write):
            self.lines.add(head)  # the decision inside carries its own line
        else:
            self.lines.commented(head, self.blocks.line_comment(place))
        with self.lines.indented():
            self.blocks.block(ops)

    def _check(self, role: str) -> None:
        checks = self.program.checks.get(role, ())
        if not checks:
            return
        past = any(facts_of(check.cond) for check in checks)
        kind = "Past" if past else "object"
        self.lines.add(
            "", f"def check_{role}(self, out: Writer, m: Message, past: {kind}) -> None:"
        )
        with self.lines.indented():
            for check in checks:
                self._one_check(check)

    def _one_check(self, check: Check) -> None:
        self.blocks.condition("if", _pushed(negation(check.cond)), check.span)
        with self.lines.indented():
            word = "lossy" if check.soft else "refuse"
            self.lines.call(f"self.{word}", [literal(check.say), f"line={check.span.line}"])


def _pushed(cond: Cond) -> Cond:
    """Negation pushed one level in, so that checks read `if content and calls`."""
    match cond:
        case Not(Or(terms)):
            return conjunction(*(_pushed(negation(term)) for term in terms))
        case Not(And(terms)):
            return disjunction(*(_pushed(negation(term)) for term in terms))
        case _:
            return cond


def _reads(ops: Ops) -> set[str]:
    """What a block reads: message, past, future."""
    found: set[str] = set()
    for cond, _ in conditions(ops):
        found |= {fact.horizon for fact in facts_of(cond)}
        found |= {"message"} if _reads_message(cond) else set()
    for op in walk(ops):
        if isinstance(op, Each) and op.over == "calls":
            found.add("message")
        if isinstance(op, Write):
            found |= {
                "message"
                for part in op.parts
                if isinstance(part, Body) and part.value.ref.scope == "message"
            }
    return found


def _reads_message(cond: Cond) -> bool:
    if isinstance(cond, Quantified) or any(_reads_message(child) for child in children(cond)):
        return True
    return any(_ref(leaf).scope == "message" for leaf in leaves(cond))


def _ref(leaf: Cond) -> Ref:
    return leaf.value.ref if isinstance(leaf, Test | Counted) else Ref("option")


def _constants(program: Program) -> dict[str, str]:
    """Long texts of several lines, each with the name of a constant: HEAD_TEXT, HEAD_TEXT_2, ..."""
    found: dict[str, str] = {}
    for place, ops in program.blocks():
        for op in walk(ops):
            for part in op.parts if isinstance(op, Write) else ():
                if isinstance(part, Text) and len(part.text) > LONG_TEXT and part.text not in found:
                    stem = f"{place.replace('.', '_').upper()}_TEXT"
                    number = sum(name.startswith(stem) for name in found.values()) + 1
                    found[part.text] = stem if number == 1 else f"{stem}_{number}"
    return found


# A name that a module calls, names as a type, or derives from.
_USED = re.compile(r"(?<!def )(?<![\w.])\w+(?=\(|\)| \||:$| =|,)", re.MULTILINE)


_RUNTIME_NAMES = (
    "Arguments",
    "CallId",
    "Content",
    "Info",
    "InlineReasoning",
    "LeadContent",
    "Look",
    "Message",
    "MessageRules",
    "Name",
    "Opaque",
    "Option",
    "OptionText",
    "Reasoning",
    "Record",
    "RecordText",
    "Renderer",
    "ToolText",
    "Writer",
    "tool_parameters",
    "tool_text",
    *dict.fromkeys(row.runtime for row in FILTERS.values() if row.runtime),
    *(row.parts for row in FILTERS.values() if row.parts),
    *NAMES,
)
