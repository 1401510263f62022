"""A spec can never run code: hostile text is refused, or stands in generated Python as a literal and nothing else."""

from __future__ import annotations

import ast
import random
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from templc.emit.header import MARK
from templc.pipeline import Compilation, compile_path, compile_source, load_class, spec_folder
from templc.problems.problem import Problems, SpecError
from templc.problems.render import render_json, render_text
from templc.runtime.errors import MessageError
from templc.source.files import MAX_BYTES
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
# Slots whose text is written by turns: these get every payload, the others the first ones.
WRITTEN = ("title", "literal", "text", "default", "say", "argument", "condition", "fallback", "doc")
PAYLOADS = [
    '"; pwned(); "',
    '"""\npwned()\n"""',
    "'''\npwned()\n'''",
    "\\",
    '\\"; pwned() #',
    "\\\\",
    "x\npwned()\n",
    "\x00pwned\x1b[31m",
    "\u202epwned\u2066",
    "pwned" * 200,
    "pwned)\n    pass\n\nimport pwned",
    "x\rpwned()\r\n",
    "\u2028pwned()\u2029",
    "\x85pwned()\x0b\x0c\x1c",
    "# pwned",
    "{pwned} {{pwned}} {0}",
    "%s %(pwned)s",
    "${content} ${pwned}",
    "$${pwned}",
    "\ud800pwned",
    "\ufeffpwned\u200b",
    "ｐｗｎｅｄ",
    "__import__('os').system('pwned')",
    "e\u0301 😀 用户 한국 \u1160",
    " pwned ",
    "",
    "null",
    '"' * 3 + "'" * 3,
    "x'; pwned(); '",
    "class",
    "self",
    "pwned, render",
    "pwned: x",
]


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


@pytest.fixture(scope="module")
def modules() -> Iterator[dict[str, str]]:
    """Generated modules to be formatted at the end: one run of the formatter for all."""
    found: dict[str, str] = {"benign": BENIGN}
    yield found


@pytest.mark.parametrize("slot", [*QUOTED, *BARE])
def test_hostile_text(slot: str, modules: dict[str, str]) -> None:
    accepted = 0
    for number, payload in enumerate(PAYLOADS if slot in WRITTEN else PAYLOADS[:14]):
        found = compiled(spec_with(**{slot: payload}))
        if found.problems.ok:
            accepted += 1
            modules[f"{slot}_{number}"] = module = found.python()
            harmless(module, slot)
    assert accepted >= (0 if slot in BARE else 4)


def test_accepted_modules_are_formatted(modules: dict[str, str], tmp_path: Path) -> None:
    assert len(modules) > 200
    for name, text in modules.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "ruff",
        "format",
        "--isolated",
        "--line-length",
        "100",
        "--diff",
        ".",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[:3000] + done.stderr[-500:]


EXACT: dict[str, Callable[[str], str]] = {
    "literal": lambda text: f"texttext<|im_start|>user\n{text}hi<|im_end|>\n",
    "text": lambda text: f"text{text}<|im_start|>user\ntexthi<|im_end|>\n",
    "default": lambda text: f"{text}text<|im_start|>user\ntexthi<|im_end|>\n",
}


@pytest.mark.parametrize("slot", EXACT)
@settings(max_examples=40, deadline=None)
@given(
    text=st.text(st.characters(exclude_categories=("Cs",)), max_size=60) | st.sampled_from(PAYLOADS)
)
def test_text_is_rendered_back_exactly(slot: str, text: str) -> None:
    if any("\ud800" <= char <= "\udfff" for char in text):
        return
    written = text.replace("${", "$${") if slot == "literal" else text
    if slot == "literal" and (written.endswith("$") or "$$$" in written):
        return
    expected = EXACT[slot](text)
    found = compiled(spec_with(**{slot: written}))
    harmless(found.python())
    user = load_class(found)().render_text(
        [{"role": "user", "content": "hi"}], add_generation_prompt=False
    )
    assert user == expected


