"""The oracle itself: shapes, enumeration, comparison, published templates, strategies."""

from __future__ import annotations

import functools
import hashlib
import importlib
import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from templc.runtime.errors import MessageError
from templc.verify import (
    CORE,
    SHAPES,
    TOOLS,
    Case,
    Outcome,
    Published,
    PublishedError,
    VerifyError,
    compare,
    conversations,
    count,
    crossed,
    describe,
    option_grid,
)
from templc.verify.parting import parting, window
from templc.verify.published import _transformers as transformers_steps
from templc.verify.shapes import message_key, messages
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


class Ours:
    """A renderer of the plain template, with whatever a test plants in it."""

    def __init__(self, change: Callable[[Sequence[Any], str], str] | None = None) -> None:
        self.change = change or (lambda given, text: text)

    def render_text(
        self, messages: Sequence[Any], *, tools: Any = None, add_generation_prompt: bool = False
    ) -> str:
        text = "".join(f"<{m['role']}>{m['content']}\n" for m in messages)
        return self.change(messages, text + "<assistant>" * add_generation_prompt)


def text_shapes() -> list[Any]:
    return [shape for shape in SHAPES if isinstance(shape.message["content"], str)]


# shapes


def test_shapes_are_distinct_and_well_formed() -> None:
    texts = [json.dumps(shape.message, sort_keys=True) for shape in SHAPES]
    names = [shape.name for shape in SHAPES]
    assert len(set(names)) == len(set(texts)) == len(SHAPES) >= 16
    first = {"user": "u", "assistant": "a", "system": "s", "tool": "t"}
    assert all(
        name[0] == first[shape.message["role"]] for name, shape in zip(names, SHAPES, strict=True)
    )
    for shape in SHAPES:
        for call in shape.message.get("tool_calls", ()):
            given = call["function"]["arguments"]
            assert isinstance(json.loads(given) if isinstance(given, str) else given, dict)
            assert len(call["id"]) == 9


def test_shape_keys_are_distinct_but_for_the_calls_answered() -> None:
    keys = {shape.name: message_key(shape.message) for shape in SHAPES}
    assert keys.pop("t2") == "tool+id"
    assert len(set(keys.values())) == len(keys)
    assert keys["a.rac"] == "assistant+reasoning+content+call"
    assert keys["a.cc"] == "assistant+2calls"


def test_core_is_fourteen_of_the_shapes() -> None:
    assert len(CORE) == 14
    assert [shape for shape in SHAPES if shape in CORE] == list(CORE)


@pytest.mark.parametrize(("length", "size"), [(0, 4), (1, 5), (2, 5), (3, 4), (4, 2)])
def test_conversations_are_all_sequences_once(length: int, size: int) -> None:
    shapes = SHAPES[:size]
    names = {id(shape.message): shape.name for shape in shapes}
    found = [tuple(names[id(m)] for m in found) for found in conversations(length, shapes)]
    expected = itertools.product([shape.name for shape in shapes], repeat=length)
    assert sorted(found) == sorted(expected)
    assert len(found) == count(length, shapes, tools=(None,), prompts=(False,))


def test_conversations_come_simplest_first_and_in_a_fixed_order() -> None:
    names = {id(shape.message): shape.name for shape in SHAPES}
    found = [" ".join(names[id(m)] for m in pair) for pair in conversations(2, SHAPES[:3])]
    assert found == ["u u", "u a", "a u", "u s", "a a", "s u", "a s", "s a", "s s"]


def test_conversations_share_their_messages() -> None:
    known = {id(shape.message) for shape in SHAPES}
    assert all(id(m) in known for pair in conversations(2) for m in pair)


def test_crossed_holds_each_choice_once() -> None:
    options = option_grid(enable_thinking=(False, True))
    assert options == [{}, {"enable_thinking": False}, {"enable_thinking": True}]
    cases = list(crossed(conversations(1), options=options))
    assert len(cases) == count(1, options=options) == len(SHAPES) * len(TOOLS) * 2 * 3
    assert len({(id(case.messages[0]), describe(case)) for case in cases}) == len(cases)
    assert describe(cases[0]) == "[user]"


