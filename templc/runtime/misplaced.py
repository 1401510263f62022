"""Arguments in the wrong place: options given to a render, arguments of a render given to the renderer.

get_renderer("qwen3", tools=[...])                    OptionError: `tools` is given to each render
renderer.render_text(messages, documents=[...])       OptionError: it is given when the renderer is made
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

from templc.runtime.errors import OptionError

CALLS = ("render", "render_text", "pieces", "extend", "start", "supervised", "parse", "parser")
"""The methods of a renderer that take arguments of one call."""
OF_A_RENDER = frozenset(
    {"tools", "messages", "add_generation_prompt", "continue_final_message", "history", "extend"}
)
OF_A_RENDERER = frozenset({"unsupported", "content_specials"})
"""What is given when a renderer is made, beside the options of its format."""
ALSO_TOOLS = frozenset({"available_tools", "custom_tools", "xml_tools"})
"""What published templates call tools beside `tools`; they write the same for them."""
Made = TypeVar("Made", bound=type)


def refuse_argument(name: str) -> None:
    """OptionError for what belongs to a call and was given as an option."""
    if name in ALSO_TOOLS:
        raise OptionError(
            f"`{name}` is no option: tools are given to each render",
            help="renderer.render(messages, tools=...)",
        )
    if name in OF_A_RENDER:
        how = "messages" if name == "messages" else f"messages, {name}=..."
        raise OptionError(
            f"`{name}` is no option: it is given to each render", help=f"renderer.render({how})"
        )


def refuse_change(name: str) -> None:
    """OptionError for a setting of a renderer that is made: what it wrote is remembered, for others like it too."""
    raise OptionError(
        f"`{name}` of a renderer is never changed", help="make another one: get_renderer(...)"
    )


def takes_no_options(renderer: Made) -> Made:
    """The class with methods that say where an option belongs, instead of a bare TypeError.

    A method with `**misplaced: Never` says it itself, by `misplaced_error`: being wrapped would cost a call of it as
    much as reading a message. Its signature does not show that.
    """
    for name in CALLS:
        method = getattr(renderer, name)
        signature = inspect.signature(method)
        shown = [one for one in signature.parameters.values() if one.kind != one.VAR_KEYWORD]
        if len(shown) < len(signature.parameters):
            method.__signature__ = signature.replace(parameters=shown)
        else:
            setattr(renderer, name, _told(method))
    return renderer


def _told(method: Callable[..., Any]) -> Callable[..., Any]:
    takes = inspect.signature(method).parameters.keys()

    @functools.wraps(method)
    def call(self: Any, *args: Any, **given: Any) -> Any:
        try:
            return method(self, *args, **given)
        except TypeError:
            wrong = given.keys() - takes
            if not wrong:
                raise
        raise misplaced_error(self, method.__name__, wrong)

    return call


def misplaced_error(renderer: Any, call: str, wrong: Iterable[str]) -> OptionError:
    """What to say of arguments that this method of a renderer does not take."""
    name = min(wrong)
    known: Mapping[str, object] = renderer.known_options
    format_name = renderer.info.name
    if name in known or name in OF_A_RENDERER:
        return OptionError(
            f"the option `{name}` is given when the renderer is made, not to {call}",
            help=f'get_renderer("{format_name}", {name}=...)',
        )
    close = get_close_matches(name, inspect.signature(getattr(renderer, call)).parameters, 1)
    cure = f"did you mean `{close[0]}`?" if close else f"{format_name} has no such option either"
    if name in OF_A_RENDER:
        cure = f"render takes it: renderer.render(messages, {name}=...)"
    return OptionError(f"{call} takes no `{name}`", help=cure)
