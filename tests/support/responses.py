"""What a model would sample to say a message, for every format: prompts, completions, and messages to say.

    case = Case(renderer, tokenizer, [{"role": "user", "content": "q"}])
    completion = case.completion({"role": "assistant", "content": "a"})

`completion` is None where the format does not show the message as it is (a stripped blank, a dropped field).
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from templc.ir.settings import telling
from templc.registry import get_renderer, list_formats
from templc.runtime import fold
from templc.runtime.codec import codec_of
from templc.runtime.encode import encode
from templc.runtime.errors import MessageError
from templc.runtime.extend import cut
from templc.runtime.parser.grammar import Anchor, Calls, Either, If, Item, Response
from templc.runtime.pieces import Piece
from templc.runtime.renderer import Renderer
from templc.runtime.tools import read_tools
from templc.runtime.writer import Writer
from tests.support import vocabularies
from tests.support.formats import program

USER = {"role": "user", "content": "q"}
CALLED = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        {"id": "functions.f:0", "function": {"name": "f", "arguments": {}}},
    ],
}
ANSWER = {"role": "tool", "content": "t", "tool_call_id": "functions.f:0"}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {
                "type": "object",
                "properties": {"k": {"type": "string"}, "n": {"type": "integer"}},
            },
        },
    }
    for name in ("f", "get-it.v2")
]


@functools.cache
def tokenizer_for(format_name: str) -> Any:
    """A real vocabulary that has the control tokens of a format; where none has, one with them added."""
    info = get_renderer(format_name).info
    added = {name: set(codec_of(vocabularies.backend(name)).added()) for name in vocabularies.NAMES}
    fitting = [name for name in added if added[name].issuperset(info.specials)]
    if fitting:
        return vocabularies.backend(
            max(fitting, key=lambda name: len(added[name] & {*info.markers}))
        )
    return _with_added((*info.specials, *info.markers))


@functools.cache
def _with_added(controls: tuple[str, ...]) -> Any:
    """The vocabulary of gpt-oss with more control tokens. It shares the model, for a copy of that takes a second."""
    from tokenizers import Tokenizer

    base = vocabularies.backend("gpt-oss")
    made = Tokenizer(base.model)
    for part in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
        found = getattr(base, part)
        if found is not None:
            setattr(made, part, found)
    for _, token in sorted(base.get_added_tokens_decoder().items()):
        (made.add_special_tokens if token.special else made.add_tokens)([token])
    made.add_special_tokens(list(controls))
    return made


def options_of(format_name: str) -> Iterator[dict[str, object]]:
    """Every combination of the values of its options, unset ones left out."""
    choices: list[list[tuple[str, object] | None]] = [
        [None, *((name, value) for value in values)]
        for name, values in telling(program(format_name)).items()
        if values
    ]
    for chosen in itertools.product(*choices):
        yield dict(pair for pair in chosen if pair is not None)


@dataclass(frozen=True)
class Completion:
    """A turn that a model samples: `ids` and the same as text, and the message that it says."""

    ids: list[int]
    text: str
    content: str
    reasoning: str
    calls: list[tuple[str, Any]]


@dataclass(frozen=True)
class Case:
    """A conversation that waits for its next turn."""

    renderer: Renderer
    tokenizer: Any
    messages: list[dict[str, Any]]

    def prompt(self) -> list[int]:
        return self.renderer.render(
            self.messages, self.tokenizer, tools=TOOLS, add_generation_prompt=True
        )

    def tags(self) -> list[str]:
        """The anchors that are mere text with this vocabulary: no field can hold them."""
        added = codec_of(self.tokenizer).added()
        anchors = _anchors(_response(self.renderer).items)
        return [
            anchor.core
            for anchor in anchors
            if anchor.core.strip("{}") and anchor.core not in added
        ]

    def completion(self, message: dict[str, Any]) -> Completion | None:
        """What the model samples to say this message; None where the format cannot show it as it is."""
        found = self._completion(message)
        if found is None or not found.content or (found.calls and not self.reads_calls()):
            return None if found and found.calls and not self.reads_calls() else found
        # Where content as reasoning gives the same text, no reader can tell them apart.
        swapped = {**message, "content": "", "reasoning_content": found.reasoning + found.content}
        other = self._completion(swapped)
        return None if other is not None and other.text == found.text else found

    def reads_calls(self) -> bool:
        """Whether its calls are of a kind that can be read back."""
        return "Calls(" in repr(_response(self.renderer))

    def _completion(self, message: dict[str, Any]) -> Completion | None:
        renderer = self.renderer.bound(codec_of(self.tokenizer))
        tools = read_tools(TOOLS)
        try:
            turns, _ = renderer.read([*self.messages, message], tools)
        except MessageError:
            return None
        said, past = turns.messages[-1], turns.pasts[-2]
        out = Writer(tools)
        future = renderer.future(prompt=False, live=True)
        renderer.parts["body"](renderer, out, said, past, future)
        shown = {field: _joined(out.pieces, field) for field in ("content", "reasoning")}
        if shown != {"content": said.content, "reasoning": said.reasoning}:
            return None
        if sum(piece.field == "arguments" for piece in out.pieces) < len(said.calls):
            return None
        if "closer" in renderer.parts:
            renderer.parts["closer"](renderer, out, said, past, future)
        given = fold.prefill_text(renderer, past, tools) if "prefill" in renderer.parts else ""
        start = "".join(
            piece.text for piece in itertools.takewhile(lambda p: not p.body, out.pieces)
        )
        if not start.startswith(given):
            return None
        if any(text in piece.text for text in self.tags() for piece in out.pieces if piece.body):
            return None
        pieces = cut(out.pieces, len(given)) + _rest(renderer, out.pieces)
        ids = list(encode(pieces, codec_of(self.tokenizer), at_start=False))
        calls = [(call.name, dict(_decoded(call.arguments))) for call in said.calls]
        return Completion(
            ids, "".join(piece.text for piece in pieces), said.content, said.reasoning, calls
        )


def _decoded(arguments: Any) -> Any:
    return json.loads(arguments) if isinstance(arguments, str) else arguments


def _joined(pieces: list[Piece], field: str) -> str:
    return "".join(piece.text for piece in pieces if piece.field == field)


def _rest(renderer: Renderer, pieces: list[Piece]) -> list[Piece]:
    """What ends sampling beyond the closer: a text, or a control token of the next turn."""
    text = "".join(piece.text for piece in pieces)
    for stop in renderer.stop_strings:
        size = next(size for size in range(len(stop), -1, -1) if text.endswith(stop[:size]))
        return [Piece(stop[size:], sampled=True)]
    if "closer" not in renderer.parts:
        return [Piece(renderer.info.stop[0], sampled=True)]
    return []


def answered(format_name: str) -> tuple[Case, dict[str, Any]]:
    """The first case with an answer that can follow its prompt.

    Where the prompt opens reasoning the answer has some; where it closes what no answer begins with, it is another
    setting's.
    """
    answer = {"role": "assistant", "content": "Two."}
    said: tuple[dict[str, Any], ...] = (answer, {**answer, "reasoning_content": "hm"})
    found = ((case, one) for case in cases(format_name) for one in said)
    return next((case, one) for case, one in found if case.completion(one) is not None)


def cases(format_name: str) -> Iterator[Case]:
    """Every option value, after a user message and after a tool result."""
    tokenizer = tokenizer_for(format_name)
    for options in options_of(format_name):
        renderer = get_renderer(format_name, **options)
        for messages in ([USER], [USER, CALLED, ANSWER]):
            case = Case(renderer, tokenizer, messages)
            try:
                case.prompt()
            except MessageError:
                continue
            yield case


def literals(renderer: Renderer) -> list[str]:
    """Every anchor, and the white space around it, that the format writes in a sampled turn."""
    found: dict[str, None] = {"": None, "a": None, "\n": None, " ": None}
    for anchor in _anchors(_response(renderer).items):
        found |= dict.fromkeys((anchor.core, anchor.pre, anchor.post, anchor.pre + anchor.core))
    return list(found)


def _response(renderer: Renderer) -> Response:
    past = renderer.past_type()
    from templc.runtime.messages import Message

    return renderer.responds(Writer(()), past.after(Message("user", content="q")))


def _anchors(items: tuple[Item, ...]) -> Iterator[Anchor]:
    for item in items:
        match item:
            case Anchor():
                yield item
            case If(items=inner):
                yield from _anchors(inner)
            case Either(options):
                for option in options:
                    yield from _anchors(option.items if isinstance(option, If) else option)
            case Calls(call=shape, open=opening, close=closing):
                yield from (shape.open, shape.close)
                yield from (anchor for anchor in (opening, closing) if anchor)


def small_messages(renderer: Renderer) -> Iterator[dict[str, Any]]:
    """Every small message over the format's own literals: one or two of them in each field, up to two calls."""
    texts = literals(renderer)
    pairs = [first + second for first in texts for second in texts]
    ids = _ids(renderer)
    call = {"id": ids[0], "function": {"name": "f", "arguments": '{"k": "v"}'}}
    other = {"id": ids[1], "function": {"name": "get-it.v2", "arguments": '{"n":1}'}}
    call_lists: list[list[dict[str, Any]]] = [[], [call], [call, other]]
    for content in dict.fromkeys(pairs):
        for calls in call_lists:
            yield message(content, None, calls)
            yield message(content, "r", calls)
    for reasoning in dict.fromkeys(pairs):
        for content in ("", "a"):
            yield message(content, reasoning, [])
    for text in texts:
        yield message("a", None, [with_arguments(call, text)])


def _ids(renderer: Renderer) -> tuple[str, str]:
    """Ids of two calls as Kimi builds them, or of nine characters where the format accepts no other."""
    call = {"id": "functions.f:1", "function": {"name": "f", "arguments": {}}}
    try:
        renderer.render_text([USER, message("", None, [call])])
    except MessageError as error:
        if "9 characters" in error.message:
            return "call00001", "call00002"
    return "functions.f:1", "functions.get-it.v2:2"


def message(content: str, reasoning: str | None, calls: list[dict[str, Any]]) -> dict[str, Any]:
    """An assistant message."""
    made: dict[str, Any] = {"role": "assistant", "content": content}
    if reasoning is not None:
        made["reasoning_content"] = reasoning
    if calls:
        made["tool_calls"] = calls
    return made


def with_arguments(call: dict[str, Any], text: str) -> dict[str, Any]:
    """The call with one argument that holds `text`."""
    return {**call, "function": {**call["function"], "arguments": {"k": text}}}


def formats() -> list[str]:
    return list_formats()
