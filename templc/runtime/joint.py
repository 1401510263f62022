"""A joint between two known texts: do the ids of the first stay when the second follows?

Owns the exact answer for one pair of texts, by encoding them apart and together. The proof says which joints are safe
for every text; this settles one that it calls unsafe.

    resolve(qwen3, "</think>\\n\\n", "\\nHello")          ->  False
    changed_tail(qwen3, "</think>\\n\\n", "\\nHello")     ->  1   the id of the two newlines
"""

from __future__ import annotations

from templc.runtime.codec import Codec


def resolve(codec: Codec, tail: str, text: str, *, at_start: bool = False) -> bool:
    """Whether ids(tail) + ids(text) == ids(tail + text), all as plain text.

    tail: what stands before the joint, from the last control token on. text: what follows, up to the next one.
    at_start: nothing, not even a control token, stands before the tail. MessageError for lone surrogates.
    """
    apart = codec.plain(tail, at_start=at_start)
    apart += codec.plain(text, at_start=at_start and not tail)
    return apart == codec.plain(tail + text, at_start=at_start)


def changed_tail(codec: Codec, tail: str, text: str, *, at_start: bool = False) -> int:
    """How many trailing ids of the tail change when the text follows. 0 where `resolve` holds; texts as there."""
    alone = codec.plain(tail, at_start=at_start)
    together = codec.plain(tail + text, at_start=at_start)
    pairs = zip(alone, together, strict=False)
    kept = next((at for at, (old, new) in enumerate(pairs) if old != new), None)
    return len(alone) - (min(len(alone), len(together)) if kept is None else kept)
