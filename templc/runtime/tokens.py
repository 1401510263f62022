"""The result of a render: a list of token ids that knows where each id came from.

Owns `Tokens` and `Span`. A `Tokens` is a `list` of `int`, so it goes wherever a list of ids goes; the attributes
are aligned with it. It never changes: `tokens + extension` makes a new one.

    tokens = renderer.render(messages, tokenizer)
    torch.tensor(tokens), tokens.weights, tokens.spans[0], tokens.columns()["labels"]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple, NoReturn, SupportsIndex, TypeAlias, TypeVar, overload

from templc.runtime.columns import Columns, Run, joined

Other = TypeVar("Other")
SpanSource: TypeAlias = "Callable[[], list[Span]] | Later"
NoteSource: TypeAlias = "tuple[str, ...] | Callable[[], tuple[str, ...]]"
TextSource: TypeAlias = "str | Later"
TextParts: TypeAlias = "TextSource | tuple[TextSource, ...]"
"""Parts stand in one row: parts inside parts of parts would be too deep where thousands were joined."""
ColumnSource: TypeAlias = "Columns | list[Run] | Later | tuple[Later, list[float]]"
"""With the weights, where nothing but these was asked for."""

Parts: TypeAlias = "tuple[tuple[int, SpanSource | list[Span]], ...]"

IGNORED_LABEL = -100
_NAMES = ("weights", "sampled", "message_index")


class Span(NamedTuple):
    """Tokens `start` to `end` (exclusive) that one message's field, or a stretch of scaffold, gave."""

    start: int
    end: int
    message_index: int
    field: str
    sampled: bool


class Later:
    """What is known of some ids, each part of it worked out when somebody asks.

    One object for all of it: a function for each would take as long to make as a short text to encode. The ids are
    given to those who need them: one that knew them itself would be a circle.
    """

    __slots__ = ()

    def runs(self, ids: list[int]) -> list[Run]:
        """What is known of each token."""
        raise NotImplementedError

    def weights(self, ids: list[int]) -> list[float]:
        """The weights of the runs: most often nobody asks for more of them."""
        raise NotImplementedError

    def text(self) -> str:
        """The text that the ids stand for."""
        raise NotImplementedError

    def spans(self) -> list[Span]:
        """The spans of the ids."""
        raise NotImplementedError

    def state(self) -> object | None:
        """What `extend` starts from."""
        raise NotImplementedError


