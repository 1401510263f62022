"""Rollouts: a conversation that grows by sampled completions and by messages, and is never rendered again.

    traj = renderer.start(messages, tokenizer)      # traj.tokens is the prompt
    parsed = traj.sampled(ids, logprobs)            # the exact ids become the assistant turn
    new = traj.add([{"role": "tool", ...}])         # only the new tokens

What was sampled stays as it was sampled, also where the tokenizer would split its text otherwise. A trajectory is
a row of chunks that forks share: `fork()` costs the same at any length.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from templc.runtime import fold
from templc.runtime.change import common, compared_specials
from templc.runtime.codec import Codec
from templc.runtime.encode import ids_of
from templc.runtime.ending import cut
from templc.runtime.errors import OptionError
from templc.runtime.extend import appended
from templc.runtime.history import Node, Sampled, State, emission, first_change, messages_of
from templc.runtime.messages import Message, Reader
from templc.runtime.parsed import Parsed
from templc.runtime.parser.stream import read_whole
from templc.runtime.pieces import text_of
from templc.runtime.skeleton import frames_of
from templc.runtime.tokens import Span, Tokens
from templc.runtime.writer import Writer

if TYPE_CHECKING:
    from templc.runtime.renderer import Renderer


# As `State(...)` and the like, in a third of the time.
_new = tuple.__new__


class Turn(NamedTuple):
    """One sampled turn: its tokens `start` to `end` (exclusive) of the trajectory, and what they were read as.

    closed: the model wrote a stop token; else the close is unsampled context. scored: its log probabilities are known.
    """

    start: int
    end: int
    parsed: Parsed
    closed: bool
    scored: bool


class _Chunk(NamedTuple):
    """Tokens from number `start` on, and what stands before them. logprobs None: all of them are 0.0."""

    tokens: Tokens
    logprobs: tuple[float, ...] | None
    start: int
    parent: _Chunk | None


class Trajectory:
    """A growing conversation as tokens; made by `renderer.start`."""

    # How a datum is built; set from outside, for the runtime knows no training service.
    builder: ClassVar[Callable[..., Any] | None] = None

    def __init__(self, renderer: Renderer, codec: Codec, prompt: Tokens) -> None:
        self._renderer = renderer
        self._codec = codec
        self._last = _Chunk(prompt, None, 0, None)
        self._state = _state_of(prompt)
        self._turns: tuple[Turn, ...] = ()
        self._waiting: tuple[object, ...] = ()
        self._whole: tuple[_Chunk, Tokens] = (self._last, prompt)

    def __len__(self) -> int:
        return self._last.start + len(self._last.tokens)

    @property
    def tokens(self) -> Tokens:
        """Every token so far: the next prompt, or the training sequence."""
        return self._gathered()

    @property
    def weights(self) -> list[float]:
        """1.0 on what the model sampled, aligned with `tokens`."""
        return self.tokens.weights

    @property
    def sampled_mask(self) -> list[bool]:
        """Which tokens the model sampled, aligned with `tokens`."""
        return self.tokens.sampled

    @property
    def logprobs(self) -> list[float]:
        """The log probabilities of the sampled tokens, aligned with `tokens`, 0.0 elsewhere."""
        found: list[float] = []
        for chunk in self._since(None):
            found += chunk.logprobs or [0.0] * len(chunk.tokens)
        return found

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The sampled turns, in order."""
        return self._turns

    @property
    def messages(self) -> list[Message]:
        """The conversation as canonical messages."""
        return messages_of(self._state.node)

    @property
    def differs(self) -> int | None:
        """Index of the first token that a fresh render of `messages` would not have; None when there is none."""
        return self._state.differs

    def sampled(
        self,
        ids: Sequence[int],
        logprobs: Sequence[float] | None = None,
        *,
        finished: bool = False,
    ) -> Parsed:
        """Take exactly these ids as the assistant's turn; what they say.

        A completion without a stop token is closed, by tokens that are not trained, when messages are added;
        finished=True says that the engine left the stop token out, which changes nothing but `status`.
        OptionError unless a prompt stands at the end, or where logprobs and ids differ in number.
        """
        state = self._state
        if not state.prompt or self._waiting:
            raise OptionError("there is no prompt to complete", help="add messages first")
        if logprobs is not None and len(logprobs) != len(ids):
            raise OptionError(f"{len(logprobs)} logprobs for {len(ids)} ids")
        ids = tuple(ids if type(ids) in (list, tuple) else map(int, ids))
        given = (None, state.tools, state)
        parsed = read_whole(self._renderer, self._codec, ids, given, False, finished)
        chunk, self._state = self._completion(ids, parsed, state)
        start = self._append(chunk, None if logprobs is None else tuple(logprobs))
        told = parsed.stop is not None, logprobs is not None
        turn = _new(Turn, (start, start + len(ids), parsed, *told))
        self._turns = (*self._turns, turn)
        return parsed

    def add(
        self,
        messages: Sequence[object],
        *,
        add_generation_prompt: bool | None = None,
        more: bool = False,
    ) -> Tokens:
        """The tokens that new messages add, close of a cut-off turn included; earlier tokens stay untouched.

        more=True: further messages follow before the next prompt, so nothing is written yet; what waits is written
        with the next call, as if it had come at once (results of parallel calls share one block in many formats).
        """
        waiting = (*self._waiting, *messages)
        if more:
            self._waiting = waiting
            return Tokens(state=self._state)
        found = appended(
            self._renderer,
            self._last.tokens,
            self._state,
            waiting,
            self._codec,
            add_generation_prompt,
            lambda: self.tokens,
        )
        self._waiting = ()
        self._append(found, None)
        self._state = _state_of(found)
        return found

    def datum(self, advantages: object, **options: Any) -> Any:
        """The whole conversation as one `types.Datum` for MinT, Tinker or `templc.local`.

        advantages: one number, one a turn, or one list a turn with a number for each sampled token.
        `templc.tinker.datum` has the options and builds whole batches. OptionError where lengths do not fit.
        """
        builder = type(self).builder
        if builder is None:
            raise OptionError("nothing here builds data", help="import templc")
        return builder(self, advantages, **options)

    def fork(self) -> Trajectory:
        """An independent trajectory with the same past, which both share."""
        return copy.copy(self)

    def __copy__(self) -> Trajectory:
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __getstate__(self) -> dict[str, Any]:
        tokens = self._gathered()
        flat = _Chunk(tokens, tuple(self.logprobs), 0, None)
        return {**self.__dict__, "_last": flat, "_whole": (flat, tokens), "_codec": None}

    def bind(self, tokenizer: object) -> Trajectory:
        """Give a trajectory that was pickled its tokenizer back."""
        self._codec = self._renderer.codec(tokenizer)
        return self

    # inside

    def _append(self, tokens: Tokens, logprobs: tuple[float, ...] | None) -> int:
        """Add tokens; the number of the first one."""
        last = self._last
        start = last.start + len(last.tokens)
        self._last = _new(_Chunk, (tokens, logprobs, start, last))
        return start

    def _gathered(self) -> Tokens:
        """The tokens of all chunks, going on from what was gathered last."""
        chunk, tokens = self._whole
        missing = self._since(chunk)
        if missing:
            tokens = Tokens.joined([tokens, *[one.tokens for one in missing]])
            tokens.state = self._state
            self._whole = (self._last, tokens)
        return tokens

    def _since(self, known: _Chunk | None) -> list[_Chunk]:
        """The chunks behind a known one, all of them without one."""
        missing: list[_Chunk] = []
        at: _Chunk | None = self._last
        while at is not None and at is not known:
            missing.append(at)
            at = at.parent
        missing.reverse()
        return missing

    def _completion(self, ids: Sequence[int], parsed: Parsed, state: State) -> tuple[Tokens, State]:
        """What was sampled as tokens, and the state behind it."""
        renderer, size = self._renderer, state.size
        reader = Reader(renderer.rules, renderer.as_template, state.calls, state.waiting)
        message = reader.said(parsed.message, size)
        seen = renderer.future(prompt=False, live=True)
        node = Node(message, size, state.past, seen, state.node)
        # What was read is what the ids say, but for bytes that are no text.
        text = self._codec.decode(ids) if parsed.notes else parsed.text
        overlap = self._overlap(text) if renderer.info.stop_strings else ""
        pending = ("trailer",) if parsed.stop is not None else ("closer", "trailer")
        left = () if overlap else pending
        if "closer" not in renderer.parts and ids and parsed.stop == ids[-1]:
            overlap = parsed.stop_text  # the token that opens the next turn, as a rule
        over = (left, overlap, *self._parting(node, state, ids, parsed))
        past, calls, waiting = state.past.after(message), reader.calls, reader.waiting
        fixed = state.renderer, state.tools, state.lead
        after = _new(State, (*fixed, node, past, calls, waiting, False, *over))
        runs = [(len(ids), size, True, 1.0)]
        return Tokens.of(ids, runs, text=text, spans=partial(_span, len(ids), size)), after

    def _overlap(self, text: str) -> str:
        """What a sampled stop string took of the next turn, for formats that stop at text."""
        out = Writer()
        if "closer" in self._renderer.parts:
            past, future = self._renderer.past_type(), self._renderer.future(prompt=False)
            self._renderer.parts["closer"](self._renderer, out, fold.PROMPT, past, future)
        closer = text_of(out.pieces)
        for stop in self._renderer.stop_strings:
            if text.endswith(stop) and stop.startswith(closer):
                return stop[len(closer) :]
        return ""

    def _parting(
        self, node: Node, before: State, ids: Sequence[int], parsed: Parsed
    ) -> tuple[int | None, Sampled | None]:
        """Where a fresh render of the same messages parts from these tokens: `apart` and `unchecked` of the state."""
        if before.apart is not None:
            return before.apart, before.unchecked
        renderer = self._renderer
        future = renderer.future(prompt=False)
        frames = frames_of(renderer, self._codec)
        change = first_change(renderer, before, node.parent, future.before(node.message), frames)
        if change is not None:
            owners = enumerate(self.tokens.message_index)
            at = next((n for n, owner in owners if owner >= change.index), len(self))
            return at, before.unchecked
        given = renderer, self._codec, node, before, ids, parsed, len(self)
        return None, Sampled(_apart, given, before.unchecked)


