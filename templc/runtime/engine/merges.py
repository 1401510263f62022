"""Condition one: tiktoken's merges are those of the vocabulary.

`tokenizers` merges the pair that stands first in a list of pairs; tiktoken merges any two neighbours that make an
entry, lowest id first. Both do the same on every text if each entry, encoded alone, becomes itself, by a last merge
of two earlier entries, and these last merges stand in the order of the ids: as long as nothing merges across the ends
of an entry, what happens between them is what happens to the entry alone, so that no other pair ever makes it.

An entry that no merge makes of its own text may still be a whole word. It is accepted where the list of merges has
every pair that makes it and is sorted by id, for then both merge the same pairs in the same order; the trial tries
these entries one by one.

    merge_table(model)  ->  Table(ranks={b"a": 64, ...}, unused=frozenset(), rare=())
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any, NamedTuple

from templc.runtime.engine.reasons import Unfit
from templc.runtime.token_bytes import byte_of_character

Pair = tuple[str, str]
_NEUTRAL = {
    "dropout": (None, 0, 0.0),
    "continuing_subword_prefix": (None, ""),
    "end_of_word_suffix": (None, ""),
    "byte_fallback": (False, None),
}


class Table(NamedTuple):
    """Bytes to rank, which is the id.

    unused: ids of entries that no text gives, which are left out. rare: entries that only whole words give.
    """

    ranks: dict[bytes, int]
    unused: frozenset[int]
    rare: tuple[bytes, ...] = ()


def merge_table(model: Mapping[str, Any]) -> Table:
    """From the JSON of a BPE model; `Unfit` where tiktoken would merge otherwise."""
    is_plain_bpe(model)
    vocabulary: Mapping[str, int] = model["vocab"]
    merges: list[Any] = [tuple(pair) for pair in model["merges"]]
    known = byte_of_character()
    last = _last_merges(vocabulary, merges)
    apart = [
        text for text in vocabulary if text not in last and not (len(text) == 1 and text in known)
    ]
    whole = (
        [text for text in apart if known.keys() >= set(text)] if model.get("ignore_merges") else []
    )
    _require_pairs(vocabulary, merges, [text for text in whole if text])
    unused = frozenset(vocabulary[text] for text in apart) - {vocabulary[text] for text in whole}
    rare = tuple(bytes([known[character] for character in text]) for text in whole)
    return Table(ranks_of(vocabulary, unused), unused, rare)


def is_plain_bpe(model: Mapping[str, Any]) -> None:
    """`Unfit` for another model, or for one with settings that only `tokenizers` has."""
    if model["type"] != "BPE":
        raise Unfit(f"the model is {model['type']}, not BPE")
    for name, neutral in _NEUTRAL.items():
        if model.get(name) not in neutral:
            raise Unfit(f"the model has {name}={model[name]!r}")


def ranks_of(vocabulary: Mapping[str, int], unused: frozenset[int]) -> dict[bytes, int]:
    """Bytes to id, without the unused; `Unfit` unless every byte has an entry."""
    table = byte_of_character()
    ranks = {
        bytes([table[character] for character in text]): id
        for text, id in vocabulary.items()
        if id not in unused
    }
    if any(bytes([byte]) not in ranks for byte in range(256)):
        raise Unfit("not every byte has an entry in the vocabulary")
    return ranks


def sizes_of(ranks: Mapping[bytes, int]) -> array[int]:
    """How many bytes each id stands for; 0 for the unused."""
    sizes = array("H", bytes(2 * (max(ranks.values()) + 1)))
    for token, rank in ranks.items():
        sizes[rank] = len(token)
    return sizes


def _last_merges(vocabulary: Mapping[str, int], merges: list[Any]) -> dict[str, int]:
    """For each entry that merges make of its own text: the place of the last of these merges."""
    places: dict[Pair, int] = {pair: place for place, pair in enumerate(merges)}
    last: dict[str, int] = {}
    parts: dict[str, Pair] = {}
    newest = -1
    for place, (left, right) in enumerate(merges):
        text = left + right
        if text in last or not _happens(left, right, place, places, last, parts):
            continue
        last[text], parts[text] = place, (left, right)
        if (id := vocabulary[text]) < newest:
            raise Unfit(f"the id of {text!r} is lower than those of earlier merges")
        newest = id
    return last


def _happens(
    left: str,
    right: str,
    place: int,
    places: Mapping[Pair, int],
    last: Mapping[str, int],
    parts: Mapping[str, Pair],
) -> bool:
    """Whether the text of both, encoded alone, is just these two entries before merge `place`.

    Goes back in time along the joint: the entry made last is taken apart, and no merge across the joint may come
    before that one. Of equal merges the leftmost comes first.
    """
    if any(len(side) > 1 and side not in last for side in (left, right)):
        return False
    before = place
    while True:
        across = places.get((left, right))
        if across is not None and across < before:
            return False
        left_made, right_made = last.get(left, -1), last.get(right, -1)
        if left_made < 0 and right_made < 0:
            return True
        if left_made > right_made:
            before, left = left_made, parts[left][1]
        else:
            before, right = right_made + 1, parts[right][0]


def _require_pairs(vocabulary: Mapping[str, int], merges: list[Any], whole: list[str]) -> None:
    """Unfit unless every pair that makes one of these entries is a merge, in the order of the ids."""
    listed = set(merges)
    pairs = [
        pair
        for text in whole
        for pair in ((text[:at], text[at:]) for at in range(1, len(text)))
        if pair[0] in vocabulary and pair[1] in vocabulary
    ]
    if not pairs:
        return
    if any(pair not in listed for pair in pairs):
        raise Unfit("the vocabulary has words that no merge makes")
    made = [vocabulary[left + right] for left, right in merges]
    if made != sorted(made):
        raise Unfit("the merges are not in the order of the ids")
