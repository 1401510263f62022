"""Formats by tokenizer and by model: by digest, by comparison, by name, and the refusals."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass
from pathlib import Path

import pytest

import templc
from templc.build import build
from templc.recognise import measured
from templc.registry import generated
from tests.support.published import path_of, sha256
from tests.support.vocabularies import hf


@dataclass
class Named:
    """What recognition reads of a tokenizer, and no more."""

    chat_template: object = None
    name_or_path: str = ""
    bos_token: str | None = None
    eos_token: str | None = None


def text(stem: str) -> str:
    return path_of(stem).read_text(encoding="utf-8")


def format_of(template: str, **tokens: str) -> str:
    """The format found for a template, through a tokenizer that only names it."""
    from templc import recognise

    digest = hashlib.sha256(template.encode()).hexdigest()
    found = recognise._by_digest(digest)
    return (found or recognise._by_comparison(template, digest, Named(template, **tokens))).format


def test_a_tokenizer_is_known_by_the_digest_of_its_template() -> None:
    tokenizer = hf("qwen3", text("Qwen-Qwen3-0.6B@a55ee1"))
    renderer = templc.for_tokenizer(tokenizer, enable_thinking=False)
    assert renderer.info.name == "qwen3"
    assert renderer.options["enable_thinking"] is False
    tokens = renderer.render([{"role": "user", "content": "hi"}])
    assert tokens.text == tokenizer.apply_chat_template(
        [{"role": "user", "content": "hi"}],
        tokenize=False,
        add_generation_prompt=True,
        enable_thinking=False,
    )


def test_every_reference_is_indexed() -> None:
    index = generated()
    assert index.DIGESTS[sha256("Qwen-Qwen3-0.6B@a55ee1")] == "qwen3"
    assert set(index.DIGESTS.values()) <= set(index.FORMATS)
    assert set(index.MODELS.values()) <= set(index.FORMATS)


def test_a_measured_template_is_known_by_its_digest() -> None:
    rows = [digest for digest, _, _ in measured("qwen3")]
    assert len(rows) > 5
    assert sha256("Qwen-Qwen3-0.6B@a55ee1") in rows


def test_a_template_that_writes_the_same_in_other_bytes_is_found_by_comparison() -> None:
    changed = "{# mine #}" + text("Qwen-Qwen2-1.5B-Instruct")
    assert format_of(changed) == "qwen2"


@pytest.mark.parametrize(
    ("template", "format"),
    [
        ("Qwen-Qwen3-0.6B@a55ee1", "qwen3"),
        ("openbmb-MiniCPM-o-4_5", "minicpm_o4_5"),
        ("baichuan-inc-Baichuan-M2-32B", "baichuan_m2"),
        ("openbmb-MiniCPM-V-4_5", "minicpm_v4_5"),
        ("Qwen-Qwen2.5-Omni-3B", "qwen2_5_omni"),
        ("Qwen-Qwen2.5-VL-7B-Instruct", "qwen2_5_vl"),
        ("Qwen-Qwen2-1.5B-Instruct", "qwen2"),
    ],
)
def test_of_formats_that_write_the_same_the_one_that_has_what_the_template_has_is_found(
    template: str, format: str
) -> None:
    assert format_of("{# mine #}" + text(template)) == format


def test_a_template_like_no_format_is_refused_with_the_nearest() -> None:
    odd = "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}"
    with pytest.raises(templc.FormatError) as caught:
        templc.for_tokenizer(Named(odd))
    assert "nearest: " in caught.value.message
    assert "templc verify" in caught.value.help


def test_without_a_template_the_exact_name_decides() -> None:
    assert templc.for_model("Qwen/Qwen3-8B").info.name == "qwen3"
    from templc.recognise import _by_model

    assert _by_model("Qwen/Qwen2-0.5B").format == "qwen2_base"


def test_an_unknown_model_is_refused_with_near_names() -> None:
    with pytest.raises(templc.FormatError) as caught:
        templc.for_model("Qwen/Qwen3-8C")
    assert "Qwen/Qwen3-8B" in caught.value.help
    with pytest.raises(templc.FormatError, match="no chat template"):
        templc.for_tokenizer(Named())


def test_a_name_with_templates_of_two_behaviours_says_so() -> None:
    from templc.recognise import _table

    several = [
        model
        for model, owner in generated().MODELS.items()
        if any(model in row["models"] and not row["equal"] for row in _table().values())
    ]
    assert several
    with pytest.warns(UserWarning, match="several templates"):
        templc.for_model(several[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        templc.for_model("HuggingFaceTB/SmolLM2-135M-Instruct")


def test_two_formats_of_one_name_are_a_problem(tmp_path: Path) -> None:
    specs = []
    for name in ("one", "two"):
        text = (Path(__file__).parents[1] / "specs" / "deepseek_v2.yaml").read_text("utf-8")
        text = text.replace("format: deepseek_v2", f"format: {name}")
        specs.append(tmp_path / f"{name}.yaml")
        specs[-1].write_text(text.replace("aliases: [deepseek-v2]", "aliases: [both]"), "utf-8")
    built = build(specs, tmp_path / "out", index=True, check=False)
    assert not built.ok
    (problem,) = built.problems
    assert problem.code == "shared-name" and "`both`" in problem.message
    assert not (tmp_path / "out").exists()
