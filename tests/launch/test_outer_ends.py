"""Sinks and sources at servers of others, in a running session: a real Kafka, a real folder, a real web server, and a
process that is killed. Only the host of the app is missing: the app runs here, on its log."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import aiohttp
import orjson
import pytest
from aiohttp import web

from cep.apps.functions.operator_terms import OperatorTerms, ReceivingTerms, ServerTerms
from cep.apps.hosts.app_messages import AppRow, app_message
from cep.apps.hosts.counted_warnings import CountedWarnings
from cep.apps.hosts.hosted_app import AppSource, HostedApp, app_source
from cep.apps.hosts.input_merger import InputMerger
from cep.apps.language.errors import AppTextError
from cep.apps.transports.ports import IncomingMessage, NotTakenError, OutgoingRow
from launch.apps.failed_ends import FailedEnds
from launch.apps.http_listeners import HttpListeners
from launch.apps.outer_ends import OuterEnds, check_ends, ends_folder, named_sinks, outer_ends
from launch.apps.sent_rows import SentRows
from launch.errors import CannotStartError
from launch.sessions.app_input import first_offsets, input_merger
from runtime.clock import SystemClock, wall_now
from runtime.tasks import run_all
from session.session import Session
from store.memory.failed_rows import MemoryFailedRows
from store.mongo.store import open_store
from store.operations.failed_rows import open_failed_rows
from store.records.failed_rows import MOST_ROW_BYTES, FailedChoice
from streams.message_format import row_of
from streams.topic_admin import ensure_app_topic, ensure_topics
from streams.topic_reader import TopicReader
from streams.topic_writer import TopicWriter
from streams.topics import APPS, TICKS
from tests.cep.apps.hosts.call_server import ORIGIN, call_server
from tests.cep.logs import session as session_of
from tests.databases import lent_database

TEXT = f"""@App:name('feeder')
@source(type='file', folder='feeds', file.polling.interval='20', @map(type='json'))
define stream Lines (n long, place string);
@sink(type='http', publisher.url='{ORIGIN}/{{{{place}}}}', @map(type='json'))
define stream Out (n long, place string);
from Lines select n, place insert into Out;"""
ROWS, KILLS = 400, 3
TIMEOUT_SECONDS = 120.0


def source_on(folder: Path, url: str) -> AppSource:
    terms = OperatorTerms(addresses=((ORIGIN, url),), folders=(("feeds", folder),))
    return app_source(TEXT, "feeder", (), terms)


@pytest.fixture
async def session(kafka_address: str, tmp_path: Path) -> Session:
    await ensure_topics(kafka_address, 1)
    made = session_of(tmp_path, kafka_address, f"s{wall_now()}")
    return replace(made, services=replace(made.services, partitions=1), started_at=wall_now())


def test_a_sink_keeps_its_name_when_another_of_its_stream_goes(tmp_path: Path) -> None:
    """Rows that wait are found by it: they would go to the server of the other one."""
    first = f"@sink(type='http', publisher.url='{ORIGIN}/{{{{place}}}}', @map(type='json'))"
    second = "@sink(type='http', publisher.url='https://other.example.com/rows', @map(type='json'))"
    alone, both = (
        app_source(TEXT.replace(first, ends), "feeder", (), source_on(tmp_path, ORIGIN).terms)
        for ends in (second, f"{first} {second}")
    )
    (name,) = named_sinks(alone.outside.sent)
    assert list(named_sinks(both.outside.sent)) == [f"Out (http to {ORIGIN})", name]


async def merger_of(session: Session, source: AppSource) -> InputMerger:
    sent = SentRows(source.sent_streams, 0, int, CountedWarnings({}))
    merger = await input_merger(session, source, {}, None, sent)
    assert merger is not None
    return merger


async def beside(session: Session, folder: Path, url: str) -> None:
    source = source_on(folder, url)
    merger = await merger_of(session, source)
    ends = outer_ends(session, source, await first_offsets(session, APPS), HttpListeners())
    await run_all(merger.run(), *ends.parts())


def run_beside(session: Session, folder: Path, url: str) -> None:
    asyncio.run(beside(session, folder, url))


@contextmanager
def running(session: Session, folder: Path, url: str) -> Iterator[None]:
    """Run what is beside the app; killed at its end."""
    process = get_context("spawn").Process(target=run_beside, args=(session, folder, url))
    process.start()
    try:
        yield
    finally:
        process.kill()
        process.join()


async def host(session: Session, source: AppSource) -> None:
    """Run the app on its log, and give its rows to the topic `apps`, as its host does."""
    app, writer = HostedApp(source, 0), TopicWriter(session.services.kafka)
    async with TopicReader(session.services.kafka, (source.topic,), "earliest") as reader:
        async for record in reader.records():
            for row in app.take(record.offset, record.time, row_of(record.value)):
                writer.write(APPS, app_message(row), source.label, 0)
            await writer.flush()


async def run_once(start: Callable[[], OuterEnds], caplog: pytest.LogCaptureFixture) -> None:
    """Begin and end, and again if two seconds, which an end has, were too few to begin."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while True:
            caplog.clear()
            await start().finish()
            if not any(one.getMessage().startswith("rows wait") for one in caplog.records):
                return