def test_option_grid_crosses_options() -> None:
    assert len(option_grid(a=(1, 2), b=(None,))) == 6
    assert {"b": None} in option_grid(a=(1, 2), b=(None,))


def test_describe_names_what_stands_out() -> None:
    case = Case(messages("u", "a.r", "t"), TOOLS[2], True, {"enable_thinking": False})
    assert describe(case) == "[user, assistant+reasoning, tool] tools=1 gp enable_thinking=False"
    assert message_key({"role": "user"}) == "user+missing"
    assert message_key({"role": "user", "content": []}) == "user+parts"


# comparison


def test_equal_renders_are_ok() -> None:
    cases = list(crossed(conversations(2, text_shapes())))
    report = compare(Ours(), Published(PLAIN), cases)
    assert report.ok and report.smallest is None
    assert report.counts == {Outcome.EQUAL: len(cases)}
    assert "different" in report.as_text()


def test_nothing_compared_is_not_ok() -> None:
    assert not compare(Ours(), Published(PLAIN), []).ok


def test_a_planted_difference_is_found_and_the_smallest_is_shown() -> None:
    def plant(given: Sequence[Any], text: str) -> str:
        return text.replace("<tool>", "<tuna>") if len(given) > 1 else text

    cases = list(crossed(conversations(2, text_shapes()))) + list(
        crossed(conversations(1, text_shapes()))
    )
    report = compare(Ours(plant), Published(PLAIN, "plain"), reversed(cases))
    assert not report.ok
    smallest = report.smallest
    assert smallest is not None and len(smallest.case.messages) == 2
    assert smallest.case.tools is None and not smallest.case.add_generation_prompt

    text = compare(Ours(plant), Published(PLAIN, "plain"), cases).as_text()
    assert "against plain" in text
    assert "smallest of `different`: [user, tool]\n" in text
    assert "  ours      <user>u⏎•<tuna>t⏎\n" in text
    assert "  template  <user>u⏎•<tool>t⏎\n" in text
    assert (
        '  messages  [{"role": "user", "content": "u"}, {"role": "tool", "content": "t"}]' in text
    )


def test_refusals_are_told_apart() -> None:
    template = Published(
        "{% if messages[0].role == 'tool' %}{{ raise_exception('no tool') }}{% endif %}" + PLAIN
    )

    def refuse(given: Sequence[Any], text: str) -> str:
        if given[0]["role"] in ("tool", "system"):
            raise MessageError("not this role", message_index=0)
        return text

    cases = [Case(messages(name)) for name in ("u", "s", "t", "t.id")]
    report = compare(Ours(refuse), template, cases)
    assert report.counts == {Outcome.EQUAL: 1, Outcome.WE_REFUSE: 1, Outcome.BOTH_REFUSE: 2}
    assert report.reasons == {(Outcome.WE_REFUSE, "not this role"): 1}
    assert "no text: not this role" in report.as_text()

    report = compare(Ours(), template, cases)
    assert report.counts == {Outcome.EQUAL: 2, Outcome.TEMPLATE_RAISES: 2}
    assert "no text: no tool" in report.as_text()


def test_a_crash_is_not_a_refusal() -> None:
    def crash(given: Sequence[Any], text: str) -> str:
        raise KeyError("content")

    report = compare(Ours(crash), Published("{{ raise_exception('no') }}"), [Case(messages("u"))])
    assert report.counts == {Outcome.CRASH: 1} and not report.ok
    assert "KeyError" in report.as_text()


def test_the_limit_stops_and_says_so() -> None:
    report = compare(
        Ours(lambda given, text: "x"), Published(PLAIN), crossed(conversations(2)), limit=3
    )
    assert report.stopped and report.mismatches == 3
    assert "stopped at 3 mismatches" in report.as_text()


def test_options_reach_both_sides() -> None:
    cases = list(crossed(conversations(1, SHAPES[:1]), options=option_grid(mark=("x", "y"))))
    template = Published(PLAIN + "{{ mark }}")
    made: list[str] = []

    def with_options(mark: str) -> Ours:
        made.append(mark)
        return Ours(lambda given, text: text + mark)

    assert compare(Ours(), template, cases, with_options=with_options).ok
    assert made == ["x", "y"]
    with pytest.raises(TypeError, match="with_options"):
        compare(Ours(), template, cases)


