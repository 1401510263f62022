"""The states that extensions start from: made, looked up in earlier tokens, and compared with what is asked now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templc.runtime import fold
from templc.runtime.errors import OptionError
from templc.runtime.history import State, chain
from templc.runtime.messages import Reader
from templc.runtime.tokens import Tokens

if TYPE_CHECKING:
    from templc.runtime.renderer import Renderer


def written(
    renderer: Renderer, turns: fold.Turns, reader: Reader, tools: fold.Tools, prompt: bool
) -> State:
    """The state after a fresh render."""
    messages = turns.messages
    return State(
        renderer=renderer.fingerprint(),
        tools=tools,
        lead=messages[0] if messages and messages[0].role == "system" else None,
        node=chain(turns, fold.futures(turns, renderer.future(prompt=prompt)), None, 0),
        past=turns.pasts[-1],
        calls=reader.calls,
        waiting=reader.waiting,
        prompt=prompt,
    )


def state_of(renderer: Renderer, previous: Tokens) -> State:
    """The state of earlier tokens; OptionError unless this renderer, with these options, made them."""
    state = previous.state if isinstance(previous, Tokens) else None
    if not isinstance(state, State) or state.node is None:
        raise OptionError(
            "these tokens carry no conversation to extend",
            help="extend what render, extend or a trajectory returned",
        )
    if state.renderer != renderer.fingerprint():
        raise OptionError(
            f"the earlier tokens were written by {state.renderer}",
            help="format and options must stay the same: the head or earlier turns may depend on them",
        )
    return state


def same_tools(previous: Tokens, tools: fold.Tools) -> None:
    """OptionError where tools are given again and are not those of the earlier tokens."""
    state = previous.state
    if tools is not None and isinstance(state, State) and list(tools) != list(state.tools or ()):
        raise OptionError(
            "the tools are not those of the earlier tokens",
            help="the tool list stands in the head: start anew, or leave `tools` out to keep it",
        )


def wants_prompt(last: str, asked: bool | None) -> bool:
    """Whether a generation prompt is added: as asked, else unless the last message has the assistant's role."""
    return last != "assistant" if asked is None else bool(asked)


def sealed_state(renderer: Renderer, state: State) -> State:
    """The state with every run closed: what is written stays written, so a new result opens its own run."""
    for run in renderer.runs:
        if getattr(state.past, run):
            past = state.past._replace(**dict.fromkeys(renderer.runs, False))
            return state._replace(past=past)
    return state
