"""Inheritance by value: a variant's node merged over its base's.

Mappings are merged key by key, lists and texts are replaced whole, `null` removes. Every node keeps its own file
and line, so a problem in an inherited part points into the base.
"""

from __future__ import annotations

from pathlib import Path

from templc.problems.problem import Problems
from templc.problems.render import suggest
from templc.source.files import read_source
from templc.source.nodes import Entry, MappingNode, Node, ScalarNode, parse_nodes

MAX_CHAIN = 5
_OWN = ("format", "title", "aliases", "models", "reference", "deviations", "extends")


def merged(root: MappingNode, folders: tuple[Path, ...], problems: Problems, chain: tuple[str, ...] = ()) -> MappingNode | None:
    """`root` over the spec it extends, looked for in `folders`; itself when it extends none."""
    entry = root.get("extends")
    if not isinstance(entry, ScalarNode):
        return root
    name = entry.value
    own = root.get("format")
    chain = chain or ((own.value,) if isinstance(own, ScalarNode) else ())
    if name in chain or len(chain) > MAX_CHAIN:
        problems.error("cycle", "a spec that extends itself", entry.span, label=" -> ".join([*chain, name]))
        return None
    path = next((folder / f"{name}.yaml" for folder in folders if (folder / f"{name}.yaml").is_file()), None)
    if path is None:
        known = sorted({file.stem for folder in folders for file in folder.glob("*.yaml")})
        close = suggest(name, known)
        problems.error(
            "unknown-name",
            f"there is no spec `{name}`",
            entry.span,
            label="to extend",
            helps=(f"did you mean `{close}`?",) if close else (f"known: {', '.join(known)}",),
        )
        return None
    base = _base(path, folders, problems, (*chain, name))
    return None if base is None else _over(base, root, own_keys=True)


def _base(path: Path, folders: tuple[Path, ...], problems: Problems, chain: tuple[str, ...]) -> MappingNode | None:
    source = read_source(path, problems, f"{path.parent.name}/{path.name}")
    root = None if source is None else parse_nodes(source, problems)
    return merged(root, folders, problems, chain) if isinstance(root, MappingNode) else None


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
    entries += [entry for entry in variant.entries if entry.key.value not in known and not _null(entry.value)]
    return MappingNode(tuple(entries), variant.span, variant.path)


def _combined(base: Node, variant: Node) -> Node:
    if isinstance(base, MappingNode) and isinstance(variant, MappingNode) and not _is_step(variant):
        return _over(base, variant)
    return variant


def _is_step(node: MappingNode) -> bool:
    """A `when`, `each` or `use` is one step, replaced whole."""
    return any(node.get(key) is not None for key in ("when", "each", "use"))


def _null(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.kind == "null"
