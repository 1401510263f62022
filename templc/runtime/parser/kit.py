"""What all completions of one format and vocabulary have in common: the control tokens, and what ends a turn."""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

from templc.runtime.codec import Codec
from templc.runtime.info import Info
from templc.runtime.parser.alphabet import Alphabet, known_controls


class Kit(NamedTuple):
    """controls: those that the vocabulary has, all of the format without one. ends: texts that end a turn.

    alphabet: to be copied for each completion.
    """

    controls: tuple[str, ...]
    ends: tuple[str, ...]
    alphabet: Alphabet


_Key = tuple[tuple[str, ...], ...]
_kits: weakref.WeakKeyDictionary[Any, dict[_Key, Kit]] = weakref.WeakKeyDictionary()


def kit_of(info: Info, codec: Codec | None) -> Kit:
    """The kit of a format; it is kept as long as the codec is."""
    stops = info.stop or tuple(token for token in (codec and codec.eos_token,) if token)
    if codec is None:
        return _made(info, stops, None)
    try:
        known = _kits.setdefault(codec, {})
    except TypeError:  # takes no weak reference
        return _made(info, stops, codec)
    key = info.specials, info.markers, stops, info.stop_strings
    found = known.get(key)
    if found is None:
        found = known[key] = _made(info, stops, codec)
    return found


def _made(info: Info, stops: tuple[str, ...], codec: Codec | None) -> Kit:
    named = (*info.specials, *info.markers, *stops)
    controls = known_controls(named, None if codec is None else codec.controls.tokens)
    ends = (*(stop for stop in stops if stop in controls), *info.stop_strings)
    return Kit(controls, ends, Alphabet(controls))
