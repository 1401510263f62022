"""Random conversations as the published template has them: `unsupported="as_template"` against the template itself.

    python -m tests.template_fuzz [--format qwen3 ...] [--examples 20000] [--seed 0] [--forms text,lists,media,odd]

Roles come in any order, first and last ones too, contents are empty, white space, missing, None, lists of parts or
pictures, with and without tools, prompt and every set of options. Each difference is shrunk, and each kind is shown
once: one that is declared in tests/support/declared.py is not.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from templc.verify import TOOLS, Case, compare
from templc.verify.report import Outcome, Report
from tests.exhaustive import apart
from tests.support import declared
from tests.support.formats import REFERENCED, option_sets, reference, renderer

LONGEST = 5
# A difference with the same words is shrunk so many times, since shrinking costs more than finding.
SEEN = 50
TEXTS = ("a", "b", "", " ", "\n\n", " a\n", "<think>\nr\n</think>\n\na")
ROLES = ("user", "assistant", "system", "tool")
ODD_ROLES = ("developer", "narrator")
CALLS = (
    {"id": "call00001", "type": "function", "function": {"name": "f", "arguments": {"k": "v"}}},
    {"id": "call00002", "type": "function", "function": {"name": "g", "arguments": {}}},
)
WIRED = {
    "id": "call00003",
    "type": "function",
    "function": {"name": "f", "arguments": '{"k": "v"}'},
}
PICTURES = (
    {"type": "image"},
    {"type": "image_url", "image_url": {"url": "x"}},
    {"type": "image", "image": "x"},
    {"type": "video"},
    {"type": "audio"},
)
PLAIN = ("a", "", [{"type": "text", "text": "a"}], [PICTURES[0]])
"""Contents that others are replaced by, simplest first."""
FORMS = ("text", "lists", "media", "odd", "calls")
BARE = {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}}
ODD_TOOLS: tuple[list[dict[str, Any]], ...] = (
    [BARE],
    [{"type": "function", "function": {"name": "f", "parameters": BARE["parameters"]}}],
    [{"type": "function", "function": {"name": "f", "description": "d"}}],
    [{"type": "function", "function": {"name": "f"}}],
    [{"type": "function", "function": {**BARE, "strict": True}}],
)
ARGUMENTS: tuple[Any, ...] = (
    {},
    {"k": None},
    "",
    "null",
    "{}",
    '{"k": "v"}',
    "{broken",
    "[1]",
    None,
    [1],
)
Message = Mapping[str, Any]


class Dice:
    """Draws messages of the forms that are allowed."""

    def __init__(self, seed: str, forms: Sequence[str]) -> None:
        self.random = random.Random(seed)
        self.forms = forms

    def content(self) -> dict[str, Any]:
        """The content of a message, as the keys that it adds."""
        some = self.random
        match some.choice(self.forms):
            case "odd":
                return some.choice([{}, {"content": None}])
            case "lists":
                texts = (some.choice(TEXTS) for _ in range(some.choice((0, 1, 1, 2))))
                return {"content": [{"type": "text", "text": text} for text in texts]}
            case "media":
                parts = [some.choice(PICTURES)]
                parts += [{"type": "text", "text": some.choice(TEXTS)}] * some.choice((0, 1))
                some.shuffle(parts)
                return {"content": parts}
        return {"content": some.choice(TEXTS) if some.random() < 0.5 else "a"}

    def message(self) -> Message:
        """A message of any role."""
        some = self.random
        strange = "odd" in self.forms and some.random() < 0.05
        role = some.choice(ODD_ROLES if strange else ROLES)
        message: dict[str, Any] = {"role": role, **self.content()}
        if role == "assistant":
            if some.random() < 0.3:
                message["reasoning_content"] = some.choice(("r", "r", "", " \n"))
            if some.random() < 0.5:
                message["tool_calls"] = self.calls()
        if role == "tool":
            message |= some.choice(
                (
                    {},
                    {"tool_call_id": "call00001"},
                    {"tool_call_id": "call00002", "name": "g"},
                    {"name": "f"},
                )
            )
        return message

    def calls(self) -> list[Any] | None:
        """The calls of an answer; none in every spelling."""
        some = self.random
        one, two = CALLS
        if "odd" in self.forms and some.random() < 0.3:
            return some.choice((None, [], [WIRED]))
        if "calls" in self.forms and some.random() < 0.5:
            function = {"name": "f", "arguments": some.choice(ARGUMENTS)}
            bare = {"function": function}
            wrapped = some.choice(
                (bare, {"id": "call00001", **bare}, {"type": "function", **bare}, function)
            )
            return [wrapped, *([two] if some.random() < 0.2 else [])]
        return some.choice(([one], [one], [one, two]))

    def cases(self, options: Mapping[str, Any]) -> Iterator[Case]:
        """Conversations without end."""
        some = self.random
        while True:
            size = some.randint(1, LONGEST)
            messages = tuple(self.message() for _ in range(size))
            odd = "calls" in self.forms and some.random() < 0.5
            tools = some.choice(ODD_TOOLS if odd else TOOLS)
            yield Case(messages, tools, some.random() < 0.5, options)


class Search:
    """One format with one set of options."""

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        self.name = name
        self.options = options
        self.ours = renderer(name, unsupported="as_template", **options)
        self.template = reference(name)

    def report(self, case: Case) -> Report:
        """What one case shows."""
        return compare(self.ours, self.template, [case], with_options=lambda **_: self.ours)

    def kind(self, case: Case) -> tuple[str, str] | None:
        """The outcome and the reason of a difference that is not declared."""
        report = self.report(case)
        if not report.mismatches or apart(self.name, case):
            return None
        ((outcome, _),) = report.counts.items()
        for (_, reason), _ in report.reasons.items():
            if outcome is Outcome.WE_REFUSE and declared.refusal(self.name, reason):
                return None
            if outcome is Outcome.TEMPLATE_RAISES and declared.superset(self.name, reason):
                return None
            return outcome, reason
        return outcome, ""

    def smallest(self, case: Case, kind: tuple[str, str]) -> Case:
        """The case without everything that the difference does not need."""
        shrunk = True
        while shrunk:
            shrunk = False
            for smaller in simpler(case):
                if self.kind(smaller) == kind:
                    case, shrunk = smaller, True
                    break
        return case


def simpler(case: Case) -> Iterator[Case]:
    """The case with one thing less."""
    messages: list[Message] = list(case.messages)
    for place, message in enumerate(messages):
        if len(messages) > 1:
            yield replace(case, messages=(*messages[:place], *messages[place + 1 :]))
        for key in ("reasoning_content", "tool_calls", "tool_call_id", "name"):
            if key in message:
                less = {name: value for name, value in message.items() if name != key}
                yield replace(case, messages=(*messages[:place], less, *messages[place + 1 :]))
        if len(message.get("tool_calls") or ()) > 1:
            less = {**message, "tool_calls": message["tool_calls"][:1]}
            yield replace(case, messages=(*messages[:place], less, *messages[place + 1 :]))
        for plain in PLAIN:
            if message.get("content", 0) == plain:
                break
            less = {**message, "content": plain}
            yield replace(case, messages=(*messages[:place], less, *messages[place + 1 :]))
    if case.tools is not None:
        yield replace(case, tools=None)
    if case.add_generation_prompt:
        yield replace(case, add_generation_prompt=False)


def differences(
    name: str, examples: int, seed: str, forms: Sequence[str]
) -> Iterator[tuple[int, str]]:
    """The kinds of undeclared differences of a format: how often each was met, and its smallest example."""
    sets = option_sets(name)
    met: dict[tuple[Any, ...], int] = {}
    shown: dict[tuple[Any, ...], str] = {}
    for number, options in enumerate(sets):
        search = Search(name, options)
        cases = Dice(f"{name}{number}{seed}", forms).cases(options)
        for _ in range(max(1, examples // len(sets))):
            case = next(cases)
            kind = search.kind(case)
            if kind is None:
                continue
            if met.get(kind, 0) > SEEN:
                continue
            small = search.smallest(case, kind)
            key = (*kind, *(signature(message) for message in small.messages))
            met[key] = met.get(key, 0) + 1
            met[kind] = met.get(kind, 0) + 1
            if key not in shown:
                shown[key] = f"{dict(options) or ''} {search.report(small).as_text()}"
    for key, text in shown.items():
        yield met[key], text


def signature(message: Message) -> tuple[Any, ...]:
    """What tells messages of one kind from others."""
    content = message.get("content")
    if isinstance(content, str):
        content = content and content.isspace()
    elif content is not None:
        content = tuple(part["type"] for part in content)
    return (message["role"], content, *sorted(set(message) - {"role", "content"}))


def main() -> int:
    """Search and print one line a format and one example a kind of difference; 1 where something differs."""
    parser = argparse.ArgumentParser(description="compare random conversations with the templates")
    parser.add_argument("--format", nargs="*", choices=REFERENCED, help="only these")
    parser.add_argument("--examples", type=int, default=2000, help="conversations of each format")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--forms", default="text,odd", help=f"of contents: {', '.join(FORMS)}")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    different = 0
    for name in given.format or REFERENCED:
        begin = time.perf_counter()
        found = list(differences(name, given.examples, given.seed, given.forms.split(",")))
        took = time.perf_counter() - begin
        print(f"== {name}: {len(found)} kinds of differences in {took:.0f} s", flush=True)
        for number, text in sorted(found, reverse=True):
            different = 1
            print(f"-- {number} times: {text}", flush=True)
    return different


if __name__ == "__main__":
    sys.exit(main())
