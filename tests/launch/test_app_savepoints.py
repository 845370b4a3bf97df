"""`arbitrage app snapshot` and `run --from`: what a run has kept, and how it goes on in this session and in others."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cep.apps.engine.savepoints import Savepoint
from cep.apps.hosts.app_messages import AppRow, app_message
from cep.apps.hosts.hosted_app import AppSource
from cep.apps.hosts.log_rows import RowReading
from cep.apps.resident.kernel import PlacedApp, ResidentKernel
from launch.apps.savepoints import begin_from, log_label, savepoint_in, taken_savepoint, write_savepoint
from launch.commands.main import run
from launch.errors import CannotStartError
from streams.records import Position, Record
from streams.topics import HEALTH

TEXT = """from health#window.length(3) select query, count() as n insert into Counts;
from every a = health[query == 'a'] -> b = health[query == 'b']
select a.batch as first, b.batch as second insert into Met;
"""
SOURCE = AppSource("counting", TEXT)
MONDAY, TUESDAY = log_label("monday", SOURCE), log_label("tuesday", SOURCE)


def placed(folder: Path, first: int = 0, source: AppSource = SOURCE, partitions: Sequence[int] = (0,)) -> PlacedApp:
    offsets: dict[Position, int] = {(source.topic, partition): first for partition in partitions}
    return PlacedApp(source, folder, offsets)


def taken(kernel: ResidentKernel, first: int, *queries: str) -> list[AppRow]:
    rows = list[AppRow]()
    for offset, query in enumerate(queries, first):
        row: dict[str, Any] = {"kind": "query", "query": query, "is_active": True, "batch": offset}
        rows += kernel.take(Record(HEALTH, 0, offset, None, b"", offset * 1_000_000), row, RowReading())
    return rows


def run_once(folder: Path, *queries: str) -> list[AppRow]:
    """Run the app, and save as its worker does."""
    kernel = ResidentKernel(placed(folder), 0)
    rows = taken(kernel, 0, *queries)
    kernel.save(kernel.app.snapshot(), kernel.next)
    return rows


def test_in_the_same_session_it_goes_back_to_its_place(tmp_path: Path) -> None:
    folder, file = tmp_path / "app", tmp_path / "monday.savepoint"
    run_once(folder, "a", "x")
    write_savepoint(taken_savepoint(SOURCE, folder, MONDAY), file)
    later = ResidentKernel(placed(folder), 0)
    rows = taken(later, 2, "b", "x")
    later.save(later.app.snapshot(), later.next)
    begin_from(savepoint_in(file), placed(folder), MONDAY)
    again = ResidentKernel(placed(folder), 0)
    assert again.next == 2
    assert list(map(app_message, taken(again, 2, "b", "x"))) == list(map(app_message, rows))


def test_in_another_session_it_goes_on_with_what_it_had_kept(tmp_path: Path) -> None:
    monday, tuesday = tmp_path / "monday", tmp_path / "tuesday"
    run_once(monday, "x", "a")
    begin_from(taken_savepoint(SOURCE, monday, MONDAY), placed(tuesday, first=70), TUESDAY)
    kernel = ResidentKernel(placed(tuesday, first=70), 0)
    assert kernel.next == 70
    found = {row.stream: dict(row.values) for row in taken(kernel, 70, "b")}
    assert found == {"Counts": {"query": "b", "n": 3}, "Met": {"first": 1, "second": 70}}


def test_what_cannot_go_on_says_why(tmp_path: Path) -> None:
    monday, tuesday = tmp_path / "monday", tmp_path / "tuesday"
    run_once(monday, "x", "a")
    savepoint = taken_savepoint(SOURCE, monday, MONDAY)

    def refusal(one: Savepoint, place: PlacedApp, log: str = TUESDAY) -> str:
        with pytest.raises(CannotStartError) as error:
            begin_from(one, place, log)
        return str(error.value)

    other = AppSource("counting", TEXT.replace("length(3)", "length(4)"))
    assert "is of another text, --var or function of 'counting'; run that" in refusal(
        savepoint, placed(tuesday, 0, other)
    )
    assert "has 1 partitions, and the session's log 2" in refusal(savepoint, placed(tuesday, partitions=(0, 1)))
    assert "the snapshot is of another version" in refusal(replace(savepoint, parts={0: b"?"}), placed(tuesday))
    run_once(tuesday, "x")
    assert "has run in this session and goes on from there" in refusal(savepoint, placed(tuesday))
    text = "@App:host('structured') partition with (base of quotes) begin from quotes select base insert into O; end;"
    of_spark = AppSource("counting", text)
    assert "the structured host begins from no savepoint" in refusal(
        replace(savepoint, digest=of_spark.digest), placed(tmp_path / "spark", source=of_spark)
    )


def test_there_is_nothing_to_keep_of_an_app_that_has_not_run(tmp_path: Path) -> None:
    with pytest.raises(CannotStartError, match="counting: has no snapshot in this session; run this text"):
        taken_savepoint(SOURCE, tmp_path / "nowhere", MONDAY)


def test_a_savepoint_is_written_over_nothing(tmp_path: Path) -> None:
    file = tmp_path / "one"
    run_once(tmp_path / "app", "x")
    savepoint = taken_savepoint(SOURCE, tmp_path / "app", MONDAY)
    write_savepoint(savepoint, file)
    assert savepoint_in(file) == savepoint
    with pytest.raises(CannotStartError, match="is there already; give the savepoint another name"):
        write_savepoint(savepoint, file)
    with pytest.raises(CannotStartError, match="cannot be written"):
        write_savepoint(savepoint, tmp_path / "no" / "folder")


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "none").write_bytes(b"hello")
    with pytest.raises(CannotStartError, match=r"none: the file is no savepoint, or one of another version\."):
        savepoint_in(tmp_path / "none")
    with pytest.raises(CannotStartError, match="cannot be read"):
        savepoint_in(tmp_path / "missing")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["snapshot", "a.app", "one.savepoint"], "no session runs"),
        (["run", "a.app", "--from", "a.app"], "a.app: the file is no savepoint"),
        (["run", "a.app", "a.app", "--from", "a.app"], "--from is for one app on the running session"),
        (["run", "a.app", "--replay", "x", "--from", "a.app"], "--from is for one app on the running session"),
    ],
)
def test_the_command_refuses_in_one_sentence(
    words: list[str], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.app").write_text(TEXT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARBITRAGE_HOME", str(tmp_path / "home"))
        patch.chdir(tmp_path)
        assert run(["app", *words]) != 0
    said = capsys.readouterr()
    assert problem.lower() in (said.err + said.out).lower()
    assert "Traceback" not in said.err
