"""README.md is true: its commands and snippets run, its excerpts and outputs are those of the code."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from templc.pipeline import compile_path, spec_folder
from tests.support.published import path_of

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
CHAT = [
    {"role": "user", "content": "What is 2 + 3?"},
    {"role": "assistant", "content": "5"},
]
SETUP = "python3 -m venv .venv && .venv/bin/pip install -q -e "


class Block(NamedTuple):
    """A fenced block: its language and its text."""

    language: str
    text: str


def blocks(text: str = README) -> list[Block]:
    found = re.findall(r"^( *)```(\w+)\n(.*?)^\1```$", text, re.M | re.S)
    return [Block(language, textwrap.dedent(body)) for _, language, body in found]


def of(language: str) -> list[str]:
    return [block.text for block in blocks() if block.language == language]


def section(title: str) -> str:
    return README.split(f"\n## {title}\n")[1].split("\n## ")[0]


def commands(text: str) -> list[str]:
    """The command lines of the shell blocks, without set-up and comments."""
    lines = [
        line for block in blocks(text) if block.language == "sh" for line in block.text.splitlines()
    ]
    return [
        " ".join(shlex.split(line, comments=True)) for line in lines if not line.startswith(SETUP)
    ]


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a `templc` command; of a comparison only the shortest conversations."""
    name, *arguments = command.split()
    assert name == "templc", command
    if arguments[0] == "verify":
        arguments += ["--length", "1"]
    return subprocess.run(
        (sys.executable, "-m", "templc", *arguments),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files that README.md supposes."""
    (tmp_path / "chat.json").write_text(json.dumps(CHAT))
    shutil.copy(path_of("Qwen-Qwen3-0.6B@a55ee1"), tmp_path / "chat_template.jinja")
    return tmp_path


def test_every_block_is_tested() -> None:
    assert {block.language for block in blocks()} == {"sh", "python", "yaml", "text"}
    assert README.count("```") == 2 * len(blocks())


def test_the_set_up_commands_are_three_and_name_what_exists() -> None:
    demo, tests, server = (
        line for text in of("sh") for line in text.splitlines() if line.startswith(SETUP)
    )
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    assert demo == SETUP + '".[demo]" && .venv/bin/templc render qwen3_instruct'
    assert tests == SETUP + '".[test]" && .venv/bin/python -m pytest -n 2'
    assert server == SETUP + '".[server-test]" && .venv/bin/python -m pytest tests/server'
    assert {"demo", "test", "server-test"} <= extras.keys()


def test_the_set_up_command_shows_tokens(folder: Path) -> None:
    found = run("templc render qwen3_instruct", folder)
    assert found.returncode == 0 and found.stderr == ""
    assert "151644 <|im_start|>" in found.stdout


def test_commands_of_the_overview_run(folder: Path) -> None:
    listed = commands(section("Use"))
    assert len(listed) == 5
    for command in listed:
        found = run(command, folder)
        assert (found.returncode, found.stderr.replace("note: wrote tokens.html\n", "")) == (
            0,
            "",
        ), command


def test_adding_a_format_works_as_described(folder: Path) -> None:
    new, check, render, verify, build, again = commands(section("Add a format"))
    assert run(new, folder).returncode == 0
    assert run(check, folder).stdout == "1 spec: no problems\n"
    documented = [
        block.text for block in blocks(section("Add a format")) if block.language == "text"
    ]
    assert [run(render, folder).stdout] == documented
    compared = run(verify, folder)
    assert compared.returncode == 1 and "smallest of `different`: " in compared.stdout
    assert run(build, folder).returncode == 0
    assert run(again, folder).returncode == 0
    code = "from generated.mine import Mine; import templc; templc.get_renderer('specs/mine.yaml')"
    subprocess.run(
        (sys.executable, "-c", code),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )
    spec = folder / "specs" / "mine.yaml"
    spec.write_text(spec.read_text().replace("<|im_start|>user", "<|im_start|>human"))
    assert run(again, folder).returncode == 1


def test_snippets_run() -> None:
    snippets = [text for text in of("python") if not text.startswith("def ")]
    assert len(snippets) == 13
    for text in snippets:
        exec(compile(text, "README.md", "exec"), {})


def test_excerpts_are_those_of_the_files() -> None:
    [excerpt] = [text for text in of("python") if text.startswith("def ")]
    module = (ROOT / "generated" / "qwen3_instruct.py").read_text(encoding="utf-8")
    assert textwrap.indent(excerpt, "    ") in module
    specs = [(ROOT / "specs" / f"{name}.yaml").read_text() for name in ("qwen3", "qwen3_instruct")]
    for block in of("yaml"):
        assert any(in_order(block.splitlines(), spec.splitlines()) for spec in specs), block


def in_order(excerpt: list[str], lines: list[str]) -> bool:
    """Whether all lines of an excerpt stand in the file, in that order, indentation aside."""
    rest = iter(line.strip() for line in lines)
    return all(line.strip() in rest for line in excerpt)


def test_the_tokens_shown_are_the_tokens(folder: Path) -> None:
    documented = of("text")[0]
    found = run("templc render qwen3_instruct -m chat.json", folder)
    assert found.stdout.endswith("\n" + documented)


def test_formats_named_under_deviations_declare_some(folder: Path) -> None:
    [command] = commands(section("Deviations"))
    assert "  differs  " in run(command, folder).stdout
    named = re.findall(r"^\| `(\w+)` \| ", section("Deviations"), re.M)
    assert len(named) == 5
    for name in named:
        assert compile_path(spec_folder() / f"{name}.yaml").checked().deviations


def test_every_module_has_its_line() -> None:
    rows = re.findall(r"^\| `(.*?)` \| .+ \|$", section("Modules"), re.M)
    found: Any = [
        path for path in (ROOT / "templc").iterdir() if path.is_dir() or path.suffix == ".py"
    ]
    names = {f"templc/{path.name}{'/' if path.is_dir() else ''}" for path in found}
    unlisted = {
        "templc/__pycache__/",
        "templc/__init__.py",
        "templc/__main__.py",
        "templc/version.py",
    }
    assert set(rows) == (names - unlisted) | {"specs/", "generated/"}


def test_the_commands_for_data_sets_run(folder: Path) -> None:
    rows = [json.dumps({"messages": CHAT}) + "\n"] * 3
    (folder / "chats.jsonl").write_text("".join(rows))
    for command in commands(section("Data sets")):
        assert run(command, folder).stdout.startswith("rows                    3   0 set aside\n")
    assert {path.name for path in folder.glob("*.parquet")} == {"out.parquet", "packed.parquet"}
