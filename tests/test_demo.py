"""Demo vocabularies give the ids of the published tokenizers."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from templc import TokenizerError, get_renderer
from templc.demo import NAMES, fitting, vocabulary
from templc.runtime.codec import codec_of
from tests.support import vocabularies
from tests.support.texts import hostile_text


@settings(max_examples=200, deadline=None)
@given(hostile_text, st.sampled_from(NAMES))
def test_ids_are_those_of_the_published_tokenizer(text: str, name: str) -> None:
    ours, published = codec_of(vocabulary(name)), codec_of(vocabularies.backend(name))
    composed = unicodedata.normalize("NFC", text)
    assert ours.plain(composed) == published.plain(composed)
    assert ours.control(composed) == published.control(composed)


@pytest.mark.parametrize("name", NAMES)
def test_named_added_tokens_have_their_published_ids(name: str) -> None:
    ours, published = (
        codec_of(vocabulary(name)).added(),
        codec_of(vocabularies.backend(name)).added(),
    )
    named = {token: id for token, id in published.items() if "reserved" not in token}
    assert named and {token: ours.get(token) for token in named} == named


# Formats of the families that the demo extra has.
FITTING = {
    "qwen3": "qwen3",
    "qwen3_instruct": "qwen3",
    "qwen2_5": "qwen3",
    "llama3": "llama3",
    "kimi_k2": "kimi-k2-thinking",
    "kimi_k2_instruct": "kimi-k2",
    "deepseekv3": "deepseek-v3",
    "deepseekv3_1": "deepseek-v3",
    "role_colon": "qwen3",
}


@pytest.mark.parametrize("name", FITTING)
def test_the_fitting_vocabulary_encodes_the_format(name: str) -> None:
    renderer = get_renderer(name)
    found = fitting(renderer.info.specials, renderer.info.markers)
    assert found == FITTING[name]
    tokens = renderer.render([{"role": "user", "content": "hi"}], vocabulary(found))
    assert codec_of(vocabulary(found)).decode(tokens) == tokens.text


def test_markers_decide_between_vocabularies() -> None:
    specials = get_renderer("kimi_k2").info.specials
    assert fitting(specials) == "kimi-k2"
    assert fitting(specials, ["<think>"]) == "kimi-k2-thinking"
    assert fitting(["<|no such token|>"]) is None


def test_an_unknown_vocabulary_names_the_known_ones() -> None:
    with pytest.raises(TokenizerError, match=r"no demo vocabulary `gpt2`\n  help: one of qwen3, "):
        vocabulary("gpt2")
