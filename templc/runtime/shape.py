"""What stands around the contents of a row of messages, as ids: a `Shape` is made once and then only filled in.

Shape.of(pieces, marks, cares, codec, 0, at_start=True).filled(["hi", "hello"], 0).text
    ->  "<|im_start|>user\\nhi<|im_end|>\\n<|im_start|>assistant\\nhello<|im_end|>\\n"
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from templc.runtime.codec import Codec
from templc.runtime.columns import Columns, Run
from templc.runtime.encode import spans_of
from templc.runtime.errors import MessageError
from templc.runtime.opaque import Look
from templc.runtime.pieces import Piece, text_of
from templc.runtime.rows import Encoded, Row, Waiting, row_of, write_texts
from templc.runtime.slot import Parts, Slot, slot_of
from templc.runtime.tokens import Later, Span, Tokens
from templc.runtime.weighing import weighings

Making: TypeAlias = "tuple[Any, ...]"
"""What is called for a state, and with what before the texts: a `partial` takes five times as long to make."""
_extend = list.extend
# As `Fill(...)` and `Tokens()`, in a third of the time.
_new, _bare = tuple.__new__, Tokens.__new__


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


class Shape:
    """Ids, and slots for contents. start: the number of the first message. at_start: nothing comes before it."""

    __slots__ = (
        "_around",
        "_cares",
        "_gaps",
        "_groups",
        "_start",
        "_straight",
        "at_start",
        "codec",
        "ids",
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
        self._straight = [gap.holes for gap in gaps] == [(at,) for at in range(len(cares))]
        self.texts = [text_of(group) for group in groups]
        self._cares = [(at, care.closely, care) for at, care in enumerate(cares) if care.needed]
        self._start, self.at_start = start, at_start
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
        self._around = [(slot.before, slot.after, slot.ids) for slot in self.slots]
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

    def filled(self, texts: Sequence[str], start: int, state: Making = ()) -> Tokens | None:
        """The tokens with these texts, none of them empty; `start` is the number of the first message.

        state: how it is made. None where a text is not what its place takes, or cannot be encoded: the turn methods
        know the place of it.
        """
        for at, closely, care in self._cares:
            text = texts[at]
            # `strip` returns a text without white space around it as it is, in a fifth of the time of `refuses`.
            if (closely or text.strip() is not text) and care.refuses(text):
                return None
        contents = texts if self._straight else [gap.text(texts) for gap in self._gaps]
        tokens = _bare(Tokens)
        _extend(tokens, self.ids)
        sizes = self.codec.plain_into(tokens, contents, self._around)
        counted: Sequence[list[int] | None] = ()
        if sizes is None:
            try:
                tokens, sizes, counted = self._one_by_one(contents)
            except MessageError:
                return None
        shift = start - self._start
        fill: Fill = _new(Fill, (self, texts, contents, sizes, counted, shift, state))
        return tokens.told(fill)

    def _one_by_one(
        self, contents: Sequence[str]
    ) -> tuple[Tokens, list[int], list[list[int] | None]]:
        """The ids, and what is known of each slot, where the codec takes one text at a time."""
        codec, tokens = self.codec, _bare(Tokens)
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

    def pieces(self, texts: Sequence[str]) -> list[Piece]:
        """What the turn methods write with these texts."""
        found = list(self._groups[0])
        for gap, group in zip(self._gaps, self._groups[1:], strict=True):
            found += (*gap.filled(texts), *group)
        return found


class _Filling(NamedTuple):
    shape: Shape
    texts: Sequence[str]
    contents: Sequence[str]
    sizes: Sequence[int]
    counted: Sequence[list[int] | None]
    shift: int
    making: Making


class Fill(_Filling, Later):
    """Texts in a shape: what is worked out when somebody asks.

    contents: what stands in each slot. sizes: how many ids it has. counted: how many each part of it has, where the ids
    do not tell. shift: how much higher the numbers of messages are. making: how the state is made.
    """

    __slots__ = ()

    def runs(self, ids: list[int]) -> list[Run]:
        """What is known of the ids."""
        shape, shift = self.shape, self.shift
        runs = [*shape.runs]
        start = len(shape.ids)
        for at, (size, slot) in enumerate(zip(self.sizes, shape.slots, strict=True)):
            _, _, (_, message, sampled, weight), parts, behind, following = slot
            if parts is None:
                runs.append((size, message, sampled, weight))
            else:
                counts = self._counts(at, parts, ids, start)
                for count, (_, message, sampled, weight) in zip(counts, parts.runs, strict=True):
                    runs.append((count, message, sampled, weight))
            runs += following
            start += size + len(behind)
        if not shift:
            return runs
        return [
            (count, number + shift if number >= 0 else number, sampled, weight)
            for count, number, sampled, weight in runs
        ]

    def weights(self, ids: list[int]) -> list[float]:
        """As the runs have them, in a third of the time."""
        shape, _, _, sizes, counted, _, _ = self
        weights: list[float] = []
        for at, (lead, own, parts) in enumerate(shape.weighings):
            weights += lead
            if parts is None:
                weights += own * sizes[at]
                continue
            size = None if counted else parts.own_size(ids, len(weights), sizes[at])
            if size is None:
                return Columns(self.runs(ids)).weights
            weights += own * size
        weights += shape.last_weights
        return weights

    def _counts(self, at: int, parts: Parts, ids: list[int], start: int) -> list[int]:
        """How many ids each part of slot `at` has, whose ids begin at `start`."""
        counted = self.counted[at] if self.counted else None
        if counted is None:
            counted = parts.counted(ids, start, self.sizes[at])
        if counted is not None:
            return counted
        slot, content = self.shape.slots[at], self.contents[at]
        text, first = slot.before + content + slot.after, self.shape.at_start and not start
        return self.shape.codec.plain_counted(text, parts.ends(content), at_start=first)[1]

    def text(self) -> str:
        """All of it."""
        first, *others = self.shape.texts
        pairs = zip(self.contents, others, strict=True)
        return first + "".join([text for pair in pairs for text in pair])

    def spans(self) -> list[Span]:
        """The spans of the ids."""
        shift = self.shift
        pieces = [
            piece._replace(message=piece.message + shift) if piece.message >= 0 else piece
            for piece in self.shape.pieces(self.texts)
        ]
        return spans_of(pieces, text_of(pieces), self.shape.codec, self.shape.at_start)

    def state(self) -> object | None:
        """The state behind the texts; None where nobody said how it is made."""
        if not self.making:
            return None
        make, *given = self.making
        return make(*given, self.texts)  # type: ignore[no-any-return]


def _begun(row: Row, codec: Codec, at_start: bool) -> tuple[Encoded, Sequence[Waiting]]:
    """What comes before the first content: the ids, and the text that waits for it."""
    first = Encoded()
    if not row.inner.ids:
        return first, row.lead
    if row.lead:
        write_texts(row.lead, codec, at_start, first)
    first.add(row.inner)
    return first, row.tail
