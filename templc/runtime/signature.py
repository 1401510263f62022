"""Turn methods under one signature: generated ones leave out what they do not read.

A method that takes `future` is one whose text later messages may change, so the signature says what was proved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from templc.runtime.errors import FormatError
from templc.runtime.parser.grammar import Response

Part = Callable[..., None]

ROLES = ("system", "developer", "user", "tool", "other", "assistant")
PARTS = ("head", "opener", "prefill", "body", "closer", "trailer", "prompt", "finish")
_TURN = ("body", "closer", "trailer")


def takes(method: Part, name: str) -> bool:
    """Whether a method has a parameter of this name."""
    return name in method.__code__.co_varnames[: method.__code__.co_argcount]


def methods_of(made: type) -> dict[str, Part]:
    """The methods that a class has of its own."""
    return {
        name: value
        for name, value in vars(made).items()
        if callable(value) and not isinstance(value, type)
    }


def turn_methods(
    methods: Mapping[str, Part],
) -> tuple[dict[str, Part], dict[str, Part], dict[str, Part]]:
    """The parts of the assistant's turn, the turns of the other roles, the checks by role."""
    parts = {name: uniform(methods[name]) for name in PARTS if name in methods}
    turns = {name: uniform(methods[name]) for name in ROLES if name in methods}
    checks = {name: methods[f"check_{name}"] for name in ROLES if f"check_{name}" in methods}
    return parts, turns, checks


def reads_future(methods: Mapping[str, Part]) -> frozenset[str]:
    """The roles whose turns later messages may change."""
    readers = [
        name for name in (*ROLES, *_TURN) if name in methods and takes(methods[name], "future")
    ]
    return frozenset(["assistant" if name in _TURN else name for name in readers])


def uniform(method: Part) -> Part:
    """A turn method under one signature, whatever it leaves out of (m, past, future)."""
    names = method.__code__.co_varnames[2 : method.__code__.co_argcount]
    match names:
        case ("m", "past", "future"):
            return method
        case ("m", "past"):
            return lambda self, out, m, past, future: method(self, out, m, past)
        case ("m", "future"):
            return lambda self, out, m, past, future: method(self, out, m, future)
        case ("m",):
            return lambda self, out, m, past, future: method(self, out, m)
        case ("past",):
            return lambda self, out, m, past, future: method(self, out, past)
        case ("future",):
            return lambda self, out, m, past, future: method(self, out, future)
        case ("past", "future"):
            return lambda self, out, m, past, future: method(self, out, past, future)
        case ():
            return lambda self, out, m, past, future: method(self, out)
    raise TypeError(f"{method.__qualname__} takes {names}")


def responding(methods: Mapping[str, Callable[..., Any]]) -> tuple[Callable[..., Response], bool]:
    """The method `response` with (out, past), whatever it leaves out of them; and whether it reads no tools.

    The shape of what a model samples then hangs on options and past only.
    """
    method: Any = methods.get("response", _unsaid)
    match method.__code__.co_varnames[1 : method.__code__.co_argcount]:
        case ("out", "past"):
            return method, False
        case ("out",):
            return lambda self, out, past: method(self, out), False
        case ("past",):
            return lambda self, out, past: method(self, past), True
        case ():
            return lambda self, out, past: method(self), True
        case names:
            raise TypeError(f"{method.__qualname__} takes {names}")


def _unsaid(self: Any, out: object, past: object) -> Response:
    raise FormatError(f"{self.info.name} does not say how to read completions")


def continues_prompt(methods: Mapping[str, Part], future_type: type[Any]) -> bool:
    """Whether a turn always begins with its generation prompt, and reads the same while it is sampled and later.

    Then the sampled text says by itself whether a fresh render has it.
    """
    opener = methods.get("opener")
    own = opener is not None and not (takes(opener, "m") or takes(opener, "future"))
    return own and not ({"prompt", "finish"} & methods.keys()) and "live" not in future_type._fields
