"""The seam between earlier tokens and new text: does a merge of the tokenizer cross it?

Ids before a control token never change. Behind the last one, `joint` compares the plain text at the end of the earlier
tokens with and without what follows.
"""

from __future__ import annotations

from collections.abc import Sequence

from templc.runtime.codec import Codec
from templc.runtime.joint import changed_tail


def changed_ids(codec: Codec, ids: Sequence[int], text: str, following: str) -> int:
    """How many trailing ids would change if the text that they stand for, ending in `text`, went on with `following`.

    0 where a control token stands on either side of the seam.
    """
    controls = codec.controls.ids
    if not ids or ids[-1] in controls:
        return 0
    head = codec.controls.before_first(following)
    if not head:
        return 0
    plain = next((at for at, token in enumerate(reversed(ids)) if token in controls), len(ids))
    tail = codec.decode(list(ids[len(ids) - plain :]))
    if not text.endswith(tail) and not tail.endswith(text):
        return 0  # ids that are not what the tokenizer gives for their text are kept as they are
    return changed_tail(codec, tail, head)
