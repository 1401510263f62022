"""`import templc.mint` gives MinT the renderers that its documents import, until MinT has its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support import tiny

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


def test_the_loop_of_the_documents_runs_on_the_local_backend(tmp_path: Path) -> None:
    import mint

    import templc.mint

    assert templc.mint.install() and mint.renderers is templc.mint.renderers
    from mint import types
    from mint.renderers import get_renderer

    training_client = tiny.client(tmp_path)
    tokenizer = training_client.get_tokenizer()
    sampling_client = training_client.save_weights_and_get_sampling_client(name="loop")
    renderer = get_renderer("qwen3_instruct")
    messages = [{"role": "user", "content": "Count up from 1."}]
    for turn in range(3):
        tokens = renderer.render(messages, tokenizer)
        prompt = types.ModelInput.from_ints(tokens=tokens)
        stop = renderer.stop_token_ids(tokenizer)
        params = types.SamplingParams(max_tokens=4, seed=turn, stop=stop)
        result = sampling_client.sample(prompt, num_samples=1, sampling_params=params).result()
        assert prompt.to_ints() == list(tokens)
        answer = tokenizer.decode(result.sequences[0].tokens, skip_special_tokens=True)
        messages.append({"role": "assistant", "content": answer})
        messages.append({"role": "user", "content": "Next."})
    assert renderer.render_text(messages).count("Next.") == 3
