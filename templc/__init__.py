"""templc: a compiler for chat formats.

A spec (YAML) goes through these stages, each of which can be printed with `templc show --stage NAME SPEC`:

    source   text to located nodes                       templc.source
    spec     nodes, merged over the base, shape checked  templc.syntax
    model    every name resolved                         templc.model
    ir       a program of six operations, with facts     templc.ir
    python   one renderer class                          templc.emit

and the class runs on `templc.runtime` alone: importing this package and rendering needs none of the stages.
"""

from __future__ import annotations

from templc.recognise import for_model as for_model
from templc.recognise import for_tokenizer as for_tokenizer
from templc.registry import compile_spec as compile_spec
from templc.registry import get_renderer as get_renderer
from templc.registry import list_formats as list_formats
from templc.runtime.errors import ControlTokenError as ControlTokenError
from templc.runtime.errors import FormatError as FormatError
from templc.runtime.errors import MessageError as MessageError
from templc.runtime.errors import OptionError as OptionError
from templc.runtime.errors import TemplcError as TemplcError
from templc.runtime.errors import TokenizerError as TokenizerError
from templc.runtime.errors import UnstableExtension as UnstableExtension
from templc.runtime.renderer import Renderer as Renderer
from templc.runtime.tokens import Tokens as Tokens
from templc.version import VERSION as __version__

__all__ = [
    "ControlTokenError",
    "FormatError",
    "MessageError",
    "OptionError",
    "Renderer",
    "TemplcError",
    "TokenizerError",
    "Tokens",
    "UnstableExtension",
    "__version__",
    "compile_spec",
    "for_model",
    "for_tokenizer",
    "get_renderer",
    "list_formats",
]
