"""As the template does it: a short search of what `tests.template_fuzz` draws, and pictures in every role."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from templc.runtime.errors import TemplcError
from templc.verify import PublishedError
from tests.support.formats import REFERENCED, program, reference, renderer
from tests.template_fuzz import FORMS, PICTURES, differences

EXAMPLES = 80
WITH_PARTS = tuple(name for name in REFERENCED if program(name).rules.parts)
FUNCTION = {"name": "f", "arguments": {"k": "v"}}
CALLS = [{"id": "call00001", "type": "function", "function": FUNCTION}]
USER = {"role": "user", "content": "u"}
ANSWER = {"role": "assistant", "content": "a"}
CALLED = {"role": "assistant", "content": "", "tool_calls": CALLS}
TEXT = {"type": "text", "text": "t"}


@pytest.mark.parametrize("name", REFERENCED)
def test_no_conversation_differs_that_is_not_declared(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = [text for _, text in differences(name, EXAMPLES, "test", FORMS)]
    assert not found, "\n".join(found)


def chats(content: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """This content in a message of each role, at a few places."""
    user, system = {"role": "user", "content": content}, {"role": "system", "content": content}
    answer = {"role": "assistant", "content": content}
    result = {"role": "tool", "content": content, "tool_call_id": "call00001", "name": "f"}
    yield "user", [user]
    yield "user", [user, ANSWER, user]
    yield "system", [system, USER]
    yield "system", [USER, ANSWER, system, USER]
    yield "assistant", [USER, answer]
    yield "assistant", [USER, answer, USER]
    yield "assistant", [USER, {**answer, "tool_calls": CALLS}]
    yield "tool", [USER, CALLED, result]
    yield "tool", [USER, CALLED, result, ANSWER, USER]


def text(render: Any, chat: list[dict[str, Any]]) -> str | None:
    try:
        return str(render(chat, add_generation_prompt=True))
    except (TemplcError, PublishedError):
        return None


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("unsupported", ["refuse", "as_template"])
@pytest.mark.parametrize("name", WITH_PARTS)
def test_pictures_in_every_role_are_those_of_the_template_or_refused(
    name: str, unsupported: str
) -> None:
    ours, written = renderer(name, unsupported=unsupported), set()
    for picture in PICTURES:
        lists = (
            [picture],
            [picture, TEXT],
            [TEXT, picture],
            [picture, picture],
            [TEXT, picture, TEXT],
        )
        for role, chat in itertools.chain.from_iterable(map(chats, lists)):
            found = text(ours.render_text, chat)
            if found is not None:
                assert found == text(reference(name).render, chat), chat
                written.add(role)
    assert "user" in written