async def test_rows_that_a_killed_version_gave_are_sent_by_the_next_one(
    session: Session, feeds: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with call_server(lambda path, number: web.Response()) as server:
        # a name of its own: other tests write to the same topic at the same time
        text, terms = TEXT.replace("'feeder'", "'left'"), source_on(feeds, server.url).terms
        old, new = (
            app_source(one, "left", (), terms) for one in (text, text.replace("select n,", "select n + 1L as n,"))
        )
        first, listeners = await first_offsets(session, APPS), HttpListeners()
        # begins, and is killed
        await run_once(lambda: outer_ends(session, old, first, listeners), caplog)
        writer = TopicWriter(session.services.kafka)
        for label, n in ((old.label, 1), ("other-1", 2), (old.label, 3), (new.label, 104)):
            row = AppRow(f"{label}:0:{n}:0", "left", "Out", 1_000 + n, {"n": n, "place": "a"})
            writer.write(APPS, app_message(row), label, 0)
        await writer.close(TIMEOUT_SECONDS)
        # another session on the same topic
        later = replace(session, session_id="later")
        await run_once(lambda: outer_ends(later, new, first, listeners), caplog)
        await run_once(lambda: outer_ends(session, old, first, listeners), caplog)
    assert list(dict.fromkeys(orjson.loads(body)["event"]["n"] for body in server.bodies)) == [1, 3, 104]


@pytest.fixture
def feeds(tmp_path: Path) -> Path:
    folder = tmp_path / "feeds"
    folder.mkdir()
    return folder


@pytest.mark.slow
async def test_killed_again_and_again_no_row_is_lost_and_none_waits_for_a_dead_destination(
    session: Session, feeds: Path
) -> None:
    seen: dict[str, list[int]] = {"/a": [], "/b": [], "/dead": []}

    def answer(path: str, number: int) -> web.Response:
        return web.Response(status=503 if path == "/dead" else 200)

    async with call_server(answer) as server:
        source = source_on(feeds, server.url)
        await merger_of(session, source)
        writer = TopicWriter(session.services.kafka)
        writer.write(TICKS, orjson.dumps({"kind": "probe", "received_time": wall_now()}), partition=0)
        await writer.close(TIMEOUT_SECONDS)
        hosted = asyncio.create_task(host(session, source))
        step = ROWS // (KILLS + 1)
        async with asyncio.timeout(TIMEOUT_SECONDS):
            for kill in range(KILLS + 1):
                lines = [
                    orjson.dumps({"n": n, "place": ("a", "b", "dead")[n % 3]}) + b"\n"
                    for n in range(kill * step, (kill + 1) * step)
                ]
                with (feeds / "lines.jsonl").open("ab") as file:
                    file.writelines(lines)
                wanted = {n for n in range((kill + 1) * step) if n % 3 != 2}
                with running(session, feeds, server.url):
                    while not wanted <= taken(server.asked, server.bodies, seen):
                        assert not hosted.done(), hosted.exception()
                        await asyncio.sleep(0.05)
        hosted.cancel()
        await asyncio.gather(hosted, return_exceptions=True)
    for path, remainder in (("/a", 0), ("/b", 1)):
        first = list(dict.fromkeys(seen[path]))
        assert first == [n for n in range(ROWS) if n % 3 == remainder]
        # what was on its way when the process was killed, and no more
        assert len(seen[path]) <= len(first) + KILLS * 2
    assert seen["/dead"][0] == 2
    assert set(seen["/dead"]) == {2}


def taken(asked: list[str], bodies: list[str], seen: dict[str, list[int]]) -> set[int]:
    for path in seen:
        seen[path] = [
            orjson.loads(body)["event"]["n"]
            for one, body in zip(list(asked), list(bodies), strict=False)
            if one == f"POST {path}"
        ]
    return {n for path in ("/a", "/b") for n in seen[path]}


@pytest.mark.parametrize(
    ("end", "problem"),
    [
        ("@sink(type='http', publisher.url='https://x.example/a')", "requests to https://x.example are not allowed"),
        ("@sink(type='http', publisher.url='{{place}}')", "requests to any host are not allowed"),
        ("@sink(type='mqtt', url='tcp://b.example', topic='a')", "mqtt://b.example:1883 is not allowed here"),
        ("@sink(type='mqtt', url='mqtt://m.example:1883', topic='in/a')", "'in/a' of mqtt://m.example:1883 may not be"),
        ("@sink(type='mongodb', uri='mongodb://d.example/shop')", "'shop/Out' of mongodb://d.example:27017 may not"),
    ],
)
def test_sinks_that_are_not_allowed_are_refused_with_their_place(end: str, problem: str) -> None:
    servers = (
        ServerTerms("mqtt://m.example:1883", "mqtt://127.0.0.1:1", ("in/#",), ("out/#",)),
        ServerTerms("mongodb://d.example:27017", "mongodb://127.0.0.1:1", (), ("shop/totals",)),
    )
    text = f"define stream In (n long, place string);\n{end} define stream Out (n long, place string);\n"
    terms = OperatorTerms(servers=servers)
    source = app_source(
        f"{text} define trigger T at every 1 sec; from T select 1L as n, 'a' as place insert into Out;", "a", (), terms
    )
    with pytest.raises(AppTextError, match=problem) as found:
        check_ends(source)
    assert found.value.at.line == 2


@pytest.mark.parametrize(
    ("end", "problem"),
    [
        ("@source(type='http', path='/orders')", "the path '/orders' has no key"),
        ("@source(type='file', folder='other/x')", "there is no folder 'other' here"),
        ("@source(type='mqtt', url='mqtt://m.example:1883', topic='out/a')", "'out/a' of mqtt://m.example:1883 may"),
        (
            "@source(type='mqtt', url='mqtt://m.example:1883', topic='#')",
            "'#' of mqtt://m.example:1883 may not be read",
        ),
    ],
)
def test_sources_that_are_not_allowed_are_refused_with_their_place(tmp_path: Path, end: str, problem: str) -> None:
    keys = tmp_path / "keys.toml"
    keys.write_text('"/other" = "0123456789abcdef"')
    keys.chmod(0o600)
    terms = OperatorTerms(
        servers=(ServerTerms("mqtt://m.example:1883", "mqtt://127.0.0.1:1", ("in/#",), ("out/#",)),),
        folders=(("feeds", tmp_path),),
        receiving=ReceivingTerms("127.0.0.1:0", keys),
    )
    source = app_source(f"\n{end} define stream In (n long); from In select n insert into Out;", "a", (), terms)
    with pytest.raises(AppTextError, match=problem) as found:
        check_ends(source)
    assert found.value.at.line == 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("user = 'me'\npassword = 3", "write every value as a text"),
        ("user = 'me'\ntoken = 'word'", "token is none of user, password, ca, headers"),
        ("password = 'word", "is not valid TOML"),
        ("user = 'me'\npassword = 'word'", "the login would go to 10.0.0.7 without TLS"),
        ("user = 'me'\npassword = 'word'\nca = 'none.pem'", "the ca in its login_file cannot be read"),
    ],
)
def test_a_login_that_cannot_be_used_is_one_sentence_without_it(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "login.toml"
    path.write_text(text)
    path.chmod(0o600)
    address = "mqtts://10.0.0.7:8883" if "ca" in text else "mqtt://10.0.0.7:1883"
    server = ServerTerms("mqtt://m.example:1883", address, ("in/#",), login_file=path)
    text = "@source(type='mqtt', url='mqtt://m.example:1883', topic='in/a') define stream In (n long);"
    source = app_source(f"{text} from In select n insert into Out;", "a", (), OperatorTerms(servers=(server,)))
    with pytest.raises(CannotStartError, match=problem) as error:
        check_ends(source)
    assert "'word" not in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("prefix", ["public-keys", "publicity/a", "/"])
def test_a_folder_of_a_bucket_that_begins_like_an_allowed_one_is_refused(prefix: str) -> None:
    pytest.importorskip("boto3")
    server = ServerTerms("s3://exports", "https://s3.example", ("public/#",))
    end = f"@source(type='s3', bucket.name='exports', object.prefix='{prefix}')"
    text = f"{end} define stream In (n long); from In select n insert into Out;"
    source = app_source(text, "a", (), OperatorTerms(servers=(server,)))
    with pytest.raises(AppTextError, match="of s3://exports may not be read"):
        check_ends(source)


def test_a_bucket_is_asked_with_the_operators_login_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("boto3")
    server = ServerTerms("s3://exports", "https://s3.example", ("in/#",))
    text = "@source(type='s3', bucket.name='exports', object.prefix='in') define stream In (n long);"
    source = app_source(f"{text} from In select n insert into Out;", "a", (), OperatorTerms(servers=(server,)))
    # what the library would use
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "of-this-machine")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "word")
    with pytest.raises(CannotStartError, match="s3://exports: give it a login_file with the key's id as user"):
        check_ends(source)


