"""Items to ids, one row of text between two contents after the other.

A row is what stands between two contents: text that goes with the one before, control tokens and what is between
them, text that goes with the one behind. The rows between skeletons are encoded once. Each token has a message, a
weight, and was sampled or not, as the piece has that it starts in.

    encoded([Piece("<|im_start|>user\\n", message=0), Piece("hi", body=True, message=0)], codec, True).ids
        ->  [151644, 872, 198, 6023]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple, TypeAlias

from templc.runtime.codec import Codec
from templc.runtime.columns import Columns
from templc.runtime.pieces import Piece
from templc.runtime.skeleton import Filled, Item

Waiting: TypeAlias = tuple[int, bool, float, str]
"""Text that is not encoded yet, for more may follow, behind its message, whether it was sampled, and its weight."""


class Encoded:
    """Ids, and what is known of each."""

    __slots__ = ("columns", "ids")

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.columns = Columns()

    def add(self, other: Encoded) -> None:
        """The others behind these."""
        self.ids += other.ids
        self.columns.add(other.columns)


class Row(NamedTuple):
    """lead, tail: the text before the first control token and behind the last one. inner: what is between.

    Without a control token all of it is lead, and nothing is inner. behind: how many of the inner tokens are of
    message 1, for a row between the messages 0 and 1; they are the last ones.
    """

    lead: Sequence[Waiting]
    inner: Encoded
    tail: Sequence[Waiting]
    behind: int = 0


def encoded(items: Sequence[Item], codec: Codec, at_start: bool) -> Encoded:
    """The ids of items, for control tokens without flags.

    at_start: nothing comes before. An item without a content comes first, where it has nothing before it, or last.
    """
    out = Encoded()
    waiting: list[Waiting] = []
    loose: list[Piece] = []
    last: Filled | None = None
    for item in items:
        if not isinstance(item, Filled):
            loose.append(item)
            continue
        _, skeleton, number, content = item
        if last is not None and not loose:
            row = last.skeleton.rows.get(skeleton) or _between(last, item, codec)
            waiting = _add_between(row, last.message, number, waiting, codec, at_start, out)
        elif loose or skeleton.before:
            row = row_of([*_behind(last), *loose, *item.before()], codec)
            loose = []
            waiting = _add(row, waiting, codec, at_start, out)
        hole = skeleton.hole
        if hole is not None:
            waiting.append((number, hole.sampled, hole.weight, content))
        last = item
    if loose or (last is not None and last.skeleton.behind):
        waiting = _add(row_of([*_behind(last), *loose], codec), waiting, codec, at_start, out)
    if waiting:
        _flush(waiting, codec, at_start and not out.ids, out)
    return out


def _behind(item: Filled | None) -> list[Piece]:
    return [] if item is None else item.behind()


def _add(
    row: Row, waiting: list[Waiting], codec: Codec, at_start: bool, out: Encoded
) -> list[Waiting]:
    """Add a row behind the text that waits; the text that waits then."""
    waiting += row.lead
    if not row.inner.ids:
        return waiting
    if waiting:
        _flush(waiting, codec, at_start and not out.ids, out)
    out.add(row.inner)
    return list(row.tail)


def _add_between(
    row: Row,
    first: int,
    second: int,
    waiting: list[Waiting],
    codec: Codec,
    at_start: bool,
    out: Encoded,
) -> list[Waiting]:
    """As `_add`, for a row whose messages 0 and 1 are these two."""
    lead, inner, tail, behind = row
    for side, sampled, weight, text in lead:
        waiting.append((second if side else first, sampled, weight, text))
    ids, known = inner.ids, inner.columns
    if not ids:
        return waiting
    if waiting:
        _flush(waiting, codec, at_start and not out.ids, out)
    out.ids += ids
    columns = out.columns
    columns.messages += [first] * (len(ids) - behind) + [second] * behind
    columns.sampled += known.sampled
    columns.weights += known.weights
    return [
        (second if side else first, sampled, weight, text) for side, sampled, weight, text in tail
    ]


def row_of(pieces: Iterable[Piece], codec: Codec) -> Row:
    """The row of these pieces, whatever stands before and behind them."""
    lead: list[Waiting] | None = None
    inner = Encoded()
    waiting: list[Waiting] = []
    scaffold: list[Piece] = []
    for piece in (*pieces, None):
        if piece is not None and not piece.body:
            scaffold.append(piece)
            continue
        if scaffold:
            found = codec.scaffold.stretch(tuple([one.text for one in scaffold]), codec)
            waiting += [_waiting(scaffold[place], text) for place, text in found.lead]
            if found.ids:
                if lead is None:
                    lead = waiting
                elif waiting:
                    _flush(waiting, codec, False, inner)
                inner.ids += found.ids
                for one, count in zip(scaffold, found.counts, strict=True):
                    inner.columns.own(count, one.message, one.sampled, one.weight)
                waiting = [_waiting(scaffold[place], text) for place, text in found.tail]
            scaffold = []
        if piece is not None:
            waiting.append(_waiting(piece, piece.text))
    return Row(waiting, inner, ()) if lead is None else Row(lead, inner, waiting)


def _waiting(piece: Piece, text: str) -> Waiting:
    return piece.message, piece.sampled, piece.weight, text


def _between(first: Filled, second: Filled, codec: Codec) -> Row:
    """The row between the contents of two skeletons; the messages are 0 and 1, which they are comes with each use.

    Text next to no content waits for none.
    """
    pieces = [*first._replace(message=0).behind(), *second._replace(message=1).before()]
    lead, inner, tail, _ = row_of(pieces, codec)
    lead, tail = lead and _joined(lead), tail and _joined(tail)
    if inner.ids and lead and first.skeleton.hole is None:
        before = Encoded()
        _flush(lead, codec, first.skeleton.at_start, before)
        before.add(inner)
        lead, inner = (), before
    if inner.ids and tail and second.skeleton.hole is None:
        _flush(tail, codec, False, inner)
        tail = ()
    row = Row(lead, inner, tail, sum(inner.columns.messages))
    first.skeleton.rows[second.skeleton] = row
    return row


def _joined(waiting: Sequence[Waiting]) -> Sequence[Waiting]:
    """Neighbouring texts of one message, alike in the rest too, as one."""
    first, *rest = waiting
    message, sampled, weight, text = first
    found: list[Waiting] = []
    for at, was, counts, more in rest:
        if at == message and was is sampled and counts == weight:
            text += more
        else:
            found.append((message, sampled, weight, text))
            message, sampled, weight, text = at, was, counts, more
    found.append((message, sampled, weight, text))
    return found


def _flush(waiting: Sequence[Waiting], codec: Codec, first: bool, out: Encoded) -> None:
    """Add the text between two control tokens. first: nothing comes before it."""
    texts = _joined(waiting) if len(waiting) > 1 else waiting
    message, sampled, weight, text = texts[0]
    columns = out.columns
    if len(texts) == 1:
        found = codec.plain(text, at_start=first)
        size = len(found)
        columns.messages += [message] * size
        columns.sampled += [sampled] * size
        columns.weights += [weight] * size
    else:
        found, sizes = codec.plain_counted(*_cut(texts), at_start=first)
        for (message, sampled, weight, _), size in zip(texts, sizes, strict=True):
            columns.messages += [message] * size
            columns.sampled += [sampled] * size
            columns.weights += [weight] * size
    out.ids += found


def _cut(texts: Sequence[Waiting]) -> tuple[str, list[int]]:
    """The texts as one, and where each ends."""
    parts = [text for _, _, _, text in texts]
    return "".join(parts), list(accumulate(map(len, parts)))