def _state_of(tokens: Tokens) -> State:
    state = tokens.state
    assert isinstance(state, State)
    return state


def _span(size: int, message: int) -> list[Span]:
    return [Span(0, size, message, "completion", True)]


def _apart(
    renderer: Renderer,
    codec: Codec,
    node: Node,
    before: State,
    ids: Sequence[int],
    parsed: Parsed,
    start: int,
) -> int | None:
    """Index of the first token of a turn, sampled from `start` on, that a fresh render would not have."""
    as_said = renderer.continues_prompt and parsed.canonical and parsed.differs is None
    if as_said and "prefill" not in renderer.parts:
        return None
    specials = compared_specials(renderer)
    pieces = emission(renderer, before, node, renderer.future(prompt=False))
    end = fold.end_pieces(renderer, before.tools, before.lead, before.past)
    prompt = text_of(end)
    if not text_of(pieces).startswith(prompt):
        # What the prompt holds of the turn may be what a fresh render lacks.
        given = ids_of(end, codec, specials, at_start=False)
        wanted = ids_of(pieces, codec, specials, at_start=False)
        return start - len(given) + common([*given, *ids], wanted)
    if as_said:
        return None
    wanted = ids_of(cut(pieces, len(prompt)), codec, specials, at_start=False)
    same = common(ids, wanted)
    return None if same == len(ids) else start + same
