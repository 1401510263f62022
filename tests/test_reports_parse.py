"""Bug reports of practitioners about reading completions back and about going on with an answer, as cases.

Each row of cases_reports/parse.jsonl says a format, a conversation, a completion and what it must be read as, or the
text that a continued conversation must end in.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from templc.registry import get_renderer
from tests.support.responses import tokenizer_for

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parent / "cases_reports" / "parse.jsonl").read_text().splitlines()
]
PARSED = [row for row in ROWS if row["kind"] == "parse"]
CONTINUED = [row for row in ROWS if row["kind"] == "continue"]


def _read(row: dict[str, Any], *, as_ids: bool) -> Any:
    tokenizer = tokenizer_for(row["format"])
    renderer = get_renderer(row["format"], tokenizer, **row["options"])
    prompt = renderer.render(
        row["messages"],
        tools=row["tools"],
        continue_final_message=row["continued"],
        add_generation_prompt=None if row["continued"] else True,
    )
    completion = row["completion"]
    if isinstance(completion, list):
        return renderer.parse(completion, prompt=prompt, tools=row["tools"])
    if as_ids:
        ids = renderer.codec(None).control(completion)
        return renderer.parse(ids, prompt=prompt, tools=row["tools"])
    return renderer.parse(completion, prompt=prompt.text, tools=row["tools"])


def _calls(message: dict[str, Any]) -> list[dict[str, Any]]:
    found = []
    for call in message.get("tool_calls", []):
        function = call["function"]
        entry = {"name": function["name"], "arguments": function["arguments"]}
        found.append({**entry, "id": call["id"]} if call["id"] else entry)
    return found


@pytest.mark.parametrize("as_ids", [True, False], ids=["ids", "text"])
@pytest.mark.parametrize("row", PARSED, ids=lambda row: f"{row['id']}-{row['format']}")
def test_completion_is_read_as_reported(row: dict[str, Any], as_ids: bool) -> None:
    parsed, expected = _read(row, as_ids=as_ids), row["expected"]
    found = {
        "reasoning": parsed.message.get("reasoning_content", ""),
        "content": parsed.message["content"],
        "tool_calls": _calls(parsed.message),
        "status": parsed.status,
        "errors": [{"kind": error.code, "raw": error.raw} for error in parsed.errors],
    }
    assert found == {"errors": [], **expected}


@pytest.mark.parametrize("row", CONTINUED, ids=lambda row: f"{row['id']}-{row['format']}")
def test_continued_answer_ends_as_given(row: dict[str, Any]) -> None:
    renderer = get_renderer(row["format"], tokenizer_for(row["format"]), **row["options"])
    text = renderer.render_text(row["messages"], tools=row["tools"], continue_final_message=True)
    assert text == row["expected"]
    tokens = renderer.render(row["messages"], tools=row["tools"], continue_final_message=True)
    assert tokens.text == text
    assert not any(tokens.sampled)
