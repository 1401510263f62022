"""Published templates: the same text as transformers, short reasons, files and the hub."""

from __future__ import annotations

import functools
import hashlib
import importlib
import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from templc.verify import (
    SHAPES,
    Case,
    Published,
    PublishedError,
    VerifyError,
    conversations,
    crossed,
    describe,
)
from templc.verify.published import _transformers as transformers_steps
from templc.verify.shapes import messages
from tests.support import strategies
from tests.support.published import check_sha256, path_of, published, stems

PLAIN = (
    "{% for m in messages %}{{ '<' + m.role + '>' + m.content + '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"
)
SAMPLE = (
    "Qwen-Qwen3-4B-Instruct-2507",
    "Qwen-Qwen3-0.6B@a55ee1",
    "moonshotai-Kimi-K2-Thinking",
    "yujiepan-deepseek-v3-tiny-random",
    "google-gemma-4-26B-A4B-it",
    "mistralai-Mistral-7B-Instruct-v0.3",
    "NousResearch-Meta-Llama-3.1-8B-Instruct",
)
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}


@functools.cache
def tokenizer() -> Any:
    tokenizers = importlib.import_module("tokenizers")
    model = tokenizers.models.WordLevel({"<unk>": 0, "<s>": 1, "</s>": 2}, unk_token="<unk>")
    transformers = importlib.import_module("transformers")
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer(model), **TOKENS
    )


@functools.cache
def oracle(stem: str) -> Published:
    return published(stem, **TOKENS)


def applied(stem: str, case: Case) -> str | None:
    """What a tokenizer with this template gives; None where it raises."""
    return outcome(
        lambda: tokenizer().apply_chat_template(
            list(case.messages),
            tools=case.tools,
            add_generation_prompt=case.add_generation_prompt,
            chat_template=oracle(stem).source.decode(),
            tokenize=False,
        )
    )


def rendered_directly(stem: str, case: Case) -> str | None:
    """What the function below the tokenizer gives; None where it raises."""
    utils = importlib.import_module("transformers.utils.chat_template_utils")
    return outcome(
        lambda: utils.render_jinja_template(
            [list(case.messages)],
            tools=case.tools,
            add_generation_prompt=case.add_generation_prompt,
            chat_template=oracle(stem).source.decode(),
            **TOKENS,
        )[0][0]
    )


def ours(stem: str, case: Case) -> str | None:
    prompt = case.add_generation_prompt
    return outcome(
        lambda: oracle(stem).render(case.messages, tools=case.tools, add_generation_prompt=prompt)
    )


def outcome(render: Callable[[], str]) -> str | None:
    # Templates raise whatever they like; the message is not compared.
    try:
        return render()
    except Exception:
        return None


def sample(every: int) -> Iterator[Case]:
    pools = (conversations(1), conversations(2), conversations(3, SHAPES[:7]))
    return itertools.islice(crossed(itertools.chain(*pools)), 0, None, every)


@pytest.mark.parametrize("stem", SAMPLE)
def test_published_is_what_transformers_renders(stem: str) -> None:
    rendered = 0
    for case in sample(every=41):
        text = ours(stem, case)
        rendered += text is not None
        assert text == applied(stem, case), describe(case)
        # Only the tokenizer drops keys that are None; the function below it prints the word.
        if all(value is not None for m in case.messages for value in m.values()):
            assert text == rendered_directly(stem, case), describe(case)
    assert rendered > 20


@settings(max_examples=60, deadline=None)
@given(
    strategies.conversations(
        lists=True, none=True, missing=True, names=True, json_text=True, broken_json=True
    ),
    strategies.tool_lists(control=True),
    st.booleans(),
)
def test_published_is_what_transformers_renders_for_hostile_conversations(
    given: strategies.Messages, tools: list[dict[str, Any]] | None, prompt: bool
) -> None:
    before = json.dumps(given)
    for stem in SAMPLE[:3]:
        assert ours(stem, Case(given, tools, prompt)) == applied(stem, Case(given, tools, prompt))
    assert json.dumps(given) == before


def test_published_names_the_reason_in_one_line() -> None:
    with pytest.raises(PublishedError, match=r"^no such role$") as raised:
        Published("{{ raise_exception('no such\n role') }}").render(messages("u"))
    assert raised.value.kind == "TemplateError"
    with pytest.raises(PublishedError, match=r"^TypeError: ") as raised:
        Published("{{ messages[0].content + 1 }}").render(messages("u"))
    assert raised.value.kind == "TypeError"
    with pytest.raises(PublishedError, match="the conversation is empty"):
        Published(PLAIN).render([])


