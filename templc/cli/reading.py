"""How a completion is read, for a terminal: what each token is, the message, what is wrong with it.

for part in lines(renderer.parse(text), text, marks): console.print(part)
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from rich.text import Text

from templc.cli.paper import ROLE_STYLES, safe
from templc.runtime.parsed import Parsed

KIND_STYLES = {
    "reasoning": ROLE_STYLES["tool"],
    "content": ROLE_STYLES["assistant"],
    "tool_call": ROLE_STYLES["user"],
    "stop": "bold red",
    "scaffold": ROLE_STYLES[""],
}
_ODD = "bold white on red"


def lines(parsed: Parsed, text: str, marks: bool) -> Iterator[Text]:
    """The completion by what its parts are, a legend, the message, and every error and note.

    text: the completion, whose characters the spans count. marks: kinds are written, for a pipe.
    """
    yield _spans(parsed, text, marks)
    yield Text()
    if not marks:
        yield _legend(parsed)
    yield Text.assemble(
        ("status ", "bold"), (parsed.status, "green" if parsed.status == "ok" else "yellow")
    )
    yield Text.assemble(("message ", "bold"), json.dumps(parsed.message, ensure_ascii=False))
    for label, style, issues in (("error", "red", parsed.errors), ("note", "cyan", parsed.notes)):
        for issue in issues:
            yield Text.assemble(
                (f"{label} ", style),
                f"{issue.code}: {issue.message} ({issue.start} to {issue.end})",
            )


def _spans(parsed: Parsed, whole: str, marks: bool) -> Text:
    found = Text()
    for number, span in enumerate(parsed.spans):
        style = KIND_STYLES.get(span.kind, _ODD)
        text = safe(whole[span.start : span.end])
        if marks:
            found.append(f"{text!r} {span.kind}" + ("\n" if number + 1 < len(parsed.spans) else ""))
        else:
            found.append(text, style)
    return found


def _legend(parsed: Parsed) -> Text:
    found = Text("parts: ")
    for kind in dict.fromkeys(span.kind for span in parsed.spans):
        found.append(kind, KIND_STYLES.get(kind, _ODD)).append("  ")
    return found
