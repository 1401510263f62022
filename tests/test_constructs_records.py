"""Options that are lists of records: walked, written by field or whole, fixed in proofs.

Each text is rendered by generated code and by the interpreter, which must agree. What is said about wrong use in a spec
is in `tests/cases`.
"""

from __future__ import annotations

import copy
import pickle
import re
from pathlib import Path
from typing import Any

import pytest

from templc.cli.failures import InputError
from templc.cli.inputs import option_values
from templc.demo import vocabulary
from templc.ir.settings import telling
from templc.pipeline import compile_source
from templc.proof.certificate import certificate
from templc.proof.recheck import recheck
from templc.proof.stability import prove
from templc.runtime.errors import OptionError, UnstableExtension
from templc.runtime.options import Option
from templc.runtime.records import Record, RecordText
from templc.source.span import Source
from tests.support.small import HEAD, USER, made, text

DOCUMENTS = """\
options:
  documents: {type: records, fields: [doc_id, text], doc: what answers rest on}
head:
  each: doc in documents
  open: "["
  do: ["${doc.number}:${doc.doc_id}=${doc.text|strip}", {when: doc.text contains "x", then: "!"}]
  between: ","
  close: "]"
roles:
  user: "<${content}>"
  assistant: {opener: "A", body: "${content}", closer: "<|im_end|>"}
"""
WHOLE = """\
options:
  documents: {type: records, doc: what answers rest on}
roles:
  user:
    - "<${content}>"
    - when: documents and not earlier(user)
      then: {each: doc in documents, do: "${doc|json}"}
  assistant: {opener: "A", body: "${content}", closer: "<|im_end|>"}
"""


def test_records_are_walked_and_their_fields_written() -> None:
    given = [{"doc_id": 7, "text": " x "}, {"doc_id": "b", "text": ""}]
    assert text(DOCUMENTS, [USER], documents=given) == "[0:7=x!,1:b=]<u>"
    assert text(DOCUMENTS, [USER], documents=[]) == text(DOCUMENTS, [USER]) == "<u>"


def test_whole_records_are_written_in_a_turn() -> None:
    given = [{"b": [1, None], "a": "é"}]
    chat = [USER, {"role": "assistant", "content": "a"}, USER]
    assert text(WHOLE, chat, documents=given) == '<u>{"b": [1, null], "a": "é"}Aa<|im_end|><u>'


def test_what_a_record_spells_is_never_a_control_token() -> None:
    given = [{"doc_id": "<|im_end|>", "text": "<|im_end|>"}]
    renderer, _ = made(DOCUMENTS, documents=given)
    pieces = renderer.pieces([USER])
    assert [piece.body for piece in pieces if "<|im_end|>" in piece.text] == [True, True]
    assert {piece.field for piece in pieces if piece.body} == {"option", "content"}


def test_tokens_of_what_a_record_spells() -> None:
    given = [{"doc_id": "<|im_start|>", "text": "<|im_end|>"}]
    tokens = made(DOCUMENTS, documents=given)[0].render([USER], vocabulary("qwen3"))
    assert not {151644, 151645} & {*tokens}
    assert tokens.text == "[0:<|im_start|>=<|im_end|>]<u>A"


MOVING = WHOLE.replace("not earlier(user)", "not later(user)")
ANSWER = {"role": "assistant", "content": "a"}


def test_an_extension_keeps_records_where_they_stay_and_refuses_where_they_move() -> None:
    given, chat, more = [{"a": "<|im_end|>"}], [USER, ANSWER], [USER, ANSWER, USER]
    stays, moves = (made(one, documents=given)[0] for one in (WHOLE, MOVING))
    tokenizer = vocabulary("qwen3")
    start = stays.render(chat, tokenizer)
    assert start + stays.extend(start, [USER], tokenizer) == stays.render(more, tokenizer)
    start = moves.render(chat, tokenizer)
    with pytest.raises(UnstableExtension):
        moves.extend(start, [USER], tokenizer)
    kept = moves.extend(start, [USER], tokenizer, history="as_sampled")
    assert kept.text == '<u>{"a": "<|im_end|>"}A'


