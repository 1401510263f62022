"""The shape of a sampled turn, as generated renderers spell it: what `response` returns.

    Response(
        Anchor("<think>", post="\\n"),
        Hole("reasoning", "strip_newlines"),
        Anchor("</think>", pre="\\n", post="\\n\\n"),
        Hole("content"),
        Calls(JsonCall(Anchor("<tool_call>", post="\\n"), Anchor("</tool_call>", pre="\\n")), between="\\n"),
        Anchor("<|im_end|>"),
    )

It is the assistant's body and closer with the conditions on options and on earlier messages decided; what depends
on the message itself or on later ones stays an alternative. Data only: `table` makes the automaton of it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Anchor:
    """Text that the format writes: `core` decides, `pre` and `post` are taken off as written where they are there."""

    core: str
    pre: str = ""
    post: str = ""


@dataclass(frozen=True, slots=True)
class Blank:
    """White space that stands beside no anchor: at the very start, or before the end of the turn."""

    text: str


@dataclass(frozen=True, slots=True)
class Hole:
    """A field of the message, `content` or `reasoning`; `strip` is the filter that the format writes it with."""

    field: str
    strip: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a call, in its place: name, arguments, id or type; in an argument: key or value."""

    name: str


@dataclass(frozen=True, slots=True)
class JsonCall:
    """A call as one JSON object between `open` and `close`; the names of its keys."""

    open: Anchor
    close: Anchor
    name: str = "name"
    arguments: str = "arguments"
    id: str = ""


@dataclass(frozen=True, slots=True, init=False)
class FieldCall:
    """A call as parts between texts, its arguments as JSON: `FieldCall(open, close, Part("name"), "<sep>", ...)`."""

    open: Anchor
    close: Anchor
    inner: tuple[str | Part, ...]

    def __init__(self, open: Anchor, close: Anchor, *inner: str | Part) -> None:
        object.__setattr__(self, "open", open)
        object.__setattr__(self, "close", close)
        object.__setattr__(self, "inner", inner)


@dataclass(frozen=True, slots=True)
class ArgumentCall:
    """A call that writes each argument by itself.

    head: what stands before the arguments; argument: key and value with the texts around them; tail: what stands
    between the last argument and `close`. other: how a value that is no text is written, where `argument` is for
    texts only; it differs between key and value. between: what parts two arguments that begin with their names, the
    call then ends where the turn does.
    """

    open: Anchor
    close: Anchor
    head: tuple[str | Part, ...]
    argument: tuple[str | Part, ...]
    tail: str = ""
    other: tuple[str | Part, ...] = ()
    between: str = ""


@dataclass(frozen=True, slots=True)
class BareCall:
    """A call as a JSON object with nothing around it, where it can only begin a turn.

    Text is one only if it is an object that names a declared tool and maps its arguments; else it is content.
    """

    name: str = "name"
    arguments: str = "arguments"
    id: str = ""

    @property
    def open(self) -> Anchor:
        return Anchor("{")

    @property
    def close(self) -> Anchor:
        return Anchor("}")


@dataclass(frozen=True, slots=True)
class PythonCalls:
    """All calls of a turn between `open` and `close`, as Python writes them: `f(a=1, b="x")`."""

    open: Anchor
    close: Anchor


@dataclass(frozen=True, slots=True)
class MapCall:
    """A call as `NAME{key:value,...}` behind `before`; `mark` stands before and behind each text."""

    open: Anchor
    close: Anchor
    before: str
    mark: str


@dataclass(frozen=True, slots=True)
class TreeCall:
    """A call with its arguments as a tree of tags behind `head`; `mark` stands before each tag."""

    open: Anchor
    close: Anchor
    head: tuple[str | Part, ...]
    mark: str


CallShape = JsonCall | FieldCall | ArgumentCall | BareCall | PythonCalls | MapCall | TreeCall


@dataclass(frozen=True, slots=True)
class Calls:
    """Tool calls, none or more.

    before, alone: the separator before the first one where there is content, and where there is none. between: the
    separator of two calls, white space unless there is an `open`. open, close: what stands around them all.
    """

    call: CallShape
    before: str = ""
    alone: str = ""
    between: str = ""
    open: Anchor | None = None
    close: Anchor | None = None


@dataclass(frozen=True, slots=True, init=False)
class If:
    """Items that are there where `holds`, which is known before the model samples."""

    holds: bool
    items: tuple[Item, ...]

    def __init__(self, holds: object, *items: Item) -> None:
        object.__setattr__(self, "holds", bool(holds))
        object.__setattr__(self, "items", items)


@dataclass(frozen=True, slots=True, init=False)
class Either:
    """One of several spellings; the completion shows which one."""

    options: tuple[If | tuple[Item, ...], ...]

    def __init__(self, *options: If | tuple[Item, ...]) -> None:
        object.__setattr__(self, "options", options)


Item = Anchor | Blank | Hole | Calls | If | Either


@dataclass(frozen=True, slots=True, init=False)
class Response:
    """Everything that a model samples in one turn, in order."""

    items: tuple[Item, ...]

    def __init__(self, *items: Item) -> None:
        object.__setattr__(self, "items", items)


@dataclass(frozen=True, slots=True)
class Strip:
    """What a strip filter takes off: characters at the start and at the end; None is white space of every kind."""

    left: str | None = ""
    right: str | None = ""


STRIPS = {
    "": Strip(),
    "strip": Strip(None, None),
    "lstrip": Strip(None, ""),
    "rstrip": Strip("", None),
    "strip_newlines": Strip("\n", "\n"),
    "lstrip_newlines": Strip("\n", ""),
    "rstrip_newlines": Strip("", "\n"),
}
