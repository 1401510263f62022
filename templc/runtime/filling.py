# cython: annotation_typing=False
"""Texts that go into shapes: all that a short chat runs through on its way from messages to tokens.

`filling.pxd` beside this file tells a compiler the types of these lines, which takes half of their time away. They run
as Python where none was there when templc was installed.

    bare([{"role": "user", "content": "hi"}], frozenset({"user"}), None, (), ())  ->  (("user",), ["hi"])
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from templc.runtime.around import Around
from templc.runtime.errors import MessageError
from templc.runtime.fill import Fill, Making
from templc.runtime.states import wants_prompt
from templc.runtime.tokens import Tokens

if TYPE_CHECKING:
    from templc.runtime.binding import Last
    from templc.runtime.codec import Codec
    from templc.runtime.engine.fast import FastEngine
    from templc.runtime.shape import Care, Shape

LONGEST = 16
"""Longer rows of roles are too many to be worth remembering."""
UNKNOWN: Any = object()
"""Stands for what nobody has asked for yet."""
# Tokens refuse their own.
_extend = list.extend
# As `Fill(...)` and `Tokens()`, in a third of the time.
_new, _bare = tuple.__new__, Tokens.__new__


def compiled() -> bool:
    """Whether these lines were compiled."""
    return not __file__.endswith(".py")


class Slots:
    """What a shape is filled into. ids: what stands before the first content. around: each content.

    cares: numbers of texts that must not be everything, whether more is asked than of white space, and the `Care`.
    straight: each text is a content of its own. start: the number of the first message.
    """

    __slots__ = ("around", "cares", "codec", "ids", "start", "straight")

    codec: Codec
    ids: list[int]
    around: list[Around]
    cares: list[tuple[int, bool, Care]]
    start: int
    straight: bool


class Asked:
    """What is asked of bare texts, see `bare`, and the shapes of those that were met. written: makes their state."""

    __slots__ = ("filtered", "firsts", "known", "roles", "sought", "written")

    roles: frozenset[str]
    filtered: Callable[[str], str] | None
    firsts: tuple[str, ...]
    sought: tuple[str, ...]
    known: dict[tuple[Any, ...], Any]
    written: Any


def rendered(
    last: Last, tokenizer: object, messages: Sequence[object], prompt: bool | None
) -> Tokens | None:
    """A fresh render without tools; None where the turn methods have to write it, or for another tokenizer."""
    kept, (_, _, shapes) = last
    if shapes is None or not kept.fits(tokenizer):
        return None
    read = bare(messages, shapes.roles, shapes.filtered, shapes.firsts, shapes.sought)
    if read is None:
        return None
    roles, contents = read
    if type(prompt) is not bool:
        prompt = wants_prompt(roles[-1], prompt)
    known = shapes.known.get((roles, prompt), UNKNOWN)
    if known is UNKNOWN:
        known = shapes.learn_fresh(roles, prompt)
    if known is None:
        return None
    return filled(known.shape, contents, 0, (shapes.written, known, prompt))


def bare(
    messages: Sequence[object],
    roles: Collection[str],
    filtered: Callable[[str], str] | None,
    firsts: tuple[str, ...],
    sought: tuple[str, ...],
) -> tuple[tuple[str, ...], list[str]] | None:
    """Roles and contents of messages that have these and nothing else; None where one is not so.

    roles: which there may be. filtered: changes no content. sought: none of these texts is in a content. firsts: what
    they begin with.
    """
    if type(messages) not in (list, tuple) or len(messages) > LONGEST:
        return None
    found: list[str] = []
    contents: list[str] = []
    for message in messages:
        if type(message) is not dict or len(message) != 2:
            return None
        role, content = message.get("role"), message.get("content")
        if type(role) is not str or role not in roles:
            return None
        if type(content) is not str or not content or content.isspace():
            return None
        if filtered is not None and filtered(content) != content:
            return None
        for first in firsts:
            # One search is most often all that is needed.
            if first in content:
                for text in sought:
                    if text in content:
                        return None
        found.append(role)
        contents.append(content)
    return (tuple(found), contents) if found else None


def filled(shape: Shape, texts: list[str], start: int, state: Making = ()) -> Tokens | None:
    """The tokens of a shape with these texts, none of them empty; `start` is the number of the first message.

    state: how it is made. None where a text is not what its place takes, or cannot be encoded: the turn methods know
    the place of it.
    """
    for at, closely, care in shape.cares:
        text = texts[at]
        # `strip` returns a text without white space around it as it is, in a fifth of the time of `refuses`.
        if (closely or text.strip() is not text) and care.refuses(text):
            return None
    contents = texts if shape.straight else shape.contents(texts)
    haste = shape.codec.haste
    fast = None if haste is None else haste.ready
    counted: Sequence[list[int] | None] = ()
    tokens = _bare(Tokens)
    _extend(tokens, shape.ids)
    sizes = None if fast is None else encoded_into(tokens, contents, shape.around, fast)
    if sizes is None:
        try:
            tokens, sizes, counted = shape.one_by_one(contents)
        except MessageError:
            return None
    fill = _new(Fill, (shape, texts, contents, sizes, counted, start - shape.start, state))
    return tokens.told(fill)


def encoded_into(
    ids: list[int], contents: list[str], around: list[Around], fast: FastEngine
) -> list[int] | None:
    """Adds the ids of each content in its place, and those behind it; how many each place has.

    None where the texts have to be asked for one by one; the list of ids is of no use then.
    """
    arrays = fast.arrays
    if arrays is None:
        return None
    encode = arrays.encode
    sizes: list[int] = []
    read = 0
    try:
        for at, (before, after, behind) in enumerate(around):
            text = contents[at]
            if before:
                text = before + text
            if after:
                text = text + after
            if not text.isascii() and fast.taken(text) is not text:
                return None
            try:
                found = encode(text).tolist()
            except RuntimeError:
                found = arrays.again(text)
            read += len(text)
            sizes.append(len(found))
            _extend(ids, found)
            _extend(ids, behind)
    except BaseException as error:
        fast.gave_up(error)
        return None
    arrays.left -= read
    if arrays.left < 0:
        arrays.renew()
    return sizes
