"""Speed beside the alternatives: `python -m tests.benchmarks.compare [FORMAT ...]` (extra `bench`).

Owns one table, of conversations to ids and weights, and one of what was aimed at. TEMPLC_ENGINE=tiktoken compares the
second engine in place of the first one. The scale is what `tokenizers` takes to encode the finished text: 1.0. Every
number is the median over pairs measured one after the other in the same run, so that a busy machine slows both. "-"
where a program has no such format, does not accept the conversation, or is not installed.
"""

from __future__ import annotations

import importlib
import logging
import os
import random
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from typing import Any, NamedTuple

import templc
from templc.runtime.codec import codec_of
from tests.support import vocabularies
from tests.support.published import path_of

Work = Callable[[], Any]
TEXT = (
    "the model reads one list of numbers and each turn adds to it, so a change near the start moves all that "
    "follows; def f(x): return x + 1  # 42 and Ελλάδα, 你好, naïve, https://example.org/a?b=c"
)
WORDS = TEXT.split()
ROUNDS = 15
FEW = 5
LEAST = 0.005


class Family(NamedTuple):
    """vocabulary: of tests.support. Then the names of the format here, its template, and in the other programs."""

    vocabulary: str
    format: str
    template: str
    renderers: str
    cookbook: str


FAMILIES = (
    Family("qwen3", "qwen3", "Qwen-Qwen3-0.6B@a55ee1", "qwen3", "qwen3"),
    Family("llama3", "llama3", "NousResearch-Meta-Llama-3-8B-Instruct", "llama-3", "llama3"),
    Family(
        "deepseek-v3",
        "deepseekv3",
        "ByteDance-Seed-academic-ds-9B",
        "deepseek-v3",
        "deepseekv3",
    ),
    Family("gpt-oss", "gpt_oss", "openai-gpt-oss-120b", "gpt-oss", "gpt_oss_medium_reasoning"),
)


def conversation(
    turns: int, words: int, *, tools: bool = False, seed: int = 1
) -> list[dict[str, Any]]:
    """`turns` questions with answers; with tools, each answer has reasoning and a call, and a result follows."""
    dice = random.Random(seed)

    def text() -> str:
        return " ".join(dice.choices(WORDS, k=words))

    messages: list[dict[str, Any]] = []
    for number in range(turns):
        messages.append({"role": "user", "content": text()})
        if tools:
            call = {"name": "look_up", "arguments": {"query": text(), "limit": number}}
            one = {"id": f"call_{number}", "type": "function", "function": call}
            said = {"role": "assistant", "content": "", "reasoning_content": text()}
            messages += [said | {"tool_calls": [one]}]
            messages.append({"role": "tool", "tool_call_id": f"call_{number}", "content": text()})
        messages.append({"role": "assistant", "content": text()})
    return messages


def ratio(base: Work, work: Work, rounds: int = ROUNDS) -> float:
    """The time of `work` over that of `base`: the median of pairs.

    What takes less than `LEAST` seconds is run so often in a row that it takes about that long.
    """
    # Not by the first run, which finds nothing in the caches of the processor.
    often = [
        max(1, round(LEAST / min(seconds(one, 1) for _ in range(FEW)))) for one in (base, work)
    ]
    found = []
    for _ in range(rounds):
        first, second = (
            seconds(one, times) for one, times in zip((base, work), often, strict=True)
        )
        found.append(second / first)
    return statistics.median(found)


def seconds(work: Work, times: int) -> float:
    """The seconds of one run, over `times` runs in a row."""
    begin = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - begin) / times


def others(family: Family, messages: list[dict[str, Any]]) -> dict[str, Work]:
    """What the other programs do for the same conversation; what fails is left out."""
    found: dict[str, Work] = {}
    hf = vocabularies.hf(family.vocabulary, path_of(family.template).read_text(encoding="utf-8"))
    found["transformers"] = lambda: hf.apply_chat_template(messages, tokenize=True)
    for name, make in (("renderers", _renderers), ("tinker-cookbook", _cookbook)):
        try:
            found[name] = make(family, hf, messages)
            found[name]()
        except Exception as error:  # whatever another program raises means that it cannot do it
            print(f"  ({family.format}: {name}: {type(error).__name__}: {str(error)[:90]!r})")
            found.pop(name, None)
    return found


