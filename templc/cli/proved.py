"""`templc prove --all` and `--recheck`: every format at once, one process a core.

prove_all(["qwen3", ...])      a line a format: how many boundaries are stable, and how it is used append-only
recheck_all(["qwen3", ...])    the complaints of the independent checkers about stored proofs
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from templc.cli.console import colored, paint, progress
from templc.cli.failures import FINDING
from templc.cli.formats import spec_path
from templc.memory import Memory, file_digest
from templc.pipeline import Compilation, compile_path
from templc.proof.stability import prove
from templc.proofs import complaints
from templc.registry import generated
from templc.syntax.extends import family
from templc.workers import spread

VERDICTS = ("stable", "stable if", "never", "refused", "not proved")
_STYLES = {"stable": "green", "stable if": "yellow", "never": "red", "not proved": "red"}


def compiled(format: str) -> Compilation:
    """A format by name or path, compiled."""
    path = spec_path(format)
    return compile_path(path, f"{path.parent.name}/{path.name}")


def prove_all(names: list[str]) -> int:
    """Print one line a format, for default options and without tools."""
    found = _counts(names)
    on = colored(sys.stdout)
    width = max(map(len, names)) + 2
    lines = ["format".ljust(width) + "".join(name.rjust(12) for name in VERDICTS)]
    for name, counts in zip(names, found, strict=True):
        cells = [_number(counts[verdict], verdict, on) for verdict in VERDICTS]
        lines.append((name.ljust(width) + "".join(cells)).rstrip())
    sum_of = Counter[str]()
    for counts in found:
        sum_of.update(counts)
    lines.append(
        f"{len(names)} formats".ljust(width)
        + "".join(str(sum_of[verdict]).rjust(12) for verdict in VERDICTS)
    )
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _counts(names: list[str]) -> list[Counter[str]]:
    """How many cells of each format have which verdict; those that were counted before are not proved again."""
    memory = Memory("proofs")
    paths = {name: spec_path(name) for name in names}
    known = {name: memory.get(path, name) for name, path in paths.items()}
    missing = [name for name in names if known[name] is None]
    with progress(len(missing), "proving") as done:
        counted = spread(_count, missing, done, alike=lambda name: family(paths[name]))
    found = dict(zip(missing, counted, strict=True))
    for name, (counts, bases) in found.items():
        memory.put(paths[name], name, bases, counts)
    memory.save()
    return [found[name][0] if name in found else Counter(known[name]) for name in names]


def _count(name: str) -> tuple[Counter[str], tuple[Path, ...]]:
    compilation = compiled(name)
    counts = Counter[str](cell.verdict for cell in prove(compilation.checked()).cells)
    return counts, compilation.bases


def _number(count: int, verdict: str, on: bool) -> str:
    text = str(count or "-").rjust(12)
    return paint(text, _STYLES[verdict], True) if on and count and verdict in _STYLES else text


class Checked(NamedTuple):
    """A stored proof: its digest, what is wrong with it, and how many conditions it has, with a certificate or not."""

    digest: str
    complaints: list[str]
    certified: int
    conditions: int


def recheck_all(names: list[str]) -> int:
    """Check the stored proof of each format; one that was checked before and has not changed is not read again."""
    memory = Memory("checks")
    known: dict[str, Checked] = {}
    for name in names:
        data = memory.get(spec_path(name), name)
        if data and Checked(*data).digest == file_digest(_stored(name)):
            known[name] = Checked(*data)
    missing = [name for name in names if name not in known]
    with progress(len(missing), "checking") as done:
        found = dict(zip(missing, spread(_checked, missing, done), strict=True))
    for name, (checked, bases) in found.items():
        known[name] = checked
        if not checked.complaints:
            memory.put(spec_path(name), name, bases, list(checked))
    memory.save()
    for name in names:
        sys.stdout.writelines(f"{name}.json: {text}\n" for text in known[name].complaints)
    valid = sum(not one.complaints for one in known.values())
    certified = sum(one.certified for one in known.values())
    conditions = sum(one.conditions for one in known.values())
    sys.stdout.write(
        f"{valid} of {len(names)} stored proofs are valid; "
        f"{certified} of their {conditions} conditions have a certificate, and are exact\n"
    )
    return FINDING if valid < len(names) else 0


def _stored(name: str) -> Path:
    return Path(str(generated().__file__)).parent / f"{spec_path(name).stem}.json"


def _checked(name: str) -> tuple[Checked, tuple[Path, ...]]:
    compilation, path = compiled(name), _stored(name)
    if not path.is_file():
        return Checked("", ["there is no stored proof: run `templc build`"], 0, 0), ()
    text = path.read_text(encoding="utf-8")
    data = json.loads(text)
    found = ["the proof is of another spec: run `templc build`"]
    if data.get("sha256") == compilation.digest:
        found = complaints(compilation.checked(), text)
    certified = len((data["certificate"] or {}).get("conditions", ()))
    conditions = sum(cell["condition"] is not None for cell in data["cells"])
    return Checked(file_digest(_stored(name)), found, certified, conditions), compilation.bases
