"""Witnesses: the shortest conversation and extension that show a change, and how they look.

    witness = found(machine, place, cases)     the first case that replays; None where none does
    print(witness.layout())

A witness replays when the interpreter really writes other text: the old text is no prefix of the new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from templc.ir.interpret import Interpreter
from templc.ir.ops import Program
from templc.proof.classes import KEPT
from templc.proof.emission import text_of
from templc.proof.joint import Place
from templc.proof.machine import Machine
from templc.proof.outcomes import Case
from templc.proof.representatives import Raw
from templc.proof.values import Settings
from templc.runtime.errors import TemplcError
from templc.runtime.messages import Message
from templc.runtime.pieces import Piece

TRIES = 60
WIDTH = 24
TOOLS = (
    {
        "type": "function",
        "function": {
            "name": "f",
            "description": "d",
            "parameters": {"type": "object", "properties": {}},
        },
    },
)


@dataclass(frozen=True, slots=True)
class Witness:
    """A conversation, what is added to it, and both texts as pieces.

    `sampled`: the first added message is what the model sampled behind the prompt. `prompt`, `then_prompt`: whether
    the old and the new text end with a generation prompt.
    """

    place: Place
    conversation: tuple[Raw, ...]
    extension: tuple[Raw, ...]
    prompt: bool
    then_prompt: bool
    sampled: bool
    tools: tuple[Any, ...] | None
    options: tuple[tuple[str, object], ...]
    before: tuple[str, ...] = field(compare=False)
    after: tuple[str, ...] = field(compare=False)

    @property
    def kept(self) -> int:
        """How many characters of the old text surely stay: up to the last piece boundary before the change."""
        old, new = "".join(self.before), "".join(self.after)
        size = min(len(old), len(new))
        first = next((at for at in range(size) if old[at] != new[at]), size)
        shared = _boundaries(self.before) & _boundaries(self.after)
        return max(at for at in shared if at <= first)

    def headline(self) -> str:
        """`[user, assistant], then [user]`."""
        added = list(self.extension)
        prompt = " + prompt" if self.prompt else ""
        sampled = f" + [{label(added.pop(0))}] as sampled" if self.sampled else ""
        then = f"then [{', '.join(map(label, added))}]" if added else "then nothing"
        return f"[{', '.join(map(label, self.conversation))}]{prompt}{sampled}, {then}"

    def layout(self) -> str:
        """The two texts one below the other, with a dot where they part."""
        size, total = self.kept, sum(map(len, self.before))
        return (
            f"shortest example: {self.headline()}; both renders agree up to the •\n"
            f"\n"
            f"  before   {_shown(self.before, size)}\n"
            f"  after    {_shown(self.after, size)}\n"
            f"\n"
            f"{total - size} of the {total} characters already emitted would change"
        )

    def to_json(self) -> dict[str, object]:
        """Plain data: the messages, the settings and the two texts."""
        return {
            "conversation": list(self.conversation),
            "extension": list(self.extension),
            "prompt": self.prompt,
            "then_prompt": self.then_prompt,
            "sampled": self.sampled,
            "tools": list(self.tools) if self.tools is not None else None,
            "options": dict(self.options),
            "before": "".join(self.before),
            "after": "".join(self.after),
            "kept": self.kept,
        }


def label(raw: Raw) -> str:
    """The role of a message and what stands out about it: `assistant+reasoning`."""
    content = raw.get("content")
    marks = {
        "reasoning": bool(raw.get("reasoning_content")),
        "calls": bool(raw.get("tool_calls")),
        "name": bool(raw.get("name")),
        "empty": not content,
        "spaced": isinstance(content, str) and content != content.strip(),
        "long": isinstance(content, str) and len(content.strip()) > 2,
    }
    return "+".join([str(raw["role"]), *(mark for mark, there in marks.items() if there)])


def found(machine: Machine, place: Place, cases: Iterable[Case]) -> Witness | None:
    """The first of the changing cases that replays; those with the shortest conversation are given first."""
    for case in islice(cases, TRIES):
        for rank in range(KEPT):
            witness = replayed(machine, place, case, rank)
            if witness is not None:
                return witness
    return None


def replayed(machine: Machine, place: Place, case: Case, rank: int) -> Witness | None:
    """A case made of concrete messages, the `rank`-th example of each; None where the old text is kept."""
    word = [letter.sample for letter in (*case.node.word, case.last, *case.added)]
    if not all(one.examples for one in word):
        return None
    chosen = [one.examples[min(rank, len(one.examples) - 1)] for one in word]
    raw = tuple(given for given, _ in chosen)
    size = len(case.node.word) + 1
    then_prompt = case.end != machine.ends[0]
    sampled = (
        text_of(_sampled(machine, case), {"m": chosen[size][1]}, machine.settings)
        if case.answer
        else ""
    )
    try:
        old = pieces(machine.program, machine.settings, raw[:size], place.prompted)
        new = pieces(machine.program, machine.settings, raw, then_prompt)
    except TemplcError:
        return None
    before = (*(piece.text for piece in old), *((sampled,) if sampled else ()))
    after = tuple(piece.text for piece in new)
    if "".join(after).startswith("".join(before)):
        return None
    return Witness(
        place,
        raw[:size],
        raw[size:],
        place.prompted,
        then_prompt,
        case.answer is not None,
        TOOLS if machine.settings.tools else None,
        tuple((name, value) for name, value in given_options(machine.settings).items()),
        before,
        after,
    )


def _sampled(machine: Machine, case: Case) -> Any:
    behind = machine.after(case.node.past, case.last.sample)
    return machine.sampled(case.way.addition.classes[0], behind)


def given_options(settings: Settings) -> dict[str, object]:
    """The options as a caller would set them: those that are unset are left out."""
    return {
        name: value
        for name, value in settings.options.items()
        if value is not None and name != "as_template"
    }


def pieces(
    program: Program, settings: Settings, messages: Sequence[Raw | Message], prompt: bool
) -> list[Piece]:
    """What the interpreter writes."""
    interpreter = Interpreter(program, False, given_options(settings))
    tools = TOOLS if settings.tools else None
    return interpreter.pieces(messages, tools=tools, add_generation_prompt=prompt)


def _boundaries(parts: Sequence[str]) -> set[int]:
    at, found = 0, {0}
    for part in parts:
        at += len(part)
        found.add(at)
    return found


def _shown(parts: Sequence[str], kept: int) -> str:
    at, words = 0, list[str]()
    for part in parts:
        words += ["•"] if at == kept else []
        words.append(_short(part.replace("\n", "⏎")))
        at += len(part)
    return " ".join([*words, *(["•"] if at == kept else [])])


def _short(text: str) -> str:
    return text if len(text) <= 3 * WIDTH else f"{text[:WIDTH]}…{text[-WIDTH:]}"