def test_a_project_is_asked_with_the_operators_login_alone_and_an_emulator_with_none() -> None:
    pytest.importorskip("google.pubsub_v1")
    text = "@sink(type='googlepubsub', project.id='our-project', topic.id='orders') define stream Out (n long);"
    for address, problem in (
        ("https://pubsub.googleapis.com", "give it a login_file with the service account's address as user"),
        ("http://127.0.0.1:8085", None),
    ):
        server = ServerTerms("pubsub://our-project", address, writes=("orders",))
        terms = OperatorTerms(servers=(server,))
        source = app_source(f"{text} from health select batch as n insert into Out;", "a", (), terms)
        if problem is None:
            check_ends(source)
        else:
            with pytest.raises(CannotStartError, match=problem):
                check_ends(source)
    other = text.replace("'orders'", "'others'")
    source = app_source(f"{other} from health select batch as n insert into Out;", "a", (), terms)
    with pytest.raises(AppTextError, match="'others' of pubsub://our-project may not be written here"):
        check_ends(source)


def test_a_short_key_is_refused_without_being_shown(tmp_path: Path) -> None:
    keys = tmp_path / "keys.toml"
    keys.write_text('"/orders" = "short"')
    keys.chmod(0o600)
    with pytest.raises(CannotStartError, match="the key of /orders is shorter than 16 characters") as found:
        HttpListeners().listener(ReceivingTerms("127.0.0.1:0", keys))
    assert "short." not in str(found.value)


