"""Which format a model uses, by its tokenizer or by its name.

    for_tokenizer(tokenizer)                # by the sha256 of its chat template, else by what the template writes
    for_model("Qwen/Qwen3-8B")              # by exact name

Owns the search and its refusals. The digests and names are those of the specs, then those of `recognised.json`: what
`python -m tests.coverage --record` measured for published templates that a format equals.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from templc.registry import generated, get_renderer, list_formats, renderer_class
from templc.runtime.errors import FormatError, TemplcError
from templc.runtime.renderer import Renderer

_TABLE = Path(__file__).parent / "recognised.json"
_CLOSE = 0.6
_FEWEST = 8
_NEAREST = 3


@dataclass(frozen=True, slots=True)
class Found:
    """A format, the options that make it equal, and how it was found."""

    format: str
    options: Mapping[str, Any] = field(default_factory=dict)
    by: str = ""


def for_tokenizer(tokenizer: Any, **options: object) -> Renderer:
    """The renderer of a tokenizer's own chat template, bound to the tokenizer.

    By the sha256 of the template; else by rendering small conversations with it and with every format, which needs
    the extra `templc[verify]`; else, where the tokenizer has no template, by the exact name of its model. FormatError
    with the nearest formats where none is equal. `options` win over those that were recognised.
    """
    template = _template(tokenizer)
    name = getattr(tokenizer, "name_or_path", "") or ""
    if template is None:
        if not name:
            raise FormatError("the tokenizer has no chat template", help="use templc.get_renderer")
        found = _by_model(name)
    else:
        digest = hashlib.sha256(template.encode()).hexdigest()
        found = _by_digest(digest) or _by_comparison(template, digest, tokenizer)
    chosen = {**found.options, **_bound(found.format, tokenizer), **options}
    return get_renderer(found.format, tokenizer, **chosen)


def for_model(name: str, tokenizer: object | None = None, **options: object) -> Renderer:
    """The renderer of a model by its exact name on the hub.

    FormatError with the nearest names where no format lists it; a warning where the name is published with templates
    that write different texts.
    """
    found = _by_model(name)
    return get_renderer(found.format, tokenizer, **{**found.options, **options})


def measured(format: str) -> Iterator[tuple[str, dict[str, Any], list[str]]]:
    """The templates that a format was measured to equal: digest, options, models."""
    for digest, row in _table().items():
        if row["equal"] and row["format"] == format:
            yield digest, row["options"], row["models"]


def _template(tokenizer: Any) -> str | None:
    """The text of the default chat template of a transformers tokenizer."""
    given = getattr(tokenizer, "chat_template", None)
    if isinstance(given, Mapping):
        given = given.get("default")
    return given if isinstance(given, str) else None


def _by_digest(digest: str) -> Found | None:
    if name := generated().DIGESTS.get(digest):
        return Found(name, by="digest")
    row = _table().get(digest)
    return Found(row["format"], row["options"], "digest") if row and row["equal"] else None


def _by_model(name: str) -> Found:
    rows = {digest: row for digest, row in _table().items() if name in row["models"]}
    owner = generated().MODELS.get(name)
    known = (_by_digest(digest) for digest in rows)
    equal = [Found(one.format, one.options, "model") for one in known if one is not None]
    found = Found(owner, by="model") if owner else next(iter(equal), None)
    if found is None:
        raise _unknown(name, list(rows.values()))
    others = {one.format for one in equal} - {found.format}
    unequal = sum(not row["equal"] for row in rows.values())
    if others or unequal:
        also = ", ".join(sorted(others)) or "none of the formats"
        warnings.warn(
            f"{name} is published with several templates: {found.format} is used, another one is that of {also};"
            f" check with `templc verify {found.format} --hub {name}`",
            stacklevel=4,
        )
    return found


def _unknown(name: str, rows: list[dict[str, Any]]) -> FormatError:
    near = sorted({row["format"] for row in rows if row["format"]})
    if near:
        said = f"the template of {name} is equal to no format; nearest: {', '.join(near)}"
        return FormatError(said, help=f"templc verify {near[0]} --hub {name}")
    known = {*generated().MODELS, *(model for row in _table().values() for model in row["models"])}
    close = get_close_matches(name, known, _NEAREST, _CLOSE)
    cure = f"did you mean {', '.join(close)}?" if close else "templc list shows what is known"
    return FormatError(f"no format lists the model {name}", help=cure)


def _by_comparison(template: str, digest: str, tokenizer: Any) -> Found:
    """The format that writes what the template writes, over small conversations and single options.

    Of several the one whose options do in the template what they do in the format, and whose control tokens it spells.
    """
    try:
        published = _published(template, tokenizer)
    except TemplcError as error:
        raise FormatError(
            f"no format follows the template {digest[:8]}, and {error.message}", help=error.help
        ) from None
    scores: list[tuple[int, float, str]] = []
    agreeing: list[str] = []
    for name, options in _candidates():
        if agreeing and options:
            break
        agreed, compared = _agreement(published, name, options, tokenizer, longest=1)
        if agreed == compared:  # few do, and they are nearer than those that part on one message
            agreed, compared = _agreement(published, name, options, tokenizer)
            scores.append((0, -agreed / max(1, compared), name))
        else:
            scores.append((1, -agreed / compared, name))
        if compared >= _FEWEST and agreed == compared:
            if options:
                return Found(name, options, "comparison")
            agreeing.append(name)
    if agreeing:
        chosen = min(
            agreeing,
            key=lambda name: (*_otherwise(published, name, tokenizer), *_spelled(template, name)),
        )
        return Found(chosen, by="comparison")
    near = list(dict.fromkeys(name for *_, name in sorted(scores)))[:_NEAREST]
    raise FormatError(
        f"no format writes what the template {digest[:8]} writes; nearest: {', '.join(near)}",
        help=f"save it and see where they part: templc verify {near[0]} --template FILE",
    )


def _published(template: str, tokenizer: Any) -> Any:
    verify = importlib.import_module("templc.verify")
    keys = ("bos_token", "eos_token")
    tokens = {key: getattr(tokenizer, key, None) for key in keys}
    given = {key: token for key, token in tokens.items() if token is not None}
    return verify.Recorded(verify.Published(template, "template", given))


def _candidates() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every format without options, then with each value of each option alone."""
    yield from ((name, {}) for name in list_formats())
    yield from ((name, options) for name in list_formats() for options in _single(name))