def _renderers(family: Family, hf: Any, messages: list[dict[str, Any]]) -> Work:
    package = importlib.import_module("renderers")
    made = package.create_renderer(hf, package.config_from_name(family.renderers))

    def mask(message: Any) -> bool:
        return bool(message["role"] == "assistant")

    return lambda: package.build_training_sample(made, messages, role_to_mask=mask)


def _cookbook(family: Family, hf: Any, messages: list[dict[str, Any]]) -> Work:
    made: Any = importlib.import_module("tinker_cookbook.renderers")
    renderer = made.get_renderer(family.cookbook, hf)
    everything = made.TrainOnWhat.ALL_ASSISTANT_MESSAGES
    return lambda: renderer.build_supervised_example(messages, train_on_what=everything)


def whole(renderer: Any, messages: list[dict[str, Any]]) -> None:
    """Ids and weights of a conversation."""
    _ = renderer.render(messages, add_generation_prompt=False).weights


def grown(renderer: Any, messages: list[dict[str, Any]]) -> None:
    """The same as rollouts have it: two messages at a time."""
    tokens = renderer.render(messages[:1], add_generation_prompt=False)
    _ = tokens.weights
    for at in range(1, len(messages), 2):
        tokens = renderer.extend(
            tokens, messages[at : at + 2], add_generation_prompt=False, history="as_sampled"
        )
        _ = tokens.weights


def again(hf: Any, messages: list[dict[str, Any]]) -> None:
    """The same, rendered anew at each turn."""
    for at in range(1, len(messages) + 1, 2):
        hf.apply_chat_template(messages[:at], tokenize=True)


def rows(family: Family) -> list[tuple[str, dict[str, float]]]:
    """One row for each kind of conversation."""
    own = vocabularies.backend(family.vocabulary)
    renderer = templc.get_renderer(family.format, own)
    codec = codec_of(own)
    wanted = os.environ.get("TEMPLC_ENGINE", "gigatoken")
    assert codec.engine() == wanted, codec.engine()
    found = []
    for kind, messages in (
        ("64 turns", conversation(64, 75)),
        ("long messages", conversation(4, 2500)),
        ("2 messages", conversation(1, 9)),
        ("tools and thinking", conversation(16, 60, tools=True)),
    ):
        try:
            text = renderer.render(messages, add_generation_prompt=False).text
        except templc.MessageError as error:
            print(f"  ({family.format}: {kind}: {str(error).splitlines()[0]})")
            continue

        def scale(text: str = text) -> None:
            own.encode(text, add_special_tokens=False)

        works: dict[str, Work] = {
            "templc": lambda m=messages: whole(renderer, m),  # type: ignore[misc]
            "bare engine": lambda t=text: codec.plain(t),  # type: ignore[misc]
            **others(family, messages),
        }
        found.append((kind, {name: ratio(scale, work) for name, work in works.items()}))
    return [*found, *_turn_by_turn(family, renderer, own), *_parsing(family, renderer, own)]


def _turn_by_turn(family: Family, renderer: Any, own: Any) -> list[tuple[str, dict[str, float]]]:
    messages = conversation(64, 75)
    text = renderer.render(messages, add_generation_prompt=False).text
    hf = vocabularies.hf(family.vocabulary, path_of(family.template).read_text(encoding="utf-8"))

    def scale() -> None:
        own.encode(text, add_special_tokens=False)

    works = {
        "templc": ratio(scale, lambda: grown(renderer, messages), 5),
        "transformers": ratio(scale, lambda: again(hf, messages), 1),
    }
    return [("64 turns, at each turn", works)]


def _parsing(family: Family, renderer: Any, own: Any) -> list[tuple[str, dict[str, float]]]:
    tokens = renderer.render(conversation(1, 400), add_generation_prompt=False)
    ids = [id for id, weight in zip(tokens, tokens.weights, strict=True) if weight]
    text = codec_of(own).decode(ids)

    def scale() -> None:
        own.encode(text, add_special_tokens=False)

    works: dict[str, Work] = {"templc": lambda: renderer.parse(ids)}
    try:
        package = importlib.import_module("renderers")
        template = path_of(family.template).read_text(encoding="utf-8")
        hf = vocabularies.hf(family.vocabulary, template)
        peer = package.create_renderer(hf, package.config_from_name(family.renderers))
        peer.parse_response(ids)
        works["renderers"] = lambda: peer.parse_response(ids)
    except Exception as error:  # whatever another program raises means that it cannot do it
        print(f"  ({family.format}: renderers: {type(error).__name__}: {str(error)[:90]!r})")
    return [("parsing an answer", {name: ratio(scale, work) for name, work in works.items()})]


