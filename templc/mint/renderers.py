"""What `mint.renderers` offers where templc stands in for it: renderers by name.

renderer = get_renderer("qwen3_instruct")
tokens = renderer.render(messages, tokenizer)        # a list of token ids
"""

from __future__ import annotations

from templc.registry import get_renderer as get_renderer
from templc.registry import list_formats as list_formats
from templc.runtime.renderer import Renderer as Renderer
from templc.runtime.tokens import Tokens as Tokens

__all__ = ["Renderer", "Tokens", "get_renderer", "list_formats"]
