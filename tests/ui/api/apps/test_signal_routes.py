"""Signals of stream apps over REST and as alerts, from the tables of running apps."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.hosts.product_streams import parse_with_product_streams
from cep.apps.language.app_parser import parse_on_demand
from session.session import Session
from tests.ui.api.apps.door import Asked, door_of
from ui.apps.app_signals import CALM, COLUMNS, MOST, RAISED, signals_in
from ui.desk.alert_keeper import AlertKeeper

LIVELY = [
    ["kraken", "delay", "warning", "three times its mean", 5, 950.5],
    ["bitstamp", "silence", "critical", "no prices for 30 seconds", 7, None],
    ["kraken", "fills", "watch", "", None, 0.7],
]
QUIET = [["bitstamp", "delay", "none", "", 3, 40]]


def answer(asked: Asked) -> Any:
    """Answer as two apps that run, of which one has signals."""
    if asked["do"] == "status":
        return {"exchange-signals": {"label": "exchange-signals-1"}, "other": {"label": "other-1"}}
    if asked["app"] == "other":
        raise LookupError("there is no table 'Signals'.", "mistake")
    rows = LIVELY if "!=" in asked["query"] else QUIET
    return {"columns": [[name, "string"] for name in COLUMNS], "rows": rows, "as_of": []}


async def test_signals_of_all_running_apps_come_worst_first(api: httpx.AsyncClient, session: Session) -> None:
    assert (await api.get("/api/signals")).json() == {"apps": [], "signals": []}
    async with door_of(session, answer) as asked:
        found = (await api.get("/api/signals")).json()
        assert (await api.get("/api/signals")).json() == found
    assert found["apps"] == ["exchange-signals"]
    assert [(one["entity"], one["signal"], one["level"], one["since"], one["value"]) for one in found["signals"]] == [
        ("bitstamp", "silence", "critical", 7_000, None),
        ("kraken", "delay", "warning", 5_000, 950.5),
        ("kraken", "fills", "watch", None, 0.7),
        ("bitstamp", "delay", "none", 3_000, 40.0),
    ]
    # an app without signals is asked once
    assert [one["app"] for one in asked if one["do"] == "query"].count("other") == 1


async def test_warnings_are_alerts_until_they_are_over(
    application: FastAPI, api: httpx.AsyncClient, session: Session
) -> None:
    keeper: AlertKeeper = application.state.alerts
    async with door_of(session, answer):
        await keeper.look()
    found = {one["part"]: one for one in (await api.get("/api/alerts")).json()["items"]}
    of_kraken, of_bitstamp = found["kraken (exchange-signals)"], found["bitstamp (exchange-signals)"]
    assert (of_kraken["severity"], of_kraken["what"]) == ("warning", "delay: three times its mean")
    assert (of_bitstamp["severity"], of_bitstamp["todo"]) == ("failing", "See the page Signals.")


@pytest.mark.parametrize("name", ["entity-signals", "exchange-signals"])
def test_apps_that_ship_answer_what_is_asked_of_them(name: str) -> None:
    text = (Path(__file__).parents[4] / "apps" / f"{name}.app").read_text()
    engine = StreamEngine(parse_with_product_streams(text))
    if name == "entity-signals":
        for day, value in enumerate((50.0, 51.0, 49.0, 50.0, 50.0, 20.0)):
            engine.send("Measurements", day, ("kraken", value))
            engine.send("Measurements", day, ("bitstamp", 50.0))
    for query, levels in ((RAISED, ["warning"]), (CALM, ["none"])):
        found = signals_in(name, engine.data.ask(parse_on_demand(query)).rows)
        assert [one["level"] for one in found] == (levels if name == "entity-signals" else [])


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        (
            [["a", "s", "none", "", 1, None], ["a", "s", "watch", "", 2, None], ["a", "s", "none", "", 0, None]],
            ["watch"],
        ),
        ([["", "s", "none", "", 1, None], ["a", None, "none", "", 1, None], ["a", "s", None, "", 1, None]], []),
        ([["a", "s", "odd", None, None, "x"], ["b", "s", "none", "", 1, 2]], ["none", "odd"]),
        ([[str(number), "s", "none", "", 1, None] for number in range(MOST + 1)], ["none"] * MOST),
    ],
)
def test_rows_of_a_table_are_signals(rows: list[list[Any]], found: list[str]) -> None:
    assert [one["level"] for one in signals_in("app", rows)] == found
