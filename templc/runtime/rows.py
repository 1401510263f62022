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
from templc.runtime.columns import Run
from templc.runtime.pieces import Piece
from templc.runtime.skeleton import Filled, Item

Waiting: TypeAlias = tuple[int, bool, float, str]
"""Text that is not encoded yet, for more may follow, behind its message, whether it was sampled, and its weight."""


# Tokens refuse `+=`: they never change once they are made.
_extend = list.extend


class Encoded:
    """Ids, and what is known of them. The ids are put where they stay, for copying long lists takes time."""

    __slots__ = ("ids", "runs")

    def __init__(self, ids: list[int] | None = None) -> None:
        self.ids: list[int] = [] if ids is None else ids
        self.runs: list[Run] = []

    def own(self, size: int, message: int, sampled: bool, weight: float) -> None:
        """The next tokens are of this message; a run goes on if they are alike."""
        if self.runs and self.runs[-1][1:] == (message, sampled, weight):
            size += self.runs.pop()[0]
        if size:
            self.runs.append((size, message, sampled, weight))

    def add(self, other: Encoded) -> None:
        """The others behind these."""
        _extend(self.ids, other.ids)
        self.runs += other.runs


class Row(NamedTuple):
    """lead, tail: the text before the first control token and behind the last one. inner: what is between.

    Without a control token all of it is lead, and nothing is inner.
    """

    lead: Sequence[Waiting]
    inner: Encoded
    tail: Sequence[Waiting]


def encoded(
    items: Sequence[Item], codec: Codec, at_start: bool, ids: list[int] | None = None
) -> Encoded:
    """The ids of items, for control tokens without flags, in the empty list `ids` if there is one.

    at_start: nothing comes before. An item without a content comes first, where it has nothing before it, or last.
    """
    out = Encoded(ids)
    waiting: list[Waiting] = []
    loose: list[Piece] = []
    last: Filled | None = None
    for item in items:
        if not isinstance(item, Filled):
            loose.append(item)
            continue
        skeleton, number, content = item
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
        write_texts(waiting, codec, at_start and not out.ids, out)
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
        write_texts(waiting, codec, at_start and not out.ids, out)
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
    lead, inner, tail = row
    for side, sampled, weight, text in lead:
        waiting.append((second if side else first, sampled, weight, text))
    if not inner.ids:
        return waiting
    if waiting:
        write_texts(waiting, codec, at_start and not out.ids, out)
    _extend(out.ids, inner.ids)
    for size, side, sampled, weight in inner.runs:
        out.runs.append((size, second if side else first, sampled, weight))
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
                    write_texts(waiting, codec, False, inner)
                _extend(inner.ids, found.ids)
                for one, count in zip(scaffold, found.counts, strict=True):
                    inner.own(count, one.message, one.sampled, one.weight)
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
    lead, inner, tail = row_of(pieces, codec)
    lead, tail = lead and merged(lead), tail and merged(tail)
    if inner.ids and lead and first.skeleton.hole is None:
        before = Encoded()
        write_texts(lead, codec, first.skeleton.at_start, before)
        before.add(inner)
        lead, inner = (), before
    if inner.ids and tail and second.skeleton.hole is None:
        write_texts(tail, codec, False, inner)
        tail = ()
    row = Row(lead, inner, tail)
    first.skeleton.rows[second.skeleton] = row
    return row


def merged(waiting: Sequence[Waiting]) -> Sequence[Waiting]:
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


def write_texts(waiting: Sequence[Waiting], codec: Codec, first: bool, out: Encoded) -> None:
    """Add the text between two control tokens. first: nothing comes before it."""
    texts = merged(waiting) if len(waiting) > 1 else waiting
    if len(texts) == 1:
        message, sampled, weight, text = texts[0]
        found = codec.plain(text, at_start=first)
        out.runs.append((len(found), message, sampled, weight))
    else:
        found, sizes = codec.plain_counted(*_cut(texts), at_start=first)
        for (message, sampled, weight, _), size in zip(texts, sizes, strict=True):
            out.runs.append((size, message, sampled, weight))
    _extend(out.ids, found)


def _cut(texts: Sequence[Waiting]) -> tuple[str, list[int]]:
    """The texts as one, and where each ends."""
    parts = [text for _, _, _, text in texts]
    return "".join(parts), list(accumulate(map(len, parts)))