class Tokens(list[int]):
    """Token ids, with what is known of each.

    weights, sampled, message_index: one entry a token (weight 0.0: not trained; index -1: no message).
    text: the rendered text that the ids stand for. state: opaque, what `extend` starts from.
    notes: remarks on the result, such as where it differs from a fresh render.
    A slice is a plain list of ids. ValueError if an aligned list has another length.
    """

    __slots__ = ("_columns", "_notes", "_spans", "_state", "_text")

    _columns: ColumnSource
    _text: TextParts
    _state: object | None
    _notes: tuple[NoteSource, ...] | None
    # The tuple itself, and no subclass of it, stands for parts: of which tokens, and from which number on.
    _spans: SpanSource | list[Span] | Parts

    def __init__(
        self,
        ids: Iterable[int] = (),
        *,
        weights: list[float] | None = None,
        sampled: list[bool] | None = None,
        message_index: list[int] | None = None,
        text: str = "",
        spans: SpanSource | list[Span] | None = None,
        state: object | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        super().__init__(ids)
        self._columns = [(len(self), -1, False, 0.0)]
        for name, column in zip(_NAMES, (weights, sampled, message_index), strict=True):
            if column is not None:
                setattr(self, name, column)
        self._text = text
        self._state = state
        self._notes = (notes,) if notes else ()
        self._spans = () if spans is None else spans

    @classmethod
    def of(
        cls,
        ids: Iterable[int],
        columns: Columns | list[Run],
        *,
        text: TextParts = "",
        spans: SpanSource | Parts = (),
        state: object = None,
    ) -> Tokens:
        """Tokens with columns that are known to fit."""
        made = cls.__new__(cls)
        list.__init__(made, ids)
        return made.complete(columns, text=text, spans=spans, state=state)

    def complete(
        self,
        columns: ColumnSource,
        *,
        text: TextParts = "",
        spans: SpanSource | Parts = (),
        state: object = None,
    ) -> Tokens:
        """These bare ids, with the rest; functions are asked when somebody needs what they give."""
        self._columns, self._spans, self._state = columns, spans, state
        self._notes, self._text = (), text
        return self

    def told(self, later: Later) -> Tokens:
        """These bare ids, of which `later` tells the rest when somebody needs it."""
        self._columns = self._text = self._spans = self._state = later
        self._notes = ()
        return self

    @property
    def text(self) -> str:
        """The rendered text that the ids stand for."""
        found = self._text
        if not isinstance(found, str):
            parts = [part if isinstance(part, str) else part.text() for part in self._texts()]
            found = self._text = "".join(parts)
        return found

    @text.setter
    def text(self, text: str) -> None:
        self._text = text

    def _texts(self) -> tuple[TextSource, ...]:
        found = self._text
        return found if type(found) is tuple else (found,)  # type: ignore[return-value]

    def _known_columns(self) -> Columns | list[Run]:
        found = self._columns
        if isinstance(found, Later):
            found = self._columns = found.runs(self)
        elif type(found) is tuple:
            later, weights = found
            found = self._columns = Columns(later.runs(self), weights)
        return found  # type: ignore[return-value]

    def _lists(self) -> Columns:
        found = self._columns
        if type(found) is Columns:
            return found
        known = self._known_columns()
        made = self._columns = known if isinstance(known, Columns) else Columns(known)
        return made

    def _fitting(self, column: list[Other]) -> list[Other]:
        if len(column) != len(self):
            raise ValueError(f"{', '.join(_NAMES)} must have {len(self)} entries each")
        return column

    @property
    def weights(self) -> list[float]:
        """What the loss of each token is multiplied with; 0.0: not trained."""
        found = self._columns
        if isinstance(found, Later):
            weights = found.weights(self)
            self._columns = found, weights
            return weights
        return found[1] if type(found) is tuple else self._lists().weights

    @weights.setter
    def weights(self, column: list[float]) -> None:
        self._lists().weights = self._fitting(column)

    @property
    def sampled(self) -> list[bool]:
        """Whether the model sampled each token."""
        return self._lists().sampled

    @sampled.setter
    def sampled(self, column: list[bool]) -> None:
        self._lists().sampled = self._fitting(column)

    @property
    def message_index(self) -> list[int]:
        """The message of each token, -1 for none."""
        return self._lists().messages

    @message_index.setter
    def message_index(self, column: list[int]) -> None:
        self._lists().messages = self._fitting(column)

    @property
    def state(self) -> object | None:
        """What `extend` starts from; worked out when first asked for."""
        found = self._state
        if isinstance(found, Later):
            found = self._state = found.state()
        elif isinstance(found, partial):
            found = self._state = found()
        return found

    @state.setter
    def state(self, state: object | None) -> None:
        """A `partial` is asked when the state is needed."""
        self._state = state

    @property
    def spans(self) -> list[Span]:
        """Neighbouring tokens of one message, field and `sampled` value, in order; worked out when first asked for."""
        source = self._spans
        if type(source) is tuple:
            source = [_shifted(span, by) for by, part in source for span in _known(part)]
        self._spans = found = _known(source)  # type: ignore[arg-type]
        return found

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the result, such as where it differs from a fresh render; worked out when first asked for."""
        found = [known if isinstance(known, tuple) else known() for known in self._sources()]
        notes = tuple(dict.fromkeys(note for part in found for note in part))
        self.notes = notes
        return notes

    @notes.setter
    def notes(self, notes: tuple[str, ...]) -> None:
        self._notes = (notes,) if notes else ()

    def notes_of_state(self) -> None:
        """The remarks are those of the state, which takes time to find them."""
        self._notes = None

    def _sources(self) -> tuple[NoteSource, ...]:
        if self._notes is None:
            state: Any = self.state
            return (state.notes,)
        return self._notes

    def columns(self) -> dict[str, list[int]]:
        """The columns that training code expects, one entry a token.

        labels: the id where the weight is not 0, else -100. assistant_masks: 1 where the model sampled.
        """
        return {
            "input_ids": list(self),
            "labels": [
                token if weight else IGNORED_LABEL
                for token, weight in zip(self, self.weights, strict=True)
            ],
            "attention_mask": [1] * len(self),
            "assistant_masks": [int(sampled) for sampled in self.sampled],
        }

    @overload  # type: ignore[override]
    def __add__(self, other: Tokens, /) -> Tokens: ...
    @overload
    def __add__(self, other: list[int], /) -> list[int]: ...
    @overload
    def __add__(self, other: list[Other], /) -> list[Other | int]: ...
    def __add__(self, other: list[Any], /) -> list[Any]:
        """Both, one after the other: `Tokens` with the state of `other` if that is `Tokens` too, else a plain list."""
        if not isinstance(other, Tokens):
            return list.__add__(self, other)
        return Tokens.joined([self, other])

    @classmethod
    def joined(cls, parts: Sequence[Tokens]) -> Tokens:
        """All of them, one after the other, at least one: the state is that of the last."""
        spans: list[tuple[int, SpanSource | list[Span]]] = []
        notes: list[NoteSource] = []
        at, last = 0, parts[-1]
        for part in parts:
            source = part._spans
            if type(source) is tuple:
                spans += [(at + by, inner) for by, inner in source]
            else:
                spans.append((at, source))  # type: ignore[arg-type]
            if part._notes is not None:
                notes += part._notes
            elif part is not last and last._notes is not None:
                notes += part._sources()  # else the state of the last one knows of it
            at += len(part)
        made = cls.of(
            parts[0],
            joined([part._known_columns() for part in parts]),
            text=tuple([text for part in parts for text in part._texts()]),
            spans=tuple(spans),
            state=last._state,
        )
        for part in parts[1:]:
            list.extend(made, part)
        if last._notes is None and notes:
            notes += last._sources()
        made._notes = tuple(notes) if notes or last._notes is not None else None
        return made

    # `tokens += extension` names a new object, so that whoever else holds the old one keeps it.
    def __iadd__(self, other: Iterable[int], /) -> Any:  # type: ignore[misc, override]
        return self + (other if isinstance(other, list) else list(other))

    def copy(self) -> Tokens:
        """A new `Tokens` with equal ids and attributes; the state is shared, for nothing changes it."""
        return self + Tokens(state=self._state)

    def __copy__(self) -> Tokens:
        return self.copy()

    # `list` subclasses pickle by appending, which is refused here.
    def __reduce__(self) -> tuple[Any, ...]:
        columns = (list(self), self.weights, self.sampled, self.message_index)
        return _restored, (*columns, self.text, self.spans, self.state, self.notes)

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> tuple[Any, ...]:
        return self.__reduce__()

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            "tokens do not change, for their weights and spans would no longer fit\n"
            "  help: change a copy, list(tokens), or join two results with +"
        )

    append = extend = insert = pop = remove = clear = sort = reverse = _refuse
    __setitem__ = __delitem__ = __imul__ = _refuse


def _known(part: SpanSource | list[Span]) -> list[Span]:
    if isinstance(part, list):
        return part
    return part.spans() if isinstance(part, Later) else part()


def _shifted(span: Span, by: int) -> Span:
    return span._replace(start=span.start + by, end=span.end + by) if by else span


def _restored(
    ids: list[int],
    weights: list[float],
    sampled: list[bool],
    message_index: list[int],
    text: str,
    spans: list[Span],
    state: object | None,
    notes: tuple[str, ...],
) -> Tokens:
    return Tokens(
        ids,
        weights=weights,
        sampled=sampled,
        message_index=message_index,
        text=text,
        spans=spans,
        state=state,
        notes=notes,
    )
