"""Content given as a list of parts.

Text parts are joined, so nothing is lost. What published templates do with a list differs (`drop` it, print its
Python `repr`, write it as `json`, refuse it); those ways are followed only with `unsupported="as_template"`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from templc.runtime.errors import MessageError
from templc.runtime.pieces import Piece
from templc.runtime.rules import MessageRules
from templc.runtime.text import FILTERS, to_json

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
    role: str,
    *,
    as_template: bool = False,
) -> Joined:
    """Parts of a message of this role, as the policy has them.

    counts: of the parts so far, by their text; those of `parts` are added to it. as_template: texts are filtered as the
    published template does, by default they are joined as they are.
    """
    match policy:
        case "drop":
            return Joined("", True)
        case "refuse":
            raise MessageError("content is a list of parts", field="content", help=_TEXT)
        case "repr" | "json" if not parts:
            raise MessageError(_EMPTY, field="content", help=_TEXT)
        case "repr":
            return Joined(str(list(parts)), True)
        case "json":
            return Joined(to_json(list(parts)), True)
    if role in rules.parts_first:
        parts = _text_last(parts)
    as_read = FILTERS[rules.part_text if as_template else ""]
    texts: list[str] = []
    thoughts: list[str] = []
    spans: list[tuple[int, int]] = []
    text, after = "", True
    for part in parts:
        written = len(texts)
        shown = _sort(part, rules, role, as_read, texts, thoughts, counts)
        if len(texts) == written:
            continue
        if written:
            both = bool(rules.between_texts) and not shown and not after
            text += rules.between_texts if both else rules.between if text else ""
        start, text, after = len(text), text + texts[-1], shown
        spans += [(start, len(text))] if shown else []
    if as_template and not text and not thoughts:
        raise MessageError(_EMPTY, field="content", help=_TEXT)
    media = Media(text, tuple(spans)) if spans else None
    return Joined(text, policy == "note", "".join(thoughts) if thoughts else None, media)


def _sort(
    part: Any,
    rules: MessageRules,
    role: str,
    as_read: Callable[[str], str],
    texts: list[str],
    thoughts: list[str],
    counts: dict[str, int],
) -> bool:
    """Whether the part is written by the format; else it is text or a thought."""
    media = rules.parts if not rules.parts_in or role in rules.parts_in else {}
    if isinstance(part, str):
        texts.append(as_read(part))
        return False
    kind = _kind(part)
    if kind.endswith("_url") and kind not in part:
        raise MessageError(f"a part of type `{kind}` has no `{kind}`", field="content")
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
        where = "" if media or not rules.parts else f" in a message of the role `{role}`"
        raise MessageError(
            f"a part of type `{kind}` cannot be written{where}" if kind else "a part has no type",
            field="content",
            help=f"this format writes parts of type {', '.join(['text', *media])}{where}",
        )
    return False


def _kind(part: object) -> str:
    if not isinstance(part, Mapping):
        return ""
    return str(part.get("type", "text" if "text" in part else ""))


def _text_last(parts: Sequence[Any]) -> Sequence[Any]:
    """A text and one part that is none, that one first; other lists as they are."""
    kinds = [_kind(part) for part in parts]
    return parts[::-1] if len(kinds) == 2 and kinds[0] == "text" != kinds[1] else parts


ALONE = "a message with parts that are no text stands next to another one of its role"
_EMPTY = "content is a list without a text"
_TEXT = "give the text itself"
_MEDIA_KEYS = ("image", "image_url", "video", "audio")
