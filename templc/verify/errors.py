"""What goes wrong in a comparison: the template raises, or there is nothing to compare with.

`one_line(KeyError("x"))` is `KeyError: 'x'`.
"""

from __future__ import annotations

from templc.runtime.errors import TemplcError

INSTALL = 'pip install "templc[verify]"'
_LIMIT = 200


class VerifyError(TemplcError):
    """A comparison that cannot be made: no transformers, no template, no network."""


class PublishedError(Exception):
    """The template raised: `reason` is its message in one line, `kind` the class of the error."""

    def __init__(self, reason: str, kind: str = "TemplateError") -> None:
        super().__init__(reason, kind)
        self.reason = reason
        self.kind = kind

    def __str__(self) -> str:
        return self.reason


def one_line(error: Exception) -> str:
    """What was raised, in one line; all but the template's own words start with their class."""
    text = " ".join(str(error).split())
    kind = type(error).__name__
    text = text if kind in ("TemplateError", "TemplateSyntaxError") and text else f"{kind}: {text}"
    return text if len(text) <= _LIMIT else text[: _LIMIT - 1] + "…"
