"""How building and proving grow with the conditions of a spec: `python -m tests.benchmarks.proof_growth [MOST]`.

Each kind of spec is made with 1, 2, 4, ... MOST conditions (8 by default):

options    each in the head, on an option of its own: a proof fills them in
later      each in the assistant's turn, on another fact about later messages: states of the search
contents   each in the assistant's turn, on another start of the content: classes of messages
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from itertools import pairwise

import yaml
from rich.console import Console
from rich.table import Table

from templc.pipeline import compile_source, weighed
from templc.proof.stability import prove
from templc.source.span import Source

Spec = dict[str, object]
MOST = 8


def spec(**changed: object) -> Spec:
    """A small format, with some keys changed."""
    assistant = {"opener": "<a>", "body": ["${content}"], "closer": "<end>"}
    plain: Spec = {
        "format": "grown",
        "title": "Grown",
        "specials": ["<a>", "<u>", "<end>"],
        "stop": ["<end>"],
        "reference": {"note": "made by a benchmark"},
        "head": "",
        "roles": {"user": "<u>${content}<end>", "assistant": assistant},
    }
    return {**plain, **changed}


def on_options(count: int) -> Spec:
    """Conditions of the head, on options."""
    options = {f"o{n}": {"type": "bool", "default": False, "doc": "one"} for n in range(count)}
    head = [{"when": f"o{n}", "then": f"<o{n}>"} for n in range(count)]
    return spec(options=options, head=head)


def _in_turn(conditions: list[str], **changed: object) -> Spec:
    body: list[object] = ["${content}"]
    body += [{"when": condition, "then": f"({n})"} for n, condition in enumerate(conditions)]
    assistant = {"opener": "<a>", "body": body, "closer": "<end>"}
    return spec(roles={"user": "<u>${content}<end>", "assistant": assistant}, **changed)


def on_later(count: int) -> Spec:
    """Conditions of the assistant's turn, on later user messages that begin otherwise."""
    predicates = {f"p{n}": f'user and content starts with "{chr(97 + n)}"' for n in range(count)}
    return _in_turn([f"later(p{n})" for n in range(count)], predicates=predicates)


def on_contents(count: int) -> Spec:
    """Conditions of the assistant's turn, on its own content."""
    return _in_turn([f'content starts with "{chr(97 + n)}"' for n in range(count)])


KINDS: dict[str, Callable[[int], Spec]] = {
    "options": on_options,
    "later": on_later,
    "contents": on_contents,
}


def timed(text: str) -> tuple[float, float, float, str]:
    """Seconds to compile, to check the weights and to prove, and what the proof came to."""
    marks = [time.process_time()]
    found = compile_source(Source("grown.yaml", text))
    program = found.checked()
    marks.append(time.process_time())
    weighed(found)
    marks.append(time.process_time())
    table = prove(program)
    marks.append(time.process_time())
    unknown = sum(cell.verdict == "not proved" for cell in table.cells)
    result = f"{unknown} of {len(table.cells)} not proved" if unknown else "proved"
    first, second, third = (after - before for before, after in pairwise(marks))
    return first, second, third, result


def main() -> None:
    """Print the table."""
    most = int(sys.argv[1]) if len(sys.argv) > 1 else MOST
    shown = Table("conditions", "on", "compile (s)", "weights (s)", "prove (s)", "result")
    for kind, make in KINDS.items():
        count = 1
        while count <= most:
            *times, result = timed(yaml.safe_dump(make(count), sort_keys=False))
            shown.add_row(str(count), kind, *(f"{one:.2f}" for one in times), result)
            count *= 2
    Console(width=100).print(shown)


if __name__ == "__main__":
    main()
