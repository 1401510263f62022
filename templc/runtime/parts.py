"""Content given as a list of parts.

Text parts are joined, so nothing is lost. What published templates do with a list differs (`drop` it, print its
Python `repr`, refuse it); those ways are followed only with `unsupported="as_template"`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from templc.runtime.errors import MessageError

INDEX = "{index}"
"""In the text of a kind of part: how many parts with this text the conversation has by now."""


def join_parts(
    parts: Sequence[Any],
    media: Mapping[str, str],
    policy: str,
    between: str = "",
    counts: dict[str, int] | None = None,
) -> tuple[str, bool, str | None]:
    """(text, whether the template does not read it as text, reasoning of thinking parts).

    counts: of the parts so far, by their text; those of `parts` are added to it.
    """
    match policy:
        case "drop":
            return "", True, None
        case "repr":
            return str(list(parts)), True, None
        case "refuse":
            raise MessageError(
                "content is a list of parts", field="content", help="give the text itself"
            )
    texts: list[str] = []
    thoughts: list[str] = []
    for part in parts:
        _sort(part, media, texts, thoughts, {} if counts is None else counts)
    return between.join(texts), False, "".join(thoughts) if thoughts else None


def _sort(
    part: Any,
    media: Mapping[str, str],
    texts: list[str],
    thoughts: list[str],
    counts: dict[str, int],
) -> None:
    if isinstance(part, str):
        texts.append(part)
        return
    kind = part.get("type", "text" if "text" in part else "") if isinstance(part, Mapping) else ""
    for name in (kind, *(_MEDIA_KEYS if kind not in ("text", "thinking", "reasoning") else ())):
        if name in media and (name == kind or name in part):
            counts[media[name]] = counts.get(media[name], 0) + 1
            texts.append(media[name].replace(INDEX, str(counts[media[name]])))
            return
    if kind == "text" and isinstance(part.get("text"), str):
        texts.append(part["text"])
    elif kind in ("thinking", "reasoning") and isinstance(part.get(kind, part.get("text")), str):
        thoughts.append(part.get(kind, part.get("text")))
    else:
        raise MessageError(
            f"a part of type `{kind}` cannot be written" if kind else "a part has no type",
            field="content",
            help=f"this format writes parts of type {', '.join(['text', *media])}",
        )


_MEDIA_KEYS = ("image", "image_url", "video", "audio")
