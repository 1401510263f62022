"""A rollout of T turns beside the alternatives: `python -m tests.benchmarks.rollout_cost [TURNS ...]` (extra `bench`).

Each turn is a prompt, ids that a model sampled, and the next message. Every program is given the same ids, reads the
completion and makes the next prompt: templc by a trajectory, `renderers` by its bridge, the others by rendering anew.
The scale is that of `compare`: 1.0 is what `tokenizers` takes to encode the finished text. Times are medians over
rounds measured one after the other.

A trajectory encodes little and reads much, so beside one render of the final conversation it looks the dearer, the
faster text is encoded. So both are shown with the fast engine and with the tokenizer's own, and their ratio with each.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.benchmarks.compare import Work, ratio
from tests.benchmarks.engines import with_engine
from tests.support import vocabularies
from tests.support.published import path_of

TEXT = "The temperature is 18 degrees and the wind comes from the west, so take a light jacket. "
TURNS = (1, 8, 64, 256)
# Rendering anew takes a minute for more turns than these, so it is measured once.
SOON = 64


class Rollout(NamedTuple):
    """messages: a user, then assistants with calls and their results in turn. sampled: the ids of each assistant."""

    messages: list[dict[str, Any]]
    sampled: list[list[int]]


def rollout(turns: int, renderer: Any) -> Rollout:
    """A tool loop whose calls were sampled just as the tokenizer writes them."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Keep me posted. " + TEXT}]
    for number in range(turns):
        name = f"call_{number}"
        call = {"name": "get_weather", "arguments": {"hour": number, "why": TEXT * 3}}
        one = {"id": name, "type": "function", "function": call}
        messages += [
            {"role": "assistant", "content": TEXT * 3, "tool_calls": [one]},
            {"role": "tool", "tool_call_id": name, "content": TEXT * 3},
        ]
    tokens = renderer.render(messages)
    told = list(zip(tokens, tokens.message_index, tokens.sampled, strict=True))
    assistants = range(1, len(messages), 2)
    sampled = [[id for id, of, by in told if of == at and by] for at in assistants]
    return Rollout(messages, sampled)


def trajectory(renderer: Any, given: Rollout) -> list[int]:
    """All tokens, by a trajectory of templc."""
    made = renderer.start(given.messages[:1])
    for number, ids in enumerate(given.sampled):
        made.sampled(ids)
        made.add([given.messages[2 * number + 2]])
    return list(made.tokens)


def bridged(made: Any, given: Rollout) -> list[int]:
    """The same, by the bridge of `renderers`."""
    prompt = made.render_ids(given.messages[:1], add_generation_prompt=True)
    for number, ids in enumerate(given.sampled):
        made.parse_response(ids)
        after = [given.messages[2 * number + 2]]
        prompt = made.bridge_to_next_turn(prompt, ids, after).token_ids
    return list(prompt)


def anew(prompt_of: Callable[[list[dict[str, Any]]], Any], given: Rollout) -> None:
    """Every prompt rendered from the first message on."""
    for at in range(1, len(given.messages) + 1, 2):
        prompt_of(given.messages[:at])


def programs(hf: Any, given: Rollout, final: list[int]) -> dict[str, Work]:
    """What each program does; one that is not installed is left out."""
    found: dict[str, Work] = {}
    package = _installed("renderers")
    if package is not None:
        made = package.create_renderer(hf, package.config_from_name("qwen3"))
        if bridged(made, given) != final:
            print("  (renderers: other tokens than templc)")
        found["renderers bridge"] = lambda: bridged(made, given)
    cookbook = _installed("tinker_cookbook.renderers")
    if cookbook is not None:
        renderer = cookbook.get_renderer("qwen3_instruct", hf)
        own = Rollout([_as_cookbook(cookbook, one) for one in given.messages], given.sampled)
        found["tinker-cookbook"] = lambda: anew(renderer.build_generation_prompt, own)
    prompt = {"tokenize": True, "add_generation_prompt": True}
    found["transformers"] = lambda: anew(lambda m: hf.apply_chat_template(m, **prompt), given)
    return found


def _as_cookbook(cookbook: Any, message: dict[str, Any]) -> dict[str, Any]:
    """A message with its calls as the cookbook has them."""
    if "tool_calls" not in message:
        return message
    calls = [
        {
            **call,
            "function": {
                **call["function"],
                "arguments": json.dumps(call["function"]["arguments"]),
            },
        }
        for call in message["tool_calls"]
    ]
    return {**message, "tool_calls": [cookbook.ToolCall.model_validate(call) for call in calls]}


def _installed(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def shown(renderers: dict[str, Any], hf: Any, turns: int) -> str:
    """A line for each program and engine."""
    given = rollout(turns, renderers["own"])
    finished = renderers["own"].render(given.messages)
    final, rounds = list(finished), 9

    def scale() -> None:
        hf.backend_tokenizer.encode(finished.text, add_special_tokens=False)

    lines = [f"{turns} turns, {len(final)} tokens"]
    for engine, renderer in renderers.items():
        assert trajectory(renderer, given) == final, engine
        work: tuple[Work, Work] = (
            lambda renderer=renderer: renderer.render(given.messages),  # type: ignore[misc]
            lambda renderer=renderer: trajectory(renderer, given),  # type: ignore[misc]
        )
        render, rolled = (ratio(scale, one, rounds) for one in work)
        lines.append(
            f"    templc, {engine + ' engine':13}one render {render:.2f}, trajectory {rolled:.2f}, "
            f"trajectory to render {ratio(*work, rounds):.2f}"
        )
    others = 9 if turns <= 8 else 3 if turns <= SOON else 1
    for name, other in programs(hf, given, final).items():
        lines.append(f"    {name:21}{ratio(scale, other, others):.2f}")
    return "\n".join(lines)


def main() -> None:
    """Print what each program takes."""
    template = path_of("Qwen-Qwen3-0.6B@a55ee1").read_text(encoding="utf-8")
    renderers = {
        engine: with_engine(engine, "qwen3_instruct", lambda: vocabularies.hf("qwen3", template))
        for engine in ("fast", "own")
    }
    hf = vocabularies.hf("qwen3", template)
    for turns in [int(text) for text in sys.argv[1:]] or TURNS:
        print(shown(renderers, hf, turns), flush=True)


if __name__ == "__main__":
    main()
