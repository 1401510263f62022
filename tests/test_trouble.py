"""What goes wrong between a recipe and a service: one message, in time, with a cure. tests/server has the real ones."""

from __future__ import annotations

import http.server
import os
import signal
import socket
import sys
import threading
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from templc.recipes import connect, multi_turn_rl, server, serving
from templc.recipes.trouble import ServiceError, explained

ROOT = Path(__file__).parent.parent


class Answering(http.server.BaseHTTPRequestHandler):
    """A server that is well, and answers everything else with one status."""

    status = 401

    def do_GET(self) -> None:
        self._answer(200 if self.path.endswith("healthz") else self.status)

    def do_POST(self) -> None:
        self._answer(self.status)

    def _answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def answering(status: int) -> Iterator[tuple[str, http.server.ThreadingHTTPServer]]:
    handler = type("Handler", (Answering,), {"status": status})
    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{made.server_port}", made
    finally:
        made.shutdown()
        made.server_close()


def told(url: str, folder: Path) -> str:
    """What the recipe says to a person who names this server; in 15 seconds, and nothing else."""
    began = time.monotonic()
    flags = ["--base-url", url, "--base-model", "some/model", "--folder", str(folder)]
    done = CliRunner().invoke(multi_turn_rl.main, flags)
    assert done.exit_code == 1 and time.monotonic() - began < 15
    assert done.output.startswith("error: ") and done.output.count("error: ") == 1
    assert "Traceback" not in done.output and "help: " in done.output
    return done.output


