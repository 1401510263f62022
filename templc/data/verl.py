"""What `templc tokenize` writes as the data set of verl's supervised trainer, which else tokenizes messages by itself.

    data.custom_cls.path=pkg://templc.data.verl data.custom_cls.name=TokenizedDataset data.train_files=out.parquet

verl makes the data set and gives it the keys of `data` in its configuration. Needs torch and pyarrow.
"""

from __future__ import annotations

import importlib
import os
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from templc.runtime.errors import OptionError, TemplcError
from templc.runtime.options import one_of
from templc.runtime.tokens import IGNORED_LABEL

if TYPE_CHECKING:
    import torch

PADDING = ("no_padding", "right")


class TokenizedDataset:
    """Rows of token ids as `input_ids`, `position_ids` and `loss_mask`; int64, one entry a token.

    loss_mask: 1 where a label is, but for the first token of an example, which nothing predicts.

    parquet_files: one path or several. config: reads `max_length` (1024 unless given), `pad_mode` (right or
    no_padding), `truncation` (error, left or right), `shuffle` and `seed`, as verl's own data set does. With pad_mode
    right, rows are filled up to `max_length` and `attention_mask` is there too. max_samples: -1 for all rows.
    OptionError for other settings and for files without these columns; TemplcError for a row that is too long.
    """

    def __init__(
        self,
        parquet_files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        tokenizer: Any = None,
        config: Mapping[str, Any] | None = None,
        processor: object = None,
        max_samples: int = -1,
    ) -> None:
        config = config or {}
        # verl has an enumeration for the first, whose members are texts.
        self._pad_mode = config.get("pad_mode", "right")
        self._truncation = config.get("truncation", "error")
        one_of("pad_mode", self._pad_mode, PADDING)
        one_of("truncation", self._truncation, ("error", "left", "right"))
        self._length = int(config.get("max_length", 1024))
        self._padding = getattr(tokenizer, "pad_token_id", None) or 0
        self._torch: Any = importlib.import_module("torch")
        if isinstance(parquet_files, str | os.PathLike):
            parquet_files = [parquet_files]
        self._table = _table([os.path.expanduser(file) for file in parquet_files])
        self._rows = list(range(self._table.num_rows))
        if 0 < max_samples < len(self._rows):
            if config.get("shuffle", False):
                random.Random(config.get("seed")).shuffle(self._rows)
            del self._rows[max_samples:]

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, at: int) -> dict[str, torch.Tensor]:
        row = self._rows[at]
        ids = self._column("input_ids", row)
        found = {
            "input_ids": ids,
            "position_ids": self._positions(row, len(ids)),
            "loss_mask": (self._column("labels", row) != IGNORED_LABEL).long(),
        }
        if len(ids) > self._length:
            found = {name: self._cut(row, values) for name, values in found.items()}
            found["position_ids"] = _from_zero(found["position_ids"])
        # verl moves the masks of a batch on by one in one row: here it would train the end of the example before.
        found["loss_mask"][found["position_ids"] == 0] = 0
        return found if self._pad_mode == "no_padding" else self._filled(found)

    def _column(self, name: str, row: int) -> torch.Tensor:
        values = self._table.column(name)[row].as_py()
        return self._torch.tensor(values, dtype=self._torch.long)  # type: ignore[no-any-return]

    def _positions(self, row: int, size: int) -> torch.Tensor:
        """Those of packed rows start anew with each example."""
        if "position_ids" in self._table.column_names:
            return self._column("position_ids", row)
        return self._torch.arange(size)  # type: ignore[no-any-return]

    def _cut(self, row: int, values: torch.Tensor) -> torch.Tensor:
        if self._truncation == "error":
            raise TemplcError(
                f"row {row} has {len(values)} tokens, more than max_length={self._length}",
                help="templc tokenize --max-tokens sets such rows aside; or say data.max_length or data.truncation",
            )
        return values[-self._length :] if self._truncation == "left" else values[: self._length]

    def _filled(self, found: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        torch = self._torch
        left = self._length - len(found["input_ids"])
        found["attention_mask"] = torch.ones_like(found["input_ids"])
        fill = {"input_ids": self._padding}
        return {
            name: torch.cat((values, torch.full((left,), fill.get(name, 0), dtype=torch.long)))
            for name, values in found.items()
        }


def _from_zero(positions: torch.Tensor) -> torch.Tensor:
    """Positions whose first example begins with 0: verl packs a batch, and tells its examples apart by that."""
    starts = (positions == 0).nonzero().flatten().tolist()
    end = starts[0] if starts else len(positions)
    positions = positions.clone()
    positions[:end] -= int(positions[0])
    return positions


def _table(files: Sequence[str | os.PathLike[str]]) -> Any:
    """The columns of all files, a few bytes a token, for the trainer holds them in every process."""
    arrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    tables = []
    for file in files:
        names = parquet.read_schema(file).names
        missing = [name for name in ("input_ids", "labels") if name not in names]
        if missing:
            raise OptionError(
                f"{file} has no column {', '.join(missing)}",
                help="make it with: templc tokenize FORMAT chats.jsonl -o out.parquet",
            )
        wanted = [name for name in ("input_ids", "labels", "position_ids") if name in names]
        tables.append(parquet.read_table(file, columns=wanted))
    if not tables:
        raise OptionError("there are no files", help="data.train_files names them")
    same = {tuple(table.column_names) for table in tables}
    if len(same) != 1:
        raise OptionError("some of the files are packed and some are not", help="give one kind")
    return arrow.concat_tables(tables)
