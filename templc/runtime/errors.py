"""Every error that the runtime raises: one readable text, the cure in `help`.

Owns the exception classes only. `str(error)` is `where: what is wrong` and, on a second line, `help: what to do`:

    message 2, content: text holds a lone surrogate (U+D800)
      help: repair the text before rendering, for instance text.encode("utf-8", "replace").decode()

All of them are `ValueError`s, pickle (so they cross process pools) and carry their facts as attributes.
"""

from __future__ import annotations


class TemplcError(ValueError):
    """What is wrong (`message`) and what to do about it (`help`, may be empty)."""

    def __init__(self, message: str, *, help: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.help = help

    def where(self) -> str:
        """The place that the text starts with, empty where the message says it all."""
        return ""

    def __str__(self) -> str:
        where = self.where()
        head = f"{where}: {self.message}" if where else self.message
        return f"{head}\n  help: {self.help}" if self.help else head


class MessageError(TemplcError):
    """A message that cannot be rendered: `message_index` (-1: not known), `field` (empty: the message as a whole)."""

    def __init__(
        self, message: str, *, help: str = "", message_index: int = -1, field: str = ""
    ) -> None:
        super().__init__(message, help=help)
        self.message_index = message_index
        self.field = field

    def where(self) -> str:
        index = f"message {self.message_index}" if self.message_index >= 0 else ""
        return ", ".join(part for part in (index, self.field) if part)


class OptionError(TemplcError):
    """An option that the format does not have, or a value that it does not take."""


class FormatError(TemplcError):
    """A format name that is not known, or a format that does not do what is asked."""


class TokenizerError(TemplcError):
    """A tokenizer of an unknown kind, or one that cannot encode what the format writes."""


class ControlTokenError(MessageError):
    """A message spells a control token: `token` is its text, found in `field` of `message_index`."""

    def __init__(
        self,
        message: str,
        *,
        help: str = "",
        message_index: int = -1,
        field: str = "",
        token: str = "",
    ) -> None:
        super().__init__(message, help=help, message_index=message_index, field=field)
        self.token = token


class UnstableExtension(TemplcError):
    """New messages would rewrite what is already emitted.

    reason: why. spec_line: the line of the spec that causes it (0: none). keep: how many leading tokens stay
    valid. witness: the shortest conversation that shows it, where one is known.
    """

    def __init__(
        self,
        reason: str,
        *,
        spec_line: int = 0,
        keep: int = 0,
        witness: object = None,
        help: str = "",
    ) -> None:
        super().__init__(reason, help=help)
        self.reason = reason
        self.spec_line = spec_line
        self.keep = keep
        self.witness = witness

    def where(self) -> str:
        return f"spec line {self.spec_line}" if self.spec_line else ""


def surrogate_error(text: str) -> MessageError | None:
    """The error for the first lone surrogate of `text`, which no tokenizer can encode; None if there is none."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        return MessageError(
            f"text holds a lone surrogate (U+{code:04X}) at character {error.start}",
            help='repair the text first, for instance with text.encode("utf-8", "replace").decode()',
        )
    return None
