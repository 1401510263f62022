"""From a tokenizer to its fast engine, or to the reason why it has none.

Owns the order of the checks and the sharing: one engine for all tokenizers with equal settings, as long as one of
them lives.

    fast_engine(tokenizer)       a FastEngine, or raises Unfit
"""

from __future__ import annotations

import hashlib
import importlib
import json
import threading
import unicodedata
import weakref
from collections.abc import Mapping
from typing import Any

from templc.runtime.engine import store
from templc.runtime.engine.fast import FastEngine
from templc.runtime.engine.merges import Table, merge_table, ranks_of
from templc.runtime.engine.pattern import one_pattern
from templc.runtime.engine.reasons import Unfit
from templc.runtime.engine.store import Verdict
from templc.runtime.engine.trial import trial

# Part of every key: a verdict holds for one version of these checks.
CHECKS = 2
_lock = threading.Lock()
_engines: weakref.WeakValueDictionary[str, FastEngine] = weakref.WeakValueDictionary()


def fast_engine(tokenizer: Any) -> FastEngine:
    """The engine of a `tokenizers.Tokenizer` without added tokens; `Unfit` where its ids could be others.

    The first call for a vocabulary on a machine takes seconds, later ones about one.
    """
    tiktoken = _tiktoken()
    settings: str = tokenizer.to_str()
    key = _key(settings, tiktoken)
    with _lock:
        found = _engines.get(key)
        if found is None:
            found = _engines[key] = _made(tokenizer, json.loads(settings), key, tiktoken)
        return found


def _tiktoken() -> Any:
    try:
        return importlib.import_module("tiktoken")
    except ImportError:
        raise Unfit('tiktoken is not installed: pip install "templc[fast]"') from None


def _key(settings: str, tiktoken: Any) -> str:
    tokenizers = importlib.import_module("tokenizers")
    versions = (CHECKS, tiktoken.__version__, tokenizers.__version__, unicodedata.unidata_version)
    return hashlib.sha256(f"{versions} {settings}".encode()).hexdigest()


def _made(tokenizer: Any, settings: Mapping[str, Any], key: str, tiktoken: Any) -> FastEngine:
    verdict = store.read(key)
    if verdict is None:
        try:
            return _tried(tokenizer, settings, key, tiktoken)
        except Unfit as unfit:
            store.write(key, Verdict(unfit.reason))
            raise
    if verdict.reason:
        raise Unfit(verdict.reason)
    unused = frozenset(verdict.unused)
    table = Table(ranks_of(settings["model"]["vocab"], unused), unused)
    return _engine(settings, table, verdict.strange, tiktoken)


def _tried(tokenizer: Any, settings: Mapping[str, Any], key: str, tiktoken: Any) -> FastEngine:
    _composes(settings["normalizer"])
    one_pattern(settings["pre_tokenizer"])
    table = merge_table(settings["model"])
    engine = _engine(settings, table, "", tiktoken)

    def own(text: str) -> list[int]:
        ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    strange = trial(own, lambda text: engine.ids(text) or own(text), table.rare)
    store.write(key, Verdict("", tuple(sorted(table.unused)), strange))
    return _engine(settings, table, strange, tiktoken)


def _engine(settings: Mapping[str, Any], table: Table, strange: str, tiktoken: Any) -> FastEngine:
    try:
        encoding = tiktoken.Encoding(
            "templc",
            pat_str=one_pattern(settings["pre_tokenizer"]),
            mergeable_ranks=table.ranks,
            special_tokens={},
        )
    except ValueError as error:
        raise Unfit(f"tiktoken refuses the pattern ({str(error)[:200]})") from None
    compose = None
    if _composes(settings["normalizer"]):
        # The library's own: its Unicode data may be older than Python's.
        compose = importlib.import_module("tokenizers.normalizers").NFC().normalize_str
    return FastEngine(encoding, table.ranks, compose=compose, strange=strange)


def _composes(normalizer: Mapping[str, Any] | None) -> bool:
    match normalizer:
        case None:
            return False
        case {"type": "NFC"}:
            return True
        case {"type": "Sequence", "normalizers": steps}:
            found = {_composes(step) for step in steps}
            return True in found
        case _:
            raise Unfit(f"the normalizer {normalizer['type']} is not NFC")
