"""Which turns are the same whatever stands in their content: it is copied, and hardly looked at.

Such a turn is written once for each past and future, and then only filled in. `opaque_turns(program)["assistant"]` is
`Opaque("calls", "reasoning", strips=True)`: it holds for messages without calls and without reasoning, whose
content neither begins nor ends with white space.
"""

from __future__ import annotations

from collections.abc import Iterator

from templc.ir.ops import Body, Each, Ops, Plain, Program, Write, walk
from templc.ir.sought import Look, look
from templc.model.expr import Cond, Counted, Predicate, Quantified, Ref, Test, Value, children
from templc.runtime.opaque import LEAD_CLOSELY, Opaque

# The fields that a message may lack: a turn that reads them is opaque for messages that do.
_MISSED = frozenset({"calls", "reasoning", "name", "call_id"})


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
    reads: set[str] = set()
    looks: list[Look] = []
    for use in (use for block in blocks for use in _uses(block)):
        match use:
            case "calls" | "tools" | "systems":
                reads.add(use)
            case Body() | Test() | Value():
                ref = _value(use).ref
                asked = look(use) if "content" in (ref.name, ref.part) else None
                match ref:
                    case Ref("option") | Ref("item") | Ref("message", "role"):
                        pass  # options are fixed, and items are of the lists that the turn reads
                    case Ref("lead", _, "content"):
                        reads |= {"lead", LEAD_CLOSELY} if asked is None else {"lead"}
                        looks += [] if asked is None else [asked]
                    case Ref("tools") | Ref("lead") | Ref("systems"):
                        reads.add(ref.scope)
                    case Ref("message", "content", "") if asked is not None:
                        looks.append(asked)
                    case Ref("message", name, "") if name in _MISSED:
                        reads.add(name)
                    case _:
                        return None
            case _:
                return None
    texts = dict.fromkeys(text for one in looks for text in one.texts)
    return Opaque(*sorted(reads), strips=any(one.strips for one in looks), sought=tuple(texts))


def _uses(ops: Ops) -> Iterator[Value | Body | Test | str]:
    """Every value that a block writes or tests; a name for a field that it walks."""
    for op in walk(ops):
        match op:
            case Write(parts):
                yield from (part for part in parts if isinstance(part, Body))
            case Each(over="calls"):
                yield "calls"
            case Each(over="arguments"):
                pass  # of a call, which is walked around them
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
