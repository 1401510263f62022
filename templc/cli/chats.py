"""The conversation that `render` and `show` look at, and its render.

job = prepared("qwen3", Wanted(messages="chat.json"))
job.cells, job.text, job.tokens
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import click

from templc.cli.cells import Cell, cells_of, piece_cells, roles_of
from templc.cli.console import note, tell_warnings
from templc.cli.formats import class_of
from templc.cli.inputs import OPTION_HELP, option_values, read_chat, read_tools
from templc.cli.vocabulary import Chosen, chosen
from templc.runtime.errors import MessageError, TokenizerError
from templc.runtime.pieces import text_of
from templc.runtime.renderer import Renderer
from templc.runtime.tokens import Tokens

Need = Literal["needed", "wanted", "unwanted"]
Command = TypeVar("Command", bound=Callable[..., Any])

SAMPLE: list[dict[str, Any]] = [
    {"role": "system", "content": "Answer in one sentence."},
    {"role": "user", "content": "What is the capital of France?"},
    {"role": "assistant", "content": "The capital of France is Paris."},
    {"role": "user", "content": "And of Japan?"},
]


@dataclass(frozen=True, slots=True)
class Wanted:
    """The arguments that `render` and `show` share; None and () where they were not given."""

    messages: str | None = None
    tools: str | None = None
    tokenizer: str | None = None
    options: tuple[str, ...] = ()
    unsupported: str = "refuse"
    content_specials: str = "text"
    prompt: bool | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A conversation with its renderer; `tokens` and `vocabulary` are None where only text could be had."""

    renderer: Renderer
    messages: Sequence[Any]
    source: str
    text: str
    cells: list[Cell]
    tokens: Tokens | None
    vocabulary: Chosen | None
    tools: list[Any] | None = None


def renderer_of(format: str, wanted: Wanted) -> Renderer:
    """The renderer with its options."""
    tell_warnings()
    found = class_of(format)
    return found(
        unsupported=wanted.unsupported,  # type: ignore[arg-type]
        content_specials=wanted.content_specials,  # type: ignore[arg-type]
        **option_values(found.known_options, wanted.options),
    )


def prepared(format: str, wanted: Wanted, *, tokens: Need = "wanted") -> Job:
    """Read, render, and lay out as cells.

    tokens: "wanted" falls back to text, with a note, where there is no demo vocabulary; "unwanted" uses only a
    tokenizer that was named.
    """
    renderer = renderer_of(format, wanted)
    messages, tools, source = _conversation(renderer, wanted)
    vocabulary = _vocabulary(renderer, wanted, tokens)
    if vocabulary is None:
        pieces = renderer.pieces(messages, tools=tools, add_generation_prompt=wanted.prompt)
        text = text_of(pieces)
        cells = piece_cells(pieces, roles_of(messages))
        return Job(renderer, messages, source, text, cells, None, None, tools)
    rendered = renderer.render(
        messages, vocabulary.tokenizer, tools=tools, add_generation_prompt=wanted.prompt
    )
    cells = cells_of(rendered, renderer.codec(vocabulary.tokenizer), roles_of(messages))
    return Job(renderer, messages, source, rendered.text, cells, rendered, vocabulary, tools)


def _conversation(
    renderer: Renderer, wanted: Wanted
) -> tuple[Sequence[Any], list[Any] | None, str]:
    tools = None if wanted.tools is None else read_tools(wanted.tools)
    if wanted.messages is None:
        return sample(renderer), tools, "a sample conversation (-m FILE renders yours)"
    messages, beside = read_chat(wanted.messages)
    name = "standard input" if wanted.messages == "-" else wanted.messages
    return messages, beside if tools is None else tools, name


def sample(renderer: Renderer) -> Sequence[Any]:
    """The sample conversation, without its system message where the format has none."""
    try:
        renderer.render_text(SAMPLE)
    except MessageError:
        return SAMPLE[1:]
    return SAMPLE


def _vocabulary(renderer: Renderer, wanted: Wanted, need: Need) -> Chosen | None:
    if need == "unwanted" and wanted.tokenizer is None:
        return None
    try:
        return chosen(wanted.tokenizer, renderer.info)
    except TokenizerError as error:
        if need == "needed" or wanted.tokenizer is not None:
            raise
        note(f"text only: {error.message}\n  for token ids: {error.help}")
        return None


_OPTIONS = (
    click.option(
        "-m", "--messages", metavar="FILE", help="JSON list of messages; - reads standard input."
    ),
    click.option("--tools", metavar="FILE", help="JSON list of tool declarations."),
    click.option(
        "--tokenizer",
        metavar="T",
        help="A tokenizer.json, a folder with one, OWNER/NAME of the hub, or a demo vocabulary such as qwen3. "
        "Without it, the demo vocabulary that fits.",
    ),
    click.option(
        "-o",
        "--option",
        "options",
        metavar="NAME=VALUE",
        multiple=True,
        help=OPTION_HELP,
    ),
    click.option(
        "--unsupported",
        type=click.Choice(["refuse", "as_template"]),
        default="refuse",
        help="Input that the published template would drop or garble: refuse it (default), or do the same.",
    ),
    click.option(
        "--content-specials",
        type=click.Choice(["text", "error", "control"]),
        default="text",
        help="A message that spells a control token: keep it text (default), refuse, or make it the token.",
    ),
    click.option(
        "--prompt/--no-prompt",
        default=None,
        help="End with the opening of an assistant turn; by default unless the last message is the assistant's.",
    ),
)


def chat_options(command: Command) -> Command:
    """The options behind `Wanted`, for a click command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
