"""A program with options, tools and roles filled in writes what the program writes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from templc.ir.fixed import Fixed
from templc.ir.interpret import Interpreter, runtime_options
from templc.ir.ops import Plain, Program, RoleProgram, When, walk
from templc.model import expr
from templc.runtime.errors import TemplcError
from templc.runtime.options import checked
from templc.verify import SHAPES, TOOLS
from tests.support.formats import FORMATS, option_sets, program

STEP = 7


def filled(found: Program, fixed: Fixed) -> Program:
    """The program with every block filled in; its facts and checks are as they were."""
    roles = {role: _role(part, fixed, role) for role, part in found.roles.items()}
    ends = {name: fixed.ops(getattr(found, name), "") for name in ("head", "prompt", "finish")}
    return replace(found, roles=roles, **ends)


def _role(part: RoleProgram, fixed: Fixed, role: str) -> RoleProgram:
    if isinstance(part, Plain):
        return replace(part, ops=fixed.ops(part.ops, role))
    names = ("opener", "body", "closer", "trailer")
    return replace(part, **{name: fixed.ops(getattr(part, name), role) for name in names})


def texts(
    found: Program, options: Mapping[str, Any], tools: Any, *, prompt: bool
) -> Iterator[str | None]:
    interpreter = Interpreter(found, False, options)
    shapes = [shape.message for shape in SHAPES]
    pairs = itertools.islice(itertools.product(shapes, repeat=2), 0, None, STEP)
    for conversation in (*([one] for one in shapes), *map(list, pairs)):
        try:
            yield interpreter.text(conversation, tools=tools, add_generation_prompt=prompt)
        except TemplcError:
            yield None


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_filled_in_does_not_change_the_text(name: str) -> None:
    found = program(name)
    for options in option_sets(name)[:3]:
        for tools in (None, TOOLS[3]):
            values = checked(name, runtime_options(found), options)
            fixed = filled(found, Fixed({**values, "as_template": False}, tools is not None))
            for prompt in (False, True):
                wanted = list(texts(found, options, tools, prompt=prompt))
                assert list(texts(fixed, options, tools, prompt=prompt)) == wanted
                assert sum(text is not None for text in wanted) > 5


def test_what_is_decided_is_gone() -> None:
    found = program("qwen3")
    values = checked("qwen3", runtime_options(found), {"enable_thinking": False})
    fixed = Fixed({**values, "as_template": False}, tools=False)
    for ops in (fixed.ops(found.prompt, ""), fixed.ops(found.head, "")):
        conditions = [op.cond for op in walk(ops) if isinstance(op, When)]
        read = [one.value.ref.scope for one in conditions if isinstance(one, expr.Test)]
        assert not {"option", "tools"} & set(read)
    user = expr.Test("truth", expr.Value(expr.Ref("message", "calls")))
    assert fixed.cond(user, "user") == expr.Const(False)
    assert fixed.cond(user, "assistant") == user
