"""Rows to columns: the training examples of a conversation, as lists that training code reads.

columns_of(renderer, tokenizer)({"messages": [chat, other_chat]})
    -> {"input_ids": [[...], [...]], "labels": ..., "attention_mask": ..., "assistant_masks": ...}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from templc.data.conversation import conversation
from templc.data.lengths import Fitted, fitted
from templc.data.packing import packed, packed_columns
from templc.data.settings import RowError, Settings
from templc.runtime.errors import TemplcError
from templc.runtime.renderer import Renderer
from templc.runtime.tokens import Tokens

COLUMNS = ("input_ids", "labels", "attention_mask", "assistant_masks")
Columns = dict[str, list[Any]]


@dataclass(frozen=True, slots=True)
class Maker:
    """A renderer and what to make with it: `maker.examples(row)` is what a row gives."""

    renderer: Renderer
    settings: Settings
    tokenizer: object | None = None

    def examples(self, row: object) -> Fitted:
        """The examples of one row, at least one; TemplcError with the reason where it gives none."""
        messages, tools = conversation(row, self.settings.messages)
        made = fitted(self._supervised, messages, tools, self.settings)
        if not made.examples:
            raise RowError("the row gives no example")
        if not self.settings.weights:
            _only_labels(made.examples)
        return made

    def columns(self, tokens: Tokens) -> dict[str, list[Any]]:
        """One example as columns, one entry a token."""
        found: dict[str, list[Any]] = dict(tokens.columns())
        if self.settings.weights:
            found["weights"] = tokens.weights
        return found

    def _supervised(self, messages: list[Any], tools: list[Any] | None) -> list[Tokens]:
        return self.renderer.supervised(
            messages, self.tokenizer, tools=tools, train_on=self.settings.train_on
        )


def columns_of(
    renderer: Renderer, tokenizer: object | None = None, settings: Settings | None = None
) -> Callable[[Mapping[str, Sequence[Any]]], Columns]:
    """A function of a batch of rows (column name to values) for `datasets.map(batched=True)`.

    A row may give several examples, so remove the columns of the input: `remove_columns=dataset.column_names`. With
    `pack`, rows of one batch are packed together. Bad rows raise, with their number in the batch; leave them out
    with `Settings(on_error="skip")`, which is not the default here, for nothing would tell of them.
    """
    maker = Maker(renderer, settings or Settings(on_error="stop"), tokenizer)

    def columns(batch: Mapping[str, Sequence[Any]]) -> Columns:
        return _columns(maker, batch)

    return columns


def _columns(maker: Maker, batch: Mapping[str, Sequence[Any]]) -> Columns:
    rows = [maker.columns(tokens) for tokens in _examples(maker, batch)]
    if maker.settings.pack is not None:
        bins = packed([len(row["input_ids"]) for row in rows], maker.settings.pack)
        rows = [packed_columns([rows[at] for at in chosen]) for chosen in bins]
    return {name: [row[name] for row in rows] for name in names(maker.settings)}


def _examples(maker: Maker, batch: Mapping[str, Sequence[Any]]) -> Iterator[Tokens]:
    for number in range(min(map(len, batch.values()), default=0)):
        try:
            made = maker.examples({name: values[number] for name, values in batch.items()})
        except TemplcError as error:
            if maker.settings.on_error == "stop":
                raise RowError(f"row {number} of the batch: {error}") from error
            continue
        yield from made.examples


def names(settings: Settings) -> tuple[str, ...]:
    """The columns that these settings give, in order."""
    own = (*COLUMNS, "weights") if settings.weights else COLUMNS
    return (*own, "position_ids", "segment_ids") if settings.pack else own


def _only_labels(examples: Sequence[Tokens]) -> None:
    """Refuse weights that labels cannot say."""
    other = {weight for tokens in examples for weight in set(tokens.weights)} - {0.0, 1.0}
    if other:
        raise RowError(
            f"a message has the weight {min(other):g}, which labels cannot say",
            help="write a column of weights: --weights",
        )
