"""The base of every generated renderer: the public calls, on top of the fold.

renderer = get_renderer("qwen3_instruct")
tokens = renderer.render([{"role": "user", "content": "hi"}], tokenizer)
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Never

from templc.runtime import fold, signature
from templc.runtime.binding import OF_THIS_PROCESS, Binding, open_tokens
from templc.runtime.codec import Codec, codec_of
from templc.runtime.continuation import unfinished
from templc.runtime.encode import ContentSpecials as ContentSpecials
from templc.runtime.encode import encode
from templc.runtime.errors import MessageError, OptionError
from templc.runtime.extend import extension
from templc.runtime.filling import rendered
from templc.runtime.fresh import by_turn_methods
from templc.runtime.history import State
from templc.runtime.info import Info as Info
from templc.runtime.info import NoFuture, NoPast, last_future
from templc.runtime.messages import Message, Reader
from templc.runtime.misplaced import misplaced_error, refuse_change, takes_no_options
from templc.runtime.opaque import Opaque
from templc.runtime.options import Option, checked, one_of
from templc.runtime.parsed import Parsed
from templc.runtime.parser.grammar import Response
from templc.runtime.parser.start import Prompt
from templc.runtime.parser.stream import Parser, read_whole
from templc.runtime.pieces import Piece, text_of
from templc.runtime.rules import MessageRules
from templc.runtime.signature import ROLES, Part
from templc.runtime.skeleton import Frames
from templc.runtime.stability import StabilityTable
from templc.runtime.states import same_tools, wants_prompt
from templc.runtime.supervised import TrainOn, supervised
from templc.runtime.tokens import Tokens
from templc.runtime.tools import read_tools
from templc.runtime.trajectory import Trajectory
from templc.runtime.writer import Writer

Unsupported = Literal["refuse", "as_template"]
History = Literal["faithful", "as_sampled"]
CallsInReasoning = Literal["text", "accept"]
_SETTINGS = frozenset({"options", "rules", "as_template", "content_specials"})


@takes_no_options
class Renderer(Binding):
    """A chat format with its options set.

    unsupported: what to do with input that the published template would drop or garble in silence: "refuse" it, or
    do "as_template" does, with one warning a renderer. content_specials: text of a message that spells a control
    token stays "text", is an "error", or becomes "control" as the published template has it.
    """

    info: ClassVar[Info]
    rules: MessageRules = MessageRules()
    known_options: ClassVar[Mapping[str, Option]] = {}
    past_type: ClassVar[type[Any]] = NoPast
    future_type: ClassVar[type[Any]] = NoFuture
    turns: ClassVar[dict[str, Part]] = {}
    parts: ClassVar[dict[str, Part]] = {}
    checks: ClassVar[dict[str, Part]] = {}
    opaque: ClassVar[Mapping[str, Opaque]] = {}
    sought: ClassVar[tuple[str, ...] | None] = None
    asked_closely: ClassVar[tuple[str, ...]] = ()
    runs: ClassVar[tuple[str, ...]] = ()
    reads_future: ClassVar[frozenset[str]] = frozenset()
    continues_prompt: ClassVar[bool] = False
    tells_missing_reasoning: ClassVar[bool] = False
    told_of_tools: bool = False
    frames: tuple[Codec, Frames | None] | None = None
    responds: ClassVar[Callable[..., Response]] = signature.responding({})[0]
    responds_alike: ClassVar[bool] = False
    program: ClassVar[Any] = None
    prover: ClassVar[Callable[[Renderer], StabilityTable] | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        methods = signature.methods_of(cls)
        # What is said of turns holds for the methods that it was said with.
        said = vars(cls)
        cls.opaque, cls.sought = said.get("opaque", {}), said.get("sought")
        cls.asked_closely = said.get("asked_closely", ())
        cls.parts, cls.turns, cls.checks = signature.turn_methods(methods)
        cls.reads_future = signature.reads_future(methods)
        cls.responds, cls.responds_alike = signature.responding(methods)
        cls.continues_prompt = signature.continues_prompt(methods, cls.future_type)

    def __init__(
        self,
        tokenizer: object | None = None,
        *,
        unsupported: Unsupported = "refuse",
        content_specials: ContentSpecials = "text",
        **options: object,
    ) -> None:
        one_of("unsupported", unsupported, ("refuse", "as_template"))
        one_of("content_specials", content_specials, ("text", "error", "control"))
        super().__init__(tokenizer)
        self.as_template = unsupported == "as_template"
        self.content_specials = content_specials
        self.options = checked(
            self.info.name, self.known_options, options, as_template=self.as_template
        )
        self._given = frozenset(options)
        self._open = open_tokens(self.known_options, options)
        self._warned = False
        self._fingerprint = ""
        vars(self).update(self.options)
        self.rules = self.rules.under(self.options)

    def __setattr__(self, name: str, value: object) -> None:
        if name in vars(self) and (name in _SETTINGS or name in self.known_options):
            refuse_change(name)
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but what belongs to this process: codecs are made again where they are needed."""
        return {**self.__dict__, **dict.fromkeys(OF_THIS_PROCESS)}

    def fingerprint(self) -> str:
        """Format and options as text: two renderers with the same one write the same."""
        if not self._fingerprint:
            options = json.dumps(self.options)
            self._fingerprint = f"{self.info.name} {options} as_template={self.as_template}"
        return self._fingerprint

    def __repr__(self) -> str:
        options = "".join(f", {name}={self.options[name]!r}" for name in sorted(self._given))
        return f"<renderer {self.info.name}{options}>"

    # what generated code calls

    def refuse(self, say: str, line: int) -> None:
        """Refuse the message at hand, in the spec's own words."""
        raise MessageError(say, help=f"{self.info.name} requires it ({self.info.source}:{line})")

    def lossy(self, say: str, line: int) -> None:
        """Refuse a message that the published template would not show whole, or warn once and go on."""
        if not self.as_template:
            raise MessageError(
                say, help='leave it out, or render as the template does: unsupported="as_template"'
            )
        if not self._warned:
            self._warned = True
            warnings.warn(f"{self.info.name}: {say} (as the published template does)", stacklevel=2)

    def check(self, out: Writer, message: Message, past: Any) -> None:
        """MessageError unless the format can express this message at this place."""
        role = message.role
        if role != "assistant" and role not in self.turns:
            named = (name for name in ROLES if name in self.turns and name != "other")
            if not ("other" in self.turns and self.as_template):
                raise MessageError(
                    f"{self.info.name} has no role `{role}`",
                    field="role",
                    help=f"its roles: {', '.join((*named, 'assistant'))}",
                )
            role = "other"
        if role in self.checks:
            self.checks[role](self, out, message, past)

    def sees_future(self, role: str) -> bool:
        """Whether later messages may change the turn of a message of this role."""
        if role != "assistant" and role not in self.turns:
            role = "other"
        return role in self.reads_future

    def future(self, *, prompt: bool, live: bool = False) -> Any:
        """What the last message sees of the future."""
        return last_future(self.future_type, not prompt, live)  # type: ignore[arg-type]

    def render(
        self,
        messages: Sequence[object],
        tokenizer: object | None = None,
        *,
        tools: Sequence[object] | None = None,
        add_generation_prompt: bool | None = None,
        extend: Tokens | None = None,
        history: History = "faithful",
        continue_final_message: bool = False,
        **misplaced: Never,
    ) -> Tokens:
        """The token ids of a conversation, aligned with weights, `sampled` and message indexes.

        add_generation_prompt None: added unless the last message is the assistant's. extend: only the tokens that
        `messages` add to these earlier ones, see `extend`. continue_final_message: the last message is an unfinished
        answer, written up to its end, to be gone on with. MessageError for what the format cannot express,
        TokenizerError for a tokenizer that lacks its control tokens.
        """
        if misplaced:
            raise misplaced_error(self, "render", misplaced)
        tokenizer = self.tokenizer if tokenizer is None else tokenizer
        last = self._last
        if last and tools is None and extend is None and not continue_final_message:
            found = rendered(last, tokenizer, messages, add_generation_prompt)
            if found is not None:
                return found
        bound, codec, _ = self.bound_to(tokenizer)
        declared = self._declared(tools)
        if extend is not None:
            same_tools(extend, declared)
            return extension(
                bound, extend, messages, codec, prompt=add_generation_prompt, history=history
            )
        if continue_final_message:
            wanted = {"add_generation_prompt": add_generation_prompt}
            pieces = bound.pieces(messages, tools=tools, continue_final_message=True, **wanted)
            return encode(pieces, codec, self.content_specials)
        return by_turn_methods(bound, messages, codec, declared, add_generation_prompt)

    def extend(
        self,
        previous: Tokens,
        messages: Sequence[object],
        tokenizer: object | None = None,
        *,
        add_generation_prompt: bool | None = None,
        history: History = "faithful",
        **misplaced: Never,
    ) -> Tokens:
        """The tokens that `messages` add: `previous + extend(previous, new)` equals a fresh render of everything.

        UnstableExtension where the new messages would rewrite earlier tokens: `reason`, `spec_line`, `keep`,
        `witness`. history="as_sampled" keeps every earlier token and says in `notes` from which token on the
        result differs from a fresh render. OptionError where format or options are not those of `previous`.
        """
        if misplaced:
            raise misplaced_error(self, "extend", misplaced)
        bound, codec, _ = self.bound_to(tokenizer)
        return extension(
            bound, previous, messages, codec, prompt=add_generation_prompt, history=history
        )

    def start(
        self,
        messages: Sequence[object],
        tokenizer: object | None = None,
        *,
        tools: Sequence[object] | None = None,
    ) -> Trajectory:
        """A trajectory for rollouts: its `tokens` are the prompt, sampled ids and new messages are added to it."""
        bound, codec, _ = self.bound_to(tokenizer)
        prompt = bound.render(messages, tokenizer, tools=tools, add_generation_prompt=True)
        return Trajectory(bound, codec, prompt)

    def supervised(
        self,
        messages: Sequence[object],
        tokenizer: object | None = None,
        *,
        tools: Sequence[object] | None = None,
        train_on: TrainOn = "all_assistant",
    ) -> list[Tokens]:
        """Training examples: one where one pass is exact, several (with notes why) where history is rewritten.

        Together they train each assistant turn exactly once, behind the tokens that it was sampled from. train_on:
        all_assistant, last_assistant, last_turn (since the last user message), all_messages (bodies of the others
        too), or a function of message and index that gives a weight; a message's own `train` (`trainable`, `loss`,
        `weight`) wins.
        """
        bound, codec, _ = self.bound_to(tokenizer)
        return supervised(bound, messages, codec, tools, train_on)

    def render_text(
        self,
        messages: Sequence[object],
        tokenizer: object | None = None,
        *,
        tools: Sequence[object] | None = None,
        add_generation_prompt: bool | None = None,
        continue_final_message: bool = False,
    ) -> str:
        """The text of a conversation; no tokenizer is needed, one that is given provides its bos and eos tokens."""
        tokenizer = tokenizer or self.tokenizer
        bound = self if tokenizer is None else self.bound(codec_of(tokenizer))
        pieces = bound.pieces(
            messages,
            tools=tools,
            add_generation_prompt=add_generation_prompt,
            continue_final_message=continue_final_message,
        )
        return text_of(pieces)

    def pieces(
        self,
        messages: Sequence[object],
        *,
        tools: Sequence[object] | None = None,
        add_generation_prompt: bool | None = None,
        continue_final_message: bool = False,
    ) -> list[Piece]:
        """The stretches of text of a conversation, each with its origin."""
        declared = self._declared(tools)
        if continue_final_message:
            if add_generation_prompt:
                raise OptionError(
                    "continue_final_message and add_generation_prompt exclude each other"
                )
            return unfinished(self, messages, declared)
        turns, _ = self.read(messages, declared)
        prompt = wants_prompt(turns.last_role, add_generation_prompt)
        return fold.whole(self, turns, declared, prompt)

    def read(self, messages: Sequence[object], tools: fold.Tools) -> tuple[fold.Turns, Reader]:
        """Canonical messages with their past summaries, and the reader that counted their calls."""
        reader = Reader(self.rules, self.as_template)
        return fold.read(self, messages, reader, Writer(tools), self.past_type()), reader

    # reading completions

    def parse(
        self,
        completion: Sequence[int] | str,
        *,
        prompt: Prompt = None,
        tools: Sequence[object] | None = None,
        tokenizer: object | None = None,
        finished: bool = False,
        calls_in_reasoning: CallsInReasoning = "text",
        state: State | None = None,
    ) -> Parsed:
        """What a completion says, given as token ids or as text; never raises on what a model wrote.

        prompt: what the completion continues (a render, ids or text); without it, the format's own generation prompt
        after a user message. tools: the declarations, for types of arguments and unknown names. finished: the engine
        left the stop out. calls_in_reasoning "accept": calls inside reasoning are calls, else they are part of it.
        state: the opaque state of the prompt, in place of `prompt`.
        """
        one_of("calls_in_reasoning", calls_in_reasoning, ("text", "accept"))
        codec = None if isinstance(completion, str) else self.codec(tokenizer)
        accept = calls_in_reasoning == "accept"
        given = (prompt, self._declared(tools), state)
        return read_whole(self._for(codec), codec, completion, given, accept, finished)

    def parser(
        self,
        *,
        prompt: Prompt = None,
        tools: Sequence[object] | None = None,
        tokenizer: object | None = None,
        calls_in_reasoning: CallsInReasoning = "text",
    ) -> Parser:
        """The streaming form of `parse`: `feed` pieces as they come, then `finish`. Text needs no tokenizer."""
        one_of("calls_in_reasoning", calls_in_reasoning, ("text", "accept"))
        tokenizer = self.tokenizer if tokenizer is None else tokenizer
        codec = None if tokenizer is None else self.codec(tokenizer)
        accept = calls_in_reasoning == "accept"
        return Parser(self._for(codec), codec, prompt, self._declared(tools), None, accept)

    def _for(self, codec: Codec | None) -> Renderer:
        return self if codec is None else self.bound(codec)

    def _declared(self, tools: Sequence[object] | None) -> fold.Tools:
        return read_tools(tools, as_template=self.as_template)

    def stop_token_ids(self, tokenizer: object | None = None) -> list[int]:
        """The ids that end sampling, in the order of the spec."""
        codec = self.codec(tokenizer)
        ids = [codec.token_id(token) for token in self.info.stop]
        return [token for token in ids if token is not None]

    @property
    def stability(self) -> StabilityTable:
        """What may follow what without rewriting earlier text, as it was proved for these options."""
        prover = type(self).prover
        if prover is None:
            raise OptionError("no table at hand", help="import templc, which brings the proofs")
        return prover(self)

    @property
    def stop_strings(self) -> tuple[str, ...]:
        """The texts that end sampling, for formats without control tokens."""
        return self.info.stop_strings
