"""The interpreter: runs a program directly on messages. Slow, obvious, and written apart from generated code.

It is the oracle that generated modules are held against: facts are read by looking at the whole conversation, not
by folding. `Interpreter(program).text(messages)` is the text; `.pieces(...)` the same with origins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, assert_never

from templc.ir.filters import COMPARED, FUNCTIONS, PARTS, passes
from templc.ir.ops import Body, Each, Op, Ops, Plain, Program, Text, When, Write
from templc.ir.settings import option_value
from templc.model import expr, spec
from templc.runtime.encoders import tool_parameters, tool_text
from templc.runtime.errors import MessageError
from templc.runtime.messages import Message, Reader
from templc.runtime.options import Option, checked
from templc.runtime.pieces import Piece, text_of
from templc.runtime.records import record_part
from templc.runtime.rules import InlineReasoning, MessageRules
from templc.runtime.tools import read_tools


def message_rules(rules: spec.MessageRules) -> MessageRules:
    """The runtime's form of a program's message rules."""
    inline = rules.inline_reasoning
    return MessageRules(
        content=rules.content,
        inline_reasoning=InlineReasoning(
            *(getattr(inline, one.name) for one in fields(InlineReasoning))
        )
        if inline
        else None,
        lists=rules.lists,
        lists_by_role=dict(rules.lists_by_role),
        parts=dict(rules.parts),
        between=rules.between,
        between_texts=rules.between_texts,
        call_id=rules.call_id,
        calls=rules.calls,
        roles=dict(rules.roles),
        labels=dict(rules.labels),
        labelled=dict(rules.labelled),
        part_text=rules.part_text,
        parts_in=rules.parts_in,
        parts_alone=rules.parts_alone,
        parts_first=rules.parts_first,
        told_apart=rules.told_apart,
        first_roles=dict(rules.first_roles),
        numbered=True,
    )


def runtime_options(program: Program) -> dict[str, Option]:
    """The runtime's form of a program's options."""
    return {
        name: Option(
            option.type,
            option.default,
            option.values,
            option.bind,
            option.otherwise,
            option.doc,
            option.least,
            option.fields,
            option.optional,
            option.further,
            option.texts,
        )
        for name, option in program.options.items()
    }


@dataclass(slots=True)
class Interpreter:
    """A program with its options set."""

    program: Program
    as_template: bool = False
    options: Mapping[str, object] = field(default_factory=dict)

    def text(
        self,
        messages: Sequence[object],
        *,
        tools: Sequence[object] | None = None,
        add_generation_prompt: bool = False,
    ) -> str:
        """The text of a conversation; MessageError where the format refuses it."""
        pieces = self.pieces(messages, tools=tools, add_generation_prompt=add_generation_prompt)
        return text_of(pieces)

    render_text = text

    def pieces(
        self,
        messages: Sequence[object],
        *,
        tools: Sequence[object] | None = None,
        add_generation_prompt: bool = False,
    ) -> list[Piece]:
        """The pieces of a conversation."""
        options = {
            **checked(
                self.program.format,
                runtime_options(self.program),
                self.options,
                as_template=self.as_template,
            ),
            "as_template": self.as_template,
        }
        reader = Reader(message_rules(self.program.rules).under(options), self.as_template)
        read = [*reader.each(messages)]
        declared = read_tools(tools, as_template=self.as_template)
        return _Run(self.program, read, declared, options, add_generation_prompt).pieces()


@dataclass(slots=True)
class _Run:
    """One rendering: `at` is the index of the message whose turn is written."""

    program: Program
    messages: list[Message]
    tools: tuple[Mapping[str, Any], ...] | None
    options: Mapping[str, object]
    prompt: bool
    at: int = -1
    owner: int = -1
    sampling: bool = False
    out: list[Piece] = field(default_factory=list)
    items: dict[str, Any] = field(default_factory=dict)

    def pieces(self) -> list[Piece]:
        program = self.program
        for at, message in enumerate(self.messages):
            self.at = at
            self._check(message)
        self.at = -1
        self._ops(program.head)
        for at, message in enumerate(self.messages):
            self.at = self.owner = at
            self._turn(message)
        self.at, self.owner = len(self.messages), -1
        self._ops(program.finish)
        if self.prompt:
            self._ops(program.prompt)
        return self.out

    def _role(self, message: Message) -> str:
        if message.role in self.program.roles and message.role != "other":
            return message.role
        if "other" in self.program.roles and self.options["as_template"]:
            return "other"
        raise MessageError(f"no role `{message.role}`", message_index=self.at, field="role")

    def _check(self, message: Message) -> None:
        for check in self.program.checks.get(self._role(message), ()):
            if not self._holds(check.cond, message) and not (
                check.soft and self.options["as_template"]
            ):
                raise MessageError(check.say, message_index=self.at)

    def _turn(self, message: Message) -> None:
        if self.at == 0 and self.program.leading and message.role == "system":
            return
        role = self.program.roles[self._role(message)]
        if isinstance(role, Plain):
            self._ops(role.ops)
            return
        self._ops(role.opener)
        self.sampling, start = True, len(self.out)
        self._ops(role.body + role.closer)
        self.sampling = False
        self._unsample(start, role.prefill)
        self._ops(role.trailer)

    def _unsample(self, start: int, prefill: Ops) -> None:
        """Mark as not sampled what the prompt already holds of the turn."""
        sampled, self.out = self.out[start:], self.out[:start]
        self._ops(prefill)
        given = text_of(self.out[start:])
        self.out = self.out[:start]
        left = len(given) if text_of(sampled).startswith(given) else 0
        for piece in sampled:
            head, tail = piece.text[:left], piece.text[left:]
            left -= len(head)
            self.out += [piece._replace(text=head, sampled=False, weight=0.0)] if head else []
            self.out += [piece._replace(text=tail)] if tail else []

    # operations

    def _ops(self, ops: Ops) -> None:
        for op in ops:
            self._op(op)

    def _op(self, op: Op) -> None:
        match op:
            case Write(parts):
                for part in parts:
                    self._write(part)
            case When(cond, then, otherwise):
                self._ops(then if self._holds(cond, self._message()) else otherwise)
            case Each():
                self._each(op)
            case _:
                assert_never(op)

    def _message(self) -> Message | None:
        return self.messages[self.at] if 0 <= self.at < len(self.messages) else None

    def _each(self, op: Each) -> None:
        items = self._list(op)
        outer, owner = dict(self.items), self.owner
        for number, (source, item) in enumerate(items):
            self.owner = owner if source is None else source
            self._ops(op.between if number else op.open)
            self.items[op.variable] = item
            self._ops(op.do)
        self.items, self.owner = outer, owner
        if items:
            self._ops(op.close)

    def _list(self, op: Each) -> list[tuple[int | None, Any]]:
        match op.over:
            case "calls":
                message = self._message()
                return [(None, call) for call in message.calls] if message else []
            case "arguments":
                call = self.items[op.of]
                found = call.sorted_items() if op.ordered else call.items()
                return [(None, argument) for argument in found]
            case "tools":
                return [(None, tool) for tool in self.tools or ()]
            case "records":
                return [(None, record) for record in self._records(op.of)]
            case "systems":
                found = [(at, m) for at, m in enumerate(self.messages) if m.role == "system"]
                return list(found[-1:] if self.program.replacing else found)

    def _records(self, option: str) -> Sequence[Any]:
        found = self.options[option]
        assert isinstance(found, tuple)
        return found

    def _write(self, part: Text | Body) -> None:
        if isinstance(part, Text):
            self._add(part.text, False, "", self.owner)
            return
        filters = part.value.filters
        if filters and filters[-1].name in PARTS:
            inner = self._value(expr.Value(part.value.ref, filters[:-1]), self._message())
            use = filters[-1]
            for piece in PARTS[use.name](_Verbatim, inner, use.argument or ""):
                own = not isinstance(piece, _Verbatim)
                self._add(str(piece), not own, "" if own else part.field, self.owner)
            return
        value = self._value(part.value, self._message())
        text = str(value or part.default or "")
        ref = part.value.ref
        token = ref.scope == "option" and self.program.options[ref.name].type == "token"
        self._add(text, not token, part.field, 0 if ref.scope == "lead" else self.owner)

    def _add(self, text: str, body: bool, name: str, owner: int) -> None:
        if not text:
            return
        message = self._message()
        weight = 1.0 if message is None or message.train is None else message.train
        piece = Piece(text, body, owner, name, self.sampling, weight if self.sampling else 0.0)
        media = self.messages[owner].media if name == "content" and owner >= 0 else None
        self.out += [piece] if media is None else media.split(piece)

    # values and conditions

    def _value(self, value: expr.Value, message: Message | None) -> Any:
        found = self._ref(value.ref, message)
        for use in value.filters:
            found = FUNCTIONS[use.name](found, use.argument or "")
        return found

    def _ref(self, ref: expr.Ref, message: Message | None) -> Any:
        match ref.scope:
            case "message":
                return getattr(message, ref.name) if message else ""
            case "lead":
                lead = (
                    self.messages[0]
                    if self.messages and self.messages[0].role == "system"
                    else None
                )
                return lead if not ref.part else getattr(lead, ref.part) if lead else ""
            case "option":
                return option_value(self.options, ref)
            case "tools":
                return self.tools
            case "systems":
                return [m for m in self.messages if m.role == "system"]
            case "item":
                return _part(self.items[ref.name], ref.part)
            case "record":
                return record_part(self.items[ref.name], ref.part)
        assert_never(ref.scope)

    def _holds(self, cond: expr.Cond, message: Message | None) -> bool:
        match cond:
            case expr.Const(value):
                return value
            case expr.Or(terms):
                return any(self._holds(term, message) for term in terms)
            case expr.And(terms):
                return all(self._holds(term, message) for term in terms)
            case expr.Not(term):
                return not self._holds(term, message)
            case expr.RoleIs(role):
                return message is not None and message.role == role
            case expr.Predicate(term=term):
                return self._holds(term, message)
            case expr.Counted(value, compare, number):
                return COMPARED[compare](len(self._value(value, message) or ()), number)
            case expr.Quantified(quantifier, variable, term):
                found = (
                    [self._for_call(variable, call, term, message) for call in message.calls]
                    if message
                    else []
                )
                return any(found) if quantifier == "some" else all(found)
            case expr.Test():
                return self._test(cond, message)
            case expr.Fact():
                return self._fact(cond)
        assert_never(cond)

    def _for_call(self, variable: str, call: Any, term: expr.Cond, message: Message | None) -> bool:
        self.items[variable] = call
        return self._holds(term, message)

    def _test(self, test: expr.Test, message: Message | None) -> bool:
        if test.kind == "is" and test.argument is None:
            return self._unset(test.value.ref, message)
        return passes(test, self._value(test.value, message))

    def _unset(self, ref: expr.Ref, message: Message | None) -> bool:
        if ref.scope == "message":
            return message is None or ref.name in message.absent
        if ref.scope == "record":
            return not self.items[ref.name].has(ref.part)
        return self._ref(ref, message) is None

    def _fact(self, fact: expr.Fact) -> bool:
        before = list(range(min(self.at, len(self.messages)) - 1, -1, -1))
        behind = list(range(self.at + 1, len(self.messages)))
        side = before if fact.horizon == "past" else behind
        match fact.time:
            case "first" | "last":
                return not side
            case "end":
                return not side and not self.prompt
            case "live":
                return False
            case "earlier" | "later":
                return any(self._of(fact.term, at) for at in side)
            case "previous" | "next" | "run":
                if fact.among is not None:
                    side = [at for at in side if self._of(fact.among, at)]
                return bool(side) and self._of(fact.term, side[0])

    def _of(self, term: expr.Cond | None, at: int) -> bool:
        return term is None or self._holds(term, self.messages[at])


class _Verbatim(str):
    """Text that is not the format's own."""

    __slots__ = ()


def _part(item: Any, part: str) -> Any:
    """A field of a loop item; tools are plain mappings."""
    if not part:
        return item
    if isinstance(item, Mapping):
        if part == "function.parameters":
            return tool_parameters(item)
        whole = part == "function"
        return item["function"] if whole else tool_text(item, part.removeprefix("function."))
    return getattr(item, part)
