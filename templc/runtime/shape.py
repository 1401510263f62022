"""What stands around the contents of a row of messages, as ids: a `Shape` is made once and then only filled in.

Shape.of(pieces, marks, cares, codec, 0, at_start=True).filled(["hi", "hello"], codec, 0).text
    ->  "<|im_start|>user\\nhi<|im_end|>\\n<|im_start|>assistant\\nhello<|im_end|>\\n"
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import accumulate
from typing import NamedTuple

from templc.runtime.codec import Codec
from templc.runtime.columns import Run
from templc.runtime.encode import spans_of
from templc.runtime.opaque import Opaque
from templc.runtime.pieces import Piece, text_of
from templc.runtime.rows import Encoded, Row, Waiting, merged, row_of, write_texts
from templc.runtime.tokens import Span, Tokens

_extend = list.extend


class Care(NamedTuple):
    """What a content must not be. turn: what is written with it. guard: it begins with this character."""

    turn: Opaque
    guard: str = ""

    @property
    def needed(self) -> bool:
        """Whether there are contents that it refuses."""
        return bool(self.guard or self.turn.strips or self.turn.sought)

    def refuses(self, content: str) -> bool:
        """Whether this content, which is not empty, is written otherwise than others."""
        return content[0] == self.guard or self.turn.looks(content)


class Slot(NamedTuple):
    """The place of one content, and what follows up to the next one.

    before, after: the text that is encoded together with it. ids, runs: what follows. parts: the stretches of the text
    before, in and after it, each with the size of its text; where the content is in it, `~size` without the content.
    """

    before: str
    after: str
    ids: list[int]
    runs: list[Run]
    parts: list[Run]


class Shape:
    """Ids, and slots for contents. start: the number of the first message. at_start: nothing comes before it."""

    __slots__ = ("_at_start", "_cares", "_groups", "_holes", "_runs", "_slots", "_start", "ids")

    def __init__(
        self,
        groups: Sequence[Sequence[Piece]],
        rows: Sequence[Row],
        holes: Sequence[Piece],
        cares: Sequence[Care],
        codec: Codec,
        start: int,
        at_start: bool,
    ) -> None:
        self._groups, self._holes = groups, holes
        self._cares = [(at, care) for at, care in enumerate(cares) if care.needed]
        self._start, self._at_start = start, at_start
        first, waiting = _begun(rows[0], codec, at_start)
        self.ids, self._runs = first.ids, first.runs
        self._slots: list[Slot] = []
        for hole, row in zip(holes, rows[1:], strict=True):
            behind = Encoded()
            behind.add(row.inner)
            if row is rows[-1] and row.tail:
                write_texts(row.tail, codec, False, behind)
            self._slots.append(_slot(waiting, hole, row.lead, behind))
            waiting = row.tail

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
        """The shape of what was written with marks as contents; None unless it is text around each of them, in order.

        marks: a character each. cares: of each content. start: the number of the first message.
        """
        groups: list[list[Piece]] = [[]]
        holes: list[Piece] = []
        for piece in pieces:
            if len(holes) < len(marks) and piece.text == marks[len(holes)]:
                holes.append(piece)
                groups.append([])
            elif not set(marks).isdisjoint(piece.text):
                return None
            else:
                groups[-1].append(piece)
        rows = [row_of(group, codec) for group in groups]
        # Contents with no control token between them are encoded together.
        if len(holes) < len(marks) or not all(row.inner.ids for row in rows[1:-1]):
            return None
        return cls(groups, rows, holes, cares, codec, start, at_start)

    def filled(self, contents: Sequence[str], codec: Codec, start: int) -> Tokens | None:
        """The tokens with these contents, none of them empty; `start` is the number of the first message.

        None where a content is not what its place takes. MessageError, without a place, as for `encode`.
        """
        for at, care in self._cares:
            if care.refuses(contents[at]):
                return None
        tokens = Tokens.__new__(Tokens)
        _extend(tokens, self.ids)
        first = self._at_start and not self.ids
        sizes: list[int] = []
        for content, (before, after, ids, _, _) in zip(contents, self._slots, strict=True):
            text = before + content + after if before or after else content
            found = codec.plain(text, at_start=first)
            first = False
            sizes.append(len(found))
            _extend(tokens, found)
            _extend(tokens, ids)
        by = start - self._start
        return tokens.complete(
            partial(self._counted, contents, sizes, by, codec),
            text=partial(self._text, contents),
            spans=partial(self._spans, contents, by, codec),
        )

    # what is worked out when somebody asks

    def _counted(
        self, contents: Sequence[str], sizes: Sequence[int], by: int, codec: Codec, ids: list[int]
    ) -> list[Run]:
        """What is known of the ids; `sizes`: how many there are of each slot."""
        found = _moved(self._runs, by)
        at = len(self.ids)
        for content, size, slot in zip(contents, sizes, self._slots, strict=True):
            counts = [size]
            if len(slot.parts) > 1:
                ends = accumulate(n if n >= 0 else len(content) + ~n for n, *_ in slot.parts)
                text, own = slot.before + content + slot.after, range(at, at + size)
                first = self._at_start and not at
                counts = codec.counts(text, ids, own, list(ends), at_start=first)
            found += _moved(
                ((n, *part[1:]) for n, part in zip(counts, slot.parts, strict=True)), by
            )
            found += _moved(slot.runs, by)
            at += size + len(slot.ids)
        return found

    def _text(self, contents: Sequence[str]) -> str:
        return text_of(self._pieces(contents, 0))

    def _spans(self, contents: Sequence[str], by: int, codec: Codec) -> list[Span]:
        pieces = self._pieces(contents, by)
        return spans_of(pieces, text_of(pieces), codec, self._at_start)

    def _pieces(self, contents: Sequence[str], by: int) -> list[Piece]:
        found = list(self._groups[0])
        for content, hole, group in zip(contents, self._holes, self._groups[1:], strict=True):
            found += (hole._replace(text=content), *group)
        return [
            piece._replace(message=piece.message + by) if piece.message >= 0 else piece
            for piece in found
        ]


def _begun(row: Row, codec: Codec, at_start: bool) -> tuple[Encoded, Sequence[Waiting]]:
    """What comes before the first content: the ids, and the text that waits for it."""
    first = Encoded()
    if not row.inner.ids:
        return first, row.lead
    if row.lead:
        write_texts(row.lead, codec, at_start, first)
    first.add(row.inner)
    return first, row.tail


def _slot(
    before: Sequence[Waiting], hole: Piece, after: Sequence[Waiting], behind: Encoded
) -> Slot:
    mark = hole.message, hole.sampled, hole.weight, hole.text
    parts: list[Run] = []
    for message, sampled, weight, text in merged([*before, mark, *after]):
        size = ~(len(text) - 1) if hole.text in text else len(text)
        parts.append((size, message, sampled, weight))
    around = ["".join(text for *_, text in waiting) for waiting in (before, after)]
    return Slot(around[0], around[1], behind.ids, behind.runs, parts)


def _moved(runs: Iterable[Run], by: int) -> list[Run]:
    """The runs with their messages counted on."""
    return [
        (size, message + by if message >= 0 else message, sampled, weight)
        for size, message, sampled, weight in runs
    ]
