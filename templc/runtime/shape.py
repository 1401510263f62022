"""What stands around the contents of a row of messages, as ids: a `Shape` is made once and then only filled in.

filled(Shape.of(pieces, marks, cares, codec, 0, at_start=True), ["hi", "hello"], 0).text
    ->  "<|im_start|>user\\nhi<|im_end|>\\n<|im_start|>assistant\\nhello<|im_end|>\\n"
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from templc.runtime.codec import Codec
from templc.runtime.filling import Slots
from templc.runtime.opaque import Look
from templc.runtime.pieces import Piece, text_of
from templc.runtime.rows import Encoded, Row, Waiting, row_of, write_texts
from templc.runtime.slot import Slot, slot_of
from templc.runtime.tokens import Tokens
from templc.runtime.weighing import weighings

_extend = list.extend  # tokens refuse their own


class Care(NamedTuple):
    """What a text must not be. look: what is asked of it. guard: it begins with this character.

    A text that is written as JSON is given so, and nothing more is asked of it.
    """

    look: Look
    guard: str = ""

    @property
    def needed(self) -> bool:
        """Whether there are texts that it refuses."""
        return bool(self.guard) or (self.look.asks and not self.look.quotes)

    @property
    def closely(self) -> bool:
        """Whether it refuses texts for more than the white space around them."""
        return bool(self.guard or self.look.sought)

    def refuses(self, text: str) -> bool:
        """Whether this text, which is not empty, is written otherwise than others."""
        if text[0] == self.guard:
            return True
        return not self.look.quotes and self.look.looks(text)


class Gap(NamedTuple):
    """What stands in a slot: texts with no control token between them. holes: their numbers. between: of the format.

    pieces: all of it, with a mark for each text. places: of the marks among them.
    """

    holes: tuple[int, ...]
    between: tuple[str, ...]
    pieces: tuple[Piece, ...]
    places: tuple[int, ...] = (0,)

    def behind(self, group: Sequence[Piece], other: Gap) -> Gap | None:
        """Both with a group between them; None unless all their tokens are alike."""
        pieces = (*self.pieces, *group, *other.pieces)
        if len({(piece.message, piece.sampled, piece.weight) for piece in pieces}) > 1:
            return None
        between = (*self.between, text_of(group), *other.between)
        before = len(self.pieces) + len(group)
        places = (*self.places, *[before + place for place in other.places])
        return Gap((*self.holes, *other.holes), between, pieces, places)

    def text(self, texts: Sequence[str]) -> str:
        """What stands there with these texts."""
        first, *others = self.holes
        if not others:
            return texts[first]
        parts = [texts[first]]
        for text, hole in zip(self.between, others, strict=True):
            parts += (text, texts[hole])
        return "".join(parts)

    def filled(self, texts: Sequence[str]) -> list[Piece]:
        """The pieces with these texts."""
        found = [*self.pieces]
        for hole, place in zip(self.holes, self.places, strict=True):
            found[place] = found[place]._replace(text=texts[hole])
        return found


class Shape(Slots):
    """Ids, and slots for contents. start: the number of the first message. at_start: nothing comes before it."""

    __slots__ = (
        "_gaps",
        "_groups",
        "at_start",
        "last_weights",
        "runs",
        "slots",
        "texts",
        "weighings",
    )

    def __init__(
        self,
        groups: Sequence[Sequence[Piece]],
        rows: Sequence[Row],
        gaps: Sequence[Gap],
        cares: Sequence[Care],
        codec: Codec,
        start: int,
        at_start: bool,
    ) -> None:
        self._groups, self._gaps, self.codec = groups, gaps, codec
        self.straight = [gap.holes for gap in gaps] == [(at,) for at in range(len(cares))]
        self.texts = [text_of(group) for group in groups]
        self.cares = [(at, care.closely, care) for at, care in enumerate(cares) if care.needed]
        self.start, self.at_start = start, at_start
        first, waiting = _begun(rows[0], codec, at_start)
        if not gaps and waiting:
            write_texts(waiting, codec, at_start and not first.ids, first)
        self.ids, self.runs = first.ids, first.runs
        self.slots: list[Slot] = []
        for gap, row in zip(gaps, rows[1:], strict=True):
            behind = Encoded()
            behind.add(row.inner)
            if row is rows[-1] and row.tail:
                write_texts(row.tail, codec, False, behind)
            alone = at_start and not (self.ids or self.slots)
            self.slots.append(slot_of(waiting, gap.pieces[0], row.lead, behind, codec, alone))
            waiting = row.tail
        self.around = [(slot.before, slot.after, slot.ids) for slot in self.slots]
        self.weighings, self.last_weights = weighings(self.runs, self.slots)

    @classmethod
    def of(
        cls,
        pieces: Iterable[Piece],
        marks: Sequence[str],
        cares: Sequence[Care],
        codec: Codec,
        start: int,
        *,
        at_start: bool,
    ) -> Shape | None:
        """The shape of what was written with marks as texts; None where one is not a piece of its own, or comes twice.

        marks: a character each. cares: of each text. start: the number of the first message.
        """
        groups: list[list[Piece]] = [[]]
        gaps: list[Gap] = []
        numbers = {mark: number for number, mark in enumerate(marks)}
        for piece in pieces:
            number = numbers.get(piece.text, -1)
            if number >= 0 and not any(number in gap.holes for gap in gaps):
                gaps.append(Gap((number,), (), (piece,)))
                groups.append([])
            elif not numbers.keys().isdisjoint(piece.text):
                return None
            else:
                groups[-1].append(piece)
        rows = [row_of(group, codec) for group in groups]
        # Texts with no control token between them are encoded together.
        for at in range(len(gaps) - 1, 0, -1):
            if not rows[at].inner.ids:
                both = gaps[at - 1].behind(groups[at], gaps[at])
                if both is None:
                    return None
                gaps[at - 1 : at + 1] = [both]
                del groups[at], rows[at]
        return cls(groups, rows, gaps, cares, codec, start, at_start)

    def one_by_one(
        self, contents: Sequence[str]
    ) -> tuple[Tokens, list[int], list[list[int] | None]]:
        """The ids, and what is known of each slot, where the codec takes one text at a time."""
        codec, tokens = self.codec, Tokens()
        _extend(tokens, self.ids)
        first = self.at_start and not self.ids
        sizes: list[int] = []
        counted: list[list[int] | None] = []
        for content, (before, after, _, parts, ids, _) in zip(contents, self.slots, strict=True):
            text, counts = before + content + after, None
            if parts is None or codec.bytewise:
                found = codec.plain(text, at_start=first)
            else:
                found, counts = codec.plain_counted(text, parts.ends(content), at_start=first)
            sizes.append(len(found))
            counted.append(counts)
            first = False
            _extend(tokens, found)
            _extend(tokens, ids)
        return tokens, sizes, counted if any(counted) else []

    def contents(self, texts: Sequence[str]) -> list[str]:
        """What stands in each slot with these texts."""
        return [gap.text(texts) for gap in self._gaps]

    def pieces(self, texts: Sequence[str]) -> list[Piece]:
        """What the turn methods write with these texts."""
        found = list(self._groups[0])
        for gap, group in zip(self._gaps, self._groups[1:], strict=True):
            found += (*gap.filled(texts), *group)
        return found


def _begun(row: Row, codec: Codec, at_start: bool) -> tuple[Encoded, Sequence[Waiting]]:
    """What comes before the first content: the ids, and the text that waits for it."""
    first = Encoded()
    if not row.inner.ids:
        return first, row.lead
    if row.lead:
        write_texts(row.lead, codec, at_start, first)
    first.add(row.inner)
    return first, row.tail
