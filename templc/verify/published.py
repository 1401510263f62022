"""A published chat template, rendered the way transformers renders it.

Input: the text of a Jinja template, from a string, a file or the hub. Output: the text that
`tokenizer.apply_chat_template(messages, tokenize=False)` gives, or a `PublishedError` where the
template raises.

    published = Published.from_file("chat_template.jinja", {"bos_token": "<s>"})
    published.render([{"role": "user", "content": "hi"}], add_generation_prompt=True)

The steps are those of transformers and made by its own functions; only the per-call checks of
media, documents and masks are left out, and the rewriting of tracebacks, which together cost more
than a small template does.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from templc.verify import hub
from templc.verify.errors import INSTALL, PublishedError, VerifyError, one_line


class Published:
    """A published template with the variables that its tokenizer gives it.

    kwargs: template variables that hold for every render (`bos_token`, `eos_token`, options of the
    template). now: what `strftime_now` reads; without it a template that prints the date reads the
    clock, as it does in transformers.
    """

    def __init__(
        self,
        template_text: str | bytes,
        name: str = "template",
        kwargs: Mapping[str, object] | None = None,
        *,
        now: datetime | None = None,
    ) -> None:
        self.name = name
        self.source = template_text.encode() if isinstance(template_text, str) else template_text
        self._steps = _transformers()
        self._template = _compiled(self._steps, _decoded(self.source, name), name)
        self._fixed: dict[str, Any] = {"documents": None, **self._steps.plain(dict(kwargs or {}))}
        if now is not None:
            self._fixed["strftime_now"] = now.strftime

    @classmethod
    def from_file(
        cls,
        path: str | Path,
        kwargs: Mapping[str, object] | None = None,
        *,
        now: datetime | None = None,
    ) -> Published:
        """The template in a file."""
        try:
            source = Path(path).read_bytes()
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise VerifyError(f"cannot read the template {path}: {why.lower()}") from None
        return cls(source, Path(path).stem, kwargs, now=now)

    @classmethod
    def from_hub(
        cls,
        repo: str,
        revision: str | None = None,
        kwargs: Mapping[str, object] | None = None,
        *,
        template: str = "default",
        now: datetime | None = None,
    ) -> Published:
        """The template of a hub repository, with its special tokens as variables.

        Reads `chat_template.jinja` and `tokenizer_config.json`, nothing else. template: which one,
        where the repository names several.
        """
        source, tokens = hub.fetch(repo, revision, template)
        name = f"{repo}@{revision}" if revision else repo
        return cls(source, name, {**tokens, **(kwargs or {})}, now=now)

    @property
    def sha256(self) -> str:
        """Of the bytes of the published file; 64 hexadecimal digits."""
        return hashlib.sha256(self.source).hexdigest()

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = False,
        **options: object,
    ) -> str:
        """The text of a conversation; `options` win over the variables of the constructor.

        Keys of a message whose value is None are dropped, as transformers 5 does. Raises
        PublishedError where the template raises, and for an empty conversation, which transformers
        refuses.
        """
        if not messages:
            raise PublishedError("the conversation is empty", "ValueError")
        return self.render_prepared(
            self.prepared(messages),
            tools=tools,
            add_generation_prompt=add_generation_prompt,
            **options,
        )

    def prepared(self, messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """What transformers hands to the template for these messages: each for itself, so they may be kept."""
        steps = self._steps
        found: list[dict[str, Any]] = steps.alias(steps.plain(steps.normalize(list(messages))))
        return found

    def render_prepared(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = False,
        **options: object,
    ) -> str:
        """`render` for what `prepared` gave, at least one message."""
        steps = self._steps
        variables = {
            **self._fixed,
            **(steps.plain(options) if options else {}),
            "messages": messages,
            "tools": None if tools is None else steps.plain(list(tools)),
            "add_generation_prompt": add_generation_prompt,
        }
        template = self._template
        try:
            return "".join(template.root_render_func(template.new_context(variables)))
        # A template can raise anything that Python can.
        except Exception as error:
            raise PublishedError(one_line(error), type(error).__name__) from None


@dataclass(frozen=True, slots=True)
class _Steps:
    """The functions of transformers that make a render, in the order of their use."""

    compile: Callable[[str], Any]
    normalize: Callable[[Any], list[dict[str, Any]]]
    plain: Callable[[Any], Any]
    alias: Callable[[Any], Any]
    syntax_error: type[Exception]


_STEPS = (
    "_compile_jinja_template",
    "_normalize_chat_messages",
    "_plain_template_data",
    "_alias_reasoning_fields",
)


@functools.cache
def _transformers() -> _Steps:
    try:
        with _without_advice():
            module = importlib.import_module("transformers.utils.chat_template_utils")
        jinja2 = importlib.import_module("jinja2")
    except ImportError as error:
        raise VerifyError(
            f"published templates are rendered by transformers, and {error.name} is not installed",
            help=INSTALL,
        ) from None
    missing = [name for name in _STEPS if not hasattr(module, name)]
    if missing:
        version = importlib.import_module("transformers").__version__
        raise VerifyError(
            f"transformers {version} has no {', '.join(missing)}; the reference is 5.24",
            help=INSTALL,
        )
    compile_, normalize, plain, alias = (getattr(module, name) for name in _STEPS)
    return _Steps(compile_, normalize, plain, alias, jinja2.TemplateSyntaxError)


@contextmanager
def _without_advice() -> Iterator[None]:
    """Without the hint that torch is missing, which a comparison of texts does not need."""
    key = "TRANSFORMERS_NO_ADVISORY_WARNINGS"
    before = os.environ.get(key)
    os.environ[key] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[key]
        else:
            os.environ[key] = before


def _decoded(source: bytes, name: str) -> str:
    try:
        return source.decode()
    except UnicodeDecodeError as error:
        raise VerifyError(f"the template {name} is not UTF-8 at byte {error.start}") from None


def _compiled(steps: _Steps, text: str, name: str) -> Any:
    try:
        return steps.compile(text)
    except steps.syntax_error as error:
        line = getattr(error, "lineno", "?")
        raise VerifyError(
            f"the template {name} does not compile at line {line}: {one_line(error)}"
        ) from None
