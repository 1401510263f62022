"""One SkyRL server for all tests here, a model for it, and the genuine `mint` in front of it."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from templc.recipes import multi_turn_rl
from templc.recipes.connect import Service, connect
from templc.recipes.multi_turn_rl import Plan
from templc.recipes.serving import Limits, Server

# Read when mint is imported, so before anything here does.
os.environ["MINT_API_KEY"] = "tml-local"
os.environ["HF_HUB_OFFLINE"] = "1"

PLAN = Plan(turns=2, group_size=16, max_tokens=4)


def pytest_configure(config: pytest.Config) -> None:
    """The client of the service leaves its connections open until the process ends."""
    for name in ("ResourceWarning", "pytest.PytestUnraisableExceptionWarning"):
        config.addinivalue_line("filterwarnings", f"ignore::{name}")


@pytest.fixture(scope="session")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Qwen3 with the real vocabulary that has seen how a turn is closed, and two answers to each question."""
    folder = tmp_path_factory.mktemp("model")
    service = connect("local", "tiny", folder)
    multi_turn_rl.warm_up(service, Plan(turns=PLAN.turns, warm_up=25))
    path = folder / "taught"
    service.training.policy.model.merge_and_unload().save_pretrained(str(path))
    service.tokenizer.save_pretrained(str(path))
    return path


@pytest.fixture(scope="session")
def server(taught: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A running server; its log is shown when it cannot be started."""
    made = Server(tmp_path_factory.mktemp("server"), str(taught), limits=Limits(adapters=3, rank=8))
    with made as running:
        yield running


@pytest.fixture(scope="session")
def service(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Service:
    """A training client of the genuine mint."""
    return connect(server.url, server.model, tmp_path_factory.mktemp("client"), rank=8)


def requests(server: Server, kind: str) -> list[dict[str, Any]]:
    """The requests of a kind that the server was sent, in order, as it stored them."""
    with sqlite3.connect(f"file:{server.database}?mode=ro", uri=True) as database:
        rows = database.execute(
            "select request_data from futures where lower(request_type) = ? order by request_id",
            [kind],
        ).fetchall()
    return [json.loads(row[0]) for row in rows]


def tokens_of(model_input: dict[str, Any]) -> list[int]:
    """The ids of an input as the server stored it."""
    return [token for chunk in model_input["chunks"] for token in chunk["tokens"]]
