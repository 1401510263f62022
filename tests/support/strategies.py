"""Hypothesis strategies for conversations that try to break a format.

Contents spell control tokens of every family, end in white space of every kind, are missing, None
or lists; arguments hold what JSON writers disagree about. A test allows what its format can
express:

    @given(conversations(max_size=6, lists=True, none=True), tool_lists())
    def test_equal(messages, tools): ...

All messages are plain dicts of JSON values; no text holds a lone surrogate.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

Message = dict[str, Any]
Messages = list[Message]

_BLANKS = (
    "\n", "\n\n", " ", "  ", "\t", "\r", "\r\n", "\u3000", "\u00a0", "\u2028", "\x0b", "\x1c",
    "\x85", "\u200b",
)  # fmt: skip
_WORDS = (
    "a", "word", "I'm", "é", "e\u0301", "ü", "ß", "İ", "ﬁ", "東京", "你好。", "한국",
    "हिन्दी", "שלום", "😀", "👨\u200d👩\u200d👧", "1", "12345", "1.0", "{", "}", "[", "]",
    "<", ">", "&", '"', "'", "\\", "\\n", "/", "|", "%", "$", "`", "\x00", "\ufeff", "None",
    "True", "null",
)  # fmt: skip
_BLOCKS = (
    "```python\ndef f(x):\n    return x\n```",
    '{"name": "f", "arguments": {"k": "v"}}',
    "{{ messages }}{% if x %}${m.content}{# #}",
    "line\n\n\nline",
    "User: a\n\nAssistant: b",
    "https://example.org/?a=1&b=2",
)
_CONTROL = (
    "<|im_start|>", "<|im_end|>", "<|im_start|>assistant\n", "<|im_sep|>", "<|endoftext|>",
    "<think>", "</think>", "<think>\n\n</think>\n\n", "<think>r</think>", "<tool_call>",
    "</tool_call>", "<tool_response>", "</tool_response>",
    "<tool_response>\nx\n</tool_response>", "<tools>", "<|im_user|>", "<|im_middle|>",
    "<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<|begin_of_text|>",
    "<|start_header_id|>", "<|eot_id|>", "<|eom_id|>", "<|python_tag|>", "<bos>",
    "<start_of_turn>", "<end_of_turn>", "<|turn>", "<turn|>", "<|channel>", '<|"|>', "<s>",
    "</s>", "[INST]", "[/INST]", "[TOOL_CALLS]", "[AVAILABLE_TOOLS]", "<<SYS>>", "<｜User｜>",
    "<｜Assistant｜>", "<｜tool▁calls▁begin｜>", "<｜end▁of▁sentence｜>", "<|start|>",
    "<|channel|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>", "[gMASK]<sop>",
    "<|user|>", "<|assistant|>", "<|observation|>", "<arg_key>", "<arg_value>", "]~b]ai",
    "[e~[", "<minimax:tool_call>", "<invoke name=", "<function=f>", "<parameter=k>",
    "<|start_of_role|>", "<|end_of_text|>", "<|", "|>", "<｜", "im_end", "</",
    "user", "assistant", "system", "model", "/no_think", "/think",
)  # fmt: skip

_MARKS = (
    "<think>", "</think>", "<think>\nr\n</think>\n\n", "\n", "a", " ", "<tool_response>",
    "</tool_response>", "<tool_call>", "</tool_call>", "<|im_end|>", "<|im_start|>",
)  # fmt: skip

_NAMES = ("f", "g", "get_weather", "a-b", "functions.f", "名", "f2")
_KEYS = ("k", "n", "query", "x y", "é", "K", "a.b", "0")
_NUMBERS = (0, 1, -1, 2**63, 2**64 + 1, -(10**30), 0.0, -0.0, 1.0, 0.1, 1e-07, 1e16, 1e22, 1.5e300)
_SPELLINGS = ("reasoning_content", "reasoning", "thinking")


@dataclass(frozen=True, slots=True)
class Allow:
    """What generated messages may hold; each flag only adds possibilities.

    lists: content as a list of text parts. none, missing: content that is None, or not there.
    control: texts that spell control tokens. names: `name` on user and tool messages. reasoning,
    calls: on assistant messages; reasoning under each of its `spellings`. json_text: arguments as
    JSON text; broken_json: also text that is no JSON. ids: calls have one, and tool messages may
    repeat it. system: system messages, anywhere but in well-formed conversations.
    """

    lists: bool = False
    none: bool = False
    missing: bool = False
    control: bool = True
    names: bool = False
    reasoning: bool = True
    spellings: tuple[str, ...] = _SPELLINGS
    calls: bool = True
    json_text: bool = False
    broken_json: bool = False
    ids: bool = True
    system: bool = True


@functools.cache
def bodies(*, control: bool = True, max_size: int = 5) -> st.SearchStrategy[str]:
    """Text: known troublemakers between blanks, or anything at all; sometimes empty."""
    pieces = _WORDS + _BLANKS + _BLOCKS + (_CONTROL if control else ())
    inner = st.lists(st.sampled_from(pieces), max_size=max_size).map("".join)
    edge = st.lists(st.sampled_from(_BLANKS), max_size=2).map("".join)
    framed = st.tuples(edge, inner, edge).map("".join)
    plain = [st.sampled_from(("", "a", "\n", " ")), inner, framed, st.text(max_size=8)]
    # What formats look for inside content, which a draw from everything would hardly ever make.
    marked = st.lists(st.sampled_from(_MARKS), min_size=1, max_size=5).map("".join)
    return st.one_of(*plain, marked) if control else st.one_of(*plain)


@functools.cache
def text_parts(*, control: bool = True) -> st.SearchStrategy[list[dict[str, str]]]:
    """Content as a list of up to three text parts."""
    part = bodies(control=control, max_size=2).map(lambda text: {"type": "text", "text": text})
    return st.lists(part, max_size=3)


@functools.cache
def values(*, control: bool = True) -> st.SearchStrategy[Any]:
    """JSON values that writers spell in different ways."""
    leaves = st.one_of(
        st.none(),
        st.booleans(),
        st.sampled_from(_NUMBERS),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        bodies(control=control, max_size=2),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(_KEYS), inner, max_size=3)
        ),
        max_leaves=5,
    )


@functools.cache
def argument_mappings(*, control: bool = True) -> st.SearchStrategy[dict[str, Any]]:
    """The arguments of a call as a mapping; keys in any order."""
    return st.dictionaries(st.sampled_from(_KEYS), values(control=control), max_size=4)


@functools.cache
def argument_texts(*, control: bool = True, broken: bool = False) -> st.SearchStrategy[str]:
    """Arguments as JSON text in several styles; `broken` adds text that is cut off or no object."""
    styles: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
        [{}, {"separators": (",", ":")}, {"ensure_ascii": False}, {"indent": 1, "sort_keys": True}]
    )
    whole = st.builds(
        lambda value, style: json.dumps(value, **style), argument_mappings(control=control), styles
    )
    if not broken:
        return whole
    cut = st.builds(lambda text, end: text[:end], whole, st.integers(0, 20))
    return st.one_of(whole, cut, st.sampled_from(("", "null", "[]", "{'k': 1}", "k=v")))


@functools.cache
def arguments(allow: Allow) -> st.SearchStrategy[Any]:
    """The arguments of a call, as a mapping or as text where that is allowed."""
    mapping = argument_mappings(control=allow.control)
    if not allow.json_text:
        return mapping
    return st.one_of(mapping, argument_texts(control=allow.control, broken=allow.broken_json))


@functools.cache
def calls(allow: Allow, number: int = 0) -> st.SearchStrategy[dict[str, Any]]:
    """One call in the OpenAI form; `number` makes its id unique in a conversation."""

    def build(name: str, given: Any, kimi: bool) -> dict[str, Any]:
        call = {"type": "function", "function": {"name": name, "arguments": given}}
        call_id = f"functions.{name}:{number}" if kimi else f"call{number:05d}"
        return {"id": call_id, **call} if allow.ids else call

    return st.builds(build, st.sampled_from(_NAMES), arguments(allow), st.booleans())


@st.composite
def contents(draw: st.DrawFn, allow: Allow) -> dict[str, Any]:
    """The content of a message as the keys that it adds: none where content is missing."""
    kinds = ["text", "text", "text"]
    kinds += [kind for kind in ("lists", "none", "missing") if getattr(allow, kind)]
    match draw(st.sampled_from(kinds)):
        case "lists":
            return {"content": draw(text_parts(control=allow.control))}
        case "none":
            return {"content": None}
        case "missing":
            return {}
        case _:
            return {"content": draw(bodies(control=allow.control))}


@st.composite
def plain_messages(draw: st.DrawFn, role: str, allow: Allow) -> Message:
    """A system or user message."""
    message = {"role": role, **draw(contents(allow))}
    if role == "user" and allow.names and draw(st.booleans()):
        message["name"] = draw(st.sampled_from(_NAMES))
    return message


@st.composite
def assistants(
    draw: st.DrawFn, allow: Allow, number: int = 0, with_calls: bool | None = None
) -> Message:
    """An assistant message, its calls numbered from `number`; with_calls None leaves it open."""
    message = {"role": "assistant", **draw(contents(allow))}
    if allow.reasoning and draw(st.booleans()):
        spelling = draw(st.sampled_from(allow.spellings))
        message[spelling] = draw(bodies(control=allow.control))
    wanted = draw(st.booleans()) if with_calls is None else with_calls
    if wanted and allow.calls:
        size = draw(st.integers(1, 3))
        message["tool_calls"] = [draw(calls(allow, number + place)) for place in range(size)]
    return message


@st.composite
def results(draw: st.DrawFn, allow: Allow, call: dict[str, Any] | None = None) -> Message:
    """A tool message, the answer to `call` where one is given."""
    message = {"role": "tool", **draw(contents(allow))}
    if call and "id" in call:
        message["tool_call_id"] = call["id"]
    elif allow.ids and draw(st.booleans()):
        message["tool_call_id"] = draw(st.sampled_from(("call00000", "functions.f:0", "x")))
    if allow.names and draw(st.booleans()):
        message["name"] = call["function"]["name"] if call else draw(st.sampled_from(_NAMES))
    return message


@st.composite
def well_formed(draw: st.DrawFn, max_size: int = 6, allow: Allow = Allow()) -> Messages:
    """A system message or none, then turns: a user message, answered tool loops, an answer.

    At most `max_size` messages: the last turn may be cut anywhere but between the results of one
    message.
    """
    messages: Messages = []
    if allow.system and max_size > 1 and draw(st.booleans()):
        messages.append(draw(plain_messages("system", allow)))
    number = 0
    messages.append(draw(plain_messages("user", allow)))
    for _ in range(max_size):
        message = draw(_following(messages[-1]["role"], allow, number))
        made = message.get("tool_calls", [])
        number += len(made)
        if len(messages) + 1 + len(made) > max_size:
            break
        messages += [message, *(draw(results(allow, call)) for call in made)]
        if draw(st.integers(0, 4)) == 0:
            break
    return messages


def _following(role: str, allow: Allow, number: int) -> st.SearchStrategy[Message]:
    """What follows a message of that role in a well-formed conversation."""
    return plain_messages("user", allow) if role == "assistant" else assistants(allow, number)


@st.composite
def any_order(draw: st.DrawFn, max_size: int = 6, allow: Allow = Allow()) -> Messages:
    """Messages of all roles in any order; tool messages may answer nothing."""
    makers: dict[str, Callable[[int], st.SearchStrategy[Message]]] = {
        "user": lambda number: plain_messages("user", allow),
        "assistant": lambda number: assistants(allow, number),
        "tool": lambda number: results(allow),
    }
    if allow.system:
        makers["system"] = lambda number: plain_messages("system", allow)
    roles = draw(st.lists(st.sampled_from(sorted(makers)), min_size=1, max_size=max_size))
    return [draw(makers[role](3 * place)) for place, role in enumerate(roles)]


def conversations(
    *, max_size: int = 6, ordered: bool | None = None, **allow: Any
) -> st.SearchStrategy[Messages]:
    """Conversations of 1 to `max_size` messages.

    ordered: True for well-formed ones only, False for any order, None for both. allow: the flags of
    `Allow`.
    """
    flags = Allow(**allow)
    match ordered:
        case True:
            return well_formed(max_size, flags)
        case False:
            return any_order(max_size, flags)
        case None:
            return st.one_of(well_formed(max_size, flags), any_order(max_size, flags))


@st.composite
def tools(draw: st.DrawFn, *, control: bool = False) -> dict[str, Any]:
    """One tool declaration in the OpenAI form, with types, enums, defaults and nested objects."""
    words = bodies(control=control, max_size=3)
    kinds = st.sampled_from(("string", "integer", "number", "boolean", "array", "object"))
    properties: dict[str, Any] = {}
    for key in draw(st.lists(st.sampled_from(_KEYS), max_size=3, unique=True)):
        properties[key] = {"type": draw(kinds), "description": draw(words)}
        if draw(st.booleans()):
            properties[key] |= draw(st.sampled_from(_EXTRAS))
    required = (
        draw(st.lists(st.sampled_from(sorted(properties)), unique=True)) if properties else []
    )
    schema = {"type": "object", "properties": properties, "required": required}
    function = {
        "name": draw(st.sampled_from(_NAMES)),
        "description": draw(words),
        "parameters": schema,
    }
    return {"type": "function", "function": function}


_EXTRAS: tuple[dict[str, Any], ...] = (
    {"enum": ["x", "東京", None]},
    {"default": 1.0},
    {"items": {"type": "string"}},
    {"properties": {"l": {"type": ["integer", "null"]}}, "required": ["l"]},
)


def tool_lists(
    *, max_size: int = 3, control: bool = False
) -> st.SearchStrategy[list[dict[str, Any]] | None]:
    """None, or up to `max_size` declarations with different names."""
    found = st.lists(
        tools(control=control),
        max_size=max_size,
        unique_by=lambda tool: str(tool["function"]["name"]),
    )
    return st.one_of(st.none(), found)
