"""Tokens on real vocabularies: alignment, kinds of tokenizers, stop tokens, tokenizers that do not fit."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest

import templc
from templc import TokenizerError
from templc.runtime import codec
from tests.support import vocabularies
from tests.support.formats import VOCABULARIES, fitting, pairs, renderer

PAIRS = pairs()
USER = {"role": "user", "content": "hi"}
CHAT: list[dict[str, Any]] = [
    USER,
    {"role": "assistant", "content": "yo é"},
    {"role": "user", "content": "東京?\n\n"},
    {"role": "assistant", "content": "ok", "train": False},
    USER,
    {"role": "assistant", "content": "fin"},
]


def test_enough_formats_have_a_real_vocabulary() -> None:
    assert {
        "qwen3",
        "qwen3_instruct",
        "kimi_k2",
        "kimi_k2_instruct",
        "deepseekv3",
        "deepseekv3_1",
        "llama3",
    } <= {name for name, _ in PAIRS}
    assert len(fitting("role_colon")) == len(vocabularies.NAMES)


@pytest.mark.parametrize(("name", "vocabulary"), PAIRS)
def test_everything_known_of_tokens_is_aligned_with_them(name: str, vocabulary: str) -> None:
    tokenizer = vocabularies.hf(vocabulary)
    tokens = renderer(name).render(CHAT, tokenizer)
    assert len(tokens) == len(tokens.weights) == len(tokens.sampled) == len(tokens.message_index)
    assert tokens.text == tokenizer.decode(list(tokens), clean_up_tokenization_spaces=False)
    assert [span.start for span in tokens.spans] == [0, *(span.end for span in tokens.spans[:-1])]
    assert tokens.spans[-1].end == len(tokens)
    for span in tokens.spans:
        assert {*tokens.message_index[span.start : span.end]} == {span.message_index}
        assert {*tokens.sampled[span.start : span.end]} == {span.sampled}
    trained = {
        index for index, weight in zip(tokens.message_index, tokens.weights, strict=True) if weight
    }
    assert trained == {1, 5}, "every answer but the one with train=False"
    assert {
        index
        for index, sampled in zip(tokens.message_index, tokens.sampled, strict=True)
        if sampled
    } == {1, 3, 5}
    assert all(
        sampled for sampled, weight in zip(tokens.sampled, tokens.weights, strict=True) if weight
    )


@pytest.mark.parametrize(("name", "vocabulary"), PAIRS)
def test_text_alone_is_the_text_of_the_tokens(name: str, vocabulary: str) -> None:
    made, tokenizer = renderer(name), vocabularies.hf(vocabulary)
    assert made.render(CHAT, tokenizer).text == made.render_text(CHAT, tokenizer)


@pytest.mark.parametrize(("name", "vocabulary"), PAIRS)
def test_every_kind_of_tokenizer_gives_the_same_ids(name: str, vocabulary: str) -> None:
    made = renderer(name)
    ids = made.render(CHAT, vocabularies.hf(vocabulary))
    # Only a transformers tokenizer knows which of its tokens come first and last.
    own = dict(zip(("bos", "eos"), vocabularies.special_names(vocabulary), strict=True))
    binds = {key: own[option.bind] for key, option in made.known_options.items() if option.bind}
    bound = renderer(name, **{key: token for key, token in binds.items() if token})
    assert bound.render(CHAT, vocabularies.backend(vocabulary)) == ids
    if vocabulary in vocabularies.FAMILIES:
        assert bound.render(CHAT, vocabularies.tiktoken_encoding(vocabulary)) == ids


@pytest.mark.parametrize(("name", "vocabulary"), PAIRS)
def test_stop_tokens_have_ids(name: str, vocabulary: str) -> None:
    made, tokenizer = renderer(name), vocabularies.hf(vocabulary)
    texts = tokenizer.convert_ids_to_tokens(made.stop_token_ids(tokenizer))
    assert texts == [text for text in made.info.stop if text in tokenizer.get_added_vocab()]
    assert texts or made.stop_strings


def test_a_bound_tokenizer_and_one_given_to_the_call() -> None:
    tokenizer = vocabularies.hf("qwen3")
    bound = templc.get_renderer("qwen3", tokenizer)
    assert bound.render([USER]) == templc.get_renderer("qwen3").render([USER], tokenizer)
    assert bound.stop_token_ids() == [151645, 151643]


@pytest.mark.parametrize("kind", ["hf", "backend", "tiktoken_encoding", "without weak references"])
def test_each_call_may_have_a_tokenizer_of_its_own(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "without weak references":  # as those of older releases of tokenizers
        kind = "backend"
        monkeypatch.setattr(codec.weakref, "ref", Mock(side_effect=TypeError))
        monkeypatch.setattr(codec, "_known", {})
    made = getattr(vocabularies, kind)
    tokenizers = [made("llama3"), made("qwen3"), made("gpt-oss")]
    ids = [templc.get_renderer("role_colon").render([USER], one) for one in tokenizers]
    assert len({tuple(one) for one in ids}) == 3
    several = templc.get_renderer("role_colon")
    for at in (0, 1, 1, 2, 0, 2, 1):
        assert several.render([USER], tokenizers[at]) == ids[at]


@pytest.mark.parametrize(
    ("vocabulary", "first"),
    [("qwen3", None), ("llama3", 128000), ("deepseek-v3", 0), ("kimi-k2", 163584)],
)
def test_the_first_token_is_the_tokenizers_own(vocabulary: str, first: int | None) -> None:
    tokenizer = vocabularies.hf(vocabulary)
    tokens = templc.get_renderer("role_colon").render([USER], tokenizer)
    assert tokens[0] == first if first is not None else tokens.text.startswith("User:")
    assert first is None or tokens.count(first) == 1


def test_without_a_tokenizer_there_is_text_only() -> None:
    made = templc.get_renderer("qwen3")
    assert made.render_text([USER]).startswith("<|im_start|>user\n")
    with pytest.raises(TokenizerError, match="there is no tokenizer"):
        made.render([USER])


@pytest.mark.parametrize("name", [name for name in VOCABULARIES if name != "role_colon"])
def test_the_tokenizer_of_another_model_is_refused(name: str) -> None:
    for vocabulary in set(vocabularies.NAMES) - set(fitting(name)):
        with pytest.raises(TokenizerError) as caught:
            renderer(name).render([USER], vocabularies.hf(vocabulary))
        assert "this tokenizer has no control token" in caught.value.message
        assert renderer(name).info.repository in caught.value.help


@pytest.mark.parametrize("thing", ["gpt2", 5, object(), {"encode": 1}])
def test_what_is_no_tokenizer_is_refused(thing: object) -> None:
    with pytest.raises(TokenizerError):
        templc.get_renderer("role_colon").render([USER], thing)