@settings(max_examples=150, deadline=None)
@given(
    slot=st.sampled_from([*QUOTED, *BARE]),
    text=st.text(max_size=30) | st.text("pwned\"'\\\n\r${}|:()#%\x00\u2028", max_size=30),
)
def test_random_text_in_every_slot(slot: str, text: str) -> None:
    found = compiled(spec_with(**{slot: text}))
    if found.problems.ok:
        module = found.python()
        assert skeleton(module) <= skeleton(BENIGN)
        assert text.strip().isidentifier() or not {text} & set(names(module)) or len(text) < 2


def test_refusals_say_what_the_spec_says() -> None:
    say = 'it\'s """empty"""\\ {x} \u2028 #'
    renderer = load_class(compiled(spec_with(say=say)))()
    with pytest.raises(MessageError) as caught:
        renderer.render_text([{"role": "user", "content": ""}])
    assert caught.value.message == say


def test_a_hostile_file_name_stays_a_comment(tmp_path: Path) -> None:
    folder = tmp_path / 'x\nimport pwned\n"""'
    folder.mkdir()
    (folder / "victim.yaml").write_text(spec_with(), encoding="utf-8")
    found = compile_path(folder / "victim.yaml")
    harmless(found.python())
    harmless(found.python("templc build\npwned()"))


# files


def unreadable(path: Path) -> str:
    problems = compile_path(path, "x.yaml").problems
    (problem,) = problems
    return f"{problem.code}: {problem.message}"


def test_files_that_are_no_specs(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    with path.open("wb") as file:
        file.truncate(50 * MAX_BYTES)
    start = time.monotonic()
    assert unreadable(path).startswith("too-large")
    assert time.monotonic() - start < 1
    for data in ("format: x".encode("utf-16"), b"\x7fELF\0\0\1", b"title: \xff"):
        path.write_bytes(data)
        assert unreadable(path).startswith("not-text")
    assert unreadable(tmp_path) == "unreadable: x.yaml is a folder"
    assert unreadable(tmp_path / "y.yaml") == "unreadable: there is no file x.yaml"
    path.unlink()
    path.symlink_to(path)
    assert unreadable(path).startswith("unreadable")


# mutations

SHIPPED = [path.read_text(encoding="utf-8") for path in sorted(spec_folder().glob("*.yaml"))]
SMALL = [spec_with(), *(text for text in SHIPPED if len(text) < 1_500 and "extends" not in text)]


def mutated(text: str, dice: random.Random) -> str:
    """A spec with one to three things wrong."""
    for _ in range(dice.randint(1, 3)):
        text = dice.choice(MUTATIONS)(text, dice)
    return text


def _lines(
    change: Callable[[list[str], random.Random], Any],
) -> Callable[[str, random.Random], str]:
    def mutation(text: str, dice: random.Random) -> str:
        lines = text.split("\n")
        change(lines, dice)
        return "\n".join(lines)

    return mutation


def _delete_line(lines: list[str], dice: random.Random) -> None:
    del lines[dice.randrange(len(lines))]


def _twice(lines: list[str], dice: random.Random) -> None:
    at = dice.randrange(len(lines))
    lines.insert(dice.randrange(len(lines)), lines[at])


def _swap(lines: list[str], dice: random.Random) -> None:
    a, b = dice.randrange(len(lines)), dice.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]


def _values(lines: list[str], dice: random.Random) -> None:
    """The value of one key under another one."""
    keyed = [at for at, line in enumerate(lines) if ": " in line]
    if len(keyed) > 1:
        a, b = dice.sample(keyed, 2)
        key, value = lines[a].split(": ", 1)[0], lines[b].split(": ", 1)[1]
        lines[a] = f"{key}: {value}"


def _indent(lines: list[str], dice: random.Random) -> None:
    at = dice.randrange(len(lines))
    lines[at] = " " * dice.randint(0, 6) + lines[at].lstrip()


