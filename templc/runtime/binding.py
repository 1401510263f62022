"""A renderer and a tokenizer: the control tokens that must be there, and the tokens that the tokenizer names itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from templc.runtime.codec import Codec
from templc.runtime.errors import TokenizerError
from templc.runtime.info import Info
from templc.runtime.options import Option, Value


def require_tokens(info: Info, codec: Codec) -> None:
    """TokenizerError where the tokenizer lacks a control token of the format."""
    missing = [token for token in info.specials if codec.token_id(token) is None]
    if missing:
        raise TokenizerError(
            f"this tokenizer has no control token {', '.join(missing)}",
            help=f"{info.name} follows {info.repository or 'its own spec'}: use that model's tokenizer",
        )


def open_tokens(known: Mapping[str, Option], given: Collection[str]) -> dict[str, str]:
    """The token options that the caller left open, each with the attribute of a codec that may know it."""
    return {
        name: f"{option.bind}_token"
        for name, option in known.items()
        if option.bind and name not in given
    }


def own_tokens(
    codec: Codec, open: Mapping[str, str], options: Mapping[str, Value]
) -> dict[str, Value]:
    """Those of them that the tokenizer has under another name."""
    found = {name: getattr(codec, attribute) for name, attribute in open.items()}
    return {
        name: token for name, token in found.items() if token is not None and token != options[name]
    }
