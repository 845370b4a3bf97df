"""An on-demand query that asks for too much, or fails, is refused; the app goes on as if it had not been asked."""

import asyncio
import pickle
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from cep.apps.engine.question_meter import QUESTION_LIMITS, QuestionLimits, QuestionMeter, QuestionRefusedError
from cep.apps.errors import AppFailedError
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.hosts.app_messages import AppRow
from cep.apps.hosts.event_watch import EventWatch, bounded_memory
from cep.apps.hosts.hosted_app import AppSource, HostedApp
from cep.apps.hosts.log_rows import RowReading
from cep.apps.language.app_parser import parse_on_demand
from cep.apps.parts.app_limits import AppLimits
from cep.apps.resident.ended_apps import noted_end
from cep.apps.resident.kernel import PlacedApp
from cep.apps.resident.worker import AppWorker
from cep.apps.resident.worker_desk import LENGTH_BYTES, Asked, WorkerDesk, framed
from cep.apps.resident.worker_progress import progress_notes
from streams.records import Record

ROWS = 60
TEXT = """@PrimaryKey('query') define table T (query string, batch long);
define table N (query string, batch long);
from health select query, batch insert into T;
from health select query insert into O;
"""
PATIENT = replace(QUESTION_LIMITS, seconds=1_000.0)
LONG_TEXTS = (
    "from T select str:repeat(query, 300000) as c0, str:repeat(query, 300001) as c1, str:repeat(query, 1) as c2"
)
ENDLESS_TEXTS = "from T select " + ", ".join(f"str:repeat(query, {300_000 + n}) as c{n}" for n in range(20))
"""A gigabyte: more than a process that ran other tests has free by itself."""
DEEP = "from T select json:toObject(str:concat(str:repeat('[', 400), str:repeat(']', 400))) as c limit 1"
"""More than a message can have."""


def row(number: int) -> dict[str, Any]:
    return {"kind": "query", "query": f"q{number:02}", "is_active": True, "batch": number}


def running(limits: QuestionLimits = PATIENT, most_rows: int = 100) -> HostedApp:
    app = HostedApp(AppSource("a", TEXT, terms=OperatorTerms(limits=AppLimits(table_rows=most_rows))), 3)
    for number in range(ROWS):
        app.take(1 + number, number * 1_000_000, row(number))
    app.question_limits = limits
    return app


def kept(app: HostedApp) -> list[tuple[Any, ...]]:
    assert app.engine is not None
    return [app.engine.data.ask(parse_on_demand(f"from {table} select *")).rows for table in "TN"]  # type: ignore[misc]


def next_rows(app: HostedApp) -> list[AppRow]:
    return app.take(1 + ROWS, ROWS * 1_000_000, row(ROWS))


FAILING_HALFWAY = """from T select query as q, batch as b
update T set T.query = str:repeat(q, ifThenElse(b == 30L, 2000000, 2)) on T.query == q"""
REFUSED = [
    ("from T select *", replace(PATIENT, rows=50), "the answer has 60 rows, and 50 are given; add a limit"),
    ("from T select *", replace(PATIENT, answer_bytes=1_000), "the answer has more than 1,000 bytes; select less"),
    (LONG_TEXTS, PATIENT, "selects more than 50,331,648 bytes; ask for less, by a condition"),
    (f"{LONG_TEXTS} having c2 != 'x' limit 1", PATIENT, "selects more than 50,331,648 bytes"),
    (f"{LONG_TEXTS}, count() as n group by query", PATIENT, "selects more than 50,331,648 bytes"),
    ("from T select *", replace(PATIENT, seconds=0.0), "takes more than 0 s of CPU; ask for less, by a condition"),
    ("from T on batch < 0L select *", replace(PATIENT, seconds=0.0), "takes more than 0 s of CPU"),
    ("delete T on T.batch < 30L", replace(PATIENT, seconds=0.0), "takes more than 0 s of CPU"),
    ("from T select str:concat(query, 'x') as query, batch insert into T", PATIENT,
     r"the table 'T' would keep 120 rows, and 100 are allowed \(table.rows\)"),
    ("from T select query as q, batch as b update T set T.query = str:repeat(q, 300000) on T.query == q", PATIENT,
     "selects more than 50,331,648 bytes"),
    (FAILING_HALFWAY, PATIENT, "the on-demand query cannot be computed: a text of more than 1,000,000 characters"),
]  # fmt: skip


@pytest.mark.parametrize(("query", "limits", "problem"), REFUSED)
def test_what_takes_too_much_or_fails_is_refused_whole(query: str, limits: QuestionLimits, problem: str) -> None:
    app, other = running(limits), running()
    before = kept(app)
    with pytest.raises(AppFailedError, match=problem):
        app.ask(parse_on_demand(query))
    assert kept(app) == before
    assert next_rows(app) == next_rows(other)
    assert app.snapshot() == other.snapshot()


