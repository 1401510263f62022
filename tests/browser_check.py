"""The page of `templc show --html` in a real browser: `python -m tests.browser_check [--screenshot FILE]`.

Chromium is the program in the environment variable CHROMIUM, else the first of its names on the path; without one the
check fails. It opens the page offline, points at a token, uses the keys and the buttons, and reads back what is shown.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from html import unescape
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
CHAT = [
    {"role": "user", "content": "What is 2 + 3?"},
    {"role": "assistant", "content": "5", "reasoning_content": "Add <them>."},
]
# Steps of a person, and what is read off the page behind each.
PROBE = """
<script>
const seen = {}, shown = () => document.getElementById("details").textContent;
const key = name => document.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
const display = () => getComputedStyle(document.querySelector(".end")).display;
const line = () => getComputedStyle(document.querySelector("pre .trained")).textDecorationLine;
seen.linked = shown();
cells[0].dispatchEvent(new MouseEvent("mouseenter"));
seen.hovered = shown();
key("ArrowRight"); seen.right = shown();
key("ArrowLeft"); key("ArrowLeft"); seen.left = shown();
seen.before = [display(), line()];
key("w"); document.getElementById("weights").click();
seen.after = [display(), line()];
seen.pressed = document.getElementById("weights").getAttribute("aria-pressed");
seen.dark = matchMedia("(prefers-color-scheme: dark)").matches;
seen.paper = getComputedStyle(document.body).backgroundColor;
document.body.dataset.seen = JSON.stringify(seen);
</script>
"""


def browser() -> str:
    """The program; LookupError where there is none."""
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise LookupError("no Chromium found; name one in the environment variable CHROMIUM")
    return found


def made(folder: Path) -> Path:
    """The page of a small conversation."""
    chat, path = folder / "chat.json", folder / "page.html"
    chat.write_text(json.dumps(CHAT), encoding="utf-8")
    command = [sys.executable, "-m", "templc", "show", "qwen3", "-m", chat, "--html", path]
    subprocess.run(command, check=True, capture_output=True)
    return path


def run(program: str, folder: Path, *arguments: str) -> str:
    """Standard output of the browser, with a profile of its own and no network."""
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND"]
    command = [program, *flags, f"--user-data-dir={folder / 'profile'}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def seen(program: str, page: Path, *flags: str) -> dict[str, object]:
    """What the steps show."""
    probed = page.with_name("probed.html")
    probed.write_text(page.read_text("utf-8").replace("</body>", f"{PROBE}</body>"), "utf-8")
    text = run(program, page.parent, *flags, "--dump-dom", f"file://{probed}#t3")
    match = re.search(r'data-seen="([^"]*)"', text)
    assert match is not None, text[-2000:]
    found: dict[str, object] = json.loads(unescape(match[1]))
    return found


def check(program: str, page: Path) -> list[str]:
    """What is not as it should be."""
    light = seen(program, page)
    dark = seen(program, page, "--force-dark-mode", "--blink-settings=preferredColorScheme=0")
    first = (
        '"<|im_start|>": id 151644, message 0 (user), written by the format, not sampled, weight 0'
    )
    expected = {
        "the link opens its token": str(light["linked"]).startswith('"What": id 3838'),
        "pointing shows a token": str(light["hovered"]).startswith(first),
        "the spec line is shown": str(light["hovered"]).endswith("qwen3.yaml:42"),
        "the right arrow goes on": str(light["right"]).startswith('"user": id 872'),
        "the left arrow stops at the first": light["left"] == light["hovered"],
        "white space and weights are shown": light["before"] == ["inline", "underline"],
        "they can be hidden": light["after"] == ["none", "none"],
        "a button says what it is": light["pressed"] == "false",
        "light by default": light["paper"] == "rgb(255, 255, 255)",
        "dark where it is wanted": dark["paper"] == "rgb(22, 24, 28)" and dark["dark"] is True,
    }
    return [what for what, good in expected.items() if not good]


def main(argv: list[str]) -> int:
    """Run it; 1 where something is not as it should be, 2 without a browser."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--screenshot", type=Path)
    given = options.parse_args(argv)
    try:
        program = browser()
    except LookupError as error:
        print(error, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        page = made(Path(folder))
        wrong = check(program, page)
        if given.screenshot:
            shot = f"--screenshot={given.screenshot.resolve()}"
            run(program, page.parent, shot, "--window-size=1000,700", f"file://{page}#t14")
    print("\n".join(f"not so: {what}" for what in wrong) or "the page works")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
