"""Requests of an app and their responses: by status, in their order, through a kill -9, and read again from the log."""

import asyncio
import json

import pytest
from aiohttp import ClientResponseError, ConnectionTimeoutError, InvalidURL, RequestInfo, web
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from cep.apps.hosts.app_outside import app_outside
from cep.apps.hosts.call_addresses import call_addresses
from cep.apps.hosts.call_source import MOST_AHEAD, MOST_HELD_BYTES, MOST_ROW_BYTES
from cep.apps.hosts.hosted_app import AppSource, HostedApp
from cep.apps.hosts.http_caller import call_reason
from cep.apps.hosts.input_log import REPLAYS
from cep.apps.language.app_parser import parse_app
from cep.apps.language.errors import AppTextError
from launch.apps.error_keeper import failed_rows
from streams.message_format import row_of
from tests.cep.apps.hosts.call_server import ORIGIN, CallServer, call_server
from tests.cep.apps.hosts.call_world import CallWorld, RunningCalls

SECRET = "https://a.com:8/v1?key=secret"
INFO = RequestInfo(URL(SECRET), "GET", CIMultiDictProxy(CIMultiDict()), URL(SECRET))
POLLING = f"""@App:name('polling')
define trigger Beat at every 1 sec;
@sink(type='http-call', publisher.url='{ORIGIN}/price', method='GET', headers="'User-Agent:mine'", sink.id='price',
      socket.idle.timeout='50000', max.pool.active.connections='1', @map(type='json'))
define stream Asked (at long);
@source(type='http-call-response', sink.id='price', http.status.code='200', @map(type='json'))
define stream Price (price double, n long);
@source(type='http-call-response', sink.id='price', http.status.code='5..', @map(type='json'))
define stream Broken (why string);
from Beat select triggered_time as at insert into Asked;
from Price#window.length(3) select n, price, avg(price) as mean insert into Means;
from Broken select why insert into Failures;
"""


def priced(_path: str, number: int) -> web.Response:
    return web.json_response({"price": str(100 + number), "n": number})


def world(server: CallServer, text: str = POLLING) -> CallWorld:
    return CallWorld(AppSource("polling", text), {ORIGIN: server.url})


def begun(one: CallWorld, seconds: int) -> RunningCalls:
    """Return a run in which the clock has come so far, one request for each second."""
    running = one.opened()
    for second in range(seconds + 1):
        running.tick(second)
    return running


def outcome(one: CallWorld) -> list[dict[str, object]]:
    return [dict(row.values) for row in one.rows.values() if row.stream == "Means"]


async def test_each_row_is_a_request_and_its_response_is_a_row() -> None:
    async with call_server(priced) as server:
        running = begun(world(server), 3)
        await running.answered(3)
        await running.calls.close()
    assert server.asked == ["GET /price"] * 3
    assert server.agents == ["mine"] * 3
    assert running.of("Means") == [
        {"n": 1, "price": 101.0, "mean": 101.0},
        {"n": 2, "price": 102.0, "mean": 101.5},
        {"n": 3, "price": 103.0, "mean": 102.0},
    ]


async def test_responses_are_taken_by_their_status_and_others_by_nobody() -> None:
    def answer(_path: str, number: int) -> web.Response:
        answers = [(503, {"why": "busy"}), (404, {"price": 1.0}), (302, {}), (200, {"price": "much"}), (200, {"n": 5})]
        status, body = answers[number - 1]
        return web.json_response(body, status=status, headers={"Location": "/elsewhere"} if status == 302 else None)

    async with call_server(answer) as server:
        one = world(server)
        running = begun(one, 5)
        rows = await running.answered(5)
        await running.calls.close()
    assert server.asked == ["GET /price"] * 5
    assert [len(row.rows) for row in rows] == [1, 0, 0, 0, 1]
    assert running.of("Failures") == [{"why": "busy"}]
    assert running.of("Means") == [{"n": 5, "price": None, "mean": None}]


async def test_what_ran_can_be_run_again_from_the_log_without_a_request() -> None:
    async with call_server(priced) as server:
        one = world(server)
        running = begun(one, 4)
        await running.answered(4)
        await running.calls.close()
        asked = len(server.asked)
        again = HostedApp(one.source, 0)
        rows = [row for at, message in enumerate(one.log) for row in again.take(at, 0, row_of(message))]
        assert len(server.asked) == asked
    assert {row.id: row for row in rows} == one.rows


@pytest.mark.parametrize("answered", [0, 1, 3, 5])
async def test_after_a_kill_what_had_no_answer_is_asked_again_and_nothing_else(answered: int) -> None:
    async with call_server(priced) as server:
        one = world(server)
        killed = begun(one, 5)
        if answered:
            await killed.answered(answered)
        done = len(outcome(one))
        # forgotten without a word, as by a kill -9; its requests may or may not have been made
        going_on = one.opened()
        going_on.read_again()
        assert len(outcome(one)) == done
        await going_on.answered(5 - done)
        going_on.tick(6)
        await going_on.answered(1)
        await going_on.calls.close()
        await killed.calls.close()
    assert len(outcome(one)) == 6
    answers = [row for row in map(json.loads, one.log) if row["topic"] == "calls:price"]
    numbers = [row["offset"] for row in answers]
    assert numbers == sorted(set(numbers))