def _single(name: str) -> Iterator[dict[str, Any]]:
    """Each value of each option that takes a few."""
    for key, option in renderer_class(name).known_options.items():
        values = {"bool": (True, False), "list": (), "record": ()}.get(option.type, option.values)
        yield from ({key: value} for value in values)


def _otherwise(published: Any, name: str, tokenizer: Any) -> tuple[int, int]:
    """For how many values of options the template writes something else; and for how many the same, negated.

    A value that changes nothing in the format says nothing.
    """
    changing = (one for one in _single(name) if not _agrees(published, name, tokenizer, one))
    same = [_agrees(published, name, tokenizer, one, told=True) for one in changing]
    return same.count(False), -same.count(True)


def _spelled(template: str, name: str) -> tuple[int, int]:
    """How many control tokens of a format a template does not spell; and how many it does, negated."""
    there = [token in template for token in renderer_class(name).info.specials]
    return there.count(False), -there.count(True)


def _agrees(
    published: Any,
    name: str,
    tokenizer: Any,
    options: Mapping[str, Any],
    *,
    told: bool = False,
) -> bool:
    """Whether both write the same on all that the template takes."""
    agreed, compared = _agreement(published, name, options, tokenizer, told=told)
    return agreed == compared


def _agreement(
    published: Any,
    name: str,
    options: Mapping[str, Any],
    tokenizer: Any,
    *,
    told: bool = False,
    longest: int = 2,
) -> tuple[int, int]:
    """On how many small conversations both write the same, of how many that the template takes.

    told: the template is told the options too.
    """
    verify = importlib.import_module("templc.verify")
    given = {**options, **_bound(name, tokenizer)}
    ours = renderer_class(name)(unsupported="as_template", **given)
    sizes = range(1, longest + 1)
    rows = (one for size in sizes for one in verify.conversations(size, verify.CORE))
    cases = verify.crossed(rows, tools=(None, verify.TOOLS[3]), options=[options if told else {}])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = verify.compare(ours, published, cases, limit=None, with_options=lambda **_: ours)
    outcome = type(next(iter(report.counts)))
    compared = report.counts[outcome.EQUAL] + report.counts[outcome.DIFFERENT]
    return report.counts[outcome.EQUAL], compared


def _bound(name: str, tokenizer: Any) -> dict[str, str]:
    """The tokens that a tokenizer gives to templates, for the options of a format that stand for them."""
    found = {}
    for key, option in renderer_class(name).known_options.items():
        token = getattr(tokenizer, f"{option.bind}_token", None) if option.bind else None
        if isinstance(token, str):
            found[key] = token
    return found


@cache
def _table() -> dict[str, dict[str, Any]]:
    """Measured templates by digest."""
    found: dict[str, dict[str, Any]] = json.loads(_TABLE.read_text(encoding="utf-8"))
    return found
