"""Conversations that are too long: set aside, cut at their front by whole turns, or an error.

A cut keeps the leading system messages and begins at a message of the user, so what is left is a conversation. How
many trained messages it lost is counted and told; a message is never cut in two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from templc.data.settings import DataError, RowError, Settings
from templc.runtime.aliases import as_mapping, role_of
from templc.runtime.tokens import Tokens

Make = Callable[[list[Any], list[Any] | None], list[Tokens]]


class TooLongError(DataError):
    """An example above the limit where that is an error; it ends the run whatever happens to bad rows."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """Examples within the limit; `cut`: messages left out at the front, `untrained`: trained ones among them."""

    examples: list[Tokens]
    cut: int = 0
    untrained: int = 0


def fitted(make: Make, messages: list[Any], tools: list[Any] | None, settings: Settings) -> Fitted:
    """The examples, after the policy of `settings`. RowError where none can be kept, TooLongError where asked for."""
    whole = make(messages, tools)
    limit = settings.limit
    if limit is None or _longest(whole) <= limit:
        return Fitted(whole)
    why = f"an example has {_longest(whole)} tokens, more than {limit}"
    match settings.too_long:
        case "drop":
            raise RowError(why)
        case "error":
            raise TooLongError(
                why, help="--too-long drop sets such rows aside, cut_front cuts them"
            )
        case "cut_front":
            return _cut(make, messages, tools, limit, _trained(whole), why)


def _cut(
    make: Make,
    messages: list[Any],
    tools: list[Any] | None,
    limit: int,
    trained: int,
    why: str,
) -> Fitted:
    lead, starts = _starts(messages)
    low, high, best = 0, len(starts), None
    # The fewest messages left out, by halving: each try is a whole render.
    while low < high:
        middle = (low + high) // 2
        made = make([*messages[:lead], *messages[starts[middle] :]], tools)
        if _longest(made) <= limit:
            best, high = (made, starts[middle] - lead), middle
        else:
            low = middle + 1
    if best is None:
        raise RowError(f"{why}, and its last turn alone is too long")
    made, cut = best
    if trained and not _trained(made):
        raise RowError(f"{why}, and nothing trained is left after a cut")
    return Fitted(made, cut, trained - _trained(made))


def _starts(messages: Sequence[Any]) -> tuple[int, list[int]]:
    """How many messages lead (system, developer), and where a cut may begin: the later messages of the user."""
    roles = [role_of(as_mapping(message)) for message in messages]
    lead = next((at for at, role in enumerate(roles) if role not in ("system", "developer")), 0)
    return lead, [at for at, role in enumerate(roles) if role == "user" and at > lead]


def _longest(examples: Sequence[Tokens]) -> int:
    return max(map(len, examples), default=0)


def _trained(examples: Sequence[Tokens]) -> int:
    """How many messages are trained; each is in one example only."""
    return sum(
        len({at for at, weight in zip(tokens.message_index, tokens.weights, strict=True) if weight})
        for tokens in examples
    )
