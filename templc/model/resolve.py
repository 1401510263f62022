"""Resolution: the root node of a spec, shape already checked, to a `Spec`.

Every name is bound and every meaning that needs no program is checked here; all problems are reported at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import PurePath

from templc.model import expr
from templc.model import spec as model
from templc.model.checks import check
from templc.model.conditions import condition
from templc.model.declared import messages, options, reference, unused, unwritten
from templc.model.fields import Fields
from templc.model.names import class_name, taken, taken_class
from templc.model.scope import Scope
from templc.model.steps import StepReader
from templc.problems.problem import Problems
from templc.problems.render import suggest
from templc.source.nodes import MappingNode, Node, ScalarNode
from templc.syntax.pattern import parse_condition

MAX_PREDICATE = 200


def resolve(root: MappingNode, problems: Problems) -> model.Spec | None:
    """The spec that `root` describes, or None after problems were reported."""
    found = _Resolver(problems, Fields(root)).spec()
    if not problems.ok:
        return None
    check(found, problems, Fields(root))
    return found if problems.ok else None


@dataclass(slots=True)
class _Resolver:
    problems: Problems
    root: Fields

    def spec(self) -> model.Spec:
        root = self.root
        self._name()
        scope = self._scope()
        fragments = dict(root.child("fragments").pairs())
        steps = StepReader(self.problems, fragments, set())
        roles = {
            name: self._role(name, node, scope, steps) for name, node in root.child("roles").pairs()
        }
        prompt = root.node("prompt")
        found = model.Spec(
            format=root.text("format"),
            title=root.text("title"),
            aliases=root.texts("aliases"),
            models=root.texts("models"),
            reference=reference(root.child("reference")),
            specials=root.texts("specials"),
            markers=root.texts("markers"),
            stop=root.texts("stop"),
            stop_strings=root.texts("stop_strings"),
            options=scope.options,
            messages=messages(root.child("messages"), scope, self.problems),
            predicates=scope.predicates,
            requirements=self._requirements(scope.at("requirement")),
            head=steps.block(root.node("head"), scope.at("head")),
            roles=roles,
            prompt=None if prompt is None else steps.block(prompt, scope.at("prompt")),
            finish=steps.block(root.node("finish"), scope.at("finish")),
            demands=self._demands(),
            deviations=self._deviations(),
            faults=self._faults(),
            span=root.span,
            kept=scope.kept,
        )
        if self.problems.ok:
            unwritten(scope.options, scope.used, self.problems)
            unused(root, steps.used, scope.used, self.problems)
        return found

    def _name(self) -> None:
        """The name makes a module and a class, and other specs find the file by it."""
        name, node = self.root.text("format"), self.root.node("format")
        assert node is not None, "the schema wants a name"
        reason = taken_class(class_name(name))
        if reason:
            self.problems.error(
                "name-clash",
                f"a format cannot be called `{name}`",
                node.span,
                label=reason,
                helps=("choose a longer name",),
            )
        path = PurePath(node.span.source.name)
        if path.suffix in (".yaml", ".yml") and path.stem != name:
            self.problems.error(
                "misnamed-file",
                f"the format is called `{name}` and its file `{path.name}`",
                node.span,
                label="not the name of the file",
                helps=(f"rename one: other specs look for `{name}.yaml`",),
            )

    def _scope(self) -> Scope:
        """The scope of a turn: the spec's own names, and `kept`."""
        found = options(self.root, self.problems)
        texts = {name: node.value for name, node in self.root.child("texts").scalars()}
        scope = Scope(self.problems, found, {}, texts, "predicate")
        predicates = self._predicates(scope)
        broken = {name for name, _ in self.root.child("predicates").pairs()} - {*predicates}
        scope = replace(scope, predicates=predicates, broken=frozenset(broken), place="turn")
        kept = self._kept(scope)
        if kept is None and self.root.child("thinking").node("kept") is not None:
            broken.add("kept")
        return replace(scope, kept=kept, broken=frozenset(broken))

    def _kept(self, scope: Scope) -> expr.Cond | None:
        node = self.root.child("thinking").node("kept")
        if isinstance(node, ScalarNode) and "kept" in node.value.split():
            self.problems.error(
                "cycle",
                "`kept` cannot read itself",
                node.at(node.value.find("kept"), node.value.find("kept") + 4),
                label="being defined here",
                helps=("say it with other facts, such as `not later(user)`",),
            )
            return None
        return self._condition(node, scope)

    def _predicates(self, scope: Scope) -> dict[str, expr.Cond]:
        found: dict[str, expr.Cond] = {}
        sizes: dict[str, int] = {}
        pairs = list(self.root.child("predicates").pairs())
        for number, (name, node) in enumerate(pairs):
            reason = "an option" if name in scope.options else taken(name, "predicate")
            if reason:
                self.problems.error(
                    "name-clash",
                    f"a predicate cannot be called `{name}`",
                    self.root.child("predicates").key_span(name) or node.span,
                    label=reason,
                    helps=("choose another name",),
                )
            rest = frozenset(key for key, _ in pairs[number:])
            broken = frozenset(key for key, _ in pairs[:number] if key not in found)
            inner = replace(scope, predicates=dict(found), later=rest, broken=broken)
            cond = self._condition(node, inner)
            if cond is not None:
                sizes[name] = _size(cond, sizes)
                self._small(name, sizes[name], node)
                found[name] = cond
        return found

    def _small(self, name: str, size: int, node: Node) -> None:
        """A chain of predicates that each read the one before twice doubles with every step."""
        if size > MAX_PREDICATE:
            self.problems.error(
                "too-large",
                f"the predicate `{name}` expands to over {MAX_PREDICATE} terms",
                node.span.first_line,
                label="predicates counted in",
                helps=("simplify it",),
            )

    def _condition(self, node: Node | None, scope: Scope) -> expr.Cond | None:
        if not isinstance(node, ScalarNode):
            return None
        parsed = parse_condition(node, self.problems)
        return None if parsed is None else condition(parsed, scope)

    def _requirements(self, scope: Scope) -> tuple[model.Requirement, ...]:
        found = []
        for key, test, soft in (("require", "that", False), ("unsupported", "when", True)):
            for item in self.root.children(key):
                cond = self._condition(item.node(test), scope)
                if cond is not None:
                    that = expr.negation(cond) if soft else cond
                    found.append(
                        model.Requirement(item.text("of"), that, item.text("say"), soft, item.span)
                    )
        return tuple(found)

    def _role(self, name: str, node: Node, scope: Scope, steps: StepReader) -> model.Role:
        fields = Fields(node)
        if name == "assistant":
            header = scope.at("opener")
            # Where the prompt is spelled out the opener is no part of it, and may read what its message holds.
            opener = header if self.root.node("prompt") is None else scope
            return model.Assistant(
                steps.block(fields.node("opener"), opener),
                steps.block(fields.node("prefill"), header),
                steps.block(fields.node("body"), scope),
                steps.block(fields.node("closer"), scope),
                steps.block(fields.node("trailer"), scope),
                node.span,
                tuple(steps.block(item.owner, scope) for item in fields.children("accept")),
            )
        if fields.node("at") is not None:
            return self._leading(fields, node, scope, steps)
        if fields.node("open") is not None and fields.node("each") is None:
            return model.Run(
                steps.block(fields.node("open"), scope),
                steps.block(fields.node("do"), scope),
                steps.block(fields.node("between"), scope),
                steps.block(fields.node("close"), scope),
                node.span,
            )
        return model.Turn(steps.block(node, scope), node.span)

    def _leading(
        self, fields: Fields, node: Node, scope: Scope, steps: StepReader
    ) -> model.Leading:
        later = fields.node("later")
        word = later.value if isinstance(later, ScalarNode) else ""
        match word:
            case "refuse" | "hoist" | "replace":
                return model.Leading(word, node.span)
        close = suggest(word, ("refuse", "hoist", "replace"))
        if close and later is not None and word.isalpha():
            self.problems.error(
                "wrong-type",
                f"`{word}` would be written for every later system message",
                later.span,
                label="a text",
                helps=(f"did you mean `{close}`?",),
            )
        return model.Leading(steps.block(later, scope), node.span)

    def _demands(self) -> tuple[model.Demand, ...]:
        return tuple(
            model.Demand(item.text("after"), item.text("then"), item.span)
            for item in self.root.child("extend").children("must_allow")
        )

    def _deviations(self) -> tuple[model.Deviation, ...]:
        return tuple(
            model.Deviation(item.text("what"), item.text("why"), item.text("shows"), item.span)
            for item in self.root.children("deviations")
        )

    def _faults(self) -> tuple[model.Fault, ...]:
        return tuple(
            model.Fault(item.text("is"), item.text("why"), item.span)
            for item in self.root.children("faults")
        )


def _size(cond: expr.Cond, sizes: dict[str, int]) -> int:
    """How many terms a condition has when every predicate is written out."""
    return sum(
        sizes.get(leaf.name, 1) if isinstance(leaf, expr.Predicate) else 1
        for leaf in expr.leaves(cond)
    )
