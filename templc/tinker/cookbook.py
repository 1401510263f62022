"""A renderer under the verbs of the Tinker cookbook, for code that is written against them.

`ModelInput`s are made where the package `tinker` is installed; without it the token ids stand in their place, and
lists in the place of arrays.

    renderer = get_renderer("qwen3_instruct", tokenizer)
    prompt = renderer.build_generation_prompt([{"role": "user", "content": "hi"}])
    message, termination = renderer.parse_response(sampled_ids)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

from templc import registry
from templc.runtime.errors import OptionError
from templc.runtime.messages import Message
from templc.runtime.parsed import Parsed
from templc.runtime.parser.start import Prompt, written_shapes
from templc.runtime.renderer import Renderer
from templc.runtime.supervised import TrainOn
from templc.runtime.tokens import Tokens
from templc.runtime.wire import openai_message


class ParseTermination(StrEnum):
    """How a completion ended; true as a condition where it ended as it should.

    eos: at a stop that the format accepts and never writes itself. malformed: anything but a message read without
    error behind a stop, so also a completion that was cut off.
    """

    STOP_SEQUENCE = "stop_sequence"
    EOS = "eos"
    MALFORMED = "malformed"

    @property
    def is_clean(self) -> bool:
        """Whether the message was read without error and its end was sampled."""
        return self is not ParseTermination.MALFORMED

    @property
    def is_stop_sequence(self) -> bool:
        """Whether it ended as the format itself ends a turn."""
        return self is ParseTermination.STOP_SEQUENCE

    def __bool__(self) -> bool:
        return self.is_clean


class CookbookRenderer:
    """The verbs of the cookbook on `renderer`, which holds the tokenizer."""

    def __init__(self, renderer: Renderer) -> None:
        self.renderer = renderer

    @cached_property
    def has_extension_property(self) -> bool:
        """Whether, with these options, every prompt behind a sampled turn begins with the tokens up to that turn.

        Read off the proved table: for any conversation, any completion, and user or tool messages that follow.
        """
        cells = [
            cell
            for cell in self.renderer.stability.cells
            if cell.after == "completion" and cell.then in ("user", "tool")
        ]
        return all(cell.verdict in ("stable", "refused") for cell in cells)

    def build_generation_prompt(
        self,
        messages: Sequence[object],
        role: str = "assistant",
        prefill: str | None = None,
        *,
        tools: Sequence[object] | None = None,
    ) -> Any:
        """The prompt as a `ModelInput`; prefill: how the content of the answer begins.

        OptionError for another role than the assistant: no other turn is sampled.
        """
        if role != "assistant":
            raise OptionError(
                f"a prompt for the role {role!r} is not defined",
                help='leave it out, or "assistant"',
            )
        if not prefill:
            return model_input(
                self.renderer.render(messages, tools=tools, add_generation_prompt=True)
            )
        begun = [*messages, {"role": "assistant", "content": prefill}]
        return model_input(self.renderer.render(begun, tools=tools, continue_final_message=True))

    def build_supervised_example(
        self,
        messages: Sequence[object],
        train_on_what: str = "last_assistant_message",
        *,
        tools: Sequence[object] | None = None,
    ) -> tuple[Any, Any]:
        """A `ModelInput` and its weights, one float a token (float32 array).

        OptionError where one example cannot train every turn behind the tokens that it was sampled from.
        """
        first, *others = self._supervised(messages, train_on_what, tools)
        if others:
            raise OptionError(
                f"{1 + len(others)} examples are needed: {others[0].notes[0] if others[0].notes else first.notes[0]}",
                help="build_supervised_examples gives all of them; last_assistant_message needs only one",
            )
        return _weighted(first)

    def build_supervised_examples(
        self,
        messages: Sequence[object],
        train_on_what: str = "last_assistant_turn",
        *,
        tools: Sequence[object] | None = None,
    ) -> list[tuple[Any, Any]]:
        """As many examples as it takes to train each turn once, behind its own history."""
        return [_weighted(tokens) for tokens in self._supervised(messages, train_on_what, tools)]

    def _supervised(
        self, messages: Sequence[object], train_on_what: str, tools: Sequence[object] | None
    ) -> list[Tokens]:
        if train_on_what == "all_tokens":
            tokens = self.renderer.render(messages, tools=tools, add_generation_prompt=False)
            tokens.weights = [1.0] * len(tokens)
            return [tokens]
        if train_on_what not in TRAIN_ON:
            raise OptionError(
                f"train_on_what is {train_on_what!r}",
                help=f"one of {', '.join([*TRAIN_ON, 'all_tokens'])}",
            )
        return self.renderer.supervised(messages, tools=tools, train_on=TRAIN_ON[train_on_what])

    def parse_response(
        self,
        response: Sequence[int],
        *,
        prompt: Prompt = None,
        tools: Sequence[object] | None = None,
    ) -> tuple[dict[str, Any], ParseTermination]:
        """The OpenAI-style message that sampled ids say, and how they ended; `prompt` and `tools` as for `parse`."""
        parsed = self.renderer.parse(list(response), prompt=prompt, tools=tools)
        return parsed.message, self._termination(parsed)

    def _termination(self, parsed: Parsed) -> ParseTermination:
        if parsed.status != "ok":
            return ParseTermination.MALFORMED
        known = self.renderer.info.stop
        shapes = written_shapes(self.renderer)
        own = [stop for stop in known if stop in shapes] or known
        if parsed.stop_text in own or parsed.stop_text in self.renderer.stop_strings:
            return ParseTermination.STOP_SEQUENCE
        return ParseTermination.EOS

    def to_openai_message(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """A parsed message as OpenAI-compatible servers have it: arguments as text, an id for each call."""
        return openai_message(message)

    def get_stop_sequences(self) -> list[int] | list[str]:
        """What ends sampling: token ids, or texts for a format that has no token for it."""
        return self.renderer.stop_token_ids() or list(self.renderer.stop_strings)


def get_renderer(name: str | Path, tokenizer: object, **options: object) -> CookbookRenderer:
    """The format `name` (or the path of a spec) under the verbs of the cookbook."""
    return CookbookRenderer(registry.get_renderer(name, tokenizer, **options))


def model_input(tokens: Sequence[int]) -> Any:
    """The ids as `tinker.ModelInput`, or as they are where that package is not installed."""
    try:
        import tinker
    except ImportError:
        return tokens
    return tinker.ModelInput.from_ints(tokens=list(tokens))


def _weighted(tokens: Tokens) -> tuple[Any, Any]:
    try:
        import numpy
    except ImportError:
        return model_input(tokens), tokens.weights
    return model_input(tokens), numpy.asarray(tokens.weights, dtype=numpy.float32)


def _never(message: Message, index: int) -> float:
    return 0.0


def _other_roles(message: Message, index: int) -> float:
    return float(message.role in ("user", "system"))


# "customized" leaves it to what each message says of itself.
TRAIN_ON: dict[str, TrainOn] = {
    "last_assistant_message": "last_assistant",
    "last_assistant_turn": "last_turn",
    "all_assistant_messages": "all_assistant",
    "all_messages": "all_messages",
    "all_user_and_system_messages": _other_roles,
    "customized": _never,
}
