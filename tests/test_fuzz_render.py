"""Hostile conversations: the text and the ids of the published template, or a refusal where it raises.

CI runs a fixed number of examples; `TEMPLC_EXAMPLES=5000 pytest tests/test_fuzz_render.py` runs more.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import templc
from templc.runtime.errors import TemplcError
from templc.verify import PublishedError
from tests.support import vocabularies
from tests.support.formats import REFERENCED, VOCABULARIES, option_sets, program, reference
from tests.support.strategies import conversations, tool_lists

EXAMPLES = int(os.environ.get("TEMPLC_EXAMPLES", "60"))
HOSTILE = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="TEMPLC_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
REFUSED = None


def theirs(name: str, messages: Any, options: dict[str, Any], **given: Any) -> str | None:
    try:
        return reference(name).render(messages, **given, **options)
    except PublishedError:
        return REFUSED


def ours(renderer: templc.Renderer, messages: Any, **given: Any) -> str | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return renderer.render_text(messages, **given)
        except TemplcError:
            return REFUSED


@pytest.mark.parametrize("name", REFERENCED)
@HOSTILE
@given(data=st.data())
def test_text_is_that_of_the_published_template(name: str, data: st.DataObject) -> None:
    messages = data.draw(conversations(max_size=6))
    given_ = {"tools": data.draw(tool_lists()), "add_generation_prompt": data.draw(st.booleans())}
    options = data.draw(st.sampled_from(option_sets(name)))
    renderer = templc.get_renderer(name, unsupported="as_template", **options)
    assert ours(renderer, messages, **given_) == theirs(name, messages, options, **given_)


@pytest.mark.parametrize("name", [name for name in REFERENCED if name in VOCABULARIES])
@HOSTILE
@given(data=st.data())
def test_ids_are_those_of_apply_chat_template(name: str, data: st.DataObject) -> None:
    messages = data.draw(conversations(max_size=5, lists=False))
    prompt = data.draw(st.booleans())
    tokenizer = vocabularies.hf(VOCABULARIES[name])
    tokens = {key: o.default for key, o in program(name).options.items() if o.type == "token"}
    wanted = theirs(name, messages, {}, tools=None, add_generation_prompt=prompt)
    renderer = templc.get_renderer(name, tokenizer, unsupported="as_template", **tokens)
    if wanted is REFUSED or ours(renderer, messages, add_generation_prompt=prompt) is REFUSED:
        return
    ids = tokenizer.apply_chat_template(
        messages,
        chat_template=reference(name).source.decode(),
        add_generation_prompt=prompt,
        tokenize=True,
        return_dict=False,
        **tokens,
    )
    control = templc.get_renderer(
        name, tokenizer, unsupported="as_template", content_specials="control", **tokens
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert control.render(messages, add_generation_prompt=prompt) == ids
        found = renderer.render(messages, add_generation_prompt=prompt)
    spelled = any(token in found.text for token in tokenizer.get_added_vocab())
    bodies = "".join(str(message) for message in messages)
    if not (spelled and any(token in bodies for token in tokenizer.get_added_vocab())):
        assert found == ids
