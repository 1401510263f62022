"""The first kind of engine: gigatoken, which reads the settings of a `tokenizers` tokenizer itself.

It knows the pre-tokenizers of many vocabularies by name and refuses others. It keeps every word that it has met, so
what it keeps is thrown away when it has become large.

    encode, into = encoder(tokenizer, ranks)
    encode("hello")  ->  [14990]
"""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from templc.runtime.engine.fast import Encoder
from templc.runtime.engine.merges import Table, is_plain_bpe, ranks_of
from templc.runtime.engine.pattern import byte_steps
from templc.runtime.engine.reasons import Unfit
from templc.runtime.token_bytes import byte_of_character

NAME = "gigatoken"
# Made anew when it has read so many characters and the process has grown by so many bytes since it was made.
CHARACTERS = 32_000_000
GROWTH = 128 << 20
_TRIES = 1000
_STATM = Path("/proc/self/statm")


def version() -> str:
    """Of the library; `Unfit` where there is none."""
    try:
        importlib.import_module("gigatoken.gigatoken_rs")
        return metadata.version(NAME)
    except ImportError:
        raise Unfit('gigatoken is not installed: pip install "templc[fast]"') from None


def table(settings: Mapping[str, Any]) -> Table:
    """The entries of the vocabulary; `Unfit` where gigatoken would not see what else the settings ask for."""
    model = settings["model"]
    is_plain_bpe(model)
    byte_steps(settings["pre_tokenizer"])
    vocabulary: Mapping[str, int] = model["vocab"]
    known = byte_of_character()
    unused = frozenset(id for text, id in vocabulary.items() if not known.keys() >= set(text))
    return Table(ranks_of(vocabulary, unused), unused, tuple(_whole_words(model)))


def encoder(tokenizer: Any, ranks: Callable[[], dict[bytes, int]]) -> Encoder:
    """Text to ids, without normalisation; `Unfit` where gigatoken knows no such tokenizer."""
    renewed = Renewed(lambda: _made(tokenizer), _made(tokenizer))
    return renewed, renewed


class Renewed:
    """An encoder that is made anew before the words that it keeps fill the memory.

    It may be called from several threads. gigatoken lets others run while it encodes but serves one at a time, so they
    ask again; a ValueError says that it stayed busy. A lock would stay locked in a process that was forked meanwhile.
    """

    def __init__(self, make: Callable[[], Any], first: Any) -> None:
        self._make = make
        self._start(first)

    def __call__(self, text: str) -> list[int]:
        self.left -= len(text)
        if self.left < 0:
            self.renew()
        try:
            return self.encode(text).tolist()  # type: ignore[no-any-return]
        except RuntimeError:
            return self.again(text)

    def again(self, text: str) -> list[int]:
        """The ids of a text, after others; ValueError where they do not end."""
        for _ in range(_TRIES):
            time.sleep(0)
            try:
                return self.encode(text).tolist()  # type: ignore[no-any-return]
            except RuntimeError as error:
                busy = error
        raise ValueError(f"another thread is encoding ({busy})")

    def _start(self, made: Any) -> None:
        self.encode = made.encode
        self.left = CHARACTERS
        self._size = resident()

    def renew(self) -> None:
        """Made anew, if the process has grown much since it was made."""
        self.left = CHARACTERS
        size = resident()
        if not size or size > self._size + GROWTH:
            self._start(self._make())


def resident() -> int:
    """Bytes of memory that the process holds; 0 where the system does not tell."""
    try:
        return int(_STATM.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _made(tokenizer: Any) -> Any:
    bare = type(tokenizer)(tokenizer.model)
    bare.pre_tokenizer = tokenizer.pre_tokenizer
    if tokenizer.decoder is not None:
        bare.decoder = tokenizer.decoder
    load = importlib.import_module("gigatoken.gigatoken_rs").load_hf_json
    try:
        return load(bare.to_str())
    except (
        Exception
    ) as error:  # of several types: it names what it cannot do, which is all that counts
        first = str(error).partition("\n")[0][:120]
        raise Unfit(f"gigatoken refuses the tokenizer ({first})") from None


def _whole_words(model: Mapping[str, Any]) -> list[bytes]:
    """Entries that no merge makes, where they are taken as whole words."""
    if not model.get("ignore_merges"):
        return []
    known = byte_of_character()
    made = {"".join(pair) for pair in model["merges"]}
    return [
        bytes([known[character] for character in text])
        for text in model["vocab"]
        if len(text) > 1 and text not in made and known.keys() >= set(text)
    ]
