"""Turn methods under one signature: generated ones leave out what they do not read.

A method that takes `future` is one whose text later messages may change, so the signature says what was proved.
"""

from __future__ import annotations

from collections.abc import Callable

Part = Callable[..., None]


def takes(method: Part, name: str) -> bool:
    """Whether a method has a parameter of this name."""
    return name in method.__code__.co_varnames[: method.__code__.co_argcount]


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
