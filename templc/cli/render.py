"""`templc render`: a conversation as text and token ids."""

from __future__ import annotations

import json
import sys
from typing import Any, Literal

import click

from templc.cli.cells import tally
from templc.cli.chats import Job, Need, Wanted, chat_options, prepared
from templc.cli.console import console

Form = Literal["view", "text", "tokens", "json"]

_NEEDS: dict[Form, Need] = {"text": "unwanted", "tokens": "needed", "json": "needed"}
EPILOG = """\b
Examples:
  templc render qwen3_instruct
  templc render qwen3 -m chat.json -o enable_thinking=false
  templc render kimi_k2 -m chat.json --tokenizer kimi-k2-thinking --tokens
  echo '[{"role": "user", "content": "hi"}]' | templc render llama3 -m - --text
"""


@click.command("render", epilog=EPILOG)
@click.argument("format")
@chat_options
@click.option("--text", "form", flag_value="text", help="The text and nothing else.")
@click.option(
    "--tokens", "form", flag_value="tokens", help="The token ids as a JSON list and nothing else."
)
@click.option(
    "--json",
    "form",
    flag_value="json",
    help="Text, ids, weights, sampled, message indexes, stop tokens.",
)
def command(format: str, form: Form | None, **arguments: Any) -> None:
    """Turn a conversation into the text and the token ids that a model reads.

    FORMAT is a name or alias from `templc list`, or the path of a spec file. Without -m a sample conversation is
    rendered.
    """
    job = prepared(format, Wanted(**arguments), tokens=_NEEDS.get(form or "view", "wanted"))
    match form:
        case "text":
            sys.stdout.write(job.text)
        case "tokens":
            sys.stdout.write(json.dumps(job.tokens) + "\n")
        case "json":
            sys.stdout.write(_json(_document(job)))
        case _:
            _view(job)


def _document(job: Job) -> dict[str, Any]:
    """Everything that is known of a render, aligned lists as they are in Python."""
    tokens, vocabulary = job.tokens, job.vocabulary
    assert tokens is not None and vocabulary is not None
    return {
        "format": job.renderer.info.name,
        "tokenizer": vocabulary.name,
        "text": job.text,
        "tokens": list(tokens),
        "weights": tokens.weights,
        "sampled": tokens.sampled,
        "message_index": tokens.message_index,
        "stop_token_ids": job.renderer.stop_token_ids(vocabulary.tokenizer),
        "stop_strings": list(job.renderer.stop_strings),
        "notes": list(tokens.notes),
    }


def _json(document: dict[str, Any]) -> str:
    """A JSON object with one key a line."""
    lines = (
        f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
        for key, value in document.items()
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _view(job: Job) -> None:
    from templc.cli.paper import conversation_text, token_rows

    out = console()
    info = job.renderer.info
    with_tokens = f", {job.vocabulary.name}" if job.vocabulary else ""
    out.print(f"{info.name}: {info.title}; {job.source}{with_tokens}", style="bold")
    out.print()
    out.print(conversation_text(job.cells, info.specials), soft_wrap=True)
    if job.tokens is None:
        return
    out.print()
    for line in token_rows(job.cells, out.width):
        out.print(line, soft_wrap=True)
    out.print(f"{tally(job.cells)}; * marks a trained token")
