"""A spec can never run code: hostile text is refused, or stands in generated Python as a literal and nothing else."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from templc.pipeline import compile_path, load_class
from templc.runtime.errors import MessageError
from templc.source.files import MAX_BYTES
from tests.support.victim import (
    BARE,
    BENIGN,
    QUOTED,
    compiled,
    harmless,
    names,
    skeleton,
    spec_with,
)

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
    if any(problem.code == "undeclared-special" for problem in found.problems):
        assert (slot == "literal" and "|>" in text) or "｜>" in text
        return
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
