"""Inheritance by value: a variant's node merged over its base's.

Mappings are merged key by key, lists and texts are replaced whole, `null` removes. Every node keeps its own file
and line, so a problem in an inherited part points into the base.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from templc.problems.problem import Problems
from templc.problems.render import suggest
from templc.source.files import read_source
from templc.source.nodes import Entry, MappingNode, Node, ScalarNode, SequenceNode, parse_nodes
from templc.source.span import Source, Span

MAX_CHAIN = 5
# Also keeps a name from leading out of the folders.
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_EXTENDS = re.compile(rf"^extends: *({NAME.pattern})", re.MULTILINE)
_OWN = ("format", "title", "aliases", "models", "reference", "deviations", "extends")


class Base(NamedTuple):
    """A spec that another one extends."""

    path: Path
    source: Source


def family(path: Path) -> str:
    """The name of the spec that a spec goes back to by what it extends: a guess, from the text alone."""
    seen: list[Path] = []
    while path not in seen and path.is_file():
        seen.append(path)
        found = _EXTENDS.search(path.read_text(encoding="utf-8", errors="replace"))
        if found:
            path = path.with_name(f"{found[1]}.yaml")
    return path.stem


def merged(
    root: MappingNode,
    folders: tuple[Path, ...],
    problems: Problems,
    chain: tuple[str, ...] = (),
    bases: list[Base] | None = None,
) -> MappingNode | None:
    """`root` over the spec it extends, looked for in `folders`; itself when it extends none.

    None after a problem was reported. bases: gets every spec that was read.
    """
    bases = [] if bases is None else bases
    _empties(root, problems)
    if not problems.ok:
        return None
    extends = root.get("extends")
    if extends is None:
        return root
    if not isinstance(extends, ScalarNode) or extends.kind != "text":
        problems.error(
            "wrong-type",
            "`extends` must be the name of a format",
            extends.span.first_line,
            label="not a name",
            helps=("for example: `extends: qwen3`",),
        )
        return None
    own = root.get("format")
    chain = chain or ((own.value,) if isinstance(own, ScalarNode) else ())
    path = _found(extends, folders, chain, problems)
    base = None if path is None else _base(path, folders, problems, (*chain, extends.value), bases)
    if base is None:
        return None
    _removals(base, root, problems)
    return _over(base, root, own_keys=True)


def _found(
    extends: ScalarNode, folders: tuple[Path, ...], chain: tuple[str, ...], problems: Problems
) -> Path | None:
    """The file of the base."""
    name = extends.value
    if name in chain:
        message = "a spec cannot extend itself"
        if len(chain) > 1:
            message = "these specs extend each other"
        shown = " -> ".join([*chain[chain.index(name) :], name])
        problems.error("cycle", message, extends.span, label=shown)
        return None
    if len(chain) > MAX_CHAIN:
        shown = " -> ".join([*chain, name])
        message = f"a spec stands at most {MAX_CHAIN} steps from its last base"
        problems.error("too-deep", message, extends.span, label=shown)
        return None
    if NAME.fullmatch(name):
        for folder in folders:
            if (folder / f"{name}.yaml").is_file():
                return folder / f"{name}.yaml"
    known = sorted({file.stem for folder in folders for file in folder.glob("*.yaml")} - {*chain})
    close = suggest(name, known)
    cure = f"known: {', '.join(known[:20])}"
    if not NAME.fullmatch(name):
        cure = "name a spec of the same folder or of templc, without folder and ending"
    problems.error(
        "unknown-name",
        f"there is no spec `{name}`",
        extends.span,
        label="to extend",
        helps=(f"did you mean `{close}`?" if close else cure,),
    )
    return None


def _base(
    path: Path,
    folders: tuple[Path, ...],
    problems: Problems,
    chain: tuple[str, ...],
    bases: list[Base],
) -> MappingNode | None:
    source = read_source(path, problems, f"{path.parent.name}/{path.name}")
    root = None
    if source is not None:
        bases.append(Base(path, source))
        root = parse_nodes(source, problems)
    if not problems.ok:
        return None
    if not isinstance(root, MappingNode):
        if root is not None:
            problems.error("wrong-type", "a spec is a mapping", root.span.first_line, label="here")
        return None
    return merged(root, folders, problems, chain, bases)


def _removals(base: MappingNode, variant: MappingNode, problems: Problems) -> None:
    """Report every null that removes nothing: its key is misspelt, or the base has changed."""
    for entry in variant.entries:
        below, above = base.get(entry.key.value), entry.value
        if _null(above) and below is None:
            close = suggest(entry.key.value, base.keys())
            problems.error(
                "unknown-key",
                f"the base has no `{_path(entry)}` to remove",
                entry.key.span,
                label="null removes what the base says",
                helps=(f"did you mean `{close}`?",) if close else ("leave it out",),
            )
        elif isinstance(below, MappingNode) and isinstance(above, MappingNode):
            _removals(below, above, problems)


def _path(entry: Entry) -> str:
    return f"{entry.key.path}/{entry.key.value}" if entry.key.path else entry.key.value


def _over(base: MappingNode, variant: MappingNode, *, own_keys: bool = False) -> MappingNode:
    inherited = [entry for entry in base.entries if not (own_keys and entry.key.value in _OWN)]
    entries: list[Entry] = []
    for entry in inherited:
        replacing = variant.entry(entry.key.value)
        if replacing is None:
            entries.append(entry)
        elif not _null(replacing.value):
            entries.append(Entry(replacing.key, _combined(entry.value, replacing.value)))
    known = {entry.key.value for entry in inherited}
    entries += [
        entry
        for entry in variant.entries
        if entry.key.value not in known and not _null(entry.value)
    ]
    return MappingNode(tuple(entries), variant.span, variant.path)


def _combined(base: Node, variant: Node) -> Node:
    if isinstance(base, MappingNode) and isinstance(variant, MappingNode) and not _is_step(variant):
        return _over(base, variant)
    return variant


def _empties(node: Node, problems: Problems, key: ScalarNode | None = None) -> None:
    """Report every value that was left empty: in a variant it would remove what the base says."""
    match node:
        case MappingNode(entries=entries):
            for entry in entries:
                _empties(entry.value, problems, entry.key)
        case SequenceNode(items=items):
            for item in items:
                _empties(item, problems)
        case ScalarNode(kind="null") if not node.span.text:
            span = key.span if key else Span(node.span.source, node.span.start - 1, node.span.start)
            comment = "#" in node.span.source.line_text(span.line)
            helps = ("quote a text that holds ` #`: a comment starts there",) if comment else ()
            problems.error(
                "yaml-guess",
                f"`{key.value}` has no value" if key else "an item of this list has no value",
                span,
                label="nothing behind it",
                helps=(*helps, 'write null for nothing, or "" for an empty text'),
            )
        case ScalarNode():
            pass


def _is_step(node: MappingNode) -> bool:
    """A `when`, `each` or `use` is one step, replaced whole."""
    return any(node.get(key) is not None for key in ("when", "each", "use"))


def _null(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.kind == "null"