def test_published_variables() -> None:
    template = Published(
        "{{ bos_token }}{{ mode }}{{ strftime_now('%Y') }}", "t", {"bos_token": "<s>", "mode": 1}
    )
    frozen = Published(
        template.source, "t", {"bos_token": "<s>"}, now=datetime(1999, 5, 1, tzinfo=UTC)
    )
    assert template.render(messages("u"), mode=2).startswith("<s>2")
    assert template.render(messages("u")).startswith("<s>12")
    assert frozen.render(messages("u")) == "<s>1999"


def test_published_reads_files_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "chat_template.jinja"
    file.write_bytes(b"a\r\n{{ messages[0].content }}\r\n")
    template = Published.from_file(file)
    assert template.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    assert template.name == "chat_template"
    assert template.render(messages("u")) == "a\nu"
    file.write_bytes(b"\xff")
    with pytest.raises(VerifyError, match="not UTF-8 at byte 0"):
        Published.from_file(file)
    with pytest.raises(VerifyError, match="no such file"):
        Published.from_file(tmp_path / "missing")


def test_a_template_that_does_not_compile_says_where() -> None:
    with pytest.raises(VerifyError, match="does not compile at line 2: "):
        Published("a\n{% if %}")


def test_without_transformers_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    transformers_steps.cache_clear()
    monkeypatch.setitem(sys.modules, "transformers.utils.chat_template_utils", None)
    with pytest.raises(VerifyError, match=r'pip install "templc\[verify\]"'):
        Published(PLAIN)


def test_other_versions_of_transformers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    transformers_steps.cache_clear()
    utils = importlib.import_module("transformers.utils.chat_template_utils")
    monkeypatch.delattr(utils, "_normalize_chat_messages")
    with pytest.raises(VerifyError, match=r"no _normalize_chat_messages; the reference is 5.24"):
        Published(PLAIN)


def test_importing_the_package_does_not_import_transformers() -> None:
    code = "import sys, templc.verify; sys.exit('transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# the hub


def hub(monkeypatch: pytest.MonkeyPatch, files: dict[str, Path], error: str = "") -> None:
    """A hub that has `files` and answers every other name with `error`."""
    module = importlib.import_module("huggingface_hub")
    errors = importlib.import_module("huggingface_hub.errors")

    def download(repo: str, file: str, revision: str | None = None) -> str:
        if file in files:
            return str(files[file])
        kind = getattr(errors, error or "RemoteEntryNotFoundError")
        raise kind.__new__(kind)

    monkeypatch.setattr(module, "hf_hub_download", download)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "tokenizer_config.json"
    named = [
        {"name": "default", "template": PLAIN},
        {"name": "rag", "template": "{{ bos_token }}rag"},
    ]
    tokens = {
        "bos_token": {"content": "<s>"},
        "eos_token": "</s>",
        "add_bos_token": True,
        "pad_token": None,
    }
    path.write_text(json.dumps({"chat_template": named, **tokens}))
    return path


def test_hub_templates_come_with_their_tokens(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub(monkeypatch, {"tokenizer_config.json": config})
    assert Published.from_hub("a/b").render(messages("u")) == "<user>u\n"
    assert Published.from_hub("a/b", "v1", template="rag").name == "a/b@v1"
    assert Published.from_hub("a/b", template="rag").render(messages("u")) == "<s>rag"
    with pytest.raises(VerifyError, match="a/b has no chat template `other`"):
        Published.from_hub("a/b", template="other")
    jinja = config.with_name("chat_template.jinja")
    jinja.write_text("{{ eos_token }}")
    hub(monkeypatch, {"tokenizer_config.json": config, "chat_template.jinja": jinja})
    assert Published.from_hub("a/b").render(messages("u")) == "</s>"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            "LocalEntryNotFoundError",
            "the hub cannot be reached, and a/b at revision v1 is not in the local cache",
        ),
        ("OfflineModeIsEnabled", "the hub cannot be reached"),
        ("RepositoryNotFoundError", "the hub has no public repository a/b"),
        ("GatedRepoError", "the hub repository a/b is gated"),
        ("RevisionNotFoundError", "the hub repository a/b has no revision v1"),
        ("HFValidationError", "the hub did not give a/b at revision v1"),
        ("RemoteEntryNotFoundError", "a/b has no chat template `default`"),
    ],
)
def test_hub_errors_are_one_line(error: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    hub(monkeypatch, {}, error)
    with pytest.raises(VerifyError) as raised:
        Published.from_hub("a/b", "v1")
    assert raised.value.message.startswith(said)
    assert "\n" not in raised.value.message


# templates of the test extra


def test_templates_are_found_and_checked() -> None:
    check_sha256("Qwen-Qwen3-4B-Instruct-2507", "64f85b198065")
    with pytest.raises(AssertionError, match="has sha256 64f85b198065"):
        check_sha256("Qwen-Qwen3-4B-Instruct-2507", "0" * 64)
    assert len(stems()) == 786
    with pytest.raises(KeyError, match="Qwen-Qwen3-4B-Instruct-2507"):
        path_of("Instruct-2507")
