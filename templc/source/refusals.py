"""What a scalar of a spec may not be: a guess, half a character, a key that is no name.

Input: a scalar that was read; output: a problem at it, or nothing. `a: on` is refused as a guess,
and `"\\ud83d"` as half a character.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yaml.reader import Reader

from templc.problems.problem import Problems
from templc.source.guesses import guess
from templc.source.span import Source, Span

if TYPE_CHECKING:
    from templc.source.nodes import ScalarNode

_KINDS = {"bool": "true or false", "int": "a number", "null": "nothing", "text": "a text"}


def refuse_feature(what: str, span: Span, cure: str, problems: Problems) -> None:
    """Report a part of YAML that specs do not have."""
    message = f"{what} cannot stand in a spec"
    problems.error("yaml-feature", message, span, label="here", helps=(cure,))


def refuse_guess(node: ScalarNode, problems: Problems) -> None:
    """Report a plain text that YAML 1.1 readers take for something else."""
    what = guess(node.value)
    if what == "a merge key":
        cure = "use `extends` or `fragments`, or quote the text"
        refuse_feature(what, node.span, cure, problems)
    elif what is not None:
        word = what in ("true", "false", "null")
        shown, other = (f"`{what}`", f"write {what}, or ") if word else (what, "")
        problems.error(
            "yaml-guess",
            f"YAML 1.1 readers take `{node.value}` for {shown}",
            node.span,
            label="not quoted",
            helps=(f'{other}quote it: "{node.value}"',),
        )


def refuse_key(node: ScalarNode, problems: Problems) -> None:
    """Report a key that is not a text."""
    shown, cure = "a key is missing", "write a name before the colon"
    if node.value:
        shown = f"the key `{node.value}` is {_KINDS[node.kind]}"
        cure = f'quote it: "{node.value}"'
    problems.error("yaml-guess", shown, node.span, label="used as a key", helps=(cure,))


def refuse_surrogates(node: ScalarNode, problems: Problems) -> None:
    """Report an escape such as `\\ud83d`: half a character, which no UTF-8 text can hold."""
    value = node.value
    at = next((i for i, char in enumerate(value) if "\ud800" <= char <= "\udfff"), None)
    if at is None:
        return
    whole = value[at : at + 2].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    pair = len(whole) == 1 and whole != "\ufffd"
    problems.error(
        "not-text",
        f"U+{ord(value[at]):04X} is half a character",
        node.at(at, at + (2 if pair else 1)),
        label="a surrogate",
        helps=(f"write \\U{ord(whole):08X}" if pair else "write the whole character",),
    )


def refuse_unprintable(source: Source, problems: Problems) -> bool:
    """Report each kind of character that YAML forbids, where it first stands; whether there is one."""
    first: dict[str, int] = {}
    for found in Reader.NON_PRINTABLE.finditer(source.text):
        first.setdefault(found.group(), found.start())
    for char, at in first.items():
        problems.error(
            "not-text",
            f"the character U+{ord(char):04X} cannot stand in YAML",
            Span(source, at, at + 1),
            label="here",
            helps=("remove it, or write it as an escape in double quotes",),
        )
    return bool(first)
