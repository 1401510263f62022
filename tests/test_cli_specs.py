"""Commands about specs: new, check, build, and the stages that `show` prints."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from templc import get_renderer, list_formats
from templc.cli.chats import sample
from templc.cli.stages import PRINTERS
from templc.pipeline import compile_path, spec_folder
from tests.support.cli import Run, runner

CALLING = [
    {"role": "user", "content": "u"},
    {
        "role": "assistant",
        "content": "a",
        "tool_calls": [{"function": {"name": "f", "arguments": {"k": 1}}}],
    },
    {"role": "tool", "content": "t"},
]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return runner(monkeypatch, capsys)


def edit(path: str, old: str, new: str) -> None:
    text = Path(path).read_text(encoding="utf-8")
    assert old in text
    Path(path).write_text(text.replace(old, new, 1), encoding="utf-8")


# new


def test_a_new_spec_works_at_once(run: Run) -> None:
    status, out, err = run("new", "mine")
    assert (status, err) == (0, "") and out.startswith("wrote specs/mine.yaml\n")
    assert run("check", "specs/mine.yaml").out == "1 spec: no problems\n"
    wrote = ["generated/mine.py", "generated/mine.json", "generated/__init__.py"]
    assert run("build").out == "".join(f"wrote {path}\n" for path in wrote)
    assert run("render", "mine", "--text").out == run("render", "qwen3", "--text").out
    rendered = get_renderer("specs/mine.yaml").render_text(CALLING)
    assert '<|im_start|>assistant\na\n<call>f {"k": 1}</call><|im_end|>\n' in rendered
    assert "<|im_start|>tool\nt<|im_end|>\n" in rendered


@pytest.mark.parametrize("base", list_formats())
def test_a_variant_is_its_base_until_it_is_changed(run: Run, base: str) -> None:
    assert run("new", "mine", "--from", base, "--dir", "here").status == 0
    assert run("check", "here/mine.yaml").status == 0
    mine, known = get_renderer("here/mine.yaml"), get_renderer(base)
    messages = sample(known)
    assert mine.render_text(messages) == known.render_text(messages)


def test_new_refuses_what_would_not_work(run: Run) -> None:
    run("new", "mine")
    before = Path("specs/mine.yaml").read_bytes()
    for arguments, said in {
        ("mine",): "specs/mine.yaml exists",
        ("qwen3",): "already has a format `qwen3`",
        ("Qwen-3",): "cannot name a format",
        ("Two Words",): "cannot name a format",
        ("../up",): "cannot name a format",
        ("other", "--from", "qwen4"): "there is no format `qwen4`",
    }.items():
        found = run("new", *arguments)
        assert found.status == 2 and said in found.err, arguments
    assert Path("specs/mine.yaml").read_bytes() == before
    assert [path.name for path in Path("specs").iterdir()] == ["mine.yaml"]


# check


def test_check_reports_places(run: Run) -> None:
    run("new", "mine")
    edit("specs/mine.yaml", "${content}", "${contnt}")
    status, out, err = run("check", "mine")
    assert (status, err) == (1, "")
    assert re.search(r"^error\[unknown-\w+\]: .*`contnt`", out)
    assert re.search(r"--> specs/mine\.yaml:\d+:\d+$", out, re.M)
    assert out.endswith("1 spec: 1 error, 0 warnings\n")
    [problem] = json.loads(run("check", "mine", "--format", "json").out)
    lines = Path("specs/mine.yaml").read_text().splitlines()
    assert lines[problem["line"] - 1][problem["column"] - 1 :].startswith("contnt")


def test_check_of_what_cannot_be_read(run: Run) -> None:
    Path("binary.yaml").write_bytes(b"\x00\x01")
    Path("folder").mkdir()
    for name, status in {"nothing.yaml": 2, "folder": 2, "binary.yaml": 1}.items():
        found = run("check", name)
        assert found.status == status and found.out.startswith("error["), name


# build


def test_build_writes_what_changed_and_nothing_else(run: Run) -> None:
    run("new", "one")
    run("new", "two", "--from", "qwen3")
    assert run("build").out.count("wrote") == 5
    assert run("build").out == "5 files up to date\n"
    edit("specs/one.yaml", "<|im_start|>tool", "<|im_start|>result")
    assert run("build").out == (
        "wrote generated/one.py\nwrote generated/one.json\n3 files up to date\n"
    )
    Path("specs/two.yaml").unlink()
    said = run("build").out
    assert "removed generated/two.py" in said and "removed generated/two.json" in said
    left = sorted(path.name for path in Path("generated").iterdir() if path.is_file())
    assert left == ["__init__.py", "one.json", "one.py"]


def test_build_check_shows_what_is_stale_and_writes_nothing(run: Run) -> None:
    run("new", "one")
    run("build")
    assert run("build", "--check") == (0, "3 files up to date\n", "")
    edit("specs/one.yaml", "<|im_start|>tool", "<|im_start|>result")
    before = Path("generated/one.py").read_bytes()
    status, out, err = run("build", "--check")
    assert (status, err) == (1, "")
    assert out.startswith("stale: generated/one.py (differs from what its spec gives)\n---")
    assert re.search(r"^-.*<\|im_start\|>tool", out, re.M)
    assert re.search(r"^\+.*<\|im_start\|>result", out, re.M)
    assert out.endswith("to bring it up to date: templc build\n")
    assert Path("generated/one.py").read_bytes() == before
    Path("generated/one.py").unlink()
    assert "stale: generated/one.py (missing)" in run("build", "--check").out
    assert run("build", "specs/one.yaml", "--out", "o", "--check").out.endswith(
        "to bring it up to date: templc build specs/one.yaml --out o\n"
    )


def test_build_of_one_spec(run: Run) -> None:
    run("new", "one")
    found = run("build", "specs/one.yaml")
    assert (found.status, found.out) == (
        0,
        "wrote generated/one.py\nwrote generated/one.json\n",
    )
    assert "does not list one: `templc build` without SPEC adds it" in found.err
    run("build")
    assert run("build", "specs/one.yaml").err == ""
    other = run("build", "specs/one.yaml", "--out", "other").out
    assert other == "wrote other/one.py\nwrote other/one.json\n"


def test_build_never_overwrites_what_it_did_not_write(run: Run) -> None:
    run("new", "one")
    Path("generated").mkdir()
    Path("generated/one.py").write_text("mine = 1\n")
    found = run("build")
    assert found.status == 2 and "generated/one.py was not written by templc" in found.err
    assert Path("generated/one.py").read_text() == "mine = 1\n"


def test_build_of_broken_specs_or_none(run: Run) -> None:
    nothing = run("build")
    assert nothing.status == 2 and "there are no specs in ./specs" in nothing.err
    run("new", "one")
    edit("specs/one.yaml", "format: one", "fromat: one")
    broken = run("build")
    assert broken.status == 2 and "did you mean `format`?" in broken.err
    assert not Path("generated").exists()


# stages


@pytest.mark.parametrize("name", list_formats())
def test_every_stage_of_every_format_prints(run: Run, name: str) -> None:
    for stage in PRINTERS:
        status, out, err = run("show", "--stage", stage, name)
        assert (status, err) == (0, ""), stage
        assert all(ord(char) >= 32 or char == "\n" for char in out), stage
        assert len(out.splitlines()) > 10, stage


@pytest.mark.parametrize("name", list_formats())
def test_the_merged_spec_is_a_spec_and_means_the_same(run: Run, name: str) -> None:
    Path(f"{name}.yaml").write_text(run("show", "--stage", "spec", name).out, encoding="utf-8")
    assert "extends" not in [
        line.split(":")[0] for line in Path(f"{name}.yaml").read_text().split("\n")
    ]
    merged = compile_path(Path(f"{name}.yaml")).checked()
    original = compile_path(spec_folder() / f"{name}.yaml").checked()
    assert list(merged.blocks()) == list(original.blocks())
    assert (merged.past, merged.future, merged.checks) == (
        original.past,
        original.future,
        original.checks,
    )


def test_stages_say_where_things_come_from(run: Run) -> None:
    source = run("show", "--stage", "source", "qwen3").out
    assert re.search(r'^    user: text "<\|im_start\|>user.*  \d+:9-\d+:\d+$', source, re.M)
    ir = run("show", "--stage", "ir", "qwen3_instruct").out
    assert re.search(r"^  past in_tool_run = run\(tool\): no, then tool +qwen3.yaml:\d+$", ir, re.M)
    assert re.search(r'^  write "<\|im_start\|>user\\n" \$\{content\} .* qwen3.yaml:\d+$', ir, re.M)
    python = run("show", "--stage", "python", "qwen3").out
    assert any(isinstance(node, ast.ClassDef) for node in ast.parse(python).body)


def test_stages_name_the_records_that_a_loop_walks(run: Run) -> None:
    for stage in ("model", "ir"):
        assert "each document in documents " in run("show", "--stage", stage, "granite_3_1").out


def test_a_stage_that_is_not_reached_gives_the_problems(run: Run) -> None:
    run("new", "mine")
    edit("specs/mine.yaml", "${content}", "${contnt}")
    found = run("show", "--stage", "ir", "mine")
    assert (found.status, found.out) == (2, "") and "`contnt`" in found.err
    earlier = run("show", "--stage", "spec", "mine")
    assert "${contnt}" in earlier.out and "`contnt`" in earlier.err
    assert run("show", "--stage", "ir", "mine", "-m", "chat.json").status == 2