def aims(family: Family) -> list[tuple[str, str, str]]:
    """What was aimed at, what was measured, and what was wanted; each in pairs of its own."""
    own = vocabularies.backend(family.vocabulary)
    renderer = templc.get_renderer(family.format, own)
    turns, short = conversation(64, 75), conversation(1, 9)
    text = renderer.render(turns, add_generation_prompt=False).text
    scale = ratio(
        lambda: own.encode(text, add_special_tokens=False), lambda: whole(renderer, turns)
    )
    steps = [ratio(lambda: whole(renderer, turns), lambda: grown(renderer, turns))]
    loop = conversation(64, 60, tools=True)
    with suppress(templc.MessageError):  # of formats that show no calls
        whole(renderer, loop)
        steps.append(ratio(lambda: whole(renderer, loop), lambda: grown(renderer, loop)))
    # In a process of its own: beside the memory of the other programs, long lists take longer to grow.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        overhead = pool.submit(_overhead, family).result()
    return [
        ("64 turns on the scale", f"{scale:.3f}", "0.25 at most"),
        *(
            (f"64 turns {with_}one by one, over all at once", f"{found:.2f}", "1.3 at most")
            for with_, found in zip(("", "with calls "), steps, strict=False)
        ),
        ("long messages, ids, over the bare engine", f"{overhead:.2f}", "1.15 at most"),
        *_ahead(family, renderer, turns, short),
    ]


def _ahead(
    family: Family, renderer: Any, long: list[dict[str, Any]], short: list[dict[str, Any]]
) -> list[tuple[str, str, str]]:
    """How many times faster a chat of two messages is than in each of the other programs, beside a long one."""
    found = []
    programs = [others(family, chat) for chat in (short, long)]
    for name in programs[0]:
        times = [
            ratio(lambda chat=chat: whole(renderer, chat), works[name])  # type: ignore[misc]
            for chat, works in zip((short, long), programs, strict=True)
        ]
        aim = f"64 turns: {times[1]:.1f}"
        found.append((f"2 messages, times ahead of {name}", f"{times[0]:.1f}", aim))
    return found


def _overhead(family: Family) -> float:
    """The time of a render of long messages over that of encoding its text.

    Both are given texts that nobody has used before: Python keeps the UTF-8 form of a text once it was made, which an
    engine that is asked again and again for the same one would get for nothing.
    """
    own, messages = vocabularies.backend(family.vocabulary), conversation(4, 2500)
    renderer = templc.get_renderer(family.format, own)
    codec = codec_of(own)
    text = renderer.render(messages, add_generation_prompt=False).text
    found = []
    for _ in range(4 * ROUNDS):
        other = _anew(text)
        chat = [{**message, "content": _anew(message["content"])} for message in messages]
        bare = seconds(lambda other=other: codec.plain(other), 1)  # type: ignore[misc]
        render = seconds(
            lambda chat=chat: renderer.render(chat, add_generation_prompt=False),  # type: ignore[misc]
            1,
        )
        found.append(render / bare)
    return statistics.median(found)


def _anew(text: str) -> str:
    """An equal text that is not the same object."""
    return text[:1] + text[1:]


COLUMNS = ("templc", "bare engine", "transformers", "renderers", "tinker-cookbook")


def main() -> None:
    """Print the tables."""
    logging.disable(logging.WARNING)  # the other programs warn at every call
    wanted = [family for family in FAMILIES if family.format in (sys.argv[1:] or family.format)]
    print(f"{'':12}{'':26}" + "".join(f"{name:>16}" for name in COLUMNS))
    for family in wanted:
        for kind, found in rows(family):
            cells = (f"{found[name]:.3f}" if name in found else "-" for name in COLUMNS)
            print(
                f"{family.format:12}{kind:26}" + "".join(f"{cell:>16}" for cell in cells),
                flush=True,
            )
    print()
    for family in wanted:
        for what, measured, aim in aims(family):
            print(f"{family.format:12}{what:42}{measured:>8}   {aim}", flush=True)


if __name__ == "__main__":
    main()
