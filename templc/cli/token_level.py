"""The last part of `templc prove`: where a merge of the tokenizer may join old text and new.

TokenLevel.of(stability, None)     with the demo vocabulary that fits, or the reason why there is none
"""

from __future__ import annotations

from dataclasses import dataclass

from templc.cli.vocabulary import chosen
from templc.proof.boundary import analyse
from templc.proof.stability import Stability
from templc.proof.table import wrapped
from templc.proof.token_level import Kept, token_level
from templc.runtime.errors import TokenizerError
from templc.runtime.info import Info


@dataclass(frozen=True, slots=True)
class TokenLevel:
    """name: of the tokenizer; why: the reason where nothing is known."""

    name: str
    kept: tuple[Kept, ...]
    why: str = ""

    @classmethod
    def of(cls, stability: Stability, choice: str | None) -> TokenLevel:
        """For the tokenizer that is asked for; TokenizerError where it cannot be had. None: a demo vocabulary."""
        program = stability.program
        if stability.names is None:
            return cls("", (), "nothing is proved of the text")
        info = Info(
            program.format,
            program.title,
            program.source,
            (),
            program.specials,
            markers=program.markers,
        )
        try:
            tokenizer, name = chosen(choice, info)
        except TokenizerError as error:
            if choice is not None:
                raise
            return cls("", (), f"{error.args[0]}; name a tokenizer with --tokenizer")
        return cls(name, tuple(token_level(stability, analyse(tokenizer))))

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        kept = [
            {"text": one.text, "safe": one.safe, "places": [list(place) for place in one.places]}
            for one in self.kept
        ]
        return {"tokenizer": self.name, "boundaries": kept, "why": self.why}

    def __str__(self) -> str:
        if self.why:
            return f"token level: {self.why}"
        lines = [f"token level, {self.name}: tokens(old) + tokens(new) = tokens(old new)"]
        largest = max(self.kept, key=lambda one: len(one.places), default=None)
        for one in self.kept:
            every = one is largest and len(one.places) > 3
            where = "other boundaries" if every and len(self.kept) > 1 else "every boundary"
            if not every:
                where = ", ".join(f"{after} > {then}" for after, then in one.places)
            lines += wrapped(f"{where}: {one.text}")
        return "\n".join(lines)