def test_earlier_tokens_belong_to_the_records_that_they_were_made_with() -> None:
    first, other = (made(WHOLE, documents=[{"a": text}])[0] for text in "xy")
    tokens = first.render([USER, ANSWER], vocabulary("qwen3"))
    with pytest.raises(OptionError):
        other.extend(tokens, [USER], vocabulary("qwen3"))


def test_the_order_of_keys_tells_renderers_apart() -> None:
    first, other = ({"a": 1, "b": 2}, {"b": 2, "a": 1})
    renderers = [made(WHOLE, documents=[one])[0] for one in (first, other, dict(first))]
    fingerprints = [renderer.fingerprint() for renderer in renderers]
    assert fingerprints[0] == fingerprints[2] != fingerprints[1]
    assert hash(renderers[0].options["documents"]) == hash(renderers[1].options["documents"])


def test_records_stay_what_they_were() -> None:
    given = [{"doc_id": 1, "text": "one"}]
    renderer, _ = made(DOCUMENTS, documents=given)
    given[0]["text"] = "two"
    assert renderer.render_text([USER]) == "[0:1=one]<u>A"
    held: Any = renderer.documents[0]  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="never changed"):
        held["text"] = "two"
    with pytest.raises(TypeError, match="never changed"):
        held.update(text="two")
    for again in (copy.deepcopy(held), pickle.loads(pickle.dumps(held))):
        assert (again, again.number, type(again)) == (held, "0", Record)


@pytest.mark.parametrize(
    ("value", "message", "cure"),
    [
        ("a text", "is no list", "a list of mappings"),
        (None, "is None", "leave it out"),
        (["a text"], "record 0 of `documents` is no mapping", "a list of mappings"),
        ([{"doc_id": 1, "text": object()}], "cannot be written as JSON", "lists and mappings"),
        ([{"text": {1: "a", "1": "b"}}], "cannot be written as JSON", "each key once"),
        ([{"text": "x"}], "record 0 of `documents` has no `doc_id`", "`doc_id`, `text`"),
        ([{"doc_id": 1, "text": None}], "has no `text`", "each record has"),
        ([{"doc_id": 1, "text": ["x"]}], "`text` of record 0 of `documents` is no text", "a text"),
        ([{"doc_id": 1, "text": "x", "title": "t"}], "has `title`, which", "as_template"),
    ],
)
def test_what_is_no_such_record_is_refused(value: Any, message: str, cure: str) -> None:
    with pytest.raises(OptionError) as caught:
        made(DOCUMENTS, documents=value)
    assert message in str(caught.value) and cure in caught.value.help


def test_as_template_records_are_written_as_far_as_they_go() -> None:
    given = [{"text": None, "title": "t"}]
    found, _ = made(DOCUMENTS, documents=given, unsupported="as_template")
    assert found.render_text([USER]) == "[0:=None]<u>A"
    assert str(found.stability).startswith("small, with documents, without tools")


OPTIONAL = """\
options:
  documents: {type: records, fields: [title, text], optional: [title], doc: what answers rest on}
head:
  each: doc in documents
  do: [{when: not doc.title is unset, then: "${doc.title}:"}, "${doc.text}"]
  between: {when: tools is unset, then: ","}
roles:
  user: "<${content}>"
  assistant: {opener: "A", body: "${content}", closer: "<|im_end|>"}
"""


def test_a_field_may_be_optional() -> None:
    given = [{"title": "", "text": "x"}, {"text": "y"}, {"title": "t", "text": "z"}]
    assert text(OPTIONAL, [USER], documents=given) == ":x,y,t:z<u>"
    program = compile_source(Source("small.yaml", HEAD + OPTIONAL)).checked()
    found = prove(program, {"documents": given})
    assert recheck(program, certificate(found)) == []
    assert {cell.verdict for cell in found.cells} == {"stable"}


def test_records_are_constant_in_proofs() -> None:
    program = compile_source(Source("small.yaml", HEAD + WHOLE)).checked()
    first = prove(program, {"documents": [{"a": "x"}]})
    assert str(first) == str(prove(program, {"documents": [{"b": 1}, {"c": 2}]}))
    assert recheck(program, certificate(first)) == []
    assert {cell.verdict for cell in first.cells} == {"stable"}


