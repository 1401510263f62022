"""`templc show`: a line a token, how a completion is read, and the pictures of README.md."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.cli import Run, runner

ROOT = Path(__file__).parent.parent
LOOP = [
    {"role": "user", "content": "Weather in Lima?"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"function": {"name": "weather", "arguments": {"city": "Lima"}}}],
    },
    {"role": "tool", "content": "18 C"},
    {"role": "assistant", "content": "18 degrees."},
]
COMPLETION = (
    "<think>\nTwo cities.\n</think>\n\nOne moment.\n"
    '<tool_call>\n{"name": "weather", "arguments": {"city":"Lima"}}\n</tool_call>\n'
    '<tool_call>\n{"name": "weather", "arguments": {"city": Rome}}\n</tool_call><|im_end|>'
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in a folder that holds `chat.json` and `answer.txt`."""
    monkeypatch.chdir(tmp_path)
    Path("chat.json").write_text(json.dumps(LOOP))
    Path("answer.txt").write_text(COMPLETION + "\n")
    return runner(monkeypatch, capsys)


def shown(run: Run, *arguments: str) -> str:
    found = run("show", *arguments)
    assert found.status == 0, found.err
    return found.out


def drawn(path: Path) -> str:
    """The text of a picture."""
    text = path.read_text(encoding="utf-8")
    assert "url(" not in re.sub(r"url\(#[\w-]+\)", "", text), "it must load nothing"
    lines = re.findall(r"<text [^>]*>([^<]*)</text>", text)
    return "\n".join(lines).replace("&#160;", " ")


def test_a_line_a_token_says_where_it_comes_from(run: Run) -> None:
    rows = [
        line.split()
        for line in shown(run, "qwen3_instruct", "-m", "chat.json", "--lines").splitlines()
    ]
    assert rows[0] == ["id", "text", "message", "field", "spec"]
    places = [row[1:] for row in rows]
    assert ["Weather", "0", "user", "content", "qwen3.yaml:42"] in places
    trained = [row for row in rows if row and row[0] == "*"]
    assert len(trained) == int(re.search(r"(\d+) trained", " ".join(rows[-1]))[1])  # type: ignore[index]
    assert all("assistant" in row for row in trained) and trained[-1][2] == "<|im_end|>"


def test_a_completion_is_shown_as_it_is_read(run: Run) -> None:
    out = shown(run, "qwen3", "--completion", "answer.txt")
    assert "'Two cities.' reasoning\n" in out and "'One moment.' content\n" in out
    assert "'<|im_end|>' stop\n\nstatus malformed\n" in out
    assert re.search(r"^error invalid_json: .* \(117 to 190\)$", out, re.M)
    message = json.loads(re.search(r"^message (.*)$", out, re.M)[1])  # type: ignore[index]
    assert message["tool_calls"][0]["function"]["arguments"] == {"city": "Lima"}


def test_the_conversation_says_what_the_completion_goes_on_from(run: Run) -> None:
    Path("ask.json").write_text(json.dumps(LOOP[:1]))
    Path("rest.txt").write_text("hm\n</think>\n\nYes<|im_end|>")
    arguments = ("qwen3_thinking", "--completion", "rest.txt")
    assert "'hm' reasoning" in shown(run, *arguments, "-m", "ask.json")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("weights", ("qwen3_instruct", "-m", "chat.json")),
        ("parsing", ("qwen3", "--completion", "answer.txt")),
    ],
)
def test_the_pictures_of_the_readme_are_what_is_drawn(
    run: Run, name: str, arguments: tuple[str, ...]
) -> None:
    shown(run, *arguments, "--svg", "now.svg")
    assert drawn(Path("now.svg")) == drawn(ROOT / ".ci" / f"{name}.svg")
    assert f"](.ci/{name}.svg)" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--stage ir --lines qwen3", "--stage and --lines are two views"),
        ("--stage ir --completion answer.txt qwen3", "--stage and --completion are two views"),
        ("--html page.html --completion answer.txt qwen3", "--html and --completion are two views"),
        ("--html page.html --lines qwen3", "--html and --lines are two views"),
        ("--engine --html page.html qwen3", "--engine and --html are two views"),
        ("--stage ir --svg p.svg qwen3", "--svg makes no picture of --stage"),
        ("--html page.html --svg p.svg qwen3", "--svg makes no picture of --html"),
    ],
)
def test_two_views_at_once_are_refused_and_nothing_is_written(
    run: Run, line: str, words: str
) -> None:
    found = run("show", *line.split())
    assert found.status == 2 and words in found.err
    assert not list(Path().glob("p*.*"))