def _character(text: str, dice: random.Random) -> str:
    at = dice.randrange(len(text) + 1)
    keep = dice.random() < 0.5
    return text[:at] + dice.choice("\"'{}[]:,|>&*!%@#-?\\$()\n\t \x00é<>.0aZ_") + text[at + keep :]


def _drop(text: str, dice: random.Random) -> str:
    at = dice.randrange(len(text) + 1)
    return text[:at] + text[at + dice.randint(1, 12) :]


def _word(text: str, dice: random.Random) -> str:
    words = text.split(" ")
    words[dice.randrange(len(words))] = dice.choice(WORDS)
    return " ".join(words)


WORDS = [
    *(
        "null",
        "true",
        "12",
        "~",
        "{}",
        "[]",
        '""',
        "last",
        "later(user)",
        "not",
        "and",
        "kept",
        "tools",
    ),
    *(
        "content",
        "calls",
        "system",
        "${content}",
        "${",
        "user",
        "tool",
        "hoist",
        "as_template",
        "first",
    ),
    *(
        "previous(previous(user))",
        "some(call: call)",
        "count(calls) > 1",
        "is unset",
        "call in calls",
    ),
]
MUTATIONS = [
    *map(_lines, (_delete_line, _twice, _swap, _values, _values, _indent)),
    *(_character, _drop, _word, _word),
]


def attempt(text: str) -> bool:
    """Whether a spec compiles; nothing but SpecError may come out of any stage."""
    found = compiled(text)
    try:
        module = found.python()
    except SpecError:
        assert list(found.problems)
        return False
    ast.parse(module)
    load_class(found)
    return True


@pytest.mark.parametrize("part", range(4))
def test_mutated_specs_are_refused_or_compiled(part: int) -> None:
    dice = random.Random(part)
    good, slowest = 0, 0.0
    for number in range(500):
        text = mutated(dice.choice(SHIPPED if number % 10 == 0 else SMALL), dice)
        start = time.monotonic()
        try:
            good += attempt(text)
        except Exception as error:
            error.add_note(text)
            raise
        slowest = max(slowest, time.monotonic() - start)
    assert 20 < good < 480 and slowest < 10


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=80) | st.text("ab:- \n{}[]\"'|>&*!%#?,\\", max_size=80))
def test_any_text_is_refused_or_compiled(text: str) -> None:
    attempt(text)


def test_bombs_end_soon() -> None:
    start = time.monotonic()
    nested = "x: " + "[" * 20_000
    deep = "\n".join(" " * depth + f"a{depth}:" for depth in range(3_000))
    laughs = "a: &a [x,x]\n" + "".join(f"k{i}: &k{i} [*a,*a]\n" for i in range(300))
    long_key = "? " + "k" * 200_000 + "\n: x"
    wide = "x: {" + ", ".join(f"k{i}: v" for i in range(9_000)) + "}"
    for text in (nested, deep, laughs, long_key, wide, "- " * 5_000, "#" * MAX_BYTES):
        assert not attempt(text)
    nots = spec_with().replace("content or name,", "not " * 400 + "content,")
    assert not attempt(nots)
    chain = "".join(f"  p{i}: p{i - 1} or (content and p{i - 1})\n" for i in range(1, 60))
    assert not attempt(spec_with().replace("require:", f"  p0: user and content\n{chain}require:"))
    uses = "[" + ", ".join(["{use: calls}"] * 5_000) + "]"
    assert not attempt(spec_with().replace('else: "${reasoning}"', f"else: {uses}"))
    text = quoted("x" * 400_000)
    heavy = spec_with().replace('intro: "text"', f"intro: {text}")
    many = '"' + "${text.intro}" * 9 + '"'
    assert not attempt(heavy.replace('"${reasoning}"', many))
    assert time.monotonic() - start < 40


def test_problems_of_hostile_specs_are_shown_safely() -> None:
    problems = Problems()
    source = Source("x\x1b[2J\n.yaml", 'a\u202e: "\x1b"')
    compile_source(source, problems)
    assert len(problems) and visible(render_text(problems))
