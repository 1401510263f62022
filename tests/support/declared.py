"""Where a spec and its published template part on purpose, with `unsupported="as_template"`: each kind with its reason.

Two kinds are allowed. A refusal of ours, known by what the spec says; and a conversation that we write and the
template refuses, known by what the template raises. All else must be equal.
"""

from __future__ import annotations

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
        "the template does not read missing content as empty",
    ): "the template drops the message or writes something of its own, and templc reads it as an empty one",
    (
        ANY,
        "the template does not read an empty list of tool calls as none",
    ): "the template writes the marks of calls around nothing, or takes the first one of none",
    (
        ANY,
        "content is a list of parts",
    ): "a template that takes content for a text writes the list as Python would",
    (
        ANY,
        "the template cannot write a message without content",
    ): "the template can where it does not come to read it",
    (
        "qwen3_vl_thinking",
        "the template cannot write a leading system message whose content is no text",
    ): "the template can where no tools are given, and writes nothing of it",
    (
        ANY,
        "a message with parts that are no text stands next to another one of its role",
    ): "the template makes one message of the two, with the picture in front of a single text",
    (
        ANY,
        "a tool call has no `function`",
    ): "the template writes its mapping as Python would",
    (
        ANY,
        "the template does not write empty arguments as they are",
    ): "the template writes an empty mapping for them",
    (
        ANY,
        "the template needs arguments as a mapping",
    ): "the template fails on a text, but for one in a call without its wrapper, which it writes whole",
    (
        "llama4",
        "the template writes the list as Python would",
    ): "it does so where the first message holds the tools too, and reads the list everywhere else",
    (
        ANY,
        "content is a list without a text",
    ): "the template writes [], takes the list for something or fails, each role in its own way",
    **{
        (name, "the template cannot write an answer without content"): (
            "the template writes the name of what is missing, or None"
        )
        for name in ("command_r7b", "command_a_plus", "north_mini_code")
    },
    (
        ANY,
        "the template cannot write reasoning without content",
    ): "the template can where another answer follows, and merges them",
    (
        "apertus",
        "the template drops a message without content",
    ): "what was given to be read should not be lost",
    (
        "hunyuan_a13b",
        "the template raises where the first message is empty",
    ): "a result without content is dropped where it stands first",
    (
        ANY,
        "an answer needs content or tool calls",
    ): "the template takes an empty answer only where another one follows, and merges them",
}

# Refusals that name what they refuse, by how they begin.
BEGUN: dict[str, str] = {
    "a part of type `": "a picture that the format has no place for; the template drops it, moves it or fails",
    "the call to `": "the template writes the name of nothing, null, or nothing at all for arguments that are missing",
    "the arguments of the call to `": "the template writes one by one what is no mapping, or the text as it is",
    "no role `": "the same as below, as the interpreter says it",
    "a tool has no `": "the template writes nothing for a declaration without its wrapper",
    "a part has no type": "the template drops it or writes its mapping",
}

# Words that follow the name of a format.
ENDED: dict[str, str] = {
    " has no role `": "a role that the format has no words for; the template drops it, or writes it as another",
}

# What we write and the template refuses: (format, words that the template's error holds) -> why that does no harm.
WRITTEN: dict[tuple[str, str], str] = {
    (
        ANY,
        "'dict object' has no attribute 'content'",
    ): "missing content is written as empty, which is what it means beside calls and in dumps of messages",
    **{
        (ANY, f"'dict object' has no attribute '{key}'"): (
            "a declaration may leave out what it does and what it takes"
        )
        for key in ("description", "parameters")
    },
    **{
        (ANY, f"'dict object' has no attribute '{key}'"): (
            "calls and tools are read with their wrapper and without it, and a type says nothing"
        )
        for key in ("function", "type")
    },
    **{
        (name, 'can only concatenate str (not "list") to str'): (
            "arguments that are a list are JSON too, if no call can have them"
        )
        for name in ("deepseek_r1_0528", "deepseekv3_1", "kanana1_5")
    },
    (
        ANY,
        "Object of type Undefined is not JSON serializable",
    ): "the same, where the template writes content as JSON",
    (
        "jamba",
        "has no attribute 'text'",
    ): "a document without a text is written with an empty one",
    (
        "jamba",
        "can only concatenate str",
    ): "a number in a document is written as its digits, as in every other format",
    (
        "hunyuan_a13b",
        "access to attribute 'update' of 'dict' object is unsafe",
    ): "the template fails on an empty first message of a role that it does not know",
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
        "qwq",
        "has no attribute 'content'",
    ): "the template refuses missing content next to calls only where a message follows",
}


def refusal(format: str, reason: str) -> bool:
    """Whether our refusal with these words is declared."""
    if any((name, reason) in REFUSED for name in (format, ANY)):
        return True
    named = any(reason.startswith(f"{format}{words}") for words in ENDED)
    return named or any(reason.startswith(words) for words in BEGUN)


def superset(format: str, reason: str) -> bool:
    """Whether it is declared that we write what the template refuses with these words."""
    return any(name in (format, ANY) and words in reason for name, words in WRITTEN)
