"""Named conversations: what transformers rendered is the snapshot, and ours must equal it.

The two assertions are apart on purpose: updating snapshots can never bless a mistake of templc, and an update of
transformers shows as a diff of its own. Declared deviations are tested: each must exist, be what it should be, and
vanish as_template.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from templc.model.spec import Deviation
from templc.runtime.errors import TemplcError
from templc.verify import Case, PublishedError
from tests.exhaustive import check, undeclared
from tests.support.deviations import APART, OTHERWISE, PLAIN, causes
from tests.support.formats import (
    FORMATS,
    LISTS,
    REFERENCED,
    interpreter,
    option_kinds,
    option_sets,
    program,
    reference,
    renderer,
)

FOLDER = Path(__file__).parent / "conversations"
SNAPSHOTS = Path(__file__).parent / "__snapshots__" / "test_golden"
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("*.json")))
FEW = ("one_user", "system_first", "system_and_tools", "tools_without_system", "tool_loop")
"""The conversations that are kept with lists and records: what these write is much, and stands in one place."""
Chat = dict[str, Any]


class TextFiles(SingleFileSnapshotExtension):
    """One readable file for each snapshot."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"


@pytest.fixture
def text_file(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(TextFiles)


def conversation(name: str) -> Chat:
    """The arguments of one render."""
    found: Chat = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


def theirs(name: str, chat: Chat, options: dict[str, Any]) -> str:
    """What transformers renders, or why it raises."""
    try:
        return reference(name).render(**chat, **options)
    except PublishedError as error:
        return f"(raises) {error.reason}"


def recorded(name: str) -> Iterator[str]:
    """Every conversation without options, then those that options change."""
    plain = {chat: theirs(name, conversation(chat), {}) for chat in NAMES}
    yield from (f"=== {chat}\n{text}\n" for chat, text in plain.items())
    for options in option_sets(name, brief=True)[1:]:
        for chat in FEW if option_kinds(name, options) & LISTS else NAMES:
            text = theirs(name, conversation(chat), options)
            if text != plain[chat]:
                yield f"=== {chat} {json.dumps(options)}\n{text}\n"


@pytest.mark.parametrize("name", REFERENCED)
def test_published_templates_render_as_recorded(name: str, text_file: SnapshotAssertion) -> None:
    assert "".join(recorded(name)) == text_file


def test_every_snapshot_is_that_of_a_format() -> None:
    wanted = {f"test_published_templates_render_as_recorded[{name}].txt" for name in REFERENCED}
    assert {path.name for path in SNAPSHOTS.iterdir()} == wanted


def test_the_conversations_are_many() -> None:
    assert len(NAMES) >= 25


@pytest.mark.parametrize("name", REFERENCED)
def test_generated_class_and_interpreter_equal_the_published_template(name: str) -> None:
    for options in option_sets(name):
        for chat in NAMES:
            case = Case(**conversation(chat), options=options)
            apart = name in APART.get(chat, ())
            for kind, report in check(name, options, [case], declared_too=True).items():
                equal = not undeclared(name, report)
                assert equal != apart, f"{kind} {chat} {options} {report.as_text()}"


def deviations() -> Iterator[Any]:
    for name in REFERENCED:
        for number, deviation in enumerate(program(name).deviations):
            yield pytest.param(name, deviation, id=f"{name}-{number}-{deviation.shows}")


@pytest.mark.parametrize(("name", "deviation"), list(deviations()))
def test_each_declared_deviation_exists_and_is_what_it_should_be(
    name: str, deviation: Deviation
) -> None:
    assert deviation.shows in NAMES, f"no conversation shows that {deviation.what}"
    chat = conversation(deviation.shows)
    ours = renderer(name).render_text(**chat)
    assert ours != theirs(name, chat, {})
    if (name, deviation.shows) in OTHERWISE:
        assert ours == OTHERWISE[name, deviation.shows](theirs(name, chat, {}))
    else:
        assert ours == theirs(name, PLAIN[deviation.shows](chat), {})


@pytest.mark.parametrize("name", REFERENCED)
def test_by_default_input_is_written_as_its_plain_form_or_refused(name: str) -> None:
    """What differs from the template without a word in the spec is input that has one plain form."""
    declared = {deviation.shows for deviation in program(name).deviations}
    for chat in NAMES:
        given = conversation(chat)
        try:
            ours = renderer(name).render_text(**given)
        except TemplcError:
            continue
        forms = [given, *(plain(given) for plain in PLAIN.values())]
        known = any(ours == theirs(name, form, {}) for form in forms)
        assert known or causes(given) & declared, (chat, ours)


@pytest.mark.parametrize("name", FORMATS)
def test_by_default_generated_class_and_interpreter_agree(name: str) -> None:
    for chat in NAMES:
        given = conversation(chat)
        texts = []
        for made in (renderer(name), interpreter(name, {}, as_template=False)):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.filterwarnings("ignore", ".* declares no tools")
                try:
                    texts.append(made.render_text(**given))
                except TemplcError:
                    texts.append("(refused)")
        assert texts[0] == texts[1], chat


# A format without a published template: written by hand.
IN_PLAIN_TEXT = {
    "one_user": "User: Hello!\n\nAssistant:",
    "two_turns": "User: Hi\n\nAssistant: Hello!\n\nUser: Bye\n\nAssistant: Ciao.\n\n",
    "system_first": "System: Be brief.\n\nUser: Hi\n\nAssistant:",
    "two_systems": "System: One.\n\nSystem: Two.\n\nUser: Hi\n\nAssistant:",
    "text_parts": "User: Name a fruit\n\nAssistant:",
    "results_first": "Tool: orphan\n\nUser: Hi\n\nAssistant:",
}


@pytest.mark.parametrize("chat", IN_PLAIN_TEXT)
def test_role_colon_writes_role_colon_and_text(chat: str) -> None:
    assert renderer("role_colon").render_text(**conversation(chat)) == IN_PLAIN_TEXT[chat]
