"""Resolution: the root node of a spec, shape already checked, to a `Spec`.

Every name is bound and every meaning that needs no program is checked here; all problems are reported at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from templc.model import expr, spec
from templc.model.checks import check
from templc.model.fields import Fields
from templc.model.filters import FILTERS
from templc.model.scope import RESERVED, Scope
from templc.model.steps import StepReader
from templc.problems.problem import Problems
from templc.problems.render import suggest
from templc.source.nodes import MappingNode, Node, ScalarNode
from templc.syntax.pattern import parse_condition


def resolve(root: MappingNode, problems: Problems) -> spec.Spec | None:
    """The spec that `root` describes, or None after problems were reported."""
    found = _Resolver(problems, Fields(root)).spec()
    if not problems.ok:
        return None
    check(found, problems)
    return found if problems.ok else None


@dataclass(slots=True)
class _Resolver:
    problems: Problems
    root: Fields

    def spec(self) -> spec.Spec:
        root = self.root
        options = {name: self._option(name, node) for name, node in root.child("options").pairs()}
        texts = {name: node.value for name, node in root.child("texts").scalars()}
        scope = Scope(self.problems, options, {}, texts, "predicate")
        predicates = self._predicates(scope)
        scope = Scope(self.problems, options, predicates, texts, "turn")
        kept = self._condition(root.child("thinking").node("kept"), scope)
        scope = Scope(self.problems, options, predicates, texts, "turn", kept)
        fragments = dict(root.child("fragments").pairs())
        steps = StepReader(self.problems, fragments, set())
        roles = {name: self._role(name, node, scope, steps) for name, node in root.child("roles").pairs()}
        prompt = root.node("prompt")
        found = spec.Spec(
            format=root.text("format"),
            title=root.text("title"),
            aliases=root.texts("aliases"),
            models=root.texts("models"),
            reference=self._reference(root.child("reference")),
            specials=root.texts("specials"),
            markers=root.texts("markers"),
            stop=root.texts("stop"),
            stop_strings=root.texts("stop_strings"),
            options=options,
            messages=self._rules(root.child("messages")),
            predicates=predicates,
            requirements=self._requirements(scope.at("requirement")),
            head=steps.block(root.node("head"), scope.at("head")),
            roles=roles,
            prompt=None if prompt is None else steps.block(prompt, scope.at("prompt")),
            finish=steps.block(root.node("finish"), scope.at("finish")),
            demands=tuple(
                spec.Demand(item.text("after"), item.text("then"), item.span)
                for item in root.child("extend").children("must_allow")
            ),
            deviations=tuple(
                spec.Deviation(item.text("what"), item.text("why"), item.text("shows"), item.span)
                for item in root.children("deviations")
            ),
            span=root.span,
            kept=kept,
        )
        self._unused(fragments, steps)
        return found

    def _unused(self, fragments: dict[str, Node], steps: StepReader) -> None:
        for name, node in fragments.items():
            if name not in steps.used:
                self.problems.warning(
                    "unused-fragment", f"the fragment `{name}` is never used", node.span, helps=("remove it",)
                )

    def _option(self, name: str, node: Node) -> spec.Option:
        fields = Fields(node)
        if name in RESERVED:
            self.problems.error("name-clash", f"an option cannot be called `{name}`", fields.span, label="reserved")
        kind, default = fields.text("type"), fields.constant("default")
        values = fields.texts("values")
        self._check_default(name, kind, default, values, fields)
        return spec.Option(
            name, kind, default, values, fields.text("bind"), fields.text("doc"), fields.span  # type: ignore[arg-type]
        )

    def _check_default(
        self, name: str, kind: str, default: bool | str | None, values: tuple[str, ...], fields: Fields
    ) -> None:
        place = fields.node("default")
        span = place.span if place else fields.span
        if kind == "choice" and not values:
            self.problems.error("bad-option", f"the choice `{name}` lists no values", fields.span)
        elif kind != "choice" and values:
            self.problems.error("bad-option", f"`{name}` has values but is not a choice", fields.span)
        if default is None:
            return
        if isinstance(default, bool) != (kind == "bool"):
            wanted = "true or false" if kind == "bool" else "a text"
            self.problems.error("bad-option", f"the default of `{name}` must be {wanted}", span)
        elif kind == "choice" and values and default not in values:
            self.problems.error("bad-option", f"the default of `{name}` is not one of its values", span)

    def _predicates(self, scope: Scope) -> dict[str, expr.Cond]:
        found: dict[str, expr.Cond] = {}
        for name, node in self.root.child("predicates").pairs():
            if name in RESERVED or name in scope.options:
                self.problems.error(
                    "name-clash", f"a predicate cannot be called `{name}`", node.span, label="already means something"
                )
            inner = Scope(self.problems, scope.options, dict(found), scope.texts, "predicate")
            cond = self._condition(node, inner)
            if cond is not None:
                found[name] = cond
        return found

    def _condition(self, node: Node | None, scope: Scope) -> expr.Cond | None:
        if not isinstance(node, ScalarNode):
            return None
        parsed = parse_condition(node, self.problems)
        return None if parsed is None else scope.condition(parsed)

    def _requirements(self, scope: Scope) -> tuple[spec.Requirement, ...]:
        found = []
        for key, test, soft in (("require", "that", False), ("unsupported", "when", True)):
            for item in self.root.children(key):
                cond = self._condition(item.node(test), scope)
                if cond is not None:
                    that = expr.negation(cond) if soft else cond
                    found.append(spec.Requirement(item.text("of"), that, item.text("say"), soft, item.span))
        return tuple(found)

    def _role(self, name: str, node: Node, scope: Scope, steps: StepReader) -> spec.Role:
        fields = Fields(node)
        if name == "assistant":
            opener = scope.at("opener")
            return spec.Assistant(
                steps.block(fields.node("opener"), opener),
                steps.block(fields.node("prefill"), opener),
                steps.block(fields.node("body"), scope),
                steps.block(fields.node("closer"), scope),
                steps.block(fields.node("trailer"), scope),
                node.span,
            )
        if isinstance(node, MappingNode) and node.get("at") is not None:
            later = fields.node("later")
            word = later.value if isinstance(later, ScalarNode) else ""
            rule = word if word in ("refuse", "hoist") else steps.block(later, scope)
            return spec.Leading(rule, node.span)  # type: ignore[arg-type]
        if isinstance(node, MappingNode) and node.get("open") is not None and node.get("each") is None:
            parts = [steps.block(fields.node(key), scope) for key in ("open", "do", "between", "close")]
            return spec.Run(*parts, node.span)
        return spec.Turn(steps.block(node, scope), node.span)

    def _rules(self, fields: Fields) -> spec.MessageRules:
        inline = fields.child("inline_reasoning")
        lists = fields.node("lists")
        by_role = tuple((name, node.value) for name, node in fields.child("lists").scalars())
        content = self._plain_filter(fields)
        return spec.MessageRules(
            content=content,
            inline_reasoning=(
                spec.InlineReasoning(inline.text("open"), inline.text("close"), self._plain_filter(inline))
                if inline.present
                else None
            ),
            lists=lists.value if isinstance(lists, ScalarNode) else "refuse",  # type: ignore[arg-type]
            lists_by_role=by_role,
            parts=tuple((name, node.value) for name, node in fields.child("parts").scalars()),
            call_id=fields.text("call_id"),
        )

    def _plain_filter(self, fields: Fields) -> str:
        """The filter named under `content`: one on text, without an argument."""
        name, node = fields.text("content"), fields.node("content")
        usable = [row.name for row in FILTERS.values() if row.takes == "text" and not row.argument]
        if name and name not in usable:
            close = suggest(name, usable)
            self.problems.error(
                "unknown-filter",
                f"`{name}` is not a filter for content",
                node.span if node else fields.span,
                helps=(f"did you mean `{close}`?",) if close else (f"usable: {', '.join(usable)}",),
            )
        return name

    def _reference(self, fields: Fields) -> spec.Reference:
        number = fields.text("transformers")
        return spec.Reference(
            fields.text("repository"),
            fields.text("revision"),
            fields.text("file"),
            fields.text("sha256"),
            int(number) if number else None,
            fields.text("note"),
        )
