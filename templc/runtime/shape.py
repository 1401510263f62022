"""What stands around the contents of a row of messages, as ids: a `Shape` is made once and then only filled in.

Shape.of(pieces, marks, cares, codec, 0, at_start=True).filled(["hi", "hello"], codec, 0).text
    ->  "<|im_start|>user\\nhi<|im_end|>\\n<|im_start|>assistant\\nhello<|im_end|>\\n"
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from templc.runtime.codec import Codec
from templc.runtime.columns import Run
from templc.runtime.encode import spans_of
from templc.runtime.opaque import Look
from templc.runtime.pieces import Piece, text_of
from templc.runtime.rows import Encoded, Row, Waiting, row_of, write_texts
from templc.runtime.slot import Parts, Slot, slot_of
from templc.runtime.tokens import Later, Span, Tokens
from templc.runtime.weighing import listed, weighings

Making: TypeAlias = "tuple[Any, ...]"
"""What is called for a state, and with what before the contents: a `partial` takes five times as long to make."""
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
        "_behind",
        "_cares",
        "_gaps",
        "_groups",
        "_start",
        "_straight",
        "at_start",
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
        self._groups, self._gaps = groups, gaps
        self._straight = [gap.holes for gap in gaps] == [(at,) for at in range(len(cares))]
        self.texts = [text_of(group) for group in groups]
        self._cares = [(at, care) for at, care in enumerate(cares) if care.needed]
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
        self._around = [(slot.before, slot.after) for slot in self.slots]
        self._behind = [slot.ids for slot in self.slots]
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

    def filled(
        self, texts: Sequence[str], codec: Codec, start: int, state: Making = ()
    ) -> Tokens | None:
        """The tokens with these texts, none of them empty; `start` is the number of the first message.

        state: how it is made. None where a text is not what its place takes. MessageError, without a place, as for
        `encode`.
        """
        for at, care in self._cares:
            if care.refuses(texts[at]):
                return None
        contents = texts if self._straight else [gap.text(texts) for gap in self._gaps]
        whole: list[str] = []
        for at, (before, after) in enumerate(self._around):
            whole.append(f"{before}{contents[at]}{after}")
        tokens = _bare(Tokens)
        _extend(tokens, self.ids)
        known: Sequence[int | list[int]] | None = codec.plain_into(tokens, whole, self._behind)
        if known is None:
            tokens, known = self._one_by_one(contents, whole, codec)
        fill: Fill = _new(Fill, (self, texts, contents, known, start - self._start, codec, state))
        return tokens.told(fill)

    def _one_by_one(
        self, contents: Sequence[str], whole: Sequence[str], codec: Codec
    ) -> tuple[Tokens, list[int | list[int]]]:
        """The ids, and what is known of each slot, where the codec takes one text at a time."""
        tokens = _bare(Tokens)
        _extend(tokens, self.ids)
        first = self.at_start and not self.ids
        known: list[int | list[int]] = []
        for content, text, slot in zip(contents, whole, self.slots, strict=True):
            parts = slot.parts
            if parts is None or codec.bytewise:
                found = codec.plain(text, at_start=first)
                known.append(len(found))
            else:
                found, counts = codec.plain_counted(text, parts.ends(content), at_start=first)
                known.append(counts)
            first = False
            _extend(tokens, found)
            _extend(tokens, slot.ids)
        return tokens, known

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
    known: Sequence[int | list[int]]
    shift: int
    codec: Codec
    making: Making


class Fill(_Filling, Later):
    """Texts in a shape: what is worked out when somebody asks.

    contents: what stands in each slot. known: how many ids it has, or each part of it. shift: how much higher the
    numbers of messages are. making: how the state is made.
    """

    __slots__ = ()

    def runs(self, ids: list[int]) -> list[Run]:
        """What is known of the ids."""
        shape, shift = self.shape, self.shift
        runs = [*shape.runs]
        at = len(shape.ids)
        for content, found, slot in zip(self.contents, self.known, shape.slots, strict=True):
            _, _, (_, message, sampled, weight), parts, behind, following = slot
            if parts is None:
                runs.append((found, message, sampled, weight))  # type: ignore[arg-type]
                at += found  # type: ignore[operator]
            else:
                counts = self._counts(found, content, slot, parts, ids, at)
                for count, (_, message, sampled, weight) in zip(counts, parts.runs, strict=True):
                    runs.append((count, message, sampled, weight))
                    at += count
            runs += following
            at += len(behind)
        if not shift:
            return runs
        return [
            (count, number + shift if number >= 0 else number, sampled, weight)
            for count, number, sampled, weight in runs
        ]

    def weights(self, ids: list[int]) -> list[float]:
        """As the runs have them, in a third of the time."""
        shape, known = self.shape, self.known
        weights: list[float] = []
        for at, (lead, own, parts) in enumerate(shape.weighings):
            weights += lead
            found = known[at]
            if parts is not None:
                start = len(weights) - len(parts.first)
                counts = (
                    None if isinstance(found, list) else parts.counted(ids, start, start + found)
                )
                if counts is None:  # the content changed what stands around it
                    return listed(self.runs(ids))
                found = counts[parts.own]
            weights += own * found  # type: ignore[operator]
        weights += shape.last_weights
        return weights

    def _counts(
        self,
        found: int | list[int],
        content: str,
        slot: Slot,
        parts: Parts,
        ids: list[int],
        at: int,
    ) -> list[int]:
        """How many ids each part of a slot has, whose ids begin at `at`."""
        if isinstance(found, list):
            return found
        counts = parts.counted(ids, at, at + found)
        if counts is not None:
            return counts
        text, first = slot.before + content + slot.after, self.shape.at_start and not at
        return self.codec.plain_counted(text, parts.ends(content), at_start=first)[1]

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
        return spans_of(pieces, text_of(pieces), self.codec, self.shape.at_start)

    def state(self) -> object | None:
        """The state behind the contents; None where nobody said how it is made."""
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