@pytest.mark.parametrize("name", ["../../other", "a" * 300, "..", "a/b"])
def test_an_apps_folder_is_below_the_data_folder_alone(tmp_path: Path, name: str) -> None:
    session = session_of(tmp_path, "unused")
    source = AppSource(name, "define trigger T at every 1 sec; from T select 1 as n insert into Out;")
    folder = ends_folder(session, source).resolve()
    assert folder.parent == (tmp_path / "app-ends").resolve()
    assert len(folder.name) < 130


POSTED = """@App:name('posted')
@source(type='http', path='/orders', @map(type='json'))
define stream Orders (n long, place string);
from Orders select n, place insert into Out;"""
KEY = "0123456789abcdef"


async def test_rows_are_answered_once_they_are_in_the_apps_topic(session: Session, tmp_path: Path) -> None:
    keys = tmp_path / "keys.toml"
    keys.write_text(f'"/orders" = "{KEY}"')
    keys.chmod(0o600)
    terms = OperatorTerms(receiving=ReceivingTerms("127.0.0.1:0", keys))
    source = app_source(POSTED, "posted", (), terms)
    assert source.rows_topic is not None
    await ensure_app_topic(session.services.kafka, source.rows_topic, 1)
    listeners = HttpListeners()
    ends = outer_ends(session, source, {}, listeners, created_at=7)
    (intake,) = ends.sources
    following = asyncio.create_task(intake.follow())
    listener = listeners.listener(ReceivingTerms("127.0.0.1:0", keys))
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while not listener.url:  # noqa: ASYNC110 - the other task
            await asyncio.sleep(0.01)
    headers = {"X-Api-Key": KEY}
    async with aiohttp.ClientSession(listener.url, headers=headers) as client:
        for body, status in ((b'{"event": {"n": 1, "place": "eu"}}', 200), (b'{"event": {"n": "x"}}', 400)):
            async with client.post("/orders", data=body) as answer:
                assert answer.status == status
    async with TopicReader(session.services.kafka, (source.rows_topic,), "earliest") as reader:
        records = [record async for record in reader.records_to_end()]
    sent = SentRows(source.sent_streams, 7, int, CountedWarnings({}))
    assert [sent.row(one).rows for one in records] == [(("Orders", (1, "eu")),)]
    assert sent.rejected == 0
    figures = intake.figures()
    assert (figures["messages"], figures["rows"], figures["rejected"], figures["reason"]) == (2, 1, 1, "")
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    assert listener.url == ""
    await ends.finish()


LISTENED = """@App:name('listened')
@sink(type='sse', path='/rows', @map(type='json'))
define stream Out (n long);
define stream In (n long);
from In select n insert into Out;"""


