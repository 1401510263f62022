"""When the fast engine is made: once a tokenizer has had enough text to make it worth a second.

Owns the wait and the environment variable TEMPLC_ENGINE: `auto` (the default), `fast` (made at the first text), `own`
(never made), or the library to use: `tiktoken` takes less memory than `gigatoken`, which is faster.

    Haste(tokenizer, blanks=False).engine(len(text))  ->  None at first, later a FastEngine
"""

from __future__ import annotations

import os
import threading
from typing import Any

from templc.runtime.engine.build import KINDS, fast_engine
from templc.runtime.engine.fast import FastEngine
from templc.runtime.engine.reasons import Unfit

# About as many characters as a tokenizer encodes in the time that it takes to make the engine.
ENOUGH = 400_000


class Haste:
    """The engine of one text tokenizer, made late and once. Safe to call from several threads.

    ready: the engine, None until it is made.
    blanks: the vocabulary has added tokens that are runs of blanks, which only its own engine finds.
    """

    def __init__(self, tokenizer: Any, *, blanks: bool) -> None:
        choice = os.environ.get("TEMPLC_ENGINE", "auto")
        self._tokenizer = tokenizer
        self._kinds = [kind for kind in KINDS if kind.name == choice] or KINDS
        self._left = 0 if choice == "fast" else ENOUGH
        self.ready: FastEngine | None = None
        self._lock = threading.Lock()
        self._reason = ""
        if choice == "own":
            self._reason = "TEMPLC_ENGINE is own"
        elif blanks:
            self._reason = "added tokens of the vocabulary are runs of blanks"

    def engine(self, size: int) -> FastEngine | None:
        """The engine for a text of that many characters; None where the tokenizer's own is to be used."""
        if self.ready is not None or self._reason:
            return self.ready
        self._left -= size
        return None if self._left > 0 else self.made()

    def made(self) -> FastEngine | None:
        """The engine, made now if need be."""
        with self._lock:
            if self.ready is None and not self._reason:
                try:
                    self.ready = fast_engine(self._tokenizer, self._kinds)
                except Unfit as unfit:
                    self._reason = unfit.reason
            return self.ready

    def words(self) -> str:
        """Which engine encodes text, and why not the fast one."""
        made = self.made()
        return f"tokenizers ({self._reason})" if made is None else made.name