def test_memory_that_there_is_not_ends_the_question_alone() -> None:
    app = running(replace(PATIENT, selected_bytes=2**40))
    with bounded_memory(16 * 1024**2), pytest.raises(AppFailedError, match="takes more memory than there is"):
        app.ask(parse_on_demand(ENDLESS_TEXTS))
    assert next_rows(app) == next_rows(running())


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("from T select query order by batch desc limit 2", [("q59",), ("q58",)]),
        ("from T select str:length(str:repeat(query, 300000)) as n, count() as m", [(900_000, ROWS)]),
        # 54 megabytes in all, of which one row stays
        ("from T select str:repeat(query, 300000) as c, count() as m", [("q59" * 300_000, ROWS)]),
    ],
)
def test_what_does_not_stay_does_not_count(query: str, rows: list[Any]) -> None:
    assert running().ask(parse_on_demand(query)).rows == rows


def test_an_id_in_a_question_is_none_of_the_apps() -> None:
    app, other = running(), running()
    rows = app.ask(parse_on_demand("from T select UUID() as id")).rows
    assert len({id_ for (id_,) in rows}) == ROWS
    assert app.snapshot() == other.snapshot()


def test_a_refused_write_is_told_to_nobody_and_a_done_one_whole() -> None:
    app = running()
    assert app.engine is not None
    table, told = app.engine.data.table("T"), list[Any]()
    table.listen(lambda key, changed: told.append((key, changed)))
    with pytest.raises(AppFailedError):
        app.ask(parse_on_demand(FAILING_HALFWAY))
    assert told == []
    app.ask(parse_on_demand("delete T on T.batch < 2L"))
    assert told == [(("q00",), None), (("q01",), None)]


def test_the_watch_refuses_a_question_and_not_the_app() -> None:
    app = running()
    watch = EventWatch(lambda: app)
    app.question = meter = QuestionMeter(replace(PATIENT, seconds=-1.0), lambda: 0.0)
    with pytest.raises(QuestionRefusedError):
        watch.look()
    # what is being done whole is not cut
    meter.close()
    watch.look()


async def answered(worker: AppWorker, *asked: Asked) -> list[dict[str, Any]]:
    mine, theirs = socket.socketpair()
    serving = asyncio.ensure_future(WorkerDesk(theirs).serve(worker))
    reader, writer = await asyncio.open_connection(sock=mine)
    found = []
    for one in asked:
        writer.write(framed(pickle.dumps(one)))
        found.append(orjson.loads(await reader.readexactly(int.from_bytes(await reader.readexactly(LENGTH_BYTES)))))
    writer.close()
    await serving
    return found


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        (Asked(1, "query", 7, text="from T select query"), "the app has had no row yet"),
        (Asked(1, "query", 8, text="from T select query"), "the process of the app is changing"),
        (Asked(1, "rows", 8, text="O", last=5), "the process of the app is changing"),
        (Asked(1, "follow", 8, text="O"), "the process of the app is changing"),
    ],
)
def test_what_is_not_there_yet_is_told_from_what_never_will_be(tmp_path: Path, asked: Asked, problem: str) -> None:
    with progress_notes(tmp_path / "notes", 0) as notes:
        worker = AppWorker("127.0.0.1:9", 0, notes, {})
        worker.begin(7, PlacedApp(AppSource("a", TEXT), tmp_path, {("health", 0): 0}))
        (found,) = asyncio.run(answered(worker, asked))
    assert (found["kind"], problem in found["error"]) == ("silent", True)


def test_no_question_ends_the_process_or_its_app(tmp_path: Path) -> None:
    placed = PlacedApp(AppSource("a", TEXT), tmp_path, {("health", 0): 0})
    with progress_notes(tmp_path / "notes", 0) as notes:
        worker = AppWorker("127.0.0.1:9", 0, notes, {})
        worker.begin(7, placed)
        for number in range(ROWS):
            worker.kernels[7].take(
                Record("health", 0, number, None, b"", number * 1_000_000), row(number), RowReading()
            )
        worker.kernels[7].app.question_limits = PATIENT
        queries = (LONG_TEXTS, DEEP, "from T select count() as n")
        asked = [Asked(number, "query", 7, text=text) for number, text in enumerate(queries)]
        found = asyncio.run(answered(worker, *asked))
    assert [one.get("kind") for one in found] == ["failed"] * (len(found) - 1) + [None]
    assert found[-1]["is"]["rows"] == [[ROWS]]
    assert noted_end(tmp_path) is None
