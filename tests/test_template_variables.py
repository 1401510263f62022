"""Every variable that a published template reads from its caller is an option of the format that equals it, or is none
for a reason.

The templates are those that `templc/recognised.json` holds as equal to a format.
"""

from __future__ import annotations

import functools
import json
from collections import defaultdict
from pathlib import Path

import pytest

from tests.coverage.renders import Template, templates
from tests.support.formats import FORMATS, program
from tests.support.published import path_of
from tests.support.reads import reads

ANY = "*"
TABLE = json.loads(
    (Path(__file__).parents[1] / "templc" / "recognised.json").read_text(encoding="utf-8")
)
OF_A_RENDER = {"messages", "tools", "add_generation_prompt", "raise_exception", "strftime_now"}
"""What a render takes, and what transformers gives to every template beside its globals."""
TOKENS = {"bos_token", "eos_token"}
"""Read by templates of formats that name the token instead: it is the only one that their models have."""

_TOOLS = "another name of `tools`, as the refusal of such an option says"
_SYSTEM = "set from the first system message, and the same text as one"
_OWN = "set by the template itself, by a macro or in a loop, before it is read"
_PREFILL = (
    "the beginning of the answer: a last message of the assistant, with `continue_final_message`"
)
_ROUTER = (
    "chooses among the templates of several models in one file; the format is the one without it"
)
REASONS: dict[tuple[str, str], str] = {
    **{(ANY, name): _TOOLS for name in ("custom_tools", "available_tools")},
    **{(ANY, name): _SYSTEM for name in ("system_message", "custom_instructions")},
    (
        ANY,
        "first_user_message",
    ): "set from the first user message, which is refused where it is missing",
    (ANY, "reasoning_content"): "set from the message at hand, where it has any",
    ("command_r7b", "developer_preamble"): _SYSTEM,
    ("command_a_plus", "initial_instruction_message"): _SYSTEM,
    (
        "command_a_plus",
        "convert_first_system_msg",
    ): "false writes the same: the first message stands where it stood",
    (
        "command_a_plus",
        "reasoning",
    ): "false is `reasoning_effort` none, true is what it is without that",
    **{(name, "format_argument"): _OWN for name in ("gemma4", "gemma4_e4b", "diffusion_gemma")},
    ("gemma4_early", "format_argument"): _OWN,
    ("command_a_plus", "print_tool_content"): _OWN,
    **{("jamba", name): _OWN for name in ("is_param_set", "handle_role")},
    ("kanana1_5", "get_parameter_typescript"): _OWN,
    **{(name, "tool_to_json"): _OWN for name in ("glm5_1", "glm5_2")},
    **{("jamba", name): "another spelling of a control token" for name in ("bom_str", "eom_str")},
    ("jamba", "role_to_predict"): "a prompt is for the assistant",
    ("jamba", "generation_preamble"): _PREFILL,
    ("granite_4", "prefix_text"): _PREFILL,
    (
        "nemotron_nano_v2",
        "continue_final_message",
    ): "an argument of a render here, and in transformers",
    ("apertus", "continue_assistant_message"): "what `continue_final_message` does",
    ("llama2", "USE_DEFAULT_PROMPT"): "writes a placeholder, the words DEFAULT_SYSTEM_MESSAGE",
    ("llama4", "date_string"): "set and never written",
    (
        "granite_4_1",
        "adapter_name",
    ): "puts tokens of adapters into texts of the user, for a model of its own",
    **{
        ("ernie4_5", name): "the tokens of the tokenizer, which are these"
        for name in ("cls_token", "sep_token")
    },
    **{
        ("llama3_1", name): _ROUTER
        for name in ("template_variant", "tool_choice", "pipeline3_tool_choice")
    },
}


@functools.cache
def followers() -> dict[str, tuple[Template, ...]]:
    """The templates that each format equals; one that a format names as its reference is that format's."""
    owners = {program(name).reference.sha256: name for name in FORMATS}
    found: dict[str, list[Template]] = defaultdict(list)
    for template in templates():
        row = TABLE[template.sha256]
        if name := owners.get(template.sha256) or (row["format"] if row["equal"] else ""):
            found[name].append(template)
    return {name: tuple(rows) for name, rows in found.items()}


def unread(name: str) -> set[str]:
    """The variables of the templates of a format that are none of its options."""
    texts = (path_of(one.name).read_text(encoding="utf-8") for one in followers().get(name, ()))
    found = {variable for text in texts for variable in reads(text)}
    return found - program(name).options.keys() - OF_A_RENDER - TOKENS


def reason(name: str, variable: str) -> tuple[str, str] | None:
    """The entry that says why a variable is no option of a format, or of the one that it extends."""
    bases = {"north_mini_code": "command_a_plus", "llama3_1_raw": "llama3_1"}
    keys = [(name, variable), (bases.get(name, ""), variable), (ANY, variable)]
    return next((key for key in keys if key in REASONS), None)


@pytest.mark.parametrize("name", sorted(followers()))
def test_every_variable_of_a_template_is_an_option_or_is_none_for_a_reason(name: str) -> None:
    assert [one for one in sorted(unread(name)) if reason(name, one) is None] == []


def test_every_reason_is_that_of_a_variable() -> None:
    used = {reason(name, variable) for name in followers() for variable in unread(name)}
    assert set(REASONS) - used == set()


@pytest.mark.parametrize(
    ("template", "wanted"),
    [
        ("{% if x %}{% set y = 1 %}{% endif %}{{ y }}", {"x", "y"}),
        ("{% if x %}{% set y = 1 %}{% else %}{% set y = 2 %}{% endif %}{{ y }}", {"x"}),
        ("{% set ns = namespace(a=1) %}{% set ns.a = b %}{{ ns.a }}", {"b"}),
        (
            "{% for m in messages if m != z %}{{ loop.index }}{% set c = 1 %}{% endfor %}{{ c }}",
            {"messages", "z", "c"},
        ),
        ("{% macro f(a, b=c) %}{{ a }}{{ b }}{{ d }}{% endmacro %}{{ f(1) }}", {"c", "d"}),
        ("{% if tools is defined and t %}{{ tools | tojson }}{% endif %}", {"tools", "t"}),
        ("{% with a = b %}{{ a }}{{ c }}{% endwith %}{{ a }}", {"a", "b", "c"}),
        ("{% generation %}{{ g }}{% endgeneration %}", {"g"}),
        ("{% set x %}{{ v }}{% endset %}{{ x }}{{ raise_exception('no') }}", {"v"}),
    ],
)
def test_what_a_template_reads(template: str, wanted: set[str]) -> None:
    assert reads(template) - OF_A_RENDER == wanted - OF_A_RENDER