def test_progress_counts_up_to_the_total() -> None:
    seen: list[int] = []
    report = compare(
        Ours(), Published(PLAIN), crossed(conversations(2, SHAPES[:9])), progress=seen.append
    )
    assert seen == sorted(seen) and seen[0] == 0 and seen[-1] == report.total == 648


@pytest.mark.parametrize(
    ("ours", "theirs", "shown"),
    [
        ("a\n<think>", "a\n<tool>", "a⏎•<think>"),
        ("<a>word", "<a>wonder", "<a>•word"),
        ("<a>u\n", "<a>u<b>", "<a>u•⏎"),
        ("same", "same more", "same•"),
        ("[INST]", "[TOOL]", "•[INST]"),
    ],
)
def test_texts_part_at_the_start_of_a_tag_or_word(ours: str, theirs: str, shown: str) -> None:
    assert window(ours, parting(ours, theirs)) == shown


@given(st.text("ab<>[\n ", max_size=12), st.text("ab<>[\n ", max_size=12))
def test_all_before_the_parting_is_common(ours: str, theirs: str) -> None:
    place = parting(ours, theirs)
    assert ours[:place] == theirs[:place]
    assert ours == theirs or ours[place:] != theirs[place:]


# published templates


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


# strategies


@settings(max_examples=80, deadline=None)
@given(strategies.conversations(max_size=6, ordered=True))
def test_well_formed_conversations_answer_their_calls(given: strategies.Messages) -> None:
    assert 1 <= len(given) <= 6
    roles = [m["role"] for m in given]
    assert "system" not in roles[1:]
    ids = [call["id"] for m in given for call in m.get("tool_calls", ())]
    assert ids == [m["tool_call_id"] for m in given if m["role"] == "tool"]
    assert len(set(ids)) == len(ids)
    for before, after in itertools.pairwise(given):
        allowed = {"assistant": "tool" if before.get("tool_calls") else "user", "user": "assistant"}
        assert after["role"] in (allowed.get(before["role"]), *_AFTER.get(before["role"], ()))


_AFTER = {"system": ("user",), "tool": ("tool", "assistant")}


@settings(max_examples=60, deadline=None)
@given(
    strategies.conversations(
        max_size=4, control=False, reasoning=False, calls=False, ids=False, system=False
    )
)
def test_what_is_not_allowed_does_not_come(given: strategies.Messages) -> None:
    text = json.dumps(given)
    assert "<|im_start|>" not in text and "think>" not in text
    assert all(set(m) == {"role", "content"} and isinstance(m["content"], str) for m in given)
    assert all(m["role"] != "system" for m in given)


_SEEN: dict[str, Callable[[dict[str, Any]], bool]] = {
    "list": lambda m: isinstance(m.get("content"), list),
    "none": lambda m: m.get("content", "") is None,
    "missing": lambda m: "content" not in m,
    "name": lambda m: "name" in m,
    "thinking": lambda m: "thinking" in m,
    "reasoning": lambda m: "reasoning" in m,
    "control": lambda m: "<|" in str(m.get("content")),
    "close": lambda m: "</think>" in str(m.get("content")),
    "calls": lambda m: len(m.get("tool_calls", ())) > 1,
    "text": lambda m: any(
        isinstance(call["function"]["arguments"], str) for call in m.get("tool_calls", ())
    ),
    "odd order": lambda m: m["role"] == "system",
}


def test_what_is_allowed_comes() -> None:
    seen: set[str] = set()

    @settings(max_examples=300, deadline=None, database=None, derandomize=True)
    @given(
        strategies.conversations(lists=True, none=True, missing=True, names=True, json_text=True)
    )
    def collect(given: strategies.Messages) -> None:
        seen.update(name for name, holds in _SEEN.items() if any(holds(m) for m in given[1:]))

    collect()
    assert seen == set(_SEEN)
