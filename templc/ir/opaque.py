"""Which turns are the same whatever stands in their content: it is copied, and hardly looked at.

Such a turn is written once for each past and future, and then only filled in. `opaque_turns(program)["assistant"]` is
`Opaque("calls", "reasoning", newlines=True, copies={"reasoning": Look(newlines=True)}, arguments="json")`: messages
without calls and without reasoning, whose content neither begins nor ends with a newline, are written alike, and so
are those that have as many calls, and reasoning that neither begins nor ends so.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from templc.ir.ops import Body, Each, Ops, Plain, Program, Write, walk
from templc.ir.sought import look
from templc.model.expr import Cond, Counted, Predicate, Quantified, Ref, Test, Value, children
from templc.runtime.opaque import LEAD_CLOSELY, Look, Opaque

# The fields that a message may lack: a turn that reads them is opaque for messages that do.
_MISSED = frozenset({"reasoning", "name", "call_id", "answered"})


def opaque_turns(program: Program) -> dict[str, Opaque]:
    """The opaque turns by role; `head` and `prompt` are what stands around them.

    `closing` is the closer and the trailer of the assistant's, where they read nothing of its message.
    """
    turn = program.assistant
    blocks: dict[str, tuple[Ops, ...]] = {
        name: (role.ops,) for name, role in program.roles.items() if isinstance(role, Plain)
    }
    blocks["assistant"] = (turn.opener, turn.prefill, turn.body, turn.closer, turn.trailer)
    blocks["head"] = (program.head,)
    blocks["prompt"] = (turn.opener, turn.prefill, program.prompt, program.finish)
    closing = (turn.closer, turn.trailer)
    if not any(_of_message(use) for block in closing for use in _uses(block)):
        blocks["closing"] = closing
    found = {name: _opaque(parts) for name, parts in blocks.items()}
    return {name: one for name, one in found.items() if one is not None}


def _of_message(use: Value | Body | Test | str) -> bool:
    return use == "calls" if isinstance(use, str) else _value(use).ref.scope == "message"


def _value(use: Value | Body | Test) -> Value:
    return use if isinstance(use, Value) else use.value


def _opaque(blocks: tuple[Ops, ...]) -> Opaque | None:
    """What a turn reads; None where it asks more of its content than `look` tells, or reads more than its message."""
    found = _Found()
    for use in (use for block in blocks for use in _uses(block)):
        if not (found.walks(use) if isinstance(use, str) else found.takes(use, _value(use).ref)):
            return None
    return found.opaque()


class _Found:
    """What the uses in a turn come to. looks: what is asked of the texts of its fields, None where that is more."""

    def __init__(self) -> None:
        self._reads: set[str] = set()
        self._looks: dict[str, list[Look] | None] = {"content": []}
        self._quoted: dict[str, set[bool]] = {}
        self._calls_closely = False
        self._arguments: set[str] = set()

    def opaque(self) -> Opaque:
        looks = {field: _all(asked) for field, asked in self._looks.items() if asked is not None}
        content = looks.pop("content")
        arguments = ""
        # Items of tools would be taken for calls.
        alone = "calls" in self._reads and not self._reads & {"tools", "systems"}
        if alone and not self._calls_closely:
            # Of arguments that are no text both make the same.
            arguments = "json" if "json" in self._arguments else "text_or_json"
        return Opaque(
            *sorted(self._reads),
            strips=content.strips,
            newlines=content.newlines,
            quotes=content.quotes,
            sought=content.sought,
            copies=looks,
            arguments=arguments,
        )

    def walks(self, name: str) -> bool:
        """A list that is walked; False where that is too much."""
        if name == "arguments":
            self._calls_closely = True
        elif name in ("calls", "tools", "systems"):
            self._reads.add(name)
        else:
            return False
        return True

    def takes(self, use: Value | Body | Test, ref: Ref) -> bool:
        """A value that is written or tested; False where that is too much."""
        match ref:
            case Ref("option") | Ref("message", "role"):
                pass  # options are fixed
            case Ref("item"):
                self._item(use, ref)  # items are of the lists that the turn reads
            case Ref("lead", _, "content"):
                asked = look(use)
                self._reads |= {"lead", LEAD_CLOSELY} if asked is None else {"lead"}
                self._looked("content", asked or Look(), use)
            case Ref("tools") | Ref("lead") | Ref("systems"):
                self._reads.add(ref.scope)
            case Ref("message", "content", ""):
                self._looked("content", look(use), use)
            case Ref("message", "calls", ""):
                self._reads.add("calls")
            case Ref("message", name, "") if name in _MISSED:
                self._reads.add(name)
                self._looked(name, look(use), use)
            case _:
                return False
        return self._looks["content"] is not None

    def _looked(self, field: str, asked: Look | None, use: Value | Body | Test) -> None:
        known = self._looks.setdefault(field, [])
        if asked is not None and isinstance(use, Body):
            self._quoted.setdefault(field, set()).add(asked.quotes)
        # What is written now as it is, now as JSON, is no copy of one text.
        if asked is None or len(self._quoted.get(field, ())) > 1:
            self._looks[field] = None
        elif known is not None:
            known.append(asked)

    def _item(self, use: Value | Body | Test, ref: Ref) -> None:
        """A part of a call: a mere copy of its name or id, its arguments as JSON, or a closer look."""
        filters = [one.name for one in _value(use).filters]
        match ref.part, use:
            case "type", _:
                return
            case "name" | "id", Body() if not filters:
                return
            case "name" | "id", Test(kind="truth") if not filters:
                return
            case "arguments", Body() if filters in (["json"], ["text_or_json"]):
                self._arguments.add(filters[0])
            case _:
                self._calls_closely = True


def _all(looks: list[Look]) -> Look:
    """What several looks ask."""
    return reduce(Look.both, looks, Look())


def _uses(ops: Ops) -> Iterator[Value | Body | Test | str]:
    """Every value that a block writes or tests; a name for a field that it walks."""
    for op in walk(ops):
        match op:
            case Write(parts):
                yield from (part for part in parts if isinstance(part, Body))
            case Each(over="calls"):
                yield "calls"
            case Each(over=over):
                yield over
            case _:
                yield from _asked(op.cond)


def _asked(cond: Cond) -> Iterator[Value | Body | Test | str]:
    match cond:
        case Test():
            yield cond
        case Counted(value=value):
            yield value
        case Quantified(term=term):
            yield "calls"
            yield from _asked(term)
        case Predicate(term=term):
            yield from _asked(term)
        case _:
            for child in children(cond):
                yield from _asked(child)
