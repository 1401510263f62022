"""The codes of problems: a title and why it matters, for each.

Input: nothing; output: the table `CODES`, which every report is checked against. Codes are words
with dashes, so that they can be said and searched for: `CODES["duplicate-key"].title` is `a key
stands twice`.
"""

from __future__ import annotations

from typing import NamedTuple


class Code(NamedTuple):
    """What a code stands for."""

    title: str
    why: str


CODES: dict[str, Code] = {
    # source
    "unreadable": Code(
        "a file cannot be read",
        "Nothing can be said about a spec that cannot be opened.",
    ),
    "too-large": Code(
        "too large",
        "A spec is a page or two; bounds keep a hostile one from eating the machine.",
    ),
    "too-deep": Code(
        "nested too deeply",
        "What a person cannot follow is refused, and no stack overflows.",
    ),
    "not-text": Code(
        "not text",
        "A spec is UTF-8 text, and a hole writes text: anything else would be guessed.",
    ),
    "empty": Code(
        "an empty file",
        "A spec says at least its name, its reference and its roles.",
    ),
    "yaml-syntax": Code(
        "not YAML",
        "The file does not parse. The place is where YAML gave up; the cause may stand before it.",
    ),
    "yaml-guess": Code(
        "a guess of YAML 1.1",
        "YAML readers disagree about words such as `on`: say which is meant.",
    ),
    "yaml-feature": Code(
        "a YAML feature that specs do not have",
        "Tags run code, anchors explode, merge keys hide their source, documents get lost.",
    ),
    "duplicate-key": Code(
        "a key stands twice",
        "YAML readers keep the last one in silence.",
    ),
    # syntax
    "unknown-key": Code(
        "an unknown key",
        "A misspelt key would otherwise be a silent default.",
    ),
    "missing-key": Code(
        "a key is missing",
        "The format cannot be written without it.",
    ),
    "wrong-type": Code(
        "a value of the wrong kind",
        "Later stages rely on the shape.",
    ),
    "unclosed-hole": Code(
        "a hole is not closed",
        "`${` starts a hole, `}` ends it, `$${` writes the characters.",
    ),
    "bad-hole": Code(
        "a malformed hole",
        "A hole is a name with filters, nothing else.",
    ),
    "bad-condition": Code(
        "a malformed condition",
        "Conditions are a small language of facts, with no code in it.",
    ),
    # model
    "unknown-field": Code(
        "an unknown field",
        "A misspelt field would print nothing.",
    ),
    "unknown-filter": Code(
        "an unknown filter",
        "Filters are a fixed table: each has one meaning and an inverse.",
    ),
    "unknown-name": Code(
        "an unknown name",
        "Nothing of that name is defined.",
    ),
    "bad-filter": Code(
        "a filter used wrongly",
        "Each filter says what it takes.",
    ),
    "bad-each": Code(
        "a malformed loop",
        "Loops walk calls, their arguments, tools, or system messages.",
    ),
    "bad-option": Code(
        "a malformed option",
        "Options are typed, and their defaults must fit.",
    ),
    "name-clash": Code(
        "a name is taken",
        "One name, one meaning, wherever it stands.",
    ),
    "misplaced-name": Code(
        "a name at the wrong place",
        "What a place may read decides what can be proved about it.",
    ),
    "misplaced-fact": Code(
        "a fact at the wrong place",
        "A prompt that read the future could not be written.",
    ),
    "cycle": Code(
        "something contains itself",
        "Fragments and inheritance must end somewhere.",
    ),
    "undeclared-special": Code(
        "an undeclared control token",
        "Undeclared, it would be encoded as plain text.",
    ),
    "no-stop-token": Code(
        "nothing stops sampling",
        "A turn that never ends cannot be sampled or trained.",
    ),
    "unreachable": Code(
        "something that is never written",
        "It says what cannot happen, or forgets what can.",
    ),
    "unused": Code(
        "a name that nothing reads",
        "Dead text in a spec misleads its reader.",
    ),
    "misnamed-file": Code(
        "a spec in a file of another name",
        "Other specs and the build find a format by its file.",
    ),
    # proof
    "prompt-not-prefix": Code(
        "a prompt that no turn begins with",
        "What is sampled behind it would be trained behind other tokens.",
    ),
    "trained-unsampled": Code(
        "text that is trained and never sampled",
        "Only what a model samples is trained: body and stop token.",
    ),
    "untrained-stop": Code(
        "a turn without its stop token",
        "A model learns to stop from the stop token alone.",
    ),
    "no-such-fault": Code(
        "a declared fault that the format does not have",
        "What is declared must be there, or it would hide the next one.",
    ),
    "prefix-not-stable": Code(
        "a demanded boundary is not stable",
        "`extend` would have to rewrite what was emitted.",
    ),
    # build
    "shared-name": Code(
        "two formats of one name",
        "A name must say which format is meant.",
    ),
    "not-generated": Code(
        "a file in the way",
        "The build overwrites only what it wrote itself.",
    ),
}
