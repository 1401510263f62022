"""Data sets: rows with conversations in, Parquet with token ids and labels out.

`run` tokenizes files on all cores and goes on after a kill, `columns` is the same work as a function of a batch:

    from templc.data import columns_of
    dataset.map(columns_of(renderer, tokenizer), batched=True, remove_columns=dataset.column_names)
"""

from __future__ import annotations

from templc.data.columns import columns_of as columns_of
from templc.data.settings import Settings as Settings

__all__ = ["Settings", "columns_of"]
