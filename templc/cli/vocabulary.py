"""The tokenizer that a person asks for: a demo vocabulary, a file, a folder, or a repository of the hub.

chosen("qwen3", info)                 demo vocabulary
chosen("models/mine", info)           a folder with a tokenizer.json, or that file
chosen("Qwen/Qwen3-0.6B", info)       tokenizer.json of that repository
chosen(None, info)                    the demo vocabulary that fits the format
"""

from __future__ import annotations

import importlib
import json
import re
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from templc import demo
from templc.runtime.errors import TokenizerError

if TYPE_CHECKING:
    from templc.runtime.renderer import Info

FILE, CONFIG = "tokenizer.json", "tokenizer_config.json"
INSTALL = "pip install tokenizers"
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+(@[\w.-]+)?")


class Chosen(NamedTuple):
    """A tokenizer, and how to call it in what is printed."""

    tokenizer: Any
    name: str


@dataclass(frozen=True, eq=False)
class Loaded:
    """A tokenizer.json with the bos and eos tokens that the file beside it names."""

    backend_tokenizer: Any
    bos_token: str | None
    eos_token: str | None
    name_or_path: str


def chosen(choice: str | None, info: Info) -> Chosen:
    """The tokenizer for a format; TokenizerError, in words, where it cannot be had."""
    if choice is None:
        name = demo.fitting(info.specials, info.markers)
        if name is None:
            raise TokenizerError(
                f"no demo vocabulary has the control tokens of {info.name}",
                help="name a tokenizer: --tokenizer PATH or --tokenizer HUB_REPOSITORY",
            )
        return Chosen(demo.vocabulary(name), f"demo vocabulary {name}")
    if choice in demo.NAMES:
        return Chosen(demo.vocabulary(choice), f"demo vocabulary {choice}")
    if Path(choice).exists():
        return Chosen(_local(Path(choice)), choice)
    if (
        _REPOSITORY.fullmatch(choice)
        and not choice.startswith(".")
        and not choice.endswith(".json")
    ):
        return Chosen(_from_hub(choice), choice)
    raise TokenizerError(f"there is no tokenizer {choice}", help=_cure(choice))


def _cure(choice: str) -> str:
    close = get_close_matches(choice, demo.NAMES, 1)
    guess = f"did you mean {close[0]}? else " if close else ""
    return f"{guess}give a tokenizer.json, a folder with one, OWNER/NAME of the hub, or one of {', '.join(demo.NAMES)}"


def _local(path: Path) -> Loaded:
    file = path / FILE if path.is_dir() else path
    if not file.is_file():
        raise TokenizerError(
            f"the folder {path} has no {FILE}",
            help="save a fast tokenizer there: AutoTokenizer.from_pretrained(...).save_pretrained(folder)",
        )
    return _loaded(file, file.parent / CONFIG, str(path))


def _loaded(file: Path, config: Path, name: str) -> Loaded:
    try:
        tokenizers = importlib.import_module("tokenizers")
    except ImportError:
        raise TokenizerError(
            f"{FILE} is read by tokenizers, which is not installed", help=INSTALL
        ) from None
    # The Rust side raises bare Exceptions.
    try:
        backend = tokenizers.Tokenizer.from_file(str(file))
    except Exception as error:
        why = " ".join(str(error).split())[:200]
        raise TokenizerError(f"{file} is not a tokenizer.json ({why})") from None
    settings = _settings(config)
    return Loaded(backend, _token(settings, "bos_token"), _token(settings, "eos_token"), name)


def _settings(config: Path) -> dict[str, Any]:
    if not config.is_file():
        return {}
    try:
        found = json.loads(config.read_bytes())
    except ValueError as error:
        raise TokenizerError(f"{config} is not JSON ({error})") from None
    return found if isinstance(found, dict) else {}


def _token(settings: dict[str, Any], key: str) -> str | None:
    """A special token, given as a text or as an object with the text in `content`."""
    value = settings.get(key)
    text = value.get("content") if isinstance(value, dict) else value
    return text if isinstance(text, str) else None


def _from_hub(choice: str) -> Loaded:
    repository, _, revision = choice.partition("@")
    try:
        hub: Any = importlib.import_module("huggingface_hub")
    except ImportError:
        raise TokenizerError(
            "tokenizers of the hub need huggingface_hub, which is not installed", help=INSTALL
        ) from None
    file = _download(hub, repository, FILE, revision or None)
    try:
        config = _download(hub, repository, CONFIG, revision or None)
    except TokenizerError:
        config = Path(CONFIG + ".missing")
    return _loaded(file, config, choice)


def _download(hub: Any, repository: str, file: str, revision: str | None) -> Path:
    # What can go wrong spans a dozen classes of three packages; the reason in one line is what helps.
    try:
        return Path(hub.hf_hub_download(repository, file, revision=revision))
    except Exception as error:
        why = " ".join(str(error).split())
        raise TokenizerError(
            f"the hub did not give {file} of {repository}: {why[:200]}",
            help="name a local folder instead, or a demo vocabulary",
        ) from None
