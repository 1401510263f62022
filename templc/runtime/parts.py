"""Content given as a list of parts.

Text parts are joined, so nothing is lost. What published templates do with a list differs (`drop` it, print its
Python `repr`, refuse it); those ways are followed only with `unsupported="as_template"`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from templc.runtime.errors import MessageError
from templc.runtime.text import FILTERS

if TYPE_CHECKING:
    from templc.runtime.messages import MessageRules

INDEX = "{index}"
"""In the text or the label of a kind of part: how many parts with this text the conversation has by now."""


def join_parts(
    parts: Sequence[Any],
    rules: MessageRules,
    policy: str,
    counts: dict[str, int],
    *,
    as_template: bool = False,
) -> tuple[str, bool, str | None]:
    """(text, whether the template does not read it as text, reasoning of thinking parts).

    counts: of the parts so far, by their text; those of `parts` are added to it. as_template: texts are filtered as the
    published template does, by default they are joined as they are.
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
    as_read = FILTERS[rules.part_text if as_template else ""]
    for part in parts:
        _sort(part, rules, as_read, texts, thoughts, counts)
    return rules.between.join(texts), False, "".join(thoughts) if thoughts else None


def _sort(
    part: Any,
    rules: MessageRules,
    as_read: Callable[[str], str],
    texts: list[str],
    thoughts: list[str],
    counts: dict[str, int],
) -> None:
    media = rules.parts
    if isinstance(part, str):
        texts.append(as_read(part))
        return
    kind = part.get("type", "text" if "text" in part else "") if isinstance(part, Mapping) else ""
    for name in (kind, *(_MEDIA_KEYS if kind not in ("text", "thinking", "reasoning") else ())):
        if name in media and (name == kind or name in part):
            counts[media[name]] = counts.get(media[name], 0) + 1
            shown = rules.labels.get(name, "") + media[name]
            texts.append(shown.replace(INDEX, str(counts[media[name]])))
            return
    if kind == "text" and isinstance(part.get("text"), str):
        texts.append(as_read(part["text"]))
    elif kind in ("thinking", "reasoning") and isinstance(part.get(kind, part.get("text")), str):
        thoughts.append(part.get(kind, part.get("text")))
    else:
        raise MessageError(
            f"a part of type `{kind}` cannot be written" if kind else "a part has no type",
            field="content",
            help=f"this format writes parts of type {', '.join(['text', *media])}",
        )


_MEDIA_KEYS = ("image", "image_url", "video", "audio")
