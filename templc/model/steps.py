"""Steps: located nodes to blocks. Text patterns, `when`, `each` and `use`, wherever a spec writes something.

`{when: tools, then: "..."}` becomes a `Choice`; `{use: calls}` becomes the steps of `fragments.calls`, resolved
again for the place where it is used, so that a fragment may read what that place may read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from templc.model.conditions import condition, free_name
from templc.model.expr import Cond, FilterUse, leaves
from templc.model.names import TYPES, Type, listed
from templc.model.scope import OPTION, Scope, words_span
from templc.model.spec import Block, Choice, Hole, Literal, Loop, Step, Written
from templc.problems.problem import Problems
from templc.problems.render import suggest
from templc.source.nodes import MappingNode, Node, ScalarNode, SequenceNode
from templc.source.span import Span
from templc.syntax import tree
from templc.syntax.pattern import parse_condition, parse_pattern

MAX_EXPANSION = 4_000
MAX_TEXT = 1_000_000
# Python takes about twenty nested loops and a hundred levels of indentation.
MAX_NESTING = 24
MAX_LOOPS = 4
MAX_CHAIN = 30
_EACH = re.compile(r"\s*(?P<name>\S+)\s+in\s+(?P<list>\S+)\s*")
_SORTED = re.compile(r"sorted\((\S+)\)")
_VARIABLE = re.compile(r"[a-z][a-z0-9_]{0,39}")


@dataclass(slots=True)
class StepReader:
    """Reads steps; `stack` is the chain of fragments being expanded, the numbers bound the expansion."""

    problems: Problems
    fragments: Mapping[str, Node]
    used: set[str]
    stack: tuple[str, ...] = ()
    written: int = 0
    text: int = 0
    depth: int = 0
    parsed: dict[ScalarNode, tree.Pattern | None] = field(default_factory=dict)

    def block(self, node: Node | None, scope: Scope) -> Block:
        """The steps that a node stands for; none for a missing or null node."""
        match node:
            case None | ScalarNode(kind="null"):
                return ()
            case SequenceNode(items=items):
                return tuple(step for item in items for step in self.block(item, scope))
            case _ if not self._counts(node, 1):
                return ()
            case ScalarNode():
                return self._pattern(node, scope)
            case MappingNode() if node.get("use") is not None:
                return self._use(_scalar(node, "use"), scope)
            case MappingNode():
                with self._deeper(node) as fits:
                    return self._mapping(node, scope) if fits else ()

    @contextmanager
    def _deeper(self, node: Node) -> Iterator[bool]:
        """One level of `when` and `each` more; False, and a problem, where there are too many."""
        self.depth += 1
        fits = self.depth <= MAX_NESTING
        if not fits:
            self.problems.error(
                "too-deep",
                f"steps are nested over {MAX_NESTING} levels deep",
                node.span.first_line,
                label="fragments counted in" if self.stack else "here",
                helps=("simplify the spec",),
            )
        yield fits
        self.depth -= 1

    def _counts(self, node: Node, steps: int, text: int = 0) -> bool:
        """Whether so much may still be written; reports it once when not."""
        fitted = self.written <= MAX_EXPANSION and self.text <= MAX_TEXT
        self.written += steps
        self.text += text
        fits = self.written <= MAX_EXPANSION and self.text <= MAX_TEXT
        if fitted and not fits:
            what = (
                f"{MAX_EXPANSION:,} steps" if self.text <= MAX_TEXT else f"{MAX_TEXT:,} characters"
            )
            self.problems.error(
                "too-large",
                f"the spec expands to over {what}",
                node.span.first_line,
                label=f"by way of {' -> '.join(self.stack)}" if self.stack else "here",
                helps=("a fragment counts each time it is used: use fewer",),
            )
        return fits

    def _mapping(self, node: MappingNode, scope: Scope) -> Block:
        each = node.get("each") is not None
        return self._each(node, scope) if each else self._when(node, scope)

    def _pattern(self, node: ScalarNode, scope: Scope) -> Block:
        if not self._counts(node, 0, len(node.value)):
            return ()
        if node not in self.parsed:
            self.parsed[node] = parse_pattern(node, self.problems)
        pattern = self.parsed[node]
        if pattern is None:
            return ()
        parts = tuple(part for item in pattern.parts for part in self._part(item, scope))
        return (Written(parts, node.span),) if parts else ()

    def _part(self, part: tree.Literal | tree.Hole, scope: Scope) -> tuple[Literal | Hole, ...]:
        if isinstance(part, tree.Literal):
            return (Literal(part.text, part.span),)
        if part.value.words[0].text == "text":
            return self._text(part, scope)
        found = scope.value(part.value)
        if found is None:
            return ()
        value, kind = found
        cure = self._unwritable(part, kind)
        if cure is None and kind == "int":
            value = replace(value, filters=(FilterUse("decimal"),))
        if cure is None:
            return (Hole(value, part.default, part.span),)
        self.problems.error(
            "not-text",
            f"`{part.value.dotted}` cannot be written as it is",
            words_span(part.value),
            label=TYPES[kind],
            helps=(cure,),
        )
        return ()

    def _unwritable(self, part: tree.Hole, kind: Type) -> str | None:
        """What to do instead of writing a value; None for text."""
        name = part.value.dotted
        cures: dict[Type, str] = {
            "flag": f"decide with it: `when: {name}`",
            "calls": "walk them: `each: call in calls`",
            "values": f'ask what is in it: `when: {name} contains "X"`',
            "records": f"walk them: `each: record in {name}`",
            "mapping": f"say how: `${{{name}|json}}`",
            "key": f"say how: `${{{name}|json}}`, `${{{name}|python}}`",
            "record": f"say how: `${{{name}|json}}`",
            "present": f"name a field: `${{{name}.content}}`",
            "list": f"say how: `${{{name}|json}}`",
            "any": f"say how: `${{{name}|json}}`",
            "tool": f"say how: `${{{name}|json}}`",
            "date": f'say in which form: `${{{name}|date:"%Y-%m-%d"}}`',
        }
        if part.default is None:
            cures["maybe"] = f'give it a default, or say what stands in: `${{{name} or "X"}}`'
        return cures.get(kind)

    def _text(self, part: tree.Hole, scope: Scope) -> tuple[Literal, ...]:
        value = part.value
        name = ".".join(word.text for word in value.words[1:])
        if name in scope.texts:
            scope.used.texts.add(name)
        if name in scope.texts and not value.filters and part.default is None:
            text = scope.texts[name]
            node = ScalarNode(text, "text", value.span, "")
            fits = self._counts(node, 0, len(text))
            return (Literal(text, value.span),) if text and fits else ()
        close = suggest(name, scope.texts)
        known = f"known: {listed(scope.texts)}" if scope.texts else "define it under `texts`"
        if name in scope.texts:
            message, label, cure = "a text is written as it is", "no filter, no `or`", "remove it"
        else:
            message, label = f"there is no text `{name}`", "not under `texts`"
            cure = f"did you mean `text.{close}`?" if close else known
        self.problems.error("unknown-name", message, value.span, label=label, helps=(cure,))
        return ()

    def _when(self, node: MappingNode, scope: Scope) -> Block:
        cond = self._condition(_scalar(node, "when"), scope)
        then, otherwise = self.block(node.get("then"), scope), self.block(node.get("else"), scope)
        span = _scalar(node, "when").span
        return () if cond is None else (Choice(cond, then, otherwise, span),)

    def _condition(self, node: ScalarNode, scope: Scope) -> Cond | None:
        parsed = parse_condition(node, self.problems)
        cond = None if parsed is None else condition(parsed, scope)
        if cond is None or not self._counts(node, len(leaves(cond))):
            return None
        return cond

    def _each(self, node: MappingNode, scope: Scope) -> Block:
        each = _scalar(node, "each")
        found = self._loop(each, scope)
        inner = scope if found is None else scope.with_item(found[0], _kind(found[1], found[2]))
        parts = [self.block(node.get(key), scope) for key in ("open", "between", "close")]
        if found is None:
            return ()
        do = self.block(node.get("do"), inner)
        variable, over, of = found
        ordered = "sorted(" in each.value
        loop = Loop(variable, over, of, parts[0], do, parts[1], parts[2], each.span, ordered)  # type: ignore[arg-type]
        return (loop,)

    def _loop(self, each: ScalarNode, scope: Scope) -> tuple[str, str, str] | None:
        """Variable, kind of list, and the variable whose arguments or the option whose records are walked."""
        match = _EACH.fullmatch(each.value)
        if match is None or not _VARIABLE.fullmatch(match["name"]):
            self._bad_each(each.span, "`each` is `NAME in LIST`", "here")
            return None
        variable = match["name"]
        found = self._list(each.at(*match.span("list")), match["list"], scope)
        reason = free_name(variable, scope)
        if reason is not None:
            self.problems.error(
                "name-clash",
                f"a loop variable cannot be called `{variable}`",
                each.at(*match.span("name")),
                label=reason,
                helps=("choose another name, such as `call`, `tool` or `arg`",),
            )
            return None
        if found is not None and len(scope.items) >= MAX_LOOPS:
            message = f"loops are nested over {MAX_LOOPS} levels deep"
            self.problems.error("too-deep", message, each.span, label="here")
            return None
        return None if found is None else (variable, *found)

    def _list(self, span: Span, over: str, scope: Scope) -> tuple[str, str] | None:
        if over in _WALKED_IN:
            if scope.place in _WALKED_IN[over]:
                return over, ""
            self._bad_each(span, f"`{over}` cannot be walked here", _WHERE[over])
            return None
        if over in scope.options and scope.options[over].type == "records":
            scope.used.options.add(over)
            if scope.place in _WALKED_IN["tools"]:
                return "records", over
            self._bad_each(span, f"`{over}` cannot be walked here", _WHERE["tools"])
            return None
        ordered = _SORTED.fullmatch(over)
        owner, _, part = (ordered[1] if ordered else over).partition(".")
        if part == "arguments" and scope.items.get(owner) == "calls":
            return "arguments", owner
        records = [name for name, option in scope.options.items() if option.type == "records"]
        arguments = [f"{name}.arguments" for name in scope.items]
        close = suggest(over, [*_WALKED_IN, *arguments, *records])
        self._bad_each(span, f"`{over}` is not a list", "unknown here", close)
        return None

    def _bad_each(self, span: Span, message: str, label: str, close: str | None = None) -> None:
        lists = (
            "a list is `calls`, `CALL.arguments` or `sorted(CALL.arguments)` inside it, `tools`,"
            " `systems` in the head, or an option of the type `records`"
        )
        cure = f"did you mean `{close}`?" if close else lists
        self.problems.error("bad-each", message, span, label=label, helps=(cure,))

    def _use(self, node: ScalarNode, scope: Scope) -> Block:
        name = node.value
        if name not in self.fragments:
            close = suggest(name, self.fragments)
            known = f"known: {listed(self.fragments)}" if self.fragments else ""
            self.problems.error(
                "unknown-name",
                f"there is no fragment `{name}`",
                node.span,
                label="not under `fragments`",
                helps=(
                    f"did you mean `{close}`?" if close else known or "define it under `fragments`",
                ),
            )
            return ()
        self.used.add(name)
        if name in self.stack:
            chain = " -> ".join([*self.stack[self.stack.index(name) :], name])
            self.problems.error(
                "cycle",
                f"the fragment `{name}` holds itself",
                node.span,
                label=chain,
                helps=("a fragment is pasted where it is used: break the circle",),
            )
            return ()
        if len(self.stack) >= MAX_CHAIN:
            message = f"fragments use each other over {MAX_CHAIN} levels deep"
            self.problems.error("too-deep", message, node.span, label="here")
            return ()
        outer, self.stack = self.stack, (*self.stack, name)
        block = self.block(self.fragments[name], scope)
        self.stack = outer
        return block


_WALKED_IN: dict[str, tuple[str, ...]] = {
    "calls": ("turn",),
    "tools": ("head", "turn", "finish"),
    "systems": ("head",),
}
_WHERE = {
    "calls": "only in the steps of a role",
    "tools": "not in a prompt",
    "systems": "only in `head`",
}


def _kind(over: str, of: str) -> str:
    """What a loop variable is: an item of this list, or a record of this option."""
    return f"{OPTION}{of}" if over == "records" else over


def _scalar(node: MappingNode, key: str) -> ScalarNode:
    found = node.get(key)
    assert isinstance(found, ScalarNode), "the schema wants a text here"
    return found


def literals(block: Block) -> list[Literal]:
    """Every literal that a block may write."""
    found: list[Literal] = []
    for step in block:
        found.extend(_literals_of(step))
    return found


def _literals_of(step: Step) -> list[Literal]:
    match step:
        case Written(parts):
            return [part for part in parts if isinstance(part, Literal)]
        case Choice(then=then, otherwise=otherwise):
            return literals(then) + literals(otherwise)
        case Loop(open=opening, do=do, between=between, close=close):
            return [text for part in (opening, do, between, close) for text in literals(part)]
