"""Why a tokenizer stays with its own engine: `Unfit("the model is Unigram, not BPE").reason`."""

from __future__ import annotations


class Unfit(Exception):
    """The fast engine would not, or may not, give the same ids. reason: why, in words."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
