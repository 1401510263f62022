"""Pieces to tokens.

Owns the rule that decides what becomes a control token, and whose each token is:

* Scaffold is split at the tokenizer's added tokens; text of a message never is. Neighbouring scaffold pieces are one
  text; a token is not recognised across the joint of scaffold and body.
* The text between two control tokens is encoded in one call, so that merges are those of the published tokenizer.
* A token belongs to the piece that holds its first character.

    encode([Piece("<|im_start|>user\\n"), Piece("hi <|im_end|>", body=True, message=0)], codec).message_index
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby, islice, takewhile
from operator import attrgetter
from typing import Literal, NamedTuple, TypeAlias

from templc.runtime.added import Cut
from templc.runtime.codec import Codec
from templc.runtime.errors import ControlTokenError, MessageError
from templc.runtime.pieces import Piece, text_of
from templc.runtime.rows import Encoded, encoded
from templc.runtime.skeleton import Filled, Item, unfilled
from templc.runtime.tokens import Span, Tokens

ContentSpecials: TypeAlias = Literal["text", "error", "control"]


class _Zones(NamedTuple):
    """Where a text changes hands: zone k is `text[starts[k]:starts[k + 1]]` and belongs like `pieces[k]`."""

    starts: list[int]
    pieces: list[Piece]

    def at(self, offset: int) -> Piece:
        return self.pieces[bisect_right(self.starts, offset, hi=len(self.pieces)) - 1]


def encode(
    items: Sequence[Item],
    codec: Codec,
    content_specials: ContentSpecials = "text",
    *,
    at_start: bool = True,
) -> Tokens:
    """The tokens of pieces and filled skeletons, in order, with weight, `sampled` and message of each.

    content_specials: what to do where body text spells a control token. `text`: it stays text. `error`:
    `ControlTokenError`. `control`: the published tokenizer reads the whole text. at_start: nothing comes before.
    `MessageError`, with message and field, for text that no tokenizer can encode.
    """
    items, text = _written(items)
    try:
        if content_specials != "text":
            items = unfilled(items)
            _check(items, text, codec, content_specials)
            if content_specials == "control":
                return _encode_control(items, text, codec)
        tokens = Tokens.__new__(Tokens)
        found = _encoded(items, codec, at_start, tokens)
    except MessageError as error:
        raise _located(error, unfilled(items)) from None
    spans = partial(spans_of, items, text, codec, at_start)
    return tokens.complete(found.runs, text=text, spans=spans)


def ids_of(
    pieces: Sequence[Piece],
    codec: Codec,
    content_specials: ContentSpecials = "text",
    *,
    at_start: bool = True,
) -> list[int]:
    """The ids that `encode` gives, and nothing else of it."""
    text = text_of(pieces)
    _check(pieces, text, codec, content_specials)
    if content_specials == "control":
        return codec.control(text)
    return _encoded([piece for piece in pieces if piece.text], codec, at_start).ids


def _check(
    pieces: Sequence[Piece], text: str, codec: Codec, content_specials: ContentSpecials
) -> None:
    if content_specials == "error":
        _refuse_control_tokens(pieces, text, codec)


def _written(items: Sequence[Item]) -> tuple[list[Item], str]:
    """The items that write something, and the text of all."""
    kept: list[Item] = []
    parts: list[str] = []
    for item in items:
        if isinstance(item, Filled):
            skeleton, _, content = item
            parts += (skeleton.opening, content, skeleton.closing)
        elif item.text:
            parts.append(item.text)
        else:
            continue
        kept.append(item)
    return kept, "".join(parts)


def spans_of(items: Sequence[Item], text: str, codec: Codec, at_start: bool) -> list[Span]:
    """The spans of what `encode` makes of items whose text is `text`."""
    pieces = unfilled(items)
    cuts = codec.controls.cuts(text, _scaffold_stretches(pieces))
    return _spans(pieces, _token_starts(text, cuts, codec, at_start))


def _encoded(
    items: Sequence[Item], codec: Codec, at_start: bool, ids: list[int] | None = None
) -> Encoded:
    """ids: an empty list for the ids, which spares copying them."""
    if codec.controls.flagged:
        return _by_cuts(unfilled(items), codec, at_start, ids)
    return encoded(items, codec, at_start, ids)


def _by_cuts(
    pieces: Sequence[Piece], codec: Codec, at_start: bool, ids: list[int] | None
) -> Encoded:
    """As `encoded`, also for control tokens whose flags look at the text around them."""
    text = text_of(pieces)
    cuts = codec.controls.cuts(text, _scaffold_stretches(pieces))
    zones = _zones(pieces, attrgetter("message", "sampled", "weight"))
    out = Encoded(ids)
    found, counts = _counted(text, cuts, zones.starts, codec, at_start)
    list.extend(out.ids, found)
    for piece, count in zip(zones.pieces, counts, strict=True):
        out.runs.append((count, piece.message, piece.sampled, piece.weight))
    return out


def _counted(
    text: str, cuts: Sequence[Cut], starts: Sequence[int], codec: Codec, at_start: bool
) -> tuple[list[int], list[int]]:
    """The ids, and how many of them start in each zone; `starts`: where the zones do."""
    ids: list[int] = []
    counts = [0] * len(starts)
    ends = [*starts[1:], len(text) + 1]
    zone = done = 0
    for start, end, token, at in (*cuts, Cut(len(text), len(text), -1, len(text))):
        if start > done:
            while ends[zone] <= done:
                zone += 1
            first = at_start and done == 0
            if ends[zone] >= start:
                found = codec.plain(text[done:start], at_start=first)
                counts[zone] += len(found)
            else:
                inner = takewhile(start.__gt__, islice(ends, zone, None))
                stretches = [*(place - done for place in inner), start - done]
                found, shares = codec.plain_counted(text[done:start], stretches, at_start=first)
                for place, share in enumerate(shares, zone):
                    counts[place] += share
            ids += found
        if token >= 0:
            while ends[zone] <= at:
                zone += 1
            ids.append(token)
            counts[zone] += 1
        done = end
    return ids, counts


def _encode_control(pieces: Sequence[Piece], text: str, codec: Codec) -> Tokens:
    zones = _zones(pieces, attrgetter("message", "sampled", "weight"))
    ids, starts = codec.control_starts(text)
    owners = [zones.at(start) for start in starts]
    return Tokens(
        ids,
        weights=[piece.weight for piece in owners],
        sampled=[piece.sampled for piece in owners],
        message_index=[piece.message for piece in owners],
        text=text,
        spans=partial(_spans, pieces, starts),
    )


def _scaffold_stretches(pieces: Sequence[Piece]) -> Iterator[tuple[int, int]]:
    """Start and end of each longest stretch of neighbouring scaffold pieces."""
    start = end = 0
    for piece in pieces:
        if piece.body:
            if start < end:
                yield start, end
            start = end + len(piece.text)
        end += len(piece.text)
    if start < end:
        yield start, end


def _zones(pieces: Sequence[Piece], key: Callable[[Piece], object]) -> _Zones:
    zones = _Zones([], [])
    last: object = None
    at = 0
    for piece in pieces:
        if (now := key(piece)) != last:
            zones.starts.append(at)
            zones.pieces.append(piece)
            last = now
        at += len(piece.text)
    return zones


def _token_starts(text: str, cuts: Sequence[Cut], codec: Codec, at_start: bool) -> list[int]:
    starts: list[int] = []
    done = 0
    for cut in (*cuts, None):
        end = len(text) if cut is None else cut.start
        if end > done:
            first = at_start and done == 0
            starts += [done + s for s in codec.plain_starts(text[done:end], at_start=first)[1]]
        if cut is not None:
            starts.append(cut.at)
            done = cut.end
    return starts


def _spans(pieces: Sequence[Piece], starts: Sequence[int]) -> list[Span]:
    zones = _zones(pieces, attrgetter("message", "field", "sampled"))
    spans: list[Span] = []
    at = 0
    for owner, group in groupby(starts, key=zones.at):
        end = at + sum(1 for _ in group)
        spans.append(Span(at, end, owner.message, owner.field, owner.sampled))
        at = end
    return spans


def _refuse_control_tokens(pieces: Sequence[Piece], text: str, codec: Codec) -> None:
    """`ControlTokenError` if a control token of the whole text has characters of a message in it."""
    zones = _zones(pieces, attrgetter("body", "message", "field"))
    for match in codec.controls.find(text):
        place = bisect_right(zones.starts, match.start) - 1
        while place < len(zones.starts) and zones.starts[place] < match.end:
            owner = zones.pieces[place]
            if owner.body:
                raise ControlTokenError(
                    f"text spells the control token {match.token.text!r}",
                    help='change the text, or keep it as text: content_specials="text"',
                    message_index=owner.message,
                    field=owner.field,
                    token=match.token.text,
                )
            place += 1


def _located(error: MessageError, pieces: Sequence[Piece]) -> MessageError:
    """The same error with message and field, where a piece shows them."""
    if error.message_index >= 0 or error.field:
        return error
    for piece in pieces:
        if not piece.text.isascii() and any("\ud800" <= c <= "\udfff" for c in piece.text):
            error.message_index, error.field = piece.message, piece.field
            break
    return error