async def test_a_sink_that_hangs_holds_up_no_other_and_has_few_requests_open() -> None:
    slow = (
        POLLING
        + f"""
    @sink(type='http-call', publisher.url='{ORIGIN}/slow', method='GET', sink.id='slow', socket.idle.timeout='60000',
          max.pool.active.connections='2', @map(type='json'))
    define stream AskedSlowly (at long);
    @source(type='http-call-response', sink.id='slow', @map(type='json')) define stream Slow (n long);
    from Beat select triggered_time as at insert into AskedSlowly;
    from Slow select n insert into Slowly;
    """
    )
    async with call_server(priced) as server:
        server.held["/slow"] = asyncio.Event()
        running = begun(world(server, slow), 5)
        rows = await running.answered(5)
        assert {row.topic for row in rows} == {"calls:price"}
        assert server.asked.count("GET /slow") <= 2
        server.held.pop("/slow").set()
        await running.answered(5)
        await running.calls.close()
    assert server.most_open <= 1 + 2
    assert [row["n"] for row in running.of("Slowly")] == [1, 2, 3, 4, 5]


async def test_what_waits_for_its_turn_is_bounded_and_holds_up_no_other_sink() -> None:
    """The first request of one sink hangs, and those behind it are answered with much."""
    both = POLLING.replace("price double, n long", "price double, n long, pad string").replace(
        "max.pool.active.connections='1'", "max.pool.active.connections='2'"
    )
    both += f"""
    @sink(type='http-call', publisher.url='{ORIGIN}/quick', method='GET', sink.id='quick', @map(type='json'))
    define stream AskedQuickly (at long);
    @source(type='http-call-response', sink.id='quick', @map(type='json')) define stream Quick (n long);
    from Beat select triggered_time as at insert into AskedQuickly;
    from Quick select n insert into Quickly;
    """
    pad, requests = "x" * (MOST_ROW_BYTES - 1_000), 40

    def answer(path: str, number: int) -> web.Response:
        return web.json_response({"n": number, "price": 1.0} | ({"pad": pad} if path == "/price" else {}))

    async with call_server(answer) as server:
        server.held["/price 1"] = asyncio.Event()
        running = begun(world(server, both), requests)
        rows = await running.answered(requests)
        assert {row.topic for row in rows} == {"calls:quick"}
        most = MOST_HELD_BYTES // len(pad) + 3 + MOST_AHEAD
        assert 2 <= server.asked.count("GET /price") <= most < requests
        server.held.pop("/price 1").set()
        rows = await running.answered(requests)
        await running.calls.close()
    assert [row.offset for row in rows] == sorted(row.offset for row in rows)
    assert len(running.of("Means")) == requests


async def test_a_request_that_is_too_old_is_not_made() -> None:
    async with call_server(priced) as server:
        one = world(server)
        one.began -= 7_200_000
        running = begun(one, 3)
        assert [len(row.rows) for row in await running.answered(3)] == [0, 0, 0]
        await running.calls.close()
    assert server.asked == []


@pytest.mark.parametrize(("on_error", "asked"), [("log", 1), ("wait", 2)])
async def test_a_request_without_an_answer_is_made_again_where_the_app_says_so(on_error: str, asked: int) -> None:
    async with call_server(big) as server:
        text = POLLING.replace("socket.idle.timeout='50000'", f"socket.idle.timeout='50000', on.error='{on_error}'")
        running = begun(world(server, text), 1)
        rows = await running.answered(1)
        await running.calls.close()
    assert len(server.asked) == asked
    assert [len(row.rows) for row in rows] == [asked - 1]


def big(_path: str, number: int) -> web.Response:
    """More than a response may have counts as none."""
    return web.Response(body=b" " * (2 << 20)) if number == 1 else priced(_path, number)


async def test_a_request_without_an_answer_goes_on_in_the_stream_of_errors() -> None:
    text = POLLING.replace("define stream Asked (at", "@OnError(action='stream') define stream Asked (at")
    text += "from !Asked select at, _error as why insert into Lost;"
    async with call_server(big) as server:
        one = world(server, text)
        running = begun(one, 2)
        rows = await running.answered(2)
        await running.calls.close()
    assert [name for row in rows for name, _ in row.rows] == ["!Asked", "Price"]
    assert running.of("Lost") == [{"at": one.began + 1_000, "why": "the response has more than 1,048,576 bytes"}]
    again = HostedApp(one.source, 0)
    found = [row for at, message in enumerate(one.log) for row in again.take(at, 0, row_of(message))]
    assert {row.id: row for row in found} == one.rows


