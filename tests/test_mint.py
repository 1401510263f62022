"""`import templc.mint` gives MinT the renderers that its documents import, until MinT has its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def printed(code: str, *paths: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": ":".join(map(str, (*paths, ROOT)))},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_documents_import_works() -> None:
    code = (
        "import templc.mint, mint\n"
        "from mint.renderers import get_renderer\n"
        "print(get_renderer('qwen3_instruct').info.name, mint.renderers.__name__)"
    )
    assert printed(code) == "qwen3_instruct templc.mint.renderers"


def test_a_module_of_mint_itself_is_left_alone(tmp_path: Path) -> None:
    package = tmp_path / "mint"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "renderers.py").write_text("get_renderer = 'their own'")
    code = (
        "import templc.mint\n"
        "from mint.renderers import get_renderer\n"
        "print(get_renderer, templc.mint.install())"
    )
    assert printed(code, tmp_path) == "their own False"


def test_without_mint_the_cure_is_said() -> None:
    code = (
        "import sys; sys.modules['mint'] = None\n"
        "try:\n    import templc.mint\nexcept ImportError as error:\n    print(error)"
    )
    assert printed(code).endswith("help: pip install mindlab-toolkit")
