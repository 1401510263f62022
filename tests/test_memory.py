"""What is remembered of specs between two commands: nothing that has changed since."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from templc import build as building
from templc import memory as remembering
from templc.build import build
from templc.memory import Memory
from templc.pipeline import spec_folder

NAMES = ("qwen3", "qwen3_instruct", "role_colon")


@pytest.fixture
def specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "specs"
    folder.mkdir()
    for name in NAMES:
        shutil.copy(spec_folder() / f"{name}.yaml", folder)
    return folder


def made(specs: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> list[str]:
    """Build; the specs that were compiled for it."""
    seen: list[str] = []
    make = building._make

    def noted(job: Any) -> Any:
        seen.append(job.path.stem)
        return make(job)

    with monkeypatch.context() as patched:
        patched.setattr(building, "_make", noted)
        paths = sorted(specs.glob("*.yaml"))
        assert build(paths, specs.parent / "out", index=True, **options).ok
    return seen


def test_nothing_is_built_twice(specs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert made(specs, monkeypatch) == sorted(NAMES)
    files = {path: path.read_text() for path in (specs.parent / "out").iterdir()}
    assert made(specs, monkeypatch) == []
    assert {path: path.read_text() for path in (specs.parent / "out").iterdir()} == files
    assert made(specs, monkeypatch, check=True) == sorted(NAMES)


def test_what_changed_is_built_again(specs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(specs, monkeypatch)
    base = specs / "qwen3.yaml"
    base.write_text(base.read_text() + "\n")
    assert made(specs, monkeypatch) == ["qwen3", "qwen3_instruct"]
    (specs.parent / "out" / "role_colon.py").unlink()
    assert made(specs, monkeypatch) == ["role_colon"]
    proof = specs.parent / "out" / "qwen3.json"
    proof.write_text(proof.read_text().replace('"sha256": "', '"sha256": "0'))
    assert made(specs, monkeypatch) == ["qwen3"]
    monkeypatch.setattr(remembering, "code_digest", lambda: "of another templc")
    assert made(specs, monkeypatch) == sorted(NAMES)


def test_a_base_that_comes_to_stand_nearer_is_another_base(
    specs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = specs / "qwen3.yaml"
    text = base.read_text()
    base.unlink()
    assert made(specs, monkeypatch) == ["qwen3_instruct", "role_colon"]
    base.write_text(text)
    assert made(specs, monkeypatch) == ["qwen3", "qwen3_instruct"]


def test_what_is_kept_may_be_deleted_or_broken(specs: Path) -> None:
    spec = specs / "qwen3.yaml"
    memory = Memory("a kind")
    assert memory.get(spec, "qwen3") is None
    memory.put(spec, "qwen3", (), {"stable": 3})
    memory.save()
    assert Memory("a kind").get(spec, "qwen3") == {"stable": 3}
    assert Memory("a kind").get(spec, "another name") is None
    assert Memory("a kind", "another scope").get(spec, "qwen3") is None
    for path in (specs.parent / "cache").rglob("*.json"):
        path.write_text("[]")
    assert Memory("a kind").get(spec, "qwen3") is None
