"""What is compiled where templc is installed does the same as the lines that it was made from."""

from __future__ import annotations

import importlib
import os
import weakref
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import templc
from templc.runtime.shapes import Known
from templc.runtime.tokens import Tokens
from tests.support import responses
from tests.support.filled import TEXTS, message, told
from tests.support.lines import lines_of, sources
from tests.test_packaging import has_compiler

AS_PYTHON = os.environ.get("TEMPLC_LINES") == "python"
FORMATS = ("qwen3", "llama3", "deepseekv3", "gpt_oss")
Pair = tuple[ModuleType, ModuleType]


class Odd(str):
    """A text that is no plain one."""


class Sizes(dict[str, Any]):
    """A message that is no plain one."""


def pair(name: str) -> Pair:
    """A module as everybody imports it, and as its lines are."""
    return importlib.import_module(name), lines_of(name)


@pytest.mark.parametrize("name", sources())
def test_what_is_compiled_was_made_from_these_lines(name: str) -> None:
    source = sources()[name]
    made = Path(str(importlib.import_module(name).__file__))
    if AS_PYTHON or not has_compiler():
        assert made == source
    else:
        # Who changes a line has to compile it again.
        assert made != source, "pip install -e . compiles it"
        newest = max(path.stat().st_mtime for path in (source, source.with_suffix(".pxd")))
        assert made.stat().st_mtime >= newest, "pip install -e . compiles it again"


CONTENTS = st.one_of(
    st.text(max_size=6),
    st.sampled_from([*TEXTS, " ", "\n", Odd("a"), None, 1, ["a"]]),
)
KEYS = st.sampled_from(["role", "content", "name", Odd("role"), 1])
MESSAGES = st.one_of(
    st.builds(
        lambda role, content: {"role": role, "content": content},
        st.sampled_from(["user", "assistant", "tool", Odd("user"), None, 3]),
        CONTENTS,
    ),
    st.dictionaries(KEYS, CONTENTS, max_size=3),
    st.builds(lambda content: Sizes(role="user", content=content), CONTENTS),
    st.sampled_from([None, "user", ("role", "content")]),
)
CHATS = st.one_of(
    st.lists(MESSAGES, max_size=18),
    st.lists(st.builds(message, st.just("user"), st.text("ab<\n ", max_size=4)), max_size=18),
    st.builds(tuple, st.lists(MESSAGES, max_size=2)),
    st.sampled_from([None, "ab", {}, {"role": "user", "content": "a"}]),
)


@given(CHATS, st.sampled_from([None, str.strip]), st.sampled_from([(), ("<a", "b")]))
def test_messages_are_read_alike(chat: Any, filtered: Any, sought: tuple[str, ...]) -> None:
    compiled, lines = pair("templc.runtime.filling")
    given = frozenset({"user", "assistant"}), filtered, tuple({text[0] for text in sought}), sought
    assert compiled.bare(chat, *given) == lines.bare(chat, *given)


@pytest.mark.parametrize("content", [["a"], 1, None, {}, Odd("a"), b"a"])
@pytest.mark.parametrize("role", ["user", 1, None, ["user"], Odd("user")])
def test_what_is_no_text_is_read_alike(role: Any, content: Any) -> None:
    compiled, lines = pair("templc.runtime.filling")
    given = frozenset({"user"}), None, (), ()
    chat = [message("user", "a"), {"role": role, "content": content}]
    assert compiled.bare(chat, *given) is lines.bare(chat, *given) is None


def shapes(name: str) -> list[Known]:
    """The shapes that a renderer knows of whole chats; it learns a few, if others did not do so before."""
    renderer = templc.get_renderer(name, responses.tokenizer_for(name))
    chat = [message("user", "a"), message("assistant", "b"), message("user", "c")]
    for end in (1, 2, 3):
        for _ in range(3):
            renderer.render(chat[:end])
    found = renderer.bound_to(None)[2]
    assert found is not None
    return [known for key, known in found.known.items() if len(key) == 2 and known is not None]


def seen(tokens: Tokens | None) -> Any:
    return None if tokens is None else (list(tokens), told(tokens))


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("fast", [True, False])
def test_shapes_are_filled_in_alike(name: str, fast: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, lines = pair("templc.runtime.filling")
    weighing = pair("templc.runtime.weighing")
    learnt = shapes(name)
    haste = learnt[0].shape.codec.haste
    assert haste is not None
    monkeypatch.setattr(haste, "ready", haste.made() if fast else None)
    texts = [
        text for text in (*TEXTS, "naïve 12", "a" * 3000, "\ud800", "\u0378", Odd("x")) if text
    ]
    refused = tried = 0
    for known in learnt:
        for at, text in enumerate(texts):
            given = [text, *texts[at + 1 :], *texts][: len(known.turns)]
            making = known_state, known
            found = compiled.filled(known.shape, given, 3, making)
            expected = lines.filled(known.shape, given, 3, making)
            refused += found is None
            tried += 1
            assert (found is None) == (expected is None)
            if found is not None:
                fill = found._columns
                assert [one.weighed(fill, found) for one in weighing] == [found.weights] * 2
                assert list(found) == list(expected) and found.text == expected.text
                assert found.weights == expected.weights and found.spans == expected.spans
                assert found.state == expected.state
    assert 0 < refused < tried


def known_state(known: Known, texts: list[str]) -> Any:
    return known, texts


@pytest.mark.parametrize("name", FORMATS)
def test_whole_chats_are_rendered_alike(name: str) -> None:
    compiled, lines = pair("templc.runtime.filling")
    tokenizer = responses.tokenizer_for(name)
    renderer = templc.get_renderer(name, tokenizer)
    chat = [message("user", "a"), message("assistant", "b")]
    for prompt in (None, True, False, 1, 0):
        for _ in range(3):
            renderer.render(chat, add_generation_prompt=prompt)
        last = renderer._last
        found = [one.rendered(last, tokenizer, chat, prompt) for one in (compiled, lines)]
        assert found[0] is not None and seen(found[0]) == seen(found[1])
        for other in (None, object(), renderer):
            assert compiled.rendered(last, other, chat, prompt) is None
            assert lines.rendered(last, other, chat, prompt) is None


class Tokenizer:
    """As much of a tokenizer as is asked for. size: the ids that it has."""

    pre_tokenizer = get_added_tokens_decoder = bos_token = eos_token = None

    def __init__(self, size: int) -> None:
        self.size = size
        self.backend_tokenizer = self

    def id_to_token(self, id: int) -> str | None:
        return "a" if id < self.size else None


def test_tokenizers_are_known_again_alike() -> None:
    one, other = Tokenizer(5), Tokenizer(5)
    answers = []
    for module in pair("templc.runtime.kept"):
        found = []
        for known, owner in ((weakref.ref(one), None), (None, one), (None, None)):
            for bare in (True, False):
                for free in (-1, 4, 5):
                    for stamp in (module.stamp_of(one), None):
                        kept = module.Kept("codec", known, owner, stamp, bare, free)
                        found.append([kept.fits(one), kept.fits(other), kept.codec])
        answers.append(found)
    assert answers[0] == answers[1]
    assert any(found[0] for found in answers[0]) and not any(found[1] for found in answers[0])