async def test_a_request_without_an_answer_is_kept_with_the_id_of_its_row() -> None:
    text = POLLING.replace("method='GET'", "method='GET', on.error='store'")
    async with call_server(big) as server:
        one = world(server, text)
        running = begun(one, 2)
        rows = await running.answered(2)
        await running.calls.close()
    (asked, _) = (row for row in one.rows.values() if row.stream == "Asked")
    assert rows[0].rows[0] == (REPLAYS, ("Asked", asked.id))
    (failed,) = failed_rows(one.topic, one.source, ("!Asked",))
    assert (failed.id, failed.kind, failed.values) == (asked.id, "delivery", {"at": one.began + 1_000})
    assert failed.error == "the response has more than 1,048,576 bytes"


@pytest.mark.parametrize(("on_error", "streams"), [("wait", []), ("store", [REPLAYS, "!Asked"])])
async def test_a_row_that_the_format_cannot_hold_is_given_up_at_once(on_error: str, streams: list[str]) -> None:
    text = POLLING.replace("method='GET'", f"method='POST', on.error='{on_error}'")
    text = text.replace("connections='1', @map(type='json')", "connections='1', @map(type='raw', encoding='base64')")
    text = text.replace("Asked (at long)", "Asked (at string)").replace("select triggered_time as", "select 'no!' as")
    async with call_server(priced) as server:
        running = begun(world(server, text), 1)
        (row,) = await running.answered(1)
        await running.calls.close()
    assert [name for name, _ in row.rows] == streams
    assert server.asked == []


async def test_bodies_and_responses_have_the_format_that_the_text_says() -> None:
    asks = """connections='1', @map(type='xml', @payload('<ask at="{{at}}"/>'))"""
    text = POLLING.replace("method='GET'", "method='POST'").replace("connections='1', @map(type='json')", asks)
    text = text.replace("code='200', @map(type='json')", "code='200', @map(type='csv')")
    async with call_server(lambda _path, _number: web.Response(body=b"100.5,7\r\n")) as server:
        one = world(server, text)
        running = begun(one, 1)
        (row,) = await running.answered(1)
        await running.calls.close()
    assert server.bodies[0] == f'<ask at="{one.began + 1_000}"/>'
    assert [values for _, values in row.rows] == [(100.5, 7)]


async def test_a_request_waits_where_the_stream_of_the_sink_says_so() -> None:
    text = POLLING.replace("define stream Asked (at", "@OnError(action='wait') define stream Asked (at")
    async with call_server(big) as server:
        running = begun(world(server, text), 1)
        rows = await running.answered(1)
        await running.calls.close()
    assert len(server.asked) == 2
    assert [name for row in rows for name, _ in row.rows] == ["Price"]


async def test_a_row_that_is_posted_is_the_body() -> None:
    async with call_server(priced) as server:
        one = world(server, POLLING.replace("method='GET'", "method='POST'"))
        running = begun(one, 1)
        await running.answered(1)
        await running.calls.close()
    assert server.asked == ["POST /price"]
    assert json.loads(server.bodies[0]) == {"event": {"at": one.began + 1_000}}


@pytest.mark.parametrize(
    ("allowed", "exchanges", "found"),
    [
        ({ORIGIN: "http://127.0.0.1:7/x"}, None, "http://127.0.0.1:7/x"),
        ({ORIGIN: "simulated:kraken"}, "http://127.0.0.1:8", "http://127.0.0.1:8/kraken"),
        ({ORIGIN: "simulated:kraken"}, None, "has no simulated exchanges"),
        ({}, "http://127.0.0.1:8", "requests to https://api.example.com are not allowed here"),
        ({"https://example.com": "http://127.0.0.1:7"}, None, "not allowed here"),
        ({f"{ORIGIN}:443": "http://127.0.0.1:7"}, None, "not allowed here"),
    ],
)
def test_a_request_goes_where_the_operator_says_and_nowhere_else(
    allowed: dict[str, str], exchanges: str | None, found: str
) -> None:
    calls = app_outside(parse_app(POLLING)).calls
    if found.startswith("http:"):
        assert call_addresses(calls, allowed, exchanges) == {ORIGIN: found}
        return
    with pytest.raises(AppTextError, match=found) as error:
        call_addresses(calls, allowed, exchanges)
    assert error.value.at.line == 3


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ClientResponseError(INFO, (), status=400, message="Bad status line"), "Bad status line"),
        (ConnectionTimeoutError(f"Connection timeout to host {SECRET}"), "Connection timeout to host https://a.com:8"),
        (InvalidURL(SECRET), "https://a.com:8"),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_a_reason_tells_no_secret_of_the_address(error: Exception, reason: str) -> None:
    assert call_reason(error) == reason
