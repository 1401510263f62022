"""Wrong input gives one readable message on standard error and exit status 2; terminals, pipes and signals."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from templc.cli import console, listing
from tests.support.cli import Run, runner
from tests.support.published import path_of

TEMPLC = (sys.executable, "-m", "templc")
FILES: dict[str, bytes] = {
    "open.json": b'[{"role": "user",\n  "content": }]',
    "text.json": b'"hi"',
    "number.json": b"1",
    "one.json": b'{"role": "user", "content": "hi"}',
    "inner.json": b'{"messages": "hi"}',
    "object.json": b"{}",
    "strings.json": b'["hi"]',
    "empty.json": b" \n",
    "binary.json": b"\x00\x01\x02",
    "latin.json": b'["\xe9"]',
    "deep.json": b"[" * 100_000,
    "lines.jsonl": b'{"role": "user", "content": "a"}\n{"role": "user", "content": "b"}\n',
    "key.json": b'[{"role": "user", "content": "hi", "contnet": 1}]',
    "role.json": b'[{"content": "hi"}]',
    "late.json": b'[{"role": "user", "content": "hi"}, {"role": "critic", "content": "x"}]',
    "surrogate.json": b'[{"role": "user", "content": "\\ud800"}]',
    "good.json": b'[{"role": "user", "content": "hi"}]',
    "broken.jinja": b"{% if %}",
}
WRONG: list[tuple[str, str]] = [
    ("render qwen3 -m nothing.json", "there is no file nothing.json"),
    ("render qwen3 -m folder", "folder is a folder"),
    ("render qwen3 -m open.json", "open.json:2:14: not JSON: expecting value"),
    ("render qwen3 -m text.json", "holds a text, not a list of messages"),
    ("render qwen3 -m number.json", "holds a number, not a list of messages"),
    ("render qwen3 -m one.json", "holds one message, not a list of messages"),
    ("render qwen3 -m inner.json", "`messages` of inner.json is a text, not a list"),
    ("render qwen3 -m object.json", "holds an object, not a list of messages"),
    ("render qwen3 -m strings.json", "message 0: a value of type str is not a message"),
    ("render qwen3 -m empty.json", "empty.json is empty"),
    ("render qwen3 -m binary.json", "binary.json is a binary file"),
    ("render qwen3 -m latin.json", "latin.json is not UTF-8 at byte 2"),
    ("render qwen3 -m deep.json", "deep.json cannot be read as JSON"),
    ("render qwen3 -m lines.jsonl", "this looks like JSON lines"),
    ("render qwen3 -m key.json", "did you mean `content`?"),
    ("render qwen3 -m role.json", "message 0, role: there is no role"),
    ("render llama3 -m surrogate.json", "message 0, content: text holds a lone surrogate"),
    ("render kimi_k2 -m good.json --tools good.json", "tool 0 has no name"),
    ("render qwen3 -m good.json --tools text.json", "holds a text, not a list of tools"),
    ("render qwen4", "did you mean qwen3"),
    ("render specs/nothing.yaml", "there is no file specs/nothing.yaml"),
    ("render folder", "folder is a folder"),
    ("render binary.json", "binary.json is a binary file"),
    ("render qwen3 -o thinking=true", "qwen3 has no option `thinking`"),
    ("render qwen3 -o enable_thinking=perhaps", "it must be true or false"),
    ("render qwen3 -o enable_thinking", "write -o enable_thinking=VALUE"),
    ("render qwen3 --tokenizer llama3", "this tokenizer has no control token <|im_start|>"),
    ("render qwen3 --tokenizer qwen", "did you mean qwen3?"),
    ("render qwen3 --tokenizer folder", "the folder folder has no tokenizer.json"),
    ("render qwen3 --tokenizer good.json", "good.json is not a tokenizer.json"),
    ("render qwen3 --tokenizer ./nothing/tokenizer.json", "there is no tokenizer ./nothing"),
    ("render qwen3 --tokenizer Qwen/Qwen3-0.6B", "the hub did not give tokenizer.json"),
    ("render qwen3 --unsupported maybe", "is not one of 'refuse', 'as_template'"),
    ("render qwen3 --colour", "no such option"),
    ("render", "missing argument 'FORMAT'"),
    ("rendr qwen3", "there is no command `rendr`; did you mean `render`?"),
    ("list qwen4", "there is no format `qwen4`"),
    ("show qwen3 --html folder", "folder: is a directory"),
    ("show qwen3 --stage tokens", "is not one of 'source', 'spec'"),
    ("verify qwen3", "one of --template and --hub is needed"),
    ("verify qwen3 --template folder", "folder is a folder"),
    ("verify qwen3 --template nothing.jinja", "cannot read the template nothing.jinja"),
    ("verify qwen3 --template latin.json", "the template latin is not UTF-8 at byte 2"),
    ("verify qwen3 --template broken.jinja", "the template broken does not compile at line 1"),
    ("verify qwen3 --hub Qwen/Qwen3-0.6B", "the hub cannot be reached"),
    ("verify qwen3 --template broken.jinja --length 99", "99 is not in the range"),
]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command, without a network, in a folder with files that are mostly no conversations."""
    monkeypatch.chdir(tmp_path)
    for name, data in FILES.items():
        Path(name).write_bytes(data)
    Path("folder").mkdir()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    return runner(monkeypatch, capsys)


