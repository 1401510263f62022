"""Chat templates of the hub: two small files of a repository, and nothing that runs its code.

Input: a repository and a revision. Output: the bytes of its template, and the special tokens that a
tokenizer gives to templates as variables.

    source, tokens = fetch("Qwen/Qwen3-0.6B", None, "default")
    tokens["eos_token"]                                         # "<|im_end|>"
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from templc.verify.errors import INSTALL, VerifyError, one_line


def fetch(repo: str, revision: str | None, template: str) -> tuple[bytes, dict[str, str]]:
    """The template called `template`, and the special tokens; VerifyError says why not."""
    found = _download(repo, "tokenizer_config.json", revision)
    config: dict[str, Any] = json.loads(found.read_bytes()) if found else {}
    file = _download(repo, "chat_template.jinja", revision)
    source = file.read_bytes() if file else _configured(config.get("chat_template"), template)
    if source is None:
        raise VerifyError(f"{repo} has no chat template `{template}`")
    return source, _special_tokens(config)


def _download(repo: str, file: str, revision: str | None) -> Path | None:
    """The local copy of one file of a hub repository; None where it has no such file."""
    try:
        hub = importlib.import_module("huggingface_hub")
        errors = importlib.import_module("huggingface_hub.errors")
        logging = importlib.import_module("huggingface_hub.utils.logging")
    except ImportError:
        raise VerifyError(
            "templates of the hub need huggingface_hub, which is not installed", help=INSTALL
        ) from None
    try:
        with _quiet(logging):
            return Path(hub.hf_hub_download(repo, file, revision=revision))
    except (OSError, ValueError, errors.EntryNotFoundError) as error:
        why = _why(error, errors, repo, revision)
    if why is None:
        return None
    raise VerifyError(why, help="download the template and compare with the file")


def _why(error: Exception, errors: Any, repo: str, revision: str | None) -> str | None:
    """Why a download failed, in one line; None where only the file is missing."""
    at = f" at revision {revision}" if revision else ""
    match error:
        case errors.LocalEntryNotFoundError() | errors.OfflineModeIsEnabled():
            return f"the hub cannot be reached, and {repo}{at} is not in the local cache"
        case errors.EntryNotFoundError():
            return None
        case errors.GatedRepoError():
            return f"the hub repository {repo} is gated, and access was not granted"
        case errors.RepositoryNotFoundError():
            return f"the hub has no public repository {repo}"
        case errors.RevisionNotFoundError():
            return f"the hub repository {repo} has no revision {revision}"
        case _:
            return f"the hub did not give {repo}{at}: {one_line(error)}"


@contextmanager
def _quiet(logging: Any) -> Iterator[None]:
    """Without the log lines of each retry: the error says it once."""
    before = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(before)


def _configured(entry: object, template: str) -> bytes | None:
    """The template of a tokenizer_config.json: a text, or a list of named ones."""
    match entry:
        case str():
            return entry.encode()
        case list():
            named = {item["name"]: item["template"] for item in entry}
            return named[template].encode() if template in named else None
        case _:
            return None


def _special_tokens(config: Mapping[str, Any]) -> dict[str, str]:
    """`bos_token` and its like, given as a text or as an added token."""
    tokens = {}
    for key, value in config.items():
        text = value.get("content") if isinstance(value, Mapping) else value
        if key.endswith("_token") and isinstance(text, str):
            tokens[key] = text
    return tokens
