"""Items to ids, one row of text between two contents after the other.

A row is what stands between two contents: text that goes with the one before, control tokens and what is between
them, text that goes with the one behind. The rows between skeletons are encoded once. Whose a token is, is told by
its owner: message, whether it was sampled, weight.

    owned([Piece("<|im_start|>user\\n", message=0), Piece("hi", body=True, message=0)], codec, True)
        ->  ([151644, 872, 198, 6023], [((0, False, 0.0), 4)])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from templc.runtime.codec import Codec
from templc.runtime.pieces import Piece
from templc.runtime.skeleton import Filled, Item

Owner: TypeAlias = tuple[int, bool, float]
Share: TypeAlias = tuple[Owner, int]
Waiting: TypeAlias = tuple[Owner, str]

owner_of: Callable[[Piece], Owner] = attrgetter("message", "sampled", "weight")


class Row(NamedTuple):
    """lead, tail: the text before the first control token and behind the last one, by owners. ids: what is between,
    with as many ids of each owner, in order, as `shares` has. Without a control token all of it is lead, ids is empty.
    """

    lead: Sequence[Waiting]
    ids: Sequence[int]
    shares: Sequence[Share]
    tail: Sequence[Waiting]


def owned(items: Sequence[Item], codec: Codec, at_start: bool) -> tuple[list[int], list[Share]]:
    """The ids, and how many of them each owner has, in order; for control tokens without flags.

    at_start: nothing comes before. An item without a content comes first or last.
    """
    ids: list[int] = []
    shares: list[Share] = []
    waiting: list[Waiting] = []
    loose: list[Piece] = []
    last: Filled | None = None
    for item in items:
        if not isinstance(item, Filled):
            loose.append(item)
            continue
        _, skeleton, number, content = item
        if last is None or loose:
            row = row_of([*_behind(last), *loose, *item.before()], codec)
            loose, sides = [], None
        else:
            row = last.skeleton.rows.get(skeleton) or _between(last, item, codec)
            sides = (last.message, number)
        waiting = _add(row, sides, waiting, codec, at_start, ids, shares)
        hole = skeleton.hole
        if hole is not None:
            waiting.append(((number, hole.sampled, hole.weight), content))
        last = item
    if loose or last is None or last.skeleton.behind:
        row = row_of([*_behind(last), *loose], codec)
        waiting = _add(row, None, waiting, codec, at_start, ids, shares)
    if waiting:
        _flush(waiting, codec, at_start and not ids, ids, shares)
    return ids, shares


def _behind(item: Filled | None) -> list[Piece]:
    return [] if item is None else item.behind()


def _add(
    row: Row,
    sides: tuple[int, int] | None,
    waiting: list[Waiting],
    codec: Codec,
    at_start: bool,
    ids: list[int],
    shares: list[Share],
) -> list[Waiting]:
    """Add a row behind the text that waits; the text that waits then. sides: the messages that 0 and 1 stand for."""
    lead, inner, counted, tail = row
    if lead:
        waiting += lead if sides is None else _sided(lead, sides)
    if not inner:
        return waiting
    if waiting:
        _flush(waiting, codec, at_start and not ids, ids, shares)
    ids += inner
    for owner, count in counted:
        if sides is not None:
            side, sampled, weight = owner
            owner = (sides[side], sampled, weight)
        if shares and shares[-1][0] == owner:
            count += shares.pop()[1]
        shares.append((owner, count))
    return list(tail) if sides is None else _sided(tail, sides)


def _sided(waiting: Sequence[Waiting], sides: tuple[int, int]) -> list[Waiting]:
    return [((sides[side], sampled, weight), text) for (side, sampled, weight), text in waiting]


def _count(owner: Owner, count: int, shares: list[Share]) -> None:
    if shares and shares[-1][0] == owner:
        count += shares.pop()[1]
    shares.append((owner, count))


def row_of(pieces: Iterable[Piece], codec: Codec) -> Row:
    """The row of these pieces, whatever stands before and behind them."""
    lead: list[Waiting] | None = None
    ids: list[int] = []
    shares: list[Share] = []
    waiting: list[Waiting] = []
    scaffold: list[Piece] = []
    for piece in (*pieces, None):
        if piece is not None and not piece.body:
            scaffold.append(piece)
            continue
        if scaffold:
            found = codec.scaffold.stretch(tuple([one.text for one in scaffold]), codec)
            waiting += [(owner_of(scaffold[place]), text) for place, text in found.lead]
            if found.ids:
                if lead is None:
                    lead = waiting
                elif waiting:
                    _flush(waiting, codec, False, ids, shares)
                ids += found.ids
                for one, count in zip(scaffold, found.counts, strict=True):
                    _count(owner_of(one), count, shares)
                waiting = [(owner_of(scaffold[place]), text) for place, text in found.tail]
            scaffold = []
        if piece is not None:
            waiting.append((owner_of(piece), piece.text))
    return Row(waiting, (), (), ()) if lead is None else Row(lead, ids, shares, waiting)


def _between(first: Filled, second: Filled, codec: Codec) -> Row:
    """The row between the contents of two skeletons; the messages are 0 and 1, which they are comes with each use."""
    pieces = [*first._replace(message=0).behind(), *second._replace(message=1).before()]
    lead, ids, shares, tail = row_of(pieces, codec)
    row = Row(_joined(lead), ids, shares, _joined(tail))
    first.skeleton.rows[second.skeleton] = row
    return row


def _joined(waiting: Sequence[Waiting]) -> list[Waiting]:
    """Neighbouring texts of one owner as one."""
    found: list[Waiting] = []
    for owner, text in waiting:
        if found and found[-1][0] == owner:
            text = found.pop()[1] + text
        found.append((owner, text))
    return found


def _flush(
    waiting: Sequence[Waiting], codec: Codec, first: bool, ids: list[int], shares: list[Share]
) -> None:
    """Add the text between two control tokens. first: nothing comes before it."""
    texts = _joined(waiting) if len(waiting) > 1 else waiting
    if len(texts) == 1:
        owner, text = texts[0]
        found = codec.plain(text, at_start=first)
        _count(owner, len(found), shares)
    else:
        whole = "".join([text for _, text in texts])
        ends = list(accumulate([len(text) for _, text in texts]))
        found, counts = codec.plain_counted(whole, ends, at_start=first)
        for (owner, _), count in zip(texts, counts, strict=True):
            _count(owner, count, shares)
    ids += found
