"""Rows, questions and endpoints of running apps: values stay values, and who may change what."""

from typing import Any

import httpx
import pytest

from session.session import Session
from tests.ui.api.apps.app_samples import WIDE, key_of
from tests.ui.api.apps.door import Asked, door_of
from ui.auth.callers import Role

ANSWER = {"columns": [["symbol", "string"]], "rows": [["BTC/USD"]], "as_of": [{"offset": 7, "time": 1_000}]}
ROWS = [{"id": "wide-1:0:7:0", "time": 1_000, "values": {"bid": 2.0}}]
PRICES = """@App:name('prices')
@App:endpoint(path = '/price/{symbol}/{above:double}',
              query = "from P on symbol == {symbol} and bid > {above} select bid")
define table P (symbol string, bid double);
from quotes select symbol, bid insert into P;"""


def answered(asked: Asked) -> Any:
    match asked["do"]:
        case "status":
            return {}
        case "query":
            return ANSWER
        case "inject":
            return {"partition": 0, "offset": 3}
        case _ if asked["stream"] == "nothing":
            raise LookupError("the app has no stream 'nothing'", "unknown")
        case _:
            return ROWS


async def test_the_newest_rows_of_a_stream_come_with_their_ids(api: httpx.AsyncClient, session: Session) -> None:
    async with door_of(session, answered):
        answer = await api.get("/api/apps/wide/streams/Wide?last=5")
        assert answer.json() == {"rows": [{"id": "wide-1:0:7:0", "time": 1_000_000, "values": {"bid": 2.0}}]}
        unknown = await api.get("/api/apps/wide/streams/nothing")
        assert (unknown.status_code, unknown.json()["detail"]) == (404, "the app has no stream 'nothing'")
        assert (await api.get("/api/apps/wide/streams/Wide?last=100000")).status_code == 422


async def test_while_nobody_runs_apps_it_is_said_to_try_again(api: httpx.AsyncClient) -> None:
    answer = await api.get("/api/apps/wide/streams/Wide")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")


@pytest.mark.parametrize(
    ("kind", "status", "is_passing"),
    [("silent", 503, True), ("not_running", 409, False), ("failed", 409, False), ("unknown", 404, False)],
)
async def test_what_passes_is_told_from_what_does_not(
    api: httpx.AsyncClient, session: Session, kind: str, status: int, is_passing: bool
) -> None:
    def refused(_: Any) -> None:
        raise LookupError("the app has had no row yet; ask again in a moment.", kind)

    operator = key_of(session, "somebody", "operator")
    async with door_of(session, refused):
        await api.post("/api/apps", json={"name": "wide", "text": WIDE}, headers=operator)
        answers = [
            await api.get("/api/apps/wide/streams/Wide"),
            await api.post("/api/apps/wide/query", json={"query": "from P select symbol"}, headers=operator),
            await api.post("/api/apps/wide/savepoint", headers=operator),
        ]
    assert {(one.status_code, "retry-after" in one.headers) for one in answers[:2]} == {(status, is_passing)}
    assert (answers[2].status_code == 503, "retry-after" in answers[2].headers) == (is_passing, is_passing)


@pytest.mark.parametrize(
    ("role", "is_allowed"), [(None, False), ("viewer", False), ("author", False), ("operator", True)]
)
async def test_only_an_operators_query_may_write(
    api: httpx.AsyncClient, session: Session, role: Role | None, is_allowed: bool
) -> None:
    headers = {} if role is None else key_of(session, "somebody", role)
    async with door_of(session, answered) as asked:
        read = await api.post("/api/apps/wide/query", json={"query": "from P select symbol"}, headers=headers)
        await api.post("/api/apps/wide/query", json={"query": "delete P"}, headers=headers)
    assert read.json() == {
        "columns": [{"name": "symbol", "type": "string"}],
        "rows": [["BTC/USD"]],
        "as_of": {"offset": 7, "time": 1_000_000},
        "partitions": [{"offset": 7, "time": 1_000_000}],
    }
    assert [one["may_write"] for one in asked] == [False, is_allowed]


async def test_rows_are_put_in_by_operators_of_paper_sessions(
    api: httpx.AsyncClient, session: Session, key: str
) -> None:
    body = {"values": {"bid": 2.0}}
    async with door_of(session, answered) as asked:
        for role in ("viewer", "author"):
            headers = key_of(session, role, role)
            assert (await api.post("/api/apps/wide/streams/S", json=body, headers=headers)).status_code == 403
        answer = await api.post("/api/apps/wide/streams/S", json=body, headers={"X-API-Key": key})
    assert (answer.status_code, answer.json()) == (202, {"partition": 0, "offset": 3})
    assert asked == [{"do": "inject", "app": "wide", "stream": "S", "values": {"bid": 2.0}}]


async def test_an_endpoint_takes_values_and_never_text(api: httpx.AsyncClient, session: Session, key: str) -> None:
    operator = {"X-API-Key": key}
    await api.post("/api/apps", json={"name": "prices", "text": PRICES}, headers=operator)
    assert (await api.get("/api/apps/prices/endpoints/price/x/1")).status_code == 404
    await api.post("/api/apps/prices/publish", json={}, headers=operator)
    listed = (await api.get("/api/apps/prices/endpoints")).json()["endpoints"]
    assert [(one["path"], len(one["parameters"])) for one in listed] == [("/price/{symbol}/{above}", 2)]
    evil = "x' or 'a' == 'a"
    async with door_of(session, answered) as asked:
        for word in ("BTC%2FUSD", "x%27%20or%20%27a%27%20==%20%27a"):
            answer = await api.get(f"/api/apps/prices/endpoints/price/{word}/1.5")
            assert (answer.status_code, answer.json()["rows"]) == (200, [["BTC/USD"]])
    query = "from P on symbol == {symbol} and bid > {above} select bid"
    assert [(one["query"], one["values"]["symbol"]) for one in asked] == [
        (query, ["string", "BTC/USD"]),
        (query, ["string", evil]),
    ]
    assert (await api.get("/api/apps/prices/endpoints/price/x")).status_code == 404
    document = (await api.get("/openapi.json")).json()
    operation = document["paths"]["/api/apps/prices/endpoints/price/{symbol}/{above}"]["get"]
    assert [one["schema"]["type"] for one in operation["parameters"]] == ["string", "number"]


async def test_a_name_that_no_app_has_reaches_nobody(api: httpx.AsyncClient, session: Session) -> None:
    async with door_of(session, answered) as asked:
        for name in ("a.b", "a%20b", "$x", "-a"):
            assert (await api.get(f"/api/apps/{name}/streams/S")).status_code == 404
    assert asked == []
