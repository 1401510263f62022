"""From a tokenizer to its fast engine, or to the reasons why it has none.

Owns the order of the kinds and of the checks, and the sharing: one engine for all tokenizers with equal settings, as
long as one of them lives.

    fast_engine(tokenizer)       a FastEngine, or raises Unfit
"""

from __future__ import annotations

import hashlib
import importlib
import json
import threading
import unicodedata
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from templc.runtime.engine import store, with_gigatoken, with_tiktoken
from templc.runtime.engine.fast import Encoder, FastEngine
from templc.runtime.engine.merges import Table, ranks_of, sizes_of
from templc.runtime.engine.reasons import Unfit
from templc.runtime.engine.store import Verdict
from templc.runtime.engine.trial import trial

# Part of every key: a verdict holds for one version of these checks.
CHECKS = 4
Settings = Mapping[str, Any]
Ranks = dict[bytes, int]
_lock = threading.Lock()
_engines: weakref.WeakValueDictionary[str, FastEngine] = weakref.WeakValueDictionary()


class Kind(NamedTuple):
    """A library that encodes text. Each function raises `Unfit` where it cannot serve.

    table: whether the settings of a tokenizer fit, and the entries of its vocabulary. encoder: text to ids without
    normalisation, from a tokenizer without added tokens, and the same for several texts, where that is faster; the
    second argument gives the rank of each entry.
    """

    name: str
    version: Callable[[], str]
    table: Callable[[Settings], Table]
    encoder: Callable[[Any, Callable[[], Ranks]], Encoder]


# The fastest first.
KINDS = tuple(
    Kind(module.NAME, module.version, module.table, module.encoder)
    for module in (with_gigatoken, with_tiktoken)
)


def fast_engine(tokenizer: Any, kinds: Sequence[Kind] = KINDS) -> FastEngine:
    """The first kind of engine that fits a `tokenizers.Tokenizer` without added tokens; `Unfit` with every reason.

    The first call for a vocabulary on a machine takes seconds, later ones about one.
    """
    settings: str = tokenizer.to_str()
    reasons: list[str] = []
    for kind in kinds:
        try:
            with _lock:
                return _shared(tokenizer, settings, kind)
        except Unfit as unfit:
            if unfit.reason not in reasons:
                reasons.append(unfit.reason)
    raise Unfit("; ".join(reasons))


def _shared(tokenizer: Any, settings: str, kind: Kind) -> FastEngine:
    key = _key(settings, kind)
    found = _engines.get(key)
    if found is None:
        found = _engines[key] = _made(tokenizer, settings, key, kind)
    return found


def _key(settings: str, kind: Kind) -> str:
    tokenizers = importlib.import_module("tokenizers")
    library = (kind.name, kind.version())
    versions = (CHECKS, *library, tokenizers.__version__, unicodedata.unidata_version)
    return hashlib.sha256(f"{versions} {settings}".encode()).hexdigest()


def _made(tokenizer: Any, text: str, key: str, kind: Kind) -> FastEngine:
    verdict = store.read(key)
    if verdict is None:
        try:
            return _tried(tokenizer, json.loads(text), key, kind)
        except Unfit as unfit:
            store.write(key, Verdict(unfit.reason))
            raise
    if verdict.reason:
        raise Unfit(verdict.reason)
    unused = frozenset(verdict.unused)

    def ranks() -> Ranks:
        return ranks_of(tokenizer.get_vocab(with_added_tokens=False), unused)

    return _engine(verdict, kind.encoder(tokenizer, ranks), kind)


def _tried(tokenizer: Any, settings: Settings, key: str, kind: Kind) -> FastEngine:
    composes = _composes(settings["normalizer"])
    table = kind.table(settings)
    encoder = kind.encoder(tokenizer, lambda: table.ranks)
    verdict = Verdict("", tuple(sorted(table.unused)), "", composes, sizes_of(table.ranks))
    engine = _engine(verdict, encoder, kind)

    def own(text: str) -> list[int]:
        ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    strange = trial(own, lambda text: engine.ids(text) or own(text), kind.name, table.rare)
    verdict = verdict._replace(strange=strange)
    store.write(key, verdict)
    return _engine(verdict, encoder, kind)


def _engine(verdict: Verdict, encoder: Encoder, kind: Kind) -> FastEngine:
    compose = None
    if verdict.composes:
        # The library's own: its Unicode data may be older than Python's.
        compose = importlib.import_module("tokenizers.normalizers").NFC().normalize_str
    return FastEngine(
        encoder, verdict.sizes, name=kind.name, compose=compose, strange=verdict.strange
    )


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