def test_records_on_the_command_line(tmp_path: Path) -> None:
    known = {"documents": Option("records", ())}
    assert option_values(known, ['documents=[{"a": 1}]']) == {"documents": [{"a": 1}]}
    (tmp_path / "d.json").write_text('[{"a": 2}]')
    assert option_values(known, [f"documents=@{tmp_path / 'd.json'}"]) == {"documents": [{"a": 2}]}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("much", "the option `documents` is not JSON: expecting value"),
        ('[{"text": 1]', "the option `documents` is not JSON: expecting ',' delimiter"),
        ("@open.json", "open.json:1:6: not JSON"),
        ("@lines.json", "lines.json:2:1: not JSON: extra data"),
        ("@empty.json", "empty.json is empty"),
    ],
)
def test_what_is_no_json_says_what_records_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, held in (("open", '[{"a"'), ("lines", '{"a": 1}\n{"a": 1}'), ("empty", "")):
        Path(f"{name}.json").write_text(held)
    known = {"documents": Option("records", (), fields=("title", "text"), optional=("title",))}
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        option_values(known, [f"documents={given}"])
    cure = "give JSON, or @FILE with it: list of records with title (optional), text"
    assert caught.value.help == cure


CONTROLS = """\
options:
  controls: {type: record, values: [length, sources], doc: what an answer is like}
head: {when: controls contains "sources", then: "S"}
roles:
  user: "<${content}>"
  assistant: {opener: "A", body: "${content}", closer: "<|im_end|>"}
prompt: ["A", {when: controls, then: "${controls|json}"}]
"""


@pytest.mark.parametrize(
    ("controls", "wanted"),
    [
        ({}, "<u>A"),
        ({"sources": False, "length": "é"}, 'S<u>A{"sources": false, "length": "é"}'),
        ({"length": 3}, '<u>A{"length": 3}'),
    ],
)
def test_a_record_is_asked_for_its_keys_and_written_whole(controls: Any, wanted: str) -> None:
    for one in made(CONTROLS, controls=controls):
        assert one.render_text([USER], add_generation_prompt=True) == wanted


@pytest.mark.parametrize(
    ("value", "message", "cure"),
    [
        ((), "the option `controls` is no mapping", "some of length, sources"),
        (["sources"], "the option `controls` is no mapping", "some of length, sources"),
        ({"source": True}, "the option `controls` has `source`", "some of length, sources"),
        ({"sources": {1}}, "the option `controls` cannot be written as JSON", "lists and mappings"),
        (None, "is None", "leave it out"),
    ],
)
def test_what_is_no_such_mapping_is_refused(value: Any, message: str, cure: str) -> None:
    with pytest.raises(OptionError) as caught:
        made(CONTROLS, controls=value)
    assert message in str(caught.value) and cure in caught.value.help


def test_a_record_that_is_empty_is_written_as_one() -> None:
    always = CONTROLS.replace(
        '{when: controls, then: "${controls|json}"}', '"${controls|json_compact}"'
    )
    for one in (*made(always), *made(always, controls={})):
        assert one.render_text([USER], add_generation_prompt=True) == "<u>A{}"


def test_a_record_counts_with_each_key_that_is_asked_for_and_with_all() -> None:
    program = compile_source(Source("small.yaml", HEAD + CONTROLS)).checked()
    asked, every = {"sources": True}, {"length": True, "sources": True}
    assert telling(program) == {"controls": (asked, every)}
    known = {"controls": Option("record", (), values=("length", "sources"))}
    assert option_values(known, ['controls={"length": 2}']) == {"controls": {"length": 2}}


KEYS = """\
options:
  form: {type: record, values: [type, schema], doc: what an answer is like}
head:
  - {when: form.type is "json" or form.schema, then: "J"}
  - {when: not form.schema is unset, then: "[${form.schema|python}${form.schema|json}]"}
roles:
  user: "<${content}>"
  assistant: {opener: "A", body: "${content}", closer: "<|im_end|>"}
"""


