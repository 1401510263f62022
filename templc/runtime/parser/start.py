"""Where a completion begins: what came before its turn, and what the prompt already holds of the turn itself.

The prompt may be the `Tokens` of a render, any ids, or text. Its last opener is looked for; the text behind it, such
as a forced `<think>` or a prefilled answer, is the part of the turn that was not sampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from templc.runtime import fold
from templc.runtime.codec import Codec
from templc.runtime.history import State
from templc.runtime.messages import Message
from templc.runtime.parser.alphabet import Alphabet
from templc.runtime.parser.lexer import TextLexer, TokenLexer
from templc.runtime.parser.origins import Alike, Origin, origins
from templc.runtime.tokens import Tokens
from templc.runtime.writer import Writer

if TYPE_CHECKING:
    from templc.runtime.renderer import Renderer

_BACK, _BLOCK = 8, 512
Prompt = Tokens | Sequence[int] | str | None


class Start(NamedTuple):
    """past: the summary before the turn. tail: what the prompt holds of it, as `Alphabet` has it.

    calls: how many calls the conversation has, for ids that are made up.
    """

    past: Any
    tail: str
    tools: fold.Tools = None
    lead: Message | None = None
    calls: int = 0


def start_of(
    renderer: Renderer,
    codec: Codec | None,
    alphabet: Alphabet,
    prompt: Prompt,
    state: State | None,
    tools: fold.Tools,
) -> Start:
    """Where the completion of `prompt` begins; without one, behind the generation prompt after a user message."""
    known = state_of(prompt, state)
    if known is not None:
        tail = _prefill(renderer, alphabet, known.past, known.tools, known.lead)
        return Start(
            known.past, tail, known.tools if tools is None else tools, known.lead, known.calls
        )
    found = None
    if prompt is not None:
        found = _behind_opener(renderer, alphabet, _inside(prompt, renderer, codec, alphabet))
    if found is None:
        past = origins(renderer)[0].past
        found = past, _prefill(renderer, alphabet, past, tools)
    return Start(*found, tools)


def state_of(prompt: Prompt, state: State | None) -> State | None:
    """The state that tells where the completion begins, one with a generation prompt at its end."""
    known = state if state is not None else getattr(prompt, "state", None)
    return known if isinstance(known, State) and known.prompt else None


def _prefill(
    renderer: Renderer,
    alphabet: Alphabet,
    past: Any,
    tools: fold.Tools,
    lead: Message | None = None,
) -> str:
    if "prefill" not in renderer.parts:
        return ""
    return alphabet.inside(fold.prefill_text(renderer, past, tools, lead))


def _inside(
    prompt: Sequence[int] | str, renderer: Renderer, codec: Codec | None, alphabet: Alphabet
) -> str:
    """The end of the prompt, from a control token that no assistant writes, some of them back."""
    if codec is None and isinstance(prompt, Tokens):
        prompt = prompt.text
    if isinstance(prompt, str):
        lexer = TextLexer(_format_controls(renderer), alphabet)
        return lexer.feed(prompt) + lexer.finish()
    if codec is None:
        return ""
    foreign = {codec.token_id(text) for text in _foreign(Alike(renderer))} - {None}
    ids: list[int] = []
    places: list[int] = []
    # Of a long prompt no more is looked at than it takes.
    while len(places) < _BACK and len(ids) < len(prompt):
        end = len(prompt) - len(ids)
        more = list(map(int, prompt[max(0, end - max(_BLOCK, len(ids))) : end]))
        found = [at for at, token in enumerate(more) if token in foreign]
        places = found + [at + len(more) for at in places]
        ids = more + ids
    return TokenLexer(codec, alphabet).feed(ids[places[-_BACK:][0] if places else 0 :])


def _format_controls(renderer: Renderer) -> tuple[str, ...]:
    info = renderer.info
    return tuple(dict.fromkeys((*info.specials, *info.markers, *info.stop)))


@lru_cache(maxsize=256)
def _foreign(key: Alike) -> tuple[str, ...]:
    """The control tokens that never stand in what the model samples."""
    renderer = key.renderer
    written = written_shapes(renderer)
    return tuple(
        text
        for text in renderer.info.specials
        if text not in written and text not in renderer.info.stop
    )


def written_shapes(renderer: Renderer) -> str:
    """The shape of the response for every past, as text to look into."""
    shapes = [repr(renderer.responds(Writer(None), origin.past)) for origin in origins(renderer)]
    return "\n".join(shapes)


@lru_cache(maxsize=256)
def _spelled(key: Alike, known: tuple[str, ...]) -> tuple[Origin, ...]:
    """The origins that have an edge, their texts with these control tokens as characters."""
    inside = Alphabet(known).inside
    return tuple(
        Origin(one.past, inside(one.before), inside(one.edge), inside(one.prefill))
        for one in origins(key.renderer)
        if one.edge
    )


def _behind_opener(renderer: Renderer, alphabet: Alphabet, text: str) -> tuple[Any, str] | None:
    """The past whose prompt ends like this one, and what of the turn follows; None where none does.

    Of several pasts it is the one whose own prompt has the most in common with this one, before the turn and in it.
    """
    known = _spelled(Alike(renderer), alphabet.known)
    ends = {
        edge: text.rfind(edge) + len(edge) for edge in {one.edge for one in known} if edge in text
    }
    end = max(ends.values(), default=-1)
    if end < 0:
        return None
    behind, before = text[end:], text[:end]
    best = max(
        (one for one in known if ends.get(one.edge) == end),
        key=lambda one: (_common_end(one.before, before), behind.startswith(one.prefill)),
    )
    return best.past, behind


def _common_end(one: str, other: str) -> int:
    """How many characters two texts end alike with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        same = one.endswith(other[len(other) - middle :])
        low, high = (middle, high) if same else (low, middle - 1)
    return low
