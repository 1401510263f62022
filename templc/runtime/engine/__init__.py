"""The fast engine: a byte-level BPE tokenizer run through another library, where that gives the same ids.

Owns `fast_engine`, which builds the engine of a `tokenizers.Tokenizer` without added tokens, or says why it cannot,
and `Haste`, which builds it once there is enough text.
Two libraries are at hand, `with_gigatoken` and `with_tiktoken`, the faster one first.
Equality is checked: `merges` and `pattern` hold the structural conditions, `trial` compares both on hostile text,
`store` remembers the verdict on disk. Engines are shared by all tokenizers with equal settings.

    fast_engine(tokenizer).ids("hello")  ->  [14990]
"""

from __future__ import annotations

from templc.runtime.engine.build import fast_engine as fast_engine
from templc.runtime.engine.fast import FastEngine as FastEngine
from templc.runtime.engine.haste import Haste as Haste
from templc.runtime.engine.reasons import Unfit as Unfit