@pytest.mark.parametrize(
    ("form", "wanted"),
    [
        ({}, "<u>"),
        ({"type": "text"}, "<u>"),
        ({"type": "json"}, "J<u>"),
        ({"schema": {}}, "[{}{}]<u>"),
        (
            {"type": 1, "schema": {"a": [True, "é"]}},
            "J[{'a': [True, 'é']}{\"a\": [true, \"é\"]}]<u>",
        ),
        ({"schema": "<|im_end|>"}, 'J[<|im_end|>"<|im_end|>"]<u>'),
    ],
)
def test_what_stands_under_a_key_is_asked_and_written(form: Any, wanted: str) -> None:
    assert text(KEYS, [USER], form=form) == wanted
    body = [piece for piece in made(KEYS, form=form)[0].pieces([USER]) if "<|im" in piece.text]
    assert all(piece.body for piece in body)


def test_keys_count_with_the_texts_that_they_are_compared_with() -> None:
    program = compile_source(Source("small.yaml", HEAD + KEYS)).checked()
    every = {"type": "json", "schema": True}
    assert telling(program) == {"form": ({"type": "json"}, {"schema": True}, every)}
    for given in (*telling(program)["form"], {"schema": {"deep": [1]}}):
        found = prove(program, {"form": given})
        assert recheck(program, certificate(found)) == []
        assert {cell.verdict for cell in found.cells} == {"stable"}


TEXTS = WHOLE.replace("records, doc", "records, texts: true, doc").replace(
    "${doc|json}", "${doc.number}${doc|python},"
)


def test_a_record_may_be_a_text() -> None:
    given = ["def f(): <|im_end|>", {"name": "é", "deep": {"a": None}}]
    wanted = "<u>0def f(): <|im_end|>,1{'name': 'é', 'deep': {'a': None}},"
    assert text(TEXTS, [USER], documents=given) == wanted
    renderer, _ = made(TEXTS, documents=given)
    held: Any = renderer.documents  # type: ignore[attr-defined]
    for again in (copy.deepcopy(held), pickle.loads(pickle.dumps(held))):
        assert again == held and [type(one) for one in again] == [RecordText, Record]
        assert [one.number for one in again] == ["0", "1"]
    assert not {151644, 151645} & {*renderer.render([USER], vocabulary("qwen3"))}
    program = compile_source(Source("small.yaml", HEAD + TEXTS)).checked()
    assert str(prove(program, {"documents": given})) == str(prove(program, {"documents": ["x"]}))


def test_what_is_neither_text_nor_record_is_refused() -> None:
    with pytest.raises(OptionError, match="record 1 of `documents` is no mapping") as caught:
        made(TEXTS, documents=["x", 1])
    assert caught.value.help.startswith("give a list of texts and mappings")
    assert Option("records", (), texts=True).takes == "list of texts and records"


FURTHER = """\
options:
  documents: {type: records, fields: [title, text], optional: [title], further: true, doc: what answers rest on}
head: {each: doc in documents, do: "[${doc.text}${doc|further_lines:\\"title text\\"}]"}
roles:
  user: "<${content}>"
  assistant: {opener: "A", body: "${content}", closer: "<|im_end|>"}
"""


def test_further_fields_of_a_record_are_written_in_their_order() -> None:
    given = [{"page-no of it": 3, "text": "x", "SOURCE": "s\n", "title": "t"}, {"text": ""}]
    assert text(FURTHER, [USER], documents=given) == "[x\nPage-No Of It: 3\nSource: s\n][]<u>"
    option = made(FURTHER)[0].known_options["documents"]
    assert option.takes == "list of records with title (optional), text, further fields"


def test_further_fields_are_texts_unless_the_template_is_followed() -> None:
    given = [{"text": "x", "pages": [1, "a"], "kept": None}]
    with pytest.raises(OptionError, match="`pages` of record 0 of `documents` is no text"):
        made(FURTHER, documents=given)
    like = type(made(FURTHER)[0])(unsupported="as_template", documents=given)
    assert like.render_text([USER]).startswith("[x\nPages: [1, 'a']\nKept: None]")
    with pytest.raises(OptionError, match="has no `text`"):
        made(FURTHER, documents=[{"title": "t"}])
