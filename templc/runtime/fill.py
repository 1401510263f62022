"""What is known of texts that were filled into a shape, worked out when somebody asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from templc.runtime.columns import Run
from templc.runtime.encode import spans_of
from templc.runtime.pieces import text_of
from templc.runtime.slot import Parts
from templc.runtime.tokens import Later, Span
from templc.runtime.weighing import weighed

if TYPE_CHECKING:
    from templc.runtime.shape import Shape

Making: TypeAlias = "tuple[Any, ...]"
"""What is called for a state, and with what before the texts: a `partial` takes five times as long to make."""


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
        return weighed(self, ids)

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
