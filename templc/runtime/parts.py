"""Content given as a list of parts.

Text parts are joined, so nothing is lost. What published templates do with a list differs (`drop` it, print its
Python `repr`, refuse it); those ways are followed only with `unsupported="as_template"`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from templc.runtime.errors import MessageError
from templc.runtime.pieces import Piece
from templc.runtime.text import FILTERS

if TYPE_CHECKING:
    from templc.runtime.messages import MessageRules

INDEX = "{index}"
"""In the text or the label of a kind of part: how many parts with this text the conversation has by now."""


class Media(NamedTuple):
    """What the format wrote for parts that are not text: places in `text`, which is the whole content as joined."""

    text: str
    spans: tuple[tuple[int, int], ...]

    def split(self, piece: Piece) -> list[Piece]:
        """A piece of the content in stretches, those of the format no body.

        One that was rewritten, or that the content holds twice, stays whole: what a user spells is never the format's.
        """
        base = self.text.find(piece.text)
        base = base if base == self.text.rfind(piece.text) else -1
        found: list[Piece] = []
        done = 0
        for start, end in self.spans if base >= 0 else ():
            start, end = max(start - base, done), min(end - base, len(piece.text))
            if start < end:
                found += [piece._replace(text=piece.text[done:start])] if done < start else []
                found.append(piece._replace(text=piece.text[start:end], body=False))
                done = end
        rest = piece.text[done:]
        return [*found, piece._replace(text=rest)] if rest or not found else found


class Joined(NamedTuple):
    """A list of parts as text; `unread`: the template does not read it as text; `thought`: of thinking parts."""

    text: str
    unread: bool = False
    thought: str | None = None
    media: Media | None = None


def join_parts(
    parts: Sequence[Any],
    rules: MessageRules,
    policy: str,
    counts: dict[str, int],
    *,
    as_template: bool = False,
) -> Joined:
    """Parts as the policy has them.

    counts: of the parts so far, by their text; those of `parts` are added to it. as_template: texts are filtered as the
    published template does, by default they are joined as they are.
    """
    match policy:
        case "drop":
            return Joined("", True)
        case "repr":
            return Joined(str(list(parts)), True)
        case "refuse":
            raise MessageError(
                "content is a list of parts", field="content", help="give the text itself"
            )
    as_read = FILTERS[rules.part_text if as_template else ""]
    texts: list[str] = []
    thoughts: list[str] = []
    spans: list[tuple[int, int]] = []
    at = 0
    for part in parts:
        written = len(texts)
        shown = _sort(part, rules, as_read, texts, thoughts, counts)
        if len(texts) == written:
            continue
        start = at + (len(rules.between) if written else 0)
        at = start + len(texts[-1])
        spans += [(start, at)] if shown else []
    text = rules.between.join(texts)
    media = Media(text, tuple(spans)) if spans else None
    return Joined(text, False, "".join(thoughts) if thoughts else None, media)


def _sort(
    part: Any,
    rules: MessageRules,
    as_read: Callable[[str], str],
    texts: list[str],
    thoughts: list[str],
    counts: dict[str, int],
) -> bool:
    """Whether the part is written by the format; else it is text or a thought."""
    media = rules.parts
    if isinstance(part, str):
        texts.append(as_read(part))
        return False
    kind = part.get("type", "text" if "text" in part else "") if isinstance(part, Mapping) else ""
    for name in (kind, *(_MEDIA_KEYS if kind not in ("text", "thinking", "reasoning") else ())):
        if name in media and (name == kind or name in part):
            counts[media[name]] = counts.get(media[name], 0) + 1
            shown = rules.labels.get(name, "") + media[name]
            texts.append(shown.replace(INDEX, str(counts[media[name]])))
            return True
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
    return False


_MEDIA_KEYS = ("image", "image_url", "video", "audio")
