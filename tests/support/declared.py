"""Where a spec and its published template part on purpose, with `unsupported="as_template"`: each kind with its reason.

Two kinds are allowed. A refusal of ours, known by what the spec says; and a conversation that we write and the
template refuses, known by what the template raises. All else must be equal.
"""

from __future__ import annotations

import itertools

ANY = "*"

# What we refuse and the template writes: (format, our words) -> why refusing is better.
REFUSED: dict[tuple[str, str], str] = {
    (
        ANY,
        "a tool result cannot open a conversation",
    ): "the template leaves out the header of its turn",
    (
        "jamba",
        "with documents the first message behind the system's must be the user's",
    ): "the template writes the documents before the first message where the user says nothing at all",
    (
        ANY,
        "with tools the first message must be the user's",
    ): "the template turns whatever stands first into a user message that carries the tools",
    (
        "deepseek_r1",
        "the template writes no more than one round of tool calls",
    ): "the template writes later rounds without their header, and never closes the results before them",
    (
        "cohere2",
        "a system message must stand first",
    ): "the template moves it to the head",
    (
        "hunyuan_a13b",
        "a system message must stand first",
    ): "the template writes a later one without anything around it",
    (
        "hunyuan_a13b",
        "the template leaves out the start of a second message",
    ): "it takes the first message for a system message, whoever wrote it",
    (
        "falcon3",
        "the template writes the whole mapping of a call with whatever keys it has",
    ): "a call has the same text whatever else its mapping holds",
    (
        "falcon3",
        "the template cannot write a message without content",
    ): "it can where tools are declared, with calls that are refused anyway, or as an empty answer",
    (
        "deepseekv3_2",
        "the template closes results where as many came as calls were made",
    ): "results that come one by one cannot be counted before all are there",
    (
        ANY,
        "an empty system message moves the tools or not",
    ): "the template parts system text and tools where the joined text is not empty",
    (
        "gpt_oss",
        "a tool result must answer the call before it",
    ): "the template names the latest call, whatever id the result has",
    **{
        (name, "a tool result must answer the call before it"): (
            "the template gives a result without a call an empty number"
        )
        for name in ("command_r7b", "command_a_plus", "north_mini_code")
    },
    (
        ANY,
        "a tool result must follow the message that made the call",
    ): "the template drops the result in silence",
    (
        "hermes4",
        "the template does not close an empty answer",
    ): "its turn would run into the next one",
    (
        ANY,
        "behind a tool call comes a result or the user",
    ): "the template merges the two answers, and moves the calls behind the later text",
    (
        ANY,
        "an answer needs content or tool calls",
    ): "the template takes an empty answer only where another one follows, and merges them",
}

# What we write and the template refuses: (format, words that the template's error holds) -> why that does no harm.
WRITTEN: dict[tuple[str, str], str] = {
    (
        "gemma4_early",
        "can only concatenate str",
    ): "the template fails on a result with neither a name nor the id of a call",
    (ANY, "No user query found in messages"): "an extension may still bring the query",
    (
        ANY,
        "Cannot put tools in the first user message when there's no first user message",
    ): "an extension may still bring the message",
    (
        "nemotron_nano_v2",
        "has no element -1",
    ): "an extension may still bring a message behind the system's",
    (
        "hermes2_pro",
        "'NoneType' object is not iterable",
    ): "the template asks for a list of tools, if an empty one, and this format writes the same for none",
    **{
        (name, "'NoneType' object is not iterable"): (
            "with documents the template asks for a list of tools, if an empty one"
        )
        for name in ("command_r7b", "command_a_plus", "north_mini_code")
    },
    (
        "apertus",
        "has no attribute 'description'",
    ): "the template takes the inner part of a declaration only",
    (
        "qwq",
        "has no attribute 'content'",
    ): "the template refuses missing content next to calls only where a message follows",
}

# What differs: (format, names of the shapes) -> why.
DIFFERENT: dict[tuple[str, tuple[str, ...]], str] = {
    (
        name,
        shapes,
    ): "the template writes the prompt inside its loop over the messages behind the first one"
    for name in ("granite_3_1", "granite_3_3", "granite_speech_3_2", "granite_speech_3_3")
    for shapes in itertools.product(("s", "s.empty", "s.space"), repeat=2)
} | {
    ("command_r7b", (shape,)): "the template ends with a prompt where it was told not to, here too"
    for shape in ("s", "s.empty", "s.space")
}


EQUAL_USERS = ("mistral_v0_3", "mistral_nemo", "mistral_small_3_2")


def equal_users(names: tuple[str, ...]) -> bool:
    """Two equal user messages: Mistral's templates before 2512 write the tools before both."""
    users = [name for name in names if name.startswith("u")]
    return len(set(users)) < len(users)


def refusal(format: str, reason: str) -> bool:
    """Whether our refusal with these words is declared."""
    return any((name, reason) in REFUSED for name in (format, ANY))


def superset(format: str, reason: str) -> bool:
    """Whether it is declared that we write what the template refuses with these words."""
    return any(name in (format, ANY) and words in reason for name, words in WRITTEN)
