"""Texts that tokenizers disagree about: marks that compose, blanks at joints, fragments of control tokens."""

from __future__ import annotations

from hypothesis import strategies as st

_CALM = (
    "\n", "\n\n", ".\n\n", " ", "   ", "\t", "\r\n", "a", "Word", " word", "I'm", "'LL", "e", "e\u0301",
    "\u0301", "\u0338", "=", ">", "é", "\u037e", "\u0958", "한국", "\u1112\u1161", "你好", "。", "テスト", "हिन्दी",
    "ก็", "😀", "👨\u200d👩\u200d👧", "\U0001f9ff", "🇩", "1", "1234", "/", "...", ":", "-", "\x00", "\x85",
    "\u2028", "\ufeff", "\U000e0001",
)  # fmt: skip
_FRAGMENTS = (
    "<", "<|", "|>", "im_", "end", "start", "<think", "</think>", "<think>", "<|im_end|>", "<|im_start|>",
    "<tool_call>", "[BOS]", "[", "EOS]", "<｜User｜>", "<｜", "｜>", "<|eot_id|>", "<|end|>", "/nothink", "</",
    "think>", "<|user|>",
)  # fmt: skip

calm_text = st.lists(st.sampled_from(_CALM), max_size=6).map("".join)
"""No fragment of a control token."""

hostile_text = st.lists(st.sampled_from(_CALM + _FRAGMENTS), max_size=8).map("".join)
"""May spell control tokens, or halves of them."""
