"""A published template whose renders are kept, for holding many renderers against it on the same conversations.

published = Recorded(Published.from_file("chat_template.jinja"))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from templc.verify.errors import PublishedError
from templc.verify.published import Published


class Recorded:
    """Renders each case once. Cases share their messages and tools, which must live as long as this does."""

    def __init__(self, published: Published) -> None:
        self._published = published
        self.name = published.name
        self._found: dict[tuple[object, ...], str | PublishedError] = {}

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = False,
        **options: object,
    ) -> str:
        """As `Published.render`."""
        # What lives as long as this is told apart by its identity.
        told = repr(sorted(options.items())) if options else ""
        key = (*map(id, messages), id(tools), add_generation_prompt, told)
        if key not in self._found:
            try:
                self._found[key] = self._published.render(
                    messages, tools=tools, add_generation_prompt=add_generation_prompt, **options
                )
            except PublishedError as error:
                self._found[key] = error
        found = self._found[key]
        if isinstance(found, PublishedError):
            raise found
        return found
