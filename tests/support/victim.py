"""A spec with a slot for each kind of text that a spec holds, and what its module looks like when nothing is wrong."""

from __future__ import annotations

import ast
import unicodedata
from collections.abc import Iterator

from templc.emit.header import MARK
from templc.pipeline import Compilation, compile_source
from templc.problems.render import render_json, render_text
from templc.source.span import Source

SPEC = """\
format: victim
title: {title}
aliases: [{alias}]
models: [{model}]
reference: {{repository: {repository}, revision: {revision}, note: {note}}}
specials: ["<|im_start|>", "<|im_end|>", {special}]
markers: [{marker}]
stop: ["<|im_end|>"]
stop_strings: [{stop_string}]
options:
  {option}: {{type: text, default: {default}, doc: {doc}}}
  effort: {{type: choice, values: ["low", {choice}], default: low, doc: how much}}
messages:
  inline_reasoning: {{open: {inline_open}, close: {inline_close}}}
  parts: {{{part}: {part_text}}}
  lists: join
predicates:
  {predicate}: user and not (content starts with '{condition}')
require:
  - {{of: user, that: content or name, say: {say}}}
head: ["${{{option}}}", {{when: effort is "low", then: "${{text.{text_name}}}"}}]
roles:
  user: ["<|im_start|>user\\n", {literal}, "${{content|after:'{argument}'}}<|im_end|>\\n"]
  assistant:
    opener: "<|im_start|>assistant\\n"
    body:
      - {{when: later({predicate}), then: {{use: {fragment}}}, else: "${{reasoning}}"}}
      - "${{content or '{fallback}'}}"
      - {{each: {variable} in calls, do: "${{{variable}.name}}"}}
    closer: "<|im_end|>"
    trailer: "\\n"
fragments: {{{fragment}: "${{name}}"}}
texts: {{{text_name}: {text}}}
deviations: [{{what: {what}, why: {why}}}]
"""


# Slots that hold a quoted text, and what they hold when nothing is wrong.
QUOTED = {
    **dict.fromkeys(("title", "alias", "model", "repository", "revision", "note"), "some text"),
    **dict.fromkeys(("doc", "choice", "default", "say", "text", "literal", "what", "why"), "text"),
    **dict.fromkeys(("special", "stop_string", "part", "part_text"), "<x>"),
    "marker": "<m>",
    "inline_open": "<a>",
    "inline_close": "</a>",
}


BARE = {
    "option": "date",
    "predicate": "query",
    "variable": "call",
    "fragment": "calls",
    "text_name": "intro",
    "condition": "x",
    "argument": "x",
    "fallback": "x",
}


def quoted(text: str) -> str:
    """A YAML double-quoted scalar with this value."""
    return '"' + "".join(_escape(char) for char in text) + '"'


def _escape(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    if char.isascii() and char.isprintable():
        return char
    code = ord(char)
    return (
        f"\\x{code:02x}"
        if code < 0x100
        else f"\\u{code:04x}"
        if code < 0x10000
        else f"\\U{code:08x}"
    )


def spec_with(**slots: str) -> str:
    values = {name: quoted(text) for name, text in {**QUOTED, **slots}.items() if name in QUOTED}
    bare = {name: slots.get(name, text) for name, text in BARE.items()}
    return SPEC.format(**values, **bare)


def compiled(text: str) -> Compilation:
    """The compilation, whose problems can be shown whatever the spec holds."""
    found = compile_source(Source("<text>", text))
    shown = render_text(found.problems)
    shown.encode()
    assert visible(shown), ascii(shown)
    render_json(found.problems).encode()
    return found


def visible(shown: str) -> bool:
    """Whether nothing in a shown text moves the cursor, reorders or hides what stands beside it."""
    return not {"Cc", "Cf", "Cs", "Zl", "Zp"} & {
        unicodedata.category(char) for char in shown if char != "\n"
    }


def names(module: str) -> Iterator[str]:
    """Every word of a module that is not inside a string."""
    for node in ast.walk(ast.parse(module)):
        for value in vars(node).values():
            words = value if isinstance(value, list) else [value]
            if not isinstance(node, ast.Constant):
                yield from (word for word in words if isinstance(word, str))


def skeleton(module: str) -> set[str]:
    return {type(node).__name__ for node in ast.walk(ast.parse(module))} - {"Pass", "NotEq"}


BENIGN = compiled(spec_with()).python()


def harmless(module: str, slot: str = "") -> None:
    """Nothing of a hostile text is a name, a statement or a comment of its own."""
    fair = {"pwned", "later_pwned"} if slot in BARE else set()
    found = {name for name in names(module) if "pwned" in name.lower() or not name.isascii()}
    assert found <= fair
    assert skeleton(module) <= skeleton(BENIGN)
    tree = ast.parse(module)
    assert [type(item) for item in tree.body[:3]] == [
        type(item) for item in ast.parse(BENIGN).body[:3]
    ]
    comments = [line for line in module.split("\n") if line.lstrip().startswith("#")]
    assert all(
        line.startswith((MARK, "# To rebuild", "        # line", "    # line")) for line in comments
    )


def test_the_victim_compiles_without_a_word() -> None:
    found = compiled(spec_with())
    assert not list(found.problems)
    harmless(BENIGN)
