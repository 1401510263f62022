"""What a format does to messages before it reads them: the runtime's form of the spec key `messages`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class InlineReasoning:
    """Reasoning inside content: between `open` and `close`; `content` filters what follows.

    `reasoning`: "newlines" takes the newlines off both ends of the thoughts, "whole" takes nothing. `in_template`:
    whether the published template reads it so too; if not, it stays content for `as_template`. `over_field`: the
    template takes it out of content also where the message has reasoning of its own.
    """

    open: str
    close: str
    content: str = ""
    reasoning: str = "newlines"
    in_template: bool = True
    over_field: bool = False


@dataclass(frozen=True, slots=True)
class MessageRules:
    """What a format does to messages before it reads them; see the spec key `messages`.

    `parts`: what is written for parts that are not text; `labels` stand in front of them while the option that
    `labelled` names for their type is true. `parts_in`: the roles whose messages may hold such parts, all where there
    are none; `parts_alone`: those of which no two may follow one another where one holds such parts; `parts_first`:
    those where such a part stands before a single text. `between_texts` stands instead of `between` where two texts
    meet.
    `told_apart`: the roles of which the template does not read missing content as empty, and `calls`, `flat` or
    `arguments` where it does not read an empty list of calls as none, calls without a wrapper as those with one, or an
    empty text as no arguments. `first_roles`: roles that are another one in the first message. `numbered`: the format
    writes which call of the conversation a result answers, so their ids are kept.
    """

    content: str = ""
    inline_reasoning: InlineReasoning | None = None
    lists: str = "refuse"
    lists_by_role: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, str] = field(default_factory=dict)
    between: str = ""
    between_texts: str = ""
    call_id: str = ""
    calls: str = "all"
    roles: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    labelled: Mapping[str, str] = field(default_factory=dict)
    part_text: str = ""
    parts_in: tuple[str, ...] = ()
    parts_alone: tuple[str, ...] = ()
    parts_first: tuple[str, ...] = ()
    told_apart: tuple[str, ...] = ()
    first_roles: Mapping[str, str] = field(default_factory=dict)
    numbered: bool = False

    def under(self, options: Mapping[str, object]) -> MessageRules:
        """The rules with these options: without the labels that are off."""
        on = {kind: option for kind, option in self.labelled.items() if options[option]}
        if len(on) == len(self.labelled):
            return self
        return replace(self, labels={kind: self.labels[kind] for kind in on}, labelled=on)
