"""What a chat template reads from its caller: the variables that some way through it reads before it has set them.

reads("{% if x %}{% set y = 1 %}{% endif %}{{ y }}")     {"x", "y"}
"""

from __future__ import annotations

from collections.abc import Iterable

import jinja2
from jinja2 import nodes

from templc.verify.published import _transformers

_OF_MACROS = frozenset({"caller", "varargs", "kwargs", "loop"})


def reads(template: str) -> set[str]:
    """The names, without the functions that transformers gives to every template."""
    environment: jinja2.Environment = _transformers().compile("").environment
    found: set[str] = set()
    _block([environment.parse(template)], frozenset(), found)
    return found - environment.globals.keys()


def _block(body: Iterable[nodes.Node], known: frozenset[str], found: set[str]) -> frozenset[str]:
    """What is set behind a block, on every way through it."""
    for node in body:
        known |= _node(node, known, found)
    return known


def _node(node: nodes.Node, known: frozenset[str], found: set[str]) -> frozenset[str]:
    """What a statement sets, on every way through it."""
    match node:
        case nodes.Template(body=body) | nodes.ScopedEvalContextModifier(body=body):
            return _block(body, known, found)
        case nodes.Assign(target=target, node=value):
            _expression(value, known, found)
            return _names(target)
        case nodes.AssignBlock(target=target, body=body):
            _block(body, known, found)
            return _names(target)
        case nodes.If():
            return _choice(node, known, found)
        case nodes.For(target=target, iter=walked, body=body, else_=otherwise, test=test):
            _expression(walked, known, found)
            inner = known | _names(target) | {"loop"}
            if test is not None:
                _expression(test, inner, found)
            _block(body, inner, found)
            _block(otherwise, known, found)
        case nodes.Macro(name=name, args=arguments, defaults=defaults, body=body):
            for default in defaults:
                _expression(default, known, found)
            inner = known | {name, *_OF_MACROS, *(one.name for one in arguments)}
            _block(body, inner, found)
            return frozenset({name})
        case nodes.CallBlock(call=call, body=body):  # a block of `generation` is one too
            _expression(call, known, found)
            _block(body, known, found)
        case nodes.FilterBlock(body=body):
            _block(body, known, found)
        case nodes.With(targets=targets, values=values, body=body):
            for value in values:
                _expression(value, known, found)
            _block(body, known.union(*map(_names, targets)), found)
        case _:
            _expression(node, known, found)
    return frozenset()


def _choice(node: nodes.If, known: frozenset[str], found: set[str]) -> frozenset[str]:
    """What all branches set."""
    _expression(node.test, known, found)
    ends = [_block(node.body, known, found)]
    for other in node.elif_:
        _expression(other.test, known, found)
        ends.append(_block(other.body, known, found))
    ends.append(_block(node.else_, known, found))
    return frozenset.intersection(*ends)


def _expression(node: nodes.Node, known: frozenset[str], found: set[str]) -> None:
    """Every name that is read below a node."""
    for name in [*([node] if isinstance(node, nodes.Name) else []), *node.find_all(nodes.Name)]:
        if name.ctx == "load" and name.name not in known:
            found.add(name.name)


def _names(target: nodes.Node) -> frozenset[str]:
    """The variables of an assignment; a field of a namespace is none."""
    found = [*([target] if isinstance(target, nodes.Name) else []), *target.find_all(nodes.Name)]
    return frozenset(one.name for one in found)