async def test_who_listens_hears_what_an_app_gave_last_before_its_end(session: Session, tmp_path: Path) -> None:
    """What counts as delivered was given to somebody."""
    keys = tmp_path / "keys.toml"
    keys.write_text(f'"/rows" = "{KEY}"')
    keys.chmod(0o600)
    receiving, listeners = ReceivingTerms("127.0.0.1:0", keys), HttpListeners()
    source = app_source(LISTENED, "listened", (), OperatorTerms(receiving=receiving), takes_rows=True)
    ends = outer_ends(session, source, await first_offsets(session, APPS), listeners)
    work = asyncio.create_task(run_all(*ends.parts()))
    listener = listeners.listener(receiving)
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while not listener.url:  # noqa: ASYNC110 - the other task
            await asyncio.sleep(0.01)
        async with (
            aiohttp.ClientSession(headers={"X-Api-Key": KEY}) as client,
            client.get(f"{listener.url}/rows") as heard,
        ):
            await heard.content.readline()
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            writer = TopicWriter(session.services.kafka)
            row = AppRow(f"{source.label}:0:0:0", source.name, "Out", 1, {"n": 7})
            writer.write(APPS, app_message(row), source.label, 0)
            await writer.close(TIMEOUT_SECONDS)
            await ends.finish()
            assert '"n":7' in await heard.text()
    assert listener.url == ""


async def test_rows_that_are_given_up_are_in_the_error_store_once(mongodb_uri: str, tmp_path: Path) -> None:
    async with lent_database(mongodb_uri) as database:
        made = session_of(tmp_path, "unused")
        session = replace(made, services=replace(made.services, mongodb=mongodb_uri, database=database))
        async with await open_store(session) as trades:
            await trades.prepare()
        text = POSTED.replace("define stream Orders", "@OnError(action='store') define stream Orders")
        source = app_source(text, "posted")
        failed = FailedEnds(session, source)
        row = OutgoingRow("posted:0:7:0", 5, {"n": 1, "place": "eu"})
        # given up twice, since the process was killed before it forgot the row
        await failed.keep_rows("Out", [row], "the answer is 400")
        await failed.keep_rows("Out", [row], "the answer is 400")
        await failed.keep_messages("Orders", [(IncomingMessage(b"none"), "no JSON")])
        await failed.keep_messages("Out", [(IncomingMessage(b"nobody wants it"), "no JSON")])
        await failed.close()
        async with open_failed_rows(session) as store:
            found = await store.page("posted", FailedChoice())
    assert [(one.id, one.stream, one.kind, one.error, one.attempts) for one in found] == [
        ("posted:0:7:0", "Out", "delivery", "the answer is 400", 1),
        (found[1].id, "Orders", "message", "no JSON", 1),
    ]
    assert found[1].values == {"message": "none"}


async def test_a_sink_that_waits_keeps_a_row_rather_than_lose_it_in_a_full_store(
    mongodb_uri: str, tmp_path: Path
) -> None:
    async with lent_database(mongodb_uri) as database:
        made = session_of(tmp_path, "unused")
        session = replace(made, services=replace(made.services, mongodb=mongodb_uri, database=database))
        async with await open_store(session) as trades:
            await trades.prepare()
        failed = FailedEnds(session, app_source(POSTED, "posted"), most=2)
        one, two, three = (OutgoingRow(f"posted:0:{n}:0", 5, {"n": n}) for n in range(3))
        await failed.keep_rows("Out", [one, two], "the answer is 400", loses_none=True)
        with pytest.raises(NotTakenError, match="the error store has 2 of the app: drop some there"):
            await failed.keep_rows("Out", [three], "the answer is 400", loses_none=True)
        long = OutgoingRow("posted:0:9:0", 5, {"text": "x" * MOST_ROW_BYTES})
        with pytest.raises(NotTakenError, match="too long for the error store"):
            await failed.keep_rows("Out", [long], "the answer is 413", loses_none=True)
        await failed.close()
        async with open_failed_rows(session) as store:
            assert {kept.id for kept in await store.page("posted", FailedChoice())} == {one.id, two.id}


async def test_rows_that_the_full_store_drops_are_counted_and_told(tmp_path: Path) -> None:
    failed = FailedEnds(session_of(tmp_path, "unused"), app_source(POSTED, "posted"))
    failed._store = MemoryFailedRows(SystemClock(), 2)
    await failed.keep_rows("Out", [OutgoingRow(f"posted:0:{n}:0", 5, {"n": n}) for n in range(5)], "the answer is 400")
    assert failed.dropped == 3
    assert list(failed.warnings.counts.values()) == [1]
