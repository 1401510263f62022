"""Steps: located nodes to blocks. Text patterns, `when`, `each` and `use`, wherever a spec writes something.

`{when: tools, then: "..."}` becomes a `Choice`; `{use: calls}` becomes the steps of `fragments.calls`, resolved
again for the place where it is used, so that a fragment may read what that place may read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from templc.model.scope import RESERVED, Scope
from templc.model.spec import Block, Choice, Hole, Literal, Loop, Step, Written
from templc.problems.problem import Problems
from templc.problems.render import suggest
from templc.source.nodes import MappingNode, Node, ScalarNode, SequenceNode
from templc.source.span import Span
from templc.syntax import tree
from templc.syntax.pattern import parse_condition, parse_pattern

MAX_EXPANSION = 4_000


@dataclass(slots=True)
class StepReader:
    """Reads steps; `stack` is the chain of fragments being expanded, `written` bounds the expansion."""

    problems: Problems
    fragments: Mapping[str, Node]
    used: set[str]
    stack: tuple[str, ...] = ()
    written: int = 0

    def block(self, node: Node | None, scope: Scope) -> Block:
        """The steps that a node stands for; none for a missing or null node."""
        match node:
            case None:
                return ()
            case SequenceNode(items=items):
                return tuple(step for item in items for step in self.block(item, scope))
            case ScalarNode(kind="null"):
                return ()
            case ScalarNode():
                return self._pattern(node, scope)
            case MappingNode():
                self.written += 1
                return self._mapping(node, scope)

    def _mapping(self, node: MappingNode, scope: Scope) -> Block:
        if node.get("use") is not None:
            return self._use(_scalar(node, "use"), scope)
        return self._each(node, scope) if node.get("each") is not None else self._when(node, scope)

    def _pattern(self, node: ScalarNode, scope: Scope) -> Block:
        pattern = parse_pattern(node, self.problems)
        if pattern is None:
            return ()
        parts = tuple(part for item in pattern.parts for part in self._part(item, scope))
        return (Written(parts, node.span),) if parts else ()

    def _part(self, part: tree.Literal | tree.Hole, scope: Scope) -> tuple[Literal | Hole, ...]:
        if isinstance(part, tree.Literal):
            return (Literal(part.text, part.span),)
        if part.value.words[0].text == "text":
            return self._text(part.value, scope)
        found = scope.value(part.value)
        if found is None:
            return ()
        value, kind = found
        if kind not in ("text", "token"):
            self.problems.error(
                "not-text",
                f"`{part.value.dotted}` is not text, so it cannot be written as it is",
                part.span,
                label="needs a filter" if kind != "flag" else "true or false",
                helps=("say how: `|json`",) if kind != "flag" else ("test it with `when`",),
            )
            return ()
        return (Hole(value, part.default, part.span),)

    def _text(self, value: tree.Value, scope: Scope) -> tuple[Literal, ...]:
        name = ".".join(word.text for word in value.words[1:])
        if name in scope.texts and not value.filters:
            return (Literal(scope.texts[name], value.span),)
        close = suggest(name, scope.texts)
        self.problems.error(
            "unknown-name",
            f"there is no text `{name}`" if name not in scope.texts else "a text takes no filter",
            value.span,
            label="under `texts`",
            helps=(f"did you mean `text.{close}`?",) if close else (),
        )
        return ()

    def _when(self, node: MappingNode, scope: Scope) -> Block:
        parsed = parse_condition(_scalar(node, "when"), self.problems)
        cond = None if parsed is None else scope.condition(parsed)
        then, otherwise = self.block(node.get("then"), scope), self.block(node.get("else"), scope)
        return () if cond is None else (Choice(cond, then, otherwise, _span_of(node, "when")),)

    def _each(self, node: MappingNode, scope: Scope) -> Block:
        each = _scalar(node, "each")
        words = each.value.split()
        if len(words) != 3 or words[1] != "in" or not words[0].isidentifier():
            self._bad_each(each, "`each` is `NAME in LIST`")
            return ()
        variable, _, over = words
        found = self._list(each, over, scope)
        if found is None or not self._fresh(each, variable, scope):
            return ()
        kind, of = found
        inner = scope.with_item(variable, kind)
        do = self.block(node.get("do"), inner)
        return (
            Loop(
                variable,
                kind,  # type: ignore[arg-type]
                of,
                self.block(node.get("open"), scope),
                do,
                self.block(node.get("between"), scope),
                self.block(node.get("close"), scope),
                _span_of(node, "each"),
            ),
        )

    def _list(self, each: ScalarNode, over: str, scope: Scope) -> tuple[str, str] | None:
        if over in ("calls", "tools", "systems"):
            place = {"calls": ("turn",), "tools": ("head", "turn", "finish"), "systems": ("head",)}[over]
            if scope.place in place:
                return over, ""
            self._bad_each(each, f"`{over}` cannot be walked here")
            return None
        owner, _, part = over.partition(".")
        if part == "arguments" and scope.items.get(owner) == "calls":
            return "arguments", owner
        self._bad_each(each, f"`{over}` is not a list")
        return None

    def _bad_each(self, each: ScalarNode, message: str) -> None:
        lists = "`calls`, `CALL.arguments` inside it, `tools`, or `systems` in the head"
        self.problems.error("bad-each", message, each.span, label="here", helps=(f"a list is {lists}",))

    def _fresh(self, each: ScalarNode, variable: str, scope: Scope) -> bool:
        taken = variable in RESERVED or variable in scope.options or variable in scope.predicates
        if (taken and variable not in ("tool",)) or variable in scope.items:
            self.problems.error(
                "name-clash", f"`{variable}` already means something else", each.span, label="loop variable"
            )
            return False
        return True

    def _use(self, node: ScalarNode, scope: Scope) -> Block:
        name = node.value
        if name not in self.fragments:
            close = suggest(name, self.fragments)
            self.problems.error(
                "unknown-name",
                f"there is no fragment `{name}`",
                node.span,
                label="under `fragments`",
                helps=(f"did you mean `{close}`?",) if close else (),
            )
            return ()
        if name in self.stack:
            chain = " -> ".join([*self.stack[self.stack.index(name) :], name])
            self.problems.error("cycle", "a fragment that holds itself", node.span, label=chain)
            return ()
        if self.written > MAX_EXPANSION:
            self.problems.error("too-large", f"the fragments expand to over {MAX_EXPANSION} steps", node.span)
            return ()
        self.used.add(name)
        outer, self.stack = self.stack, (*self.stack, name)
        block = self.block(self.fragments[name], scope)
        self.stack = outer
        return block


def _scalar(node: MappingNode, key: str) -> ScalarNode:
    found = node.get(key)
    assert isinstance(found, ScalarNode), "the schema wants a text here"
    return found


def _span_of(node: MappingNode, key: str) -> Span:
    found = node.get(key)
    assert found is not None
    return found.span


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