@pytest.mark.parametrize(("line", "said"), WRONG, ids=[line for line, _ in WRONG])
def test_wrong_input_is_told_in_words(run: Run, line: str, said: str) -> None:
    status, out, err = run(*line.split())
    assert status == 2
    assert out == ""
    assert err.startswith("error") and said in err
    assert "Traceback" not in err and "templc itself" not in err


def test_a_fault_of_our_own_is_no_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> None:
        raise KeyError(name)

    monkeypatch.setattr(listing, "class_of", broken)
    found = run("list")
    assert found.status == 2
    assert re.match(r"error: a fault in templc itself: KeyError: '\w+'\n  help: ", found.err)
    monkeypatch.setenv("TEMPLC_TRACEBACK", "1")
    with pytest.raises(KeyError):
        run("list")


def test_a_reader_that_has_enough_is_no_error() -> None:
    process = subprocess.Popen(
        (*TEMPLC, "list", "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.wait(timeout=30) == 141
    assert process.stderr.read() == b""
    process.stderr.close()


def test_interruption_ends_quietly(tmp_path: Path) -> None:
    template = str(path_of("Qwen-Qwen3-0.6B@a55ee1"))
    process = subprocess.Popen(
        (*TEMPLC, "verify", "qwen3", "--template", template, "--length", "4"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A shell's background job has its programs ignore interruptions.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith(b"sha256")
    err = b""
    # As a person presses it: again where the first one fell into an import that swallows it.
    for _ in range(10):
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        try:
            _, err = process.communicate(timeout=5)
            break
        except subprocess.TimeoutExpired:
            continue
    else:
        process.kill()
    assert (process.returncode, err) == (130, b"error: interrupted\n")


def on_terminal(*arguments: str, **environment: str) -> str:
    """What a command writes to a terminal."""
    main, side = pty.openpty()
    process = subprocess.Popen(
        (*TEMPLC, *arguments),
        stdin=subprocess.DEVNULL,
        stdout=side,
        stderr=side,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", **environment},
    )
    os.close(side)
    chunks: list[bytes] = []
    while True:
        try:
            chunk = os.read(main, 4096)
        except OSError:
            break
        if not chunk:
            break
        chunks.append(chunk)
    process.wait(timeout=30)
    os.close(main)
    return b"".join(chunks).decode()


@pytest.mark.parametrize("command", ["list", "show qwen3", "render qwen3", "render nothing"])
def test_colours_are_for_terminals(command: str) -> None:
    clean = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    piped = subprocess.run((*TEMPLC, *command.split()), capture_output=True, check=False, env=clean)
    assert b"\x1b" not in piped.stdout + piped.stderr
    shown = on_terminal(*command.split(), NO_COLOR="")
    assert "\x1b[" in shown
    plain = on_terminal(*command.split(), NO_COLOR="1")
    codes = {code for found in re.findall(r"\x1b\[([\d;]*)m", plain) for code in found.split(";")}
    assert codes <= {"0", "1", "2", "4", ""}, "bold, dim and underlined are no colours"


def test_long_work_shows_a_bar_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")

    def shown(*, terminal: bool, patience: float) -> str:
        monkeypatch.setattr(console, "is_terminal", lambda stream: terminal)
        monkeypatch.setattr(console, "PATIENCE", patience)
        with console.progress(10, "comparing") as done:
            done(5)
        return capsys.readouterr().err

    assert "comparing" in shown(terminal=True, patience=0.0)
    assert shown(terminal=True, patience=100.0) == ""
    assert shown(terminal=False, patience=0.0) == ""


def test_starting_up_loads_only_what_is_needed() -> None:
    code = (
        "import sys; from templc.cli.app import main; main({arguments}); "
        "print(sorted(set({heavy}) & set(sys.modules)), file=sys.stderr)"
    )
    heavy = [
        "lark",
        "jsonschema",
        "yaml",
        "rich",
        "transformers",
        "gigatoken",
        "tiktoken",
        "tokenizers",
    ]
    for arguments, expected in {
        ("--help",): [],
        ("list",): [],
        ("render", "qwen3", "--text"): [],
        ("render", "qwen3", "--tokens"): ["tiktoken"],
    }.items():
        script = code.format(arguments=list(arguments), heavy=heavy)
        found = subprocess.run(
            (sys.executable, "-c", script), capture_output=True, text=True, check=True
        )
        assert json.loads(found.stderr.replace("'", '"')) == expected, arguments