def test_no_server_is_one_message(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
    said = told(url, tmp_path)
    assert said.startswith(f"error: no server answers at {url}: ") and "help: check the URL" in said
    assert told("no url", tmp_path).startswith("error: no server answers at no url: ")


def test_a_server_that_never_answers_is_one_message(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        said = told(f"http://127.0.0.1:{silent.getsockname()[1]}", tmp_path)
    assert "timed out" in said


def test_a_refused_key_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINKER_API_KEY", "tml-wrong")
    with answering(401) as (url, _):
        said = told(url, tmp_path)
    assert said.startswith(f"error: signing in at {url} failed, {url} refuses the key: ")
    assert "help: set MINT_API_KEY" in said


@pytest.mark.parametrize("key", ["", "sk-unknown"])
def test_a_key_that_the_client_refuses_is_one_message(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINKER_API_KEY", key)
    with answering(404) as (url, _):
        said = told(url, tmp_path)
    assert "signing in at " in said


def test_a_server_of_another_version_is_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that is older than the client lacks the first address that it asks for."""
    monkeypatch.setenv("TINKER_API_KEY", "tml-some")
    with answering(404) as (url, _):
        said = told(url, tmp_path)
    assert f"{url} does not take the request: Error code: 404" in said
    assert "help: this is mint 0.2.0 on tinker 0.22.0; is the server made for it?" in said


def test_a_newer_server_that_wants_another_encoding_is_named_as_such() -> None:
    class Refused(Exception):
        status_code = 415

    error = explained("training", Refused("requires application/x-protobuf body\nmore"), "http://x")
    text = "training failed, http://x does not take the request: requires application/x-protobuf body\n"
    assert str(error).startswith(text) and "is the server made for it?" in str(error)


def test_clients_that_do_not_fit_each_other_are_noted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import mint.mint

    connect._sdk()
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(mint.mint, "EXPECTED_TINKER_VERSION", "0.21.0")
    connect._sdk()
    assert capsys.readouterr().err == (
        "note: mint 0.2.0 is made for tinker 0.21.0, and tinker 0.22.0 is installed\n"
    )


def test_without_a_client_the_cure_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mint", "tinker"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        ServiceError, match="neither mint nor tinker is installed\n  help: pip install"
    ):
        connect._sdk()


def test_what_takes_too_long_says_how_to_go_on() -> None:
    with pytest.raises(
        ServiceError, match=r"sampling gave no answer within 0 seconds\n  help: the"
    ):
        connect.within("sampling", lambda: time.sleep(1), 0.05)
    with pytest.raises(ServiceError, match="sampling failed: gone"):
        connect.within("sampling", _raise, 5)
    assert connect.within("sampling", lambda: 5, 5) == 5


def _raise() -> None:
    raise ConnectionError("gone")


def test_a_server_that_dies_is_noticed_while_a_client_still_tries() -> None:
    with answering(200) as (url, made):
        threading.Timer(0.5, lambda: (made.shutdown(), made.server_close())).start()
        began = time.monotonic()
        with pytest.raises(
            ServiceError,
            match=r"sampling: the server at http://\S+ has gone: .*\n  help: the run can",
        ):
            connect.within("sampling", lambda: time.sleep(60), 60, url)
        assert time.monotonic() - began < 15


def test_the_server_says_what_is_missing(tmp_path: Path) -> None:
    """SkyRL is in no environment of the tests but its own."""
    done = CliRunner().invoke(server.main, ["--folder", str(tmp_path)])
    assert done.exit_code == 1
    assert done.output.startswith("error: the server needs skyrl, jax, ")
    assert f"which {sys.executable} lacks\n  help: {serving.INSTALL}\n" in done.output
    done = CliRunner().invoke(server.main, ["--python", str(tmp_path / "none")])
    assert done.exit_code == 1 and f"error: {tmp_path / 'none'} cannot be run: " in done.output
    done = CliRunner().invoke(server.main, ["--stop", "--folder", str(tmp_path)])
    assert done.exit_code == 1 and done.output == f"error: no server runs in {tmp_path}\n"


def test_what_is_said_to_be_installed_is_what_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for package in project["optional-dependencies"]["server"]:
        assert package in serving.INSTALL


def python(folder: Path, version: str, launched: str) -> str:
    """An interpreter that says it has that SkyRL, and runs this code for the server."""
    path = folder / "python"
    path.write_text(
        f"#!{sys.executable}\nimport os, sys, time\n"
        f'if sys.argv[3] == \'missing\':\n    print(\'{{"absent": [], "skyrl": "{version}"}}\')\n'
        f"else:\n    {launched}\n"
    )
    path.chmod(0o755)
    return str(path)


def test_another_version_of_the_server_is_refused(tmp_path: Path) -> None:
    with pytest.raises(serving.ServerError, match=r"has skyrl 0\.4\.0, this starts 0\.3\.0"):
        serving.check(python(tmp_path, "0.4.0", "pass"))


def test_a_server_that_ends_shows_its_log(tmp_path: Path) -> None:
    broken = python(tmp_path, serving.SKYRL, "sys.exit('no such model')")
    with pytest.raises(
        serving.ServerError, match=r"ended with status 1:\nno such model\n\(all of it: "
    ):
        serving.Server(tmp_path / "a", "some/model", python=broken).start()
    slow = python(tmp_path, serving.SKYRL, "time.sleep(60)")
    with pytest.raises(serving.ServerError, match="was not ready after 1 seconds"):
        serving.Server(tmp_path / "b", "some/model", python=slow).start(patience=1)
    assert serving.running(tmp_path / "b") is None


def test_a_server_is_started_once_and_leaves_nothing(tmp_path: Path) -> None:
    """A stand-in for the launcher, which says that it is ready and starts a child as SkyRL does."""
    child = "import subprocess, json; at = json.loads(sys.argv[4])['ready']; "
    stand_in = python(
        tmp_path,
        serving.SKYRL,
        f"{child}one = subprocess.Popen(['sleep', '60']); open(at, 'w').write(str(one.pid)); time.sleep(60)",
    )
    with serving.Server(tmp_path, "some/model", python=stand_in):
        known = serving.running(tmp_path)
        assert known is not None
        with pytest.raises(serving.ServerError, match=f"a server runs in {tmp_path} already"):
            serving.Server(tmp_path, "some/model", python=stand_in).start()
        child = int((tmp_path / "ready").read_text())
        assert os.getpgid(child) == known["pid"]
    assert serving.running(tmp_path) is None
    with pytest.raises(ProcessLookupError):
        os.killpg(known["pid"], signal.SIGCONT)
