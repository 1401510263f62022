"""The seam between earlier tokens and new text: does a merge of the tokenizer cross it?

Ids before a control token never change. Behind the last one, the plain text at the end of the earlier tokens is
encoded with and without what follows, and the ids are compared.
"""

from __future__ import annotations

from collections.abc import Sequence

from templc.runtime.codec import Codec


def changed_ids(codec: Codec, ids: Sequence[int], text: str, following: str) -> int:
    """How many trailing ids would change if the text that they stand for, ending in `text`, went on with `following`.

    0 where a control token stands on either side of the seam.
    """
    controls = set(codec.added().values())
    plain = 0
    for token in reversed(ids):
        if token in controls:
            break
        plain += 1
    head = _plain_head(codec, following)
    if not plain or not head:
        return 0
    tail = codec.decode(list(ids[len(ids) - plain :]))
    if not text.endswith(tail) and not tail.endswith(text):
        return 0  # ids that are not what the tokenizer gives for their text are kept as they are
    alone, together = codec.plain(tail), codec.plain(tail + head)
    kept = next(
        (at for at, token in enumerate(alone) if together[at : at + 1] != [token]), len(alone)
    )
    return len(alone) - kept


def _plain_head(codec: Codec, text: str) -> str:
    """The text before the first control token."""
    starts = [text.find(token) for token in codec.added() if token in text]
    return text[: min(starts)] if starts else text
