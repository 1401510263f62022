"""The pages of formats and the difference of two."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from templc.pages import gallery, page
from templc.pages.page import plain
from templc.registry import list_formats, renderer_class
from tests.support.cli import Run, runner


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


def test_a_page_has_everything() -> None:
    text = page("qwen3")
    for title in ("Sample: plain", "Sample: thinking", "Sample: tools", "Options", "Witnesses"):
        assert f"## {title}\n" in text
    assert "<|im_start|>user\nWhat is the capital of France?<|im_end|>" in text
    assert "a55ee1b1660128b7098723e0abcd92caa0788061051c62d51cbe87d9cf1974d8" in text
    assert "`enable_thinking`" in text
    assert "a list of text parts is joined" in text
    assert "format: qwen3" in text


def test_witnesses_are_conversations_and_one_for_each_reason() -> None:
    witnesses = page("qwen3").partition("## Witnesses")[2].partition("## Tools")[0]
    assert "shortest example: [user, assistant+reasoning, system], then [user]" in witnesses
    assert "63 of the 114 characters already emitted would change" in witnesses
    assert "refused" not in witnesses
    stable = page("qwen3_coder").partition("## Witnesses")[2].partition("## Tools")[0]
    assert stable.count("shortest example") == 1 and "then [tool]" in stable
    assert "Nothing that was written is ever rewritten." in page("llama3")


def test_words_mean_themselves(tmp_path: Path) -> None:
    assert plain("a <think> | b_c *d* [e]\nf") == r"a \<think\> \| b\_c \*d\* \[e\] f"
    gallery(tmp_path, ["deepseekv4"])
    html = (tmp_path / "deepseekv4.html").read_text(encoding="utf-8")
    assert "<td>true: the prompt opens a think block instead" in html
    assert '<a href="index.html">' in html and "prefers-color-scheme:dark" in html


def test_every_format_has_a_page(tmp_path: Path) -> None:
    names = list_formats()
    files = gallery(tmp_path, names)
    assert len(files) == 2 * len(names) + 1
    index = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert all(f'href="{name}.html"' in index for name in names)


def test_html_escapes_what_a_format_writes(tmp_path: Path) -> None:
    gallery(tmp_path, ["qwen3"])
    html = (tmp_path / "qwen3.html").read_text(encoding="utf-8")
    assert "&lt;think&gt;" in html and "<think>" not in html
    assert "<table>" in html


def test_docs_command(run: Run, tmp_path: Path) -> None:
    done = run("docs", "chatml", "--out", str(tmp_path / "out"))
    assert done.status == 0
    assert (tmp_path / "out" / "chatml.md").is_file()


def test_diff_shows_spec_and_samples(run: Run) -> None:
    done = run("diff", "qwen2", "smollm2")
    assert done.status == 1
    assert '-  identity: "You are a helpful assistant."' in done.out
    assert "--- qwen2: plain" not in done.out  # the sample has a system message of its own
    assert run("diff", "qwen2", "qwen2").status == 0


def test_diff_of_formats_that_write_otherwise(run: Run) -> None:
    done = run("diff", "chatml", "openbuddy")
    assert "--- chatml: plain\n+++ openbuddy: plain\n" in done.out
    assert "+<|role|>user<|says|>What is the capital of France?<|end|>" in done.out


def test_lists_and_pages_say_alike_what_an_option_takes(run: Run) -> None:
    found = {
        name: renderer_class(name).known_options
        for name in ("jamba", "granite_3_1", "command_a_plus")
    }
    told = [option.takes for options in found.values() for option in options.values()]
    assert "list of records with title (optional), text, further fields" in told
    assert "mapping with some of citations, hallucinations, length, originality" in told
    assert "none | low | medium | high" in told
    for name, options in found.items():
        listed = " ".join(run("list", name).out.split())
        written = page(name)
        for key, option in options.items():
            assert f"{key} ({option.takes}, " in listed
            assert f"| `{key}` | {plain(option.takes)} |" in written
    assert json.loads(run("list", "jamba", "--json").out)[0]["options"][0]["optional"] == ["title"]
