"""The resolved model of one spec: frozen, every name bound, every part with its place in the file.

`resolve` makes it from located nodes; `ir.lower` turns it into a program. No string here names another part:
fragments stand where they were used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal as OneOf

from templc.model.expr import Cond, Value
from templc.source.span import Span

COMPARISONS = {"==": "is", "<=": "is at most", ">=": "is at least"}
"""How numbers are compared, and how a spec says it."""


@dataclass(frozen=True, slots=True)
class Literal:
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Hole:
    value: Value
    default: str | None
    span: Span


@dataclass(frozen=True, slots=True)
class Written:
    """A pattern: literal text and holes."""

    parts: tuple[Literal | Hole, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Choice:
    """`when` / `then` / `else`."""

    cond: Cond
    then: Block
    otherwise: Block
    span: Span


@dataclass(frozen=True, slots=True)
class Loop:
    """`each VARIABLE in LIST`: open before the first item, between before each later one, close after the last.

    `ordered`: arguments by name instead of as given. `of`: whose arguments, or which option's records.
    """

    variable: str
    over: OneOf["calls", "arguments", "tools", "systems", "records"]
    of: str
    open: Block
    do: Block
    between: Block
    close: Block
    span: Span
    ordered: bool = False


Step = Written | Choice | Loop
Block = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """A role whose messages are written one by one, wherever they stand."""

    block: Block
    span: Span


@dataclass(frozen=True, slots=True)
class Run:
    """A role whose neighbouring messages share one opening and one closing."""

    open: Block
    do: Block
    between: Block
    close: Block
    span: Span


@dataclass(frozen=True, slots=True)
class Leading:
    """A system role written by the head; `later` says what a further one does."""

    later: Block | OneOf["refuse", "hoist", "replace"]
    span: Span


@dataclass(frozen=True, slots=True)
class Assistant:
    """opener prefill? body closer trailer; the model samples body and closer, less what the prompt already holds.

    accept: other bodies, which are read and never written.
    """

    opener: Block
    prefill: Block
    body: Block
    closer: Block
    trailer: Block
    span: Span
    accept: tuple[Block, ...] = ()


Role = Turn | Run | Leading | Assistant


@dataclass(frozen=True, slots=True)
class Option:
    """A typed option; `default` None is unset. A token option is bound to the tokenizer's own token named `bind`.

    `otherwise`: what a choice is with a value that it does not list, under `as_template` only; empty refuses.
    `least`: no number may be smaller. A list holds some of `values`, none by default, and a record is a mapping with
    some of them as keys; records are mappings of which `fields` are written by name, all where there are none, and
    `optional` may be missing; `further`: other fields may be given too; with `texts` each may also be a text.
    """

    name: str
    type: OneOf["bool", "text", "choice", "token", "date", "int", "list", "record", "records"]
    default: bool | str | int | tuple[str, ...] | None
    values: tuple[str, ...]
    bind: OneOf["bos", "eos", ""]
    otherwise: str
    doc: str
    span: Span
    least: int | None = None
    fields: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    further: bool = False
    texts: bool = False


@dataclass(frozen=True, slots=True)
class InlineReasoning:
    """Reasoning written inside content: how it is marked, and the filter for what follows it.

    in_template: whether the published template reads it so too. over_field: whether it does even where the message
    has reasoning of its own.
    """

    open: str
    close: str
    content: str
    reasoning: str
    in_template: bool = True
    over_field: bool = False


@dataclass(frozen=True, slots=True)
class MessageRules:
    """What is done to messages before anything is read.

    `labels` stand in front of parts, by type, while the option of that type in `labelled` is true. `parts_in` and
    what follows: see the schema.
    """

    content: str = ""
    inline_reasoning: InlineReasoning | None = None
    lists: OneOf["join", "note", "drop", "repr", "json", "refuse"] = "refuse"
    lists_by_role: tuple[tuple[str, str], ...] = ()
    parts: tuple[tuple[str, str], ...] = ()
    between: str = ""
    between_texts: str = ""
    call_id: str = ""
    calls: OneOf["all", "first"] = "all"
    roles: tuple[tuple[str, str], ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    labelled: tuple[tuple[str, str], ...] = ()
    part_text: str = ""
    parts_in: tuple[str, ...] = ()
    parts_alone: tuple[str, ...] = ()
    parts_first: tuple[str, ...] = ()
    told_apart: tuple[str, ...] = ()
    first_roles: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Requirement:
    """A message of `role` must satisfy `that`; `soft`: only a refusal by default, not under `as_template`."""

    role: str
    that: Cond
    say: str
    soft: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Reference:
    """The published template that the spec follows."""

    repository: str = ""
    revision: str = ""
    file: str = ""
    sha256: str = ""
    transformers: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Deviation:
    """A deliberate difference from the reference."""

    what: str
    why: str
    shows: str
    span: Span


@dataclass(frozen=True, slots=True)
class Fault:
    """A claim about weights that does not hold of the reference: `code` is that of the problem."""

    code: str
    why: str
    span: Span


@dataclass(frozen=True, slots=True)
class Demand:
    """`extend.must_allow`: this boundary must be stable."""

    after: str
    then: str
    span: Span


@dataclass(frozen=True, slots=True)
class Spec:
    """One chat format."""

    format: str
    title: str
    aliases: tuple[str, ...]
    models: tuple[str, ...]
    reference: Reference
    specials: tuple[str, ...]
    markers: tuple[str, ...]
    stop: tuple[str, ...]
    stop_strings: tuple[str, ...]
    options: Mapping[str, Option]
    messages: MessageRules
    predicates: Mapping[str, Cond]
    requirements: tuple[Requirement, ...]
    head: Block
    roles: Mapping[str, Role]
    prompt: Block | None
    finish: Block
    demands: tuple[Demand, ...]
    deviations: tuple[Deviation, ...]
    faults: tuple[Fault, ...]
    span: Span
    kept: Cond | None = None
    sample: str = field(default="")
