"""The start of a spec: text that compiles, with a comment on each key.

write_spec("mine", Path("specs"), None)       specs/mine.yaml, a complete format
write_spec("mine", Path("specs"), "qwen3")    specs/mine.yaml, which extends qwen3
"""

from __future__ import annotations

import re
from pathlib import Path

from templc.registry import canonical_name, renderer_class
from templc.runtime.errors import FormatError

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")

_WHOLE = """\
# A chat format. Everything below is used; change it into what your model was trained on.
# A text may hold ${{holes}} that are filled from the message at hand, and \\n for a line end.
format: {name}                      # the name of this file
title: {title}, in the manner of ChatML

# The published template that the format follows: repository, revision, sha256. `templc verify` compares with it.
reference:
  note: no template is published

# Control tokens. Where one stands in text below it is that token; text of a message never becomes one.
specials: ["<|im_start|>", "<|im_end|>"]
stop: ["<|im_end|>"]                # what ends a sampled turn

# Written once, before all messages.
head: ""

# How a message of each role is written. A role that is missing here is refused.
roles:
  system: "<|im_start|>system\\n${{content}}<|im_end|>\\n"
  user: "<|im_start|>user\\n${{content}}<|im_end|>\\n"
  tool: "<|im_start|>tool\\n${{content}}<|im_end|>\\n"
  assistant:
    opener: "<|im_start|>assistant\\n"            # also the generation prompt
    body:                                        # what the model samples: a list of steps
      - "${{content}}"
      - each: call in calls                      # one item for each tool call
        do: "\\n<call>${{call.name}} ${{call.arguments|text_or_json}}</call>"
    closer: "<|im_end|>"                         # sampled too: the stop token
    trailer: "\\n"                                # written by the format, never trained
"""

_VARIANT = """\
# A variant of {base}: what stands here replaces that part of it. Mappings are merged key by key, lists and texts are
# replaced whole, null removes. `templc show --stage spec FILE` prints the result.
format: {name}                      # the name of this file
title: {title}, a variant of {base}
extends: {base}

# The published template that the variant follows: repository, revision, sha256.
reference:
  note: no template is published

# For instance, another generation prompt:
# roles:
#   assistant:
#     opener: "..."
"""


def spec_text(name: str, base: str | None = None) -> str:
    """The text of a new spec; FormatError for a name that cannot be used or an unknown base."""
    if not _NAME.fullmatch(name):
        raise FormatError(
            f"`{name}` cannot name a format",
            help="a lower case letter, then lower case letters, digits and underscores, 40 at most",
        )
    if canonical_name(name) is not None:
        raise FormatError(
            f"templc already has a format `{name}`",
            help=f"another name, or a variant: --from {name}",
        )
    title = name.replace("_", " ").capitalize()
    if base is None:
        return _WHOLE.format(name=name, title=title)
    renderer_class(base)
    return _VARIANT.format(name=name, title=title, base=canonical_name(base))


def write_spec(name: str, folder: Path, base: str | None = None) -> Path:
    """Write the text to a new file and give its path; FormatError where the file exists."""
    text = spec_text(name, base)
    path = folder / f"{name}.yaml"
    if path.exists():
        raise FormatError(f"{path} exists", help="choose another name, or remove the file")
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
