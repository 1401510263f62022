"""Names: those that are taken, those of classes, those made from conditions."""

from __future__ import annotations

import ast
import builtins
import keyword
from collections.abc import Iterator

import pytest

from templc.emit.python import class_name as emitted_class_name
from templc.model import expr
from templc.model.expr import And, Cond, Not, Ref, RoleIs, Value
from templc.model.names import RESERVED, class_name, fact_name, taken, taken_class, words_of
from templc.pipeline import spec_folder
from templc.registry import get_renderer, list_formats
from templc.runtime.renderer import Renderer


def test_no_generated_name_can_be_given_away() -> None:
    """Whatever a generated module or a renderer uses is refused: as option, predicate and loop variable."""
    for name in list_formats():
        renderer = get_renderer(name)
        used = {*dir(Renderer), *vars(renderer)} - {*renderer.known_options}
        for attribute in used:
            if not attribute.startswith("_"):
                assert taken(attribute, "option"), (name, attribute)
    for path in sorted((spec_folder().parent / "generated").glob("*.py")):
        for word in module_names(ast.parse(path.read_text(encoding="utf-8"))):
            assert taken(word, "predicate") and taken(word, "loop variable"), (path.name, word)
        for word in imported_classes(ast.parse(path.read_text(encoding="utf-8"))):
            assert taken_class(word), (path.name, word)


def module_names(module: ast.Module) -> Iterator[str]:
    """Names that a generated module did not get from its spec: imported ones, builtins, parameters."""
    for node in ast.walk(module):
        match node:
            case ast.ImportFrom(names=names):
                yield from (item.name for item in names if item.name.islower())
            case ast.arg(arg=name) if name != "_":
                yield name
            case ast.Name(id=name) if hasattr(builtins, name) and name.islower():
                yield name


def imported_classes(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            yield from (item.name for item in node.names if item.name[0].isupper())


def test_words_of_python_and_of_the_language_are_taken() -> None:
    for word in (*keyword.kwlist, *RESERVED):
        assert word.startswith("_") or (taken(word, "option") and taken(word, "predicate")), word
    assert taken_class("None") and taken_class("Past") and taken_class("Message")
    for free in ("query", "final", "turn", "enable_thinking"):
        assert not taken(free, "predicate") and not taken(free, "option")


def test_class_names_are_those_of_the_emitter() -> None:
    for name in ("qwen3", "deepseekv3_1", "a_b_c", "a__b"):
        assert class_name(name) == emitted_class_name(name)


CONTENT = Value(Ref("message", "content"))


@pytest.mark.parametrize(
    ("time", "term", "among", "name"),
    [
        ("previous", RoleIs("tool"), None, "previous_tool"),
        ("next", RoleIs("tool"), RoleIs("user"), "next_tool_among_user"),
        ("first", None, None, "first"),
        ("later", And((RoleIs("user"), Not(RoleIs("tool")))), None, "later_user_and_not_tool"),
        ("later", expr.Test("starts", CONTENT, "<｜a²ｂ>"), None, "later_content_starts_a"),
        ("later", expr.Test("is", CONTENT, "\n__"), None, "later_content_is"),
    ],
)
def test_fact_names_are_ascii_identifiers(
    time: str, term: Cond | None, among: Cond | None, name: str
) -> None:
    assert fact_name(time, term, among) == name
    assert name.isascii() and name.isidentifier()
    assert term is None or words_of(term).isascii()
