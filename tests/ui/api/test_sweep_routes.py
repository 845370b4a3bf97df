"""Sweeps over REST: asked for, run by a process, kept, ended and forgotten."""

from dataclasses import replace

import httpx
import pytest

from session.session import Session
from store.mongo.store import MongoTradeStore
from tests.backtest.sweep_samples import log_of, tick_set_of
from tests.ui.api.test_backtest_routes import TICK_SET
from tests.ui.waiting import until

PATH = "/api/sweeps"
JOB_SECONDS = 120
AXES = [{"name": "min_net_bps", "values": ["4", "8"]}, {"name": "max_notional", "values": [250, "1000.5"]}]


@pytest.fixture
def headers(key: str) -> dict[str, str]:
    return {"X-API-Key": key}


async def test_a_sweep_says_what_each_set_made_and_is_kept_until_it_is_removed(
    api: httpx.AsyncClient, headers: dict[str, str], store: MongoTradeStore, session: Session
) -> None:
    tick_set_of(log_of(seed=11, rows=120), session.data_home / "ticks" / "set")
    await store.backtests.report_tick_sets([replace(TICK_SET, name="set")])
    asked = await api.post(PATH, json={"tick_set": "set", "axes": AXES}, headers=headers)
    assert asked.status_code == 202, asked.text
    place = asked.headers["location"]

    async def is_done() -> bool:
        state = (await api.get(place)).json()["state"]
        assert state in ("queued", "running", "done")
        return bool(state == "done")

    await until(is_done, JOB_SECONDS)
    found = (await api.get(place)).json()
    assert (found["tick_set"], found["axes"]) == (
        "set",
        [AXES[0], {"name": "max_notional", "values": ["250", "1000.5"]}],
    )
    assert [one["values"] for one in found["sets"]] == [["4", "250"], ["4", "1000.5"], ["8", "250"], ["8", "1000.5"]]
    assert found["sets"][0]["trades"] >= found["sets"][2]["trades"]
    # too short for a ratio
    assert found["deflated_sharpe"] is None
    assert not list((session.data_home / "sweeps").iterdir())
    (listed,) = (await api.get(PATH)).json()
    assert (listed["sweep_id"], listed["state"], listed["sets"]) == (found["sweep_id"], "done", None)
    assert (await api.delete(place, headers=headers)).status_code == 204
    assert ((await api.get(PATH)).json(), (await api.get(place)).status_code) == ([], 404)
    (entry, *_) = (await api.get("/api/audit?action=sweep.ask", headers=headers)).json()["items"]
    assert entry["after"] == {"min_net_bps": "4, 8", "max_notional": "250, 1000.5"}


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        ([], "axes"),
        (AXES * 2, "axes"),
        ([AXES[0], AXES[0]], "name two parameters that differ"),
        ([{"name": "min_net_bps", "values": ["4", "4.0"]}], "min_net_bps has a value twice"),
        ([{"name": "min_net_bps", "values": [str(one) for one in range(13)]}], "values"),
        ([{"name": "--help", "values": ["1"]}], "name"),
        ([{"name": "seed", "values": ["1e-999999999"]}], "values"),
    ],
)
async def test_what_cannot_be_asked_is_said(
    api: httpx.AsyncClient, headers: dict[str, str], axes: list[object], words: str
) -> None:
    answer = await api.post(PATH, json={"tick_set": "set", "axes": axes}, headers=headers)
    assert (answer.status_code, words in answer.json()["detail"]) == (422, True), answer.text


async def test_a_parameter_that_there_is_not_fails_and_no_name_is_a_path(
    api: httpx.AsyncClient, headers: dict[str, str], store: MongoTradeStore, session: Session
) -> None:
    tick_set_of(log_of(seed=11, rows=20), session.data_home / "ticks" / "set")
    await store.backtests.report_tick_sets([replace(TICK_SET, name="set")])
    elsewhere = await api.post(PATH, json={"tick_set": "../set", "axes": AXES}, headers=headers)
    assert (elsewhere.status_code, "There is no tick set" in elsewhere.json()["detail"]) == (422, True)
    axes = [{"name": "min_net_pbs", "values": ["1"]}]
    asked = (await api.post(PATH, json={"tick_set": "set", "axes": axes}, headers=headers)).raise_for_status()

    async def has_failed() -> bool:
        return bool((await api.get(asked.headers["location"])).json()["state"] == "failed")

    await until(has_failed, JOB_SECONDS)
    assert "is not a sweep parameter" in (await api.get(asked.headers["location"])).json()["reason"]


async def test_one_that_waits_is_cancelled_and_there_is_none_of_another_id(
    api: httpx.AsyncClient, headers: dict[str, str], store: MongoTradeStore, session: Session
) -> None:
    tick_set_of(log_of(seed=11, rows=20), session.data_home / "ticks" / "set")
    await store.backtests.report_tick_sets([replace(TICK_SET, name="set")])
    body = {"tick_set": "set", "axes": AXES}
    places = [(await api.post(PATH, json=body, headers=headers)).headers["location"] for _ in range(2)]
    cancelled = [await api.delete(place, headers=headers) for place in reversed(places)]
    assert [(one.status_code, one.json()["state"]) for one in cancelled] == [(202, "cancelled")] * 2
    for method in ("GET", "DELETE"):
        answer = await api.request(method, f"{PATH}/nowhere", headers=headers)
        assert (answer.status_code, answer.json()["detail"]) == (404, "There is no sweep 'nowhere'.")
