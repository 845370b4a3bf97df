"""Messages in the cases of an app: what a source makes of them, and what is said of those that are none."""

import json
from pathlib import Path

import pytest

from cep.apps.engine.app_cases import AppCaseError
from cep.apps.formats.case_messages import with_rows
from cep.apps.language.app_parser import parse_app
from launch.commands.main import run

TEXT = """@App:name('feed')
@source(type='kafka', bootstrap.servers='k:1', topic.list='feed', @map(type='xml', @attributes(topic='trp:topic')))
define stream Items (id int, title string, topic string);
define stream Plain (id int);
from Items[id > 1] select id, title insert into Found;"""
XML = "<events><event><id>1</id><title>a</title></event><event><id>2</id><title>b &amp; c</title></event></events>"
CASE = {
    "id": "a feed",
    "outputs": ["Found"],
    "events": [[5, "Items", {"message": XML, "properties": {"topic": "feed"}}], [9]],
    "expected": {"out": [["Found", 5, False, [2, "b & c"]]]},
}


def test_a_message_is_the_rows_that_its_source_makes_of_it() -> None:
    found = json.loads(with_rows(json.dumps(CASE), TEXT, parse_app))
    assert found["events"] == [[5, "Items", [1, "a", "feed"]], [5, "Items", [2, "b & c", "feed"]], [9]]
    assert found["expected"] == CASE["expected"]


def test_a_case_of_messages_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "feed.app").write_text(TEXT)
    (tmp_path / "feed.jsonl").write_text(json.dumps(CASE))
    assert run(["app", "test", str(tmp_path / "feed.app"), str(tmp_path / "feed.jsonl")]) == 0
    assert "1 of 1 cases as expected" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        ([0, "Items", {"message": "<events/>"}], "event 1: the message is no row of 'Items': no element where"),
        ([0, "Plain", {"message": "1"}], "event 1: 'Plain' has no source, so it has no messages"),
        ([0, "Items", {"base64": "?"}], "event 1: base64 is none"),
        ([0, "Items", {"message": XML, "properties": 3}], "event 1: properties: write an object"),
    ],
)
def test_a_message_that_is_none_is_said_with_its_place(event: object, problem: str) -> None:
    with pytest.raises(AppCaseError, match=problem):
        with_rows(json.dumps({**CASE, "events": [event]}), TEXT, parse_app)


@pytest.mark.parametrize(
    "line", ['{"events": [[0, "S", [1]]]}', '{"message"', '["message"]', '{"id": "a \\"message\\""}']
)
def test_other_lines_stay_as_they_are(line: str) -> None:
    assert with_rows(line, TEXT, parse_app) == line
