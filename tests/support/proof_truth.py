"""What really happens when a conversation goes on, next to what the proof says of it.

    tally = check(stability, agreed("qwen3", {}), CORE, old=3, new=1)
    assert not tally.wrong and not cell_errors(stability, tally)

Conversations are walked as a tree, so that each is rendered once. Only conversations that the format accepts, and
that the oracle can render, count.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from templc.ir.interpret import Interpreter
from templc.ir.ops import Program
from templc.pipeline import load_class
from templc.proof.joint import COMPLETION, END, PROMPT
from templc.proof.stability import Cell, Stability
from templc.proof.witness import Witness
from templc.runtime import fold
from templc.runtime.errors import TemplcError
from templc.runtime.renderer import Renderer
from templc.runtime.tools import read_tools
from templc.verify import PublishedError, shapes
from templc.verify.shapes import Shape, Tools
from tests.support.formats import compilation, program, reference
from tests.support.grown import Node, Raw, Render, Sampled, Tree

SHAPES = (
    Shape("a.name", {"role": "assistant", "content": "a", "name": "n"}),
    Shape("u.response2", {"role": "user", "content": "<tool_response>\n\n</tool_response>"}),
    Shape("a.r.blank", {"role": "assistant", "content": "a", "reasoning_content": " \n"}),
    Shape("a.r.lines", {"role": "assistant", "content": "a", "reasoning_content": "\n\n"}),
    Shape("a.blank", {"role": "assistant", "content": " \n"}),
    *shapes.SHAPES,
)
BLANK = ("u", "a", "a.c", "a.blank", "a.r", "a.r.blank", "a.r.lines")
CORE = ("u", "a", "a.r", "a.rc", "a.name", "t.id", "u.response", "s", "s.empty", "a.r.space")
SMALL = ("u", "a", "a.r", "a.rc", "t.id", "s")
MORE = (*CORE, "a.empty", "a.think", "a.c", "a.c.blank", "a.space", "u.empty")


def raw_messages(*names: str) -> list[Raw]:
    """The messages of the shapes called so."""
    known = {shape.name: shape.message for shape in SHAPES}
    return [known[name] for name in names]


def interpreted(found: Program, options: Mapping[str, Any]) -> Render:
    """Renders by the interpreter; None where it refuses."""
    interpreter = Interpreter(found, False, options)

    def render(conversation: Sequence[Raw], prompt: bool) -> str | None:
        try:
            return interpreter.text(conversation, add_generation_prompt=prompt)
        except TemplcError:
            return None

    return render


def generated(renderer: Renderer, tools: Tools = None) -> Render:
    """Renders by a generated class; None where it refuses."""

    def render(conversation: Sequence[Raw], prompt: bool) -> str | None:
        try:
            return renderer.render_text(conversation, tools=tools, add_generation_prompt=prompt)
        except TemplcError:
            return None

    return render


@functools.cache
def class_of(name: str) -> type[Renderer]:
    """The generated class of a shipped spec, made once."""
    return load_class(compilation(name))


def followed(name: str) -> bool:
    """Whether a published template shows the truth about the format; not where it writes the date of the day."""
    options = program(name).options.values()
    return bool(program(name).reference.file) and all(option.type != "date" for option in options)


LISTED = frozenset({"hermes2_pro"})
"""Formats whose templates ask for a list of tools, if an empty one, and which write the same for none."""

PROMPTED = frozenset({"command_r7b"})
"""Formats whose templates end every conversation with a prompt, and which write one where it is asked for."""


def agreed(name: str, options: Mapping[str, Any]) -> Render:
    """Renders by the published template where the generated class agrees with it, else None.

    That the two agree is tested elsewhere; where the spec declares that they do not, there is no truth to test.
    Formats without a published template are rendered by the generated class.
    """
    ours = generated(class_of(name)(**options))
    if not followed(name):
        return ours
    published = reference(name)
    tools: dict[str, Any] = {"tools": []} if name in LISTED else {}

    def render(conversation: Sequence[Raw], prompt: bool) -> str | None:
        text = ours(conversation, prompt)
        try:
            theirs = published.render(
                conversation, add_generation_prompt=prompt, **tools, **options
            )
        except PublishedError:
            return None
        if text is not None and name in PROMPTED and not prompt:
            theirs = theirs.removesuffix((ours(conversation, True) or "").removeprefix(text))
        return text if text == theirs else None

    return render


def published_alone(name: str, options: Mapping[str, Any]) -> Render:
    """As `agreed`, without asking whether the generated class agrees; each message is prepared once."""
    if not followed(name) or name in PROMPTED:
        return agreed(name, options)
    published = reference(name)
    tools: dict[str, Any] = {"tools": []} if name in LISTED else {}
    known: dict[int, tuple[Raw, dict[str, Any]]] = {}

    def prepared(message: Raw) -> dict[str, Any]:
        # The message is kept too, so that no other one gets its id.
        found = known.get(id(message))
        if found is None:
            if len(known) > 1000:
                known.clear()
            found = known[id(message)] = (message, published.prepared([message])[0])
        return found[1]

    def render(conversation: Sequence[Raw], prompt: bool) -> str | None:
        try:
            return published.render_prepared(
                list(map(prepared, conversation)), add_generation_prompt=prompt, **tools, **options
            )
        except PublishedError:
            return None

    return render


def sampled_by(name: str, options: Mapping[str, Any]) -> Sampled:
    """What the generated class says that the model samples."""
    renderer = class_of(name)(**options)
    return lambda conversation: sampled_text(renderer, conversation)


def sampled_text(
    renderer: Renderer, conversation: Sequence[Raw], tools: Tools = None
) -> str | None:
    """What the model samples when its turn is the last message; None where the format refuses it."""
    try:
        known = read_tools(tools)
        turns, _ = renderer.read(conversation, known)
        pieces = fold.as_sampled(renderer, turns, known)
    except TemplcError:
        return None
    last = len(conversation) - 1
    found = [piece.text for piece in pieces if piece.sampled and piece.message == last]
    return "".join(found)


@dataclass(slots=True)
class Tally:
    """How often each cell was kept and broken in truth, and where the proof was wrong."""

    kept: Counter[tuple[str, str]] = field(default_factory=Counter)
    broken: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        return sum(self.kept.values()) + sum(self.broken.values())

    def add(self, cell: tuple[str, str], truth: bool, single: bool) -> None:
        """Cells speak of one appended message, so only those are counted by cell."""
        cell = cell if single else ("longer", "extension")
        (self.kept if truth else self.broken)[cell] += 1


def check(
    stability: Stability,
    render: Render,
    names: Sequence[str],
    *,
    old: int,
    new: int,
    sampled: Sampled | None = None,
) -> Tally:
    """The proof against renders: every conversation up to `old` messages, every extension up to `new`."""
    tally = Tally()
    tree = Tree(stability, render, raw_messages(*names), sampled)
    for trail in _trails(tree, [tree.root], old + new):
        node = trail[-1]
        for size in range(max(1, len(node.raw) - new), min(old, len(node.raw) - 1) + 1):
            _one(stability, tally, trail[size], node)
            if sampled is not None and node.word[size].role == "assistant":
                _prompted(stability, tally, trail, size)
        if (
            sampled is not None
            and node.word[-1].role == "assistant"
            and 1 < len(node.raw) <= old + 1
        ):
            _sampled(stability, tally, trail, len(node.raw) - 1)
    return tally


def _trails(tree: Tree, trail: list[Node], depth: int) -> Iterator[list[Node]]:
    """Every conversation as the list of its beginnings, the empty one first."""
    for message in tree.raw:
        node = tree.next(trail[-1], message)
        if node is not None and node.text() is not None:
            longer = [*trail, node]
            yield longer
            if len(node.raw) < depth:
                yield from _trails(tree, longer, depth)


def _one(stability: Stability, tally: Tally, before: Node, after: Node) -> None:
    """Re-render: the old text in the new one."""
    size = len(before.raw)
    truth = _begins(after, before.text())
    said = stability.kept(after.word, size)
    cell = (before.word[-1].role, after.word[size].role)
    single = len(after.raw) == size + 1
    tally.add(cell, truth, single)
    if said != truth:
        tally.wrong.append(_told(before, after, said, "decide"))
    if single:
        found = stability.at(*cell)
        if _says_otherwise(stability, found, after, size, truth):
            tally.wrong.append(_told(before, after, not truth, f"the condition of {cell}"))


def _begins(node: Node, text: str | None) -> bool:
    whole = node.text()
    assert whole is not None and text is not None, "both were rendered"
    return whole.startswith(text)


def _prompted(stability: Stability, tally: Tally, trail: list[Node], size: int) -> None:
    """Prompt, and prompt with what was sampled, in the text with the answer and more."""
    before, after = trail[size], trail[-1]
    if len(after.raw) > size + 1:
        _sampled(stability, tally, trail, size)
        return
    prompt = before.text(prompt=True)
    if prompt is None:
        return
    truth = _begins(after, prompt)
    tally.add((PROMPT, "assistant"), truth, True)
    cell = stability.at(PROMPT, "assistant")
    if stability.kept(after.word, size, prompt=True) != truth:
        tally.wrong.append(_told(before, after, not truth, "decide with prompt"))
    if _says_otherwise(stability, cell, after, size, truth):
        tally.wrong.append(_told(before, after, not truth, "the condition of prompt"))


def _sampled(stability: Stability, tally: Tally, trail: list[Node], size: int) -> None:
    """Prompt with what was sampled, in the finished text; the answer stands behind `size` messages."""
    before, answered, after = trail[size], trail[size + 1], trail[-1]
    prompt = before.text(prompt=True)
    # A model samples no name.
    named = any(after.word[size].bits[test] for test in stability.machine.opener_tests)
    if prompt is None or named or (text := answered.sampled()) is None:
        return
    place = (COMPLETION, after.word[size + 1].role if after is not answered else END)
    single = len(after.raw) <= size + 2
    truth = _begins(after, prompt + text)
    tally.add(place, truth, single)
    if stability.kept(after.word, size, prompt=True, answered=True) != truth:
        tally.wrong.append(_told(before, after, not truth, "continues"))
    if single and _says_otherwise(stability, stability.at(*place), after, size, truth):
        tally.wrong.append(_told(before, after, not truth, f"the condition of {place}"))


def _says_otherwise(stability: Stability, cell: Cell, after: Node, size: int, truth: bool) -> bool:
    """Whether a cell claims something else; one that is not proved claims nothing."""
    claims = cell.verdict != "not proved"
    return claims and stability.met_by(cell, after.word, size) != truth


def _told(before: Node, after: Node, said: bool, what: str) -> str:
    added = after.raw[len(before.raw) :]
    return f"{what} says {'kept' if said else 'changed'}: {list(before.raw)} + {list(added)}"


def replays(name: str, options: Mapping[str, Any], witness: Witness) -> list[str]:
    """By whom a witness does not replay: interpreter, generated class, published template (where that renders it)."""
    lasting = dict(options)
    word = [*witness.conversation, *witness.extension]
    renders = {
        "interpreter": interpreted(program(name), lasting),
        "class": generated(class_of(name)(**lasting)),
    }
    size = len(witness.conversation)
    both = ((word[:size], witness.prompt), (word, witness.then_prompt))
    if followed(name) and all(agreed(name, lasting)(*one) is not None for one in both):
        renders["published"] = agreed(name, lasting)
    given = sampled_by(name, lasting)(word[: size + 1]) if witness.sampled else ""
    failed = []
    for who, render in renders.items():
        old, new = render(word[:size], witness.prompt), render(word, witness.then_prompt)
        if old is None or new is None or new.startswith(old + (given or "")):
            failed.append(who)
    return failed


def cell_errors(stability: Stability, tally: Tally, *, witnesses: bool = False) -> list[str]:
    """Stable cells that broke, never-stable ones that did not; and with `witnesses`, refused ones that never broke."""
    found = []
    for cell in stability.cells:
        place = (cell.place.after, cell.place.then)
        broken, kept = tally.broken[place], tally.kept[place]
        if cell.verdict == "stable" and broken:
            found.append(f"{place} is stable and broke {broken} times")
        if cell.verdict != "stable" and witnesses and not broken:
            found.append(f"{place} is {cell.verdict} and never broke in {kept} tries")
        if cell.verdict == "never" and kept:
            found.append(f"{place} never holds and held {kept} times")
    return found
