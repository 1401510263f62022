"""The parts of a call that stand between texts which the format writes.

split(("<name>", Part("name"), "</name>"), "<name>f</name>")  ->  {"name": "f"}
"""

from __future__ import annotations

from collections.abc import Sequence

from templc.runtime.parser.grammar import Part


class BadCall(Exception):
    """A call that cannot be read: a code and words."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code, self.message = code, message


def split(inner: Sequence[str | Part], text: str) -> dict[str, str]:
    """The parts between the texts of a call; white space around the texts may differ. BadCall where one is missing."""
    found: dict[str, str] = {}
    for place, item in enumerate(inner):
        if isinstance(item, str):
            if place == 0:
                text = after(text, item)
            continue
        following = inner[place + 1] if place + 1 < len(inner) else ""
        last = place + 2 >= len(inner)
        found[item.name], text = _before(text, str(following), last)
    return found


def after(text: str, literal: str) -> str:
    """What follows a text that a call begins with; BadCall where it begins otherwise."""
    if text.startswith(literal):
        return text[len(literal) :]
    core = literal.strip()
    place = text.find(core)
    if text[:place].strip() or place < 0:
        raise BadCall("bad_call", f"the call does not begin with {core!r}")
    return text[place + len(core) :]


def _before(text: str, literal: str, last: bool) -> tuple[str, str]:
    """The text up to a literal and what follows it; the last literal stands at the very end."""
    if not literal:
        return text, ""
    core = literal.strip()
    place = text.rfind(literal) if last else text.find(literal)
    if place >= 0 and (not last or place + len(literal) == len(text)):
        return text[:place], text[place + len(literal) :]
    place = text.rfind(core) if last else text.find(core)
    if place < 0 or not core or (last and text[place + len(core) :].strip()):
        raise BadCall("bad_call", f"{core!r} is missing in the call")
    return text[:place], text[place + len(core) :]
