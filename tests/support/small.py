"""Small specs: compiled, rendered by generated code and by the interpreter, which must agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from templc.ir.interpret import Interpreter
from templc.pipeline import compile_source, load_class
from templc.runtime.renderer import Renderer
from templc.source.span import Source

HEAD = """\
format: small
title: A small format
reference: {note: none is published}
specials: ["<|im_end|>"]
stop: ["<|im_end|>"]
"""
USER = {"role": "user", "content": "u"}


def made(body: str, **options: Any) -> tuple[Renderer, Interpreter]:
    """The renderer of a small spec, and its interpreter."""
    compilation = compile_source(Source("small.yaml", HEAD + body))
    program = compilation.checked()
    return load_class(compilation)(**options), Interpreter(program, False, options)


def text(body: str, messages: Sequence[dict[str, Any]], **options: Any) -> str:
    """What both write."""
    tools = options.pop("tools", None)
    prompt = options.pop("add_generation_prompt", False)
    found = [
        one.render_text(messages, tools=tools, add_generation_prompt=prompt)
        for one in made(body, **options)
    ]
    assert found[0] == found[1]
    return found[0]


def asked(*calls: tuple[str, str], content: str = "") -> dict[str, Any]:
    """An assistant message that calls functions, each given by id and name."""
    made = [{"id": id, "function": {"name": name, "arguments": {"k": "v"}}} for id, name in calls]
    return {"role": "assistant", "content": content, "tool_calls": made}


def result(content: str, call_id: str | None = None) -> dict[str, Any]:
    given = {} if call_id is None else {"tool_call_id": call_id}
    return {"role": "tool", "content": content, **given}
