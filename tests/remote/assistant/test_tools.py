"""The tools as an assistant gets them, by the SDK's own client: each asked; what changes is previewed, kept, undone."""

import json
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

from mcp import Client

from market.decide.settings import Settings
from remote.assistant.changing import ChangingTools
from remote.assistant.pages import page_names
from remote.assistant.reading import ReadingTools
from remote.assistant.server import assistant_server
from remote.connection import Connection
from store.mongo.store import MongoTradeStore
from store.records.backtest_requests import TickSetSummary
from tests.remote.taped import TAPE, played

TICK_SET = TickSetSummary("alpha-beta", "a made-up one", ("alpha", "beta"), ("BTC",), 1_000, 1_000_000, 2_000_000)
APP = "from quotes[bid > 1.0] select exchange, bid insert into Wide;"
ASKED: dict[str, dict[str, Any]] = {
    "session_state": {},
    "prices": {"base": "BTC"},
    "matrix": {},
    "spreads": {},
    "opportunities": {"outcome": "rejected", "limit": 3},
    "opportunity": {"opportunity_id": "one-0"},
    "why_rejected": {"span": "hour"},
    "trades": {"sort": "net", "limit": 1},
    "trade": {"arbitrage_id": "one-1"},
    "fills": {"exchange": "alpha"},
    "profit_and_loss": {"by": "pair"},
    "balances": {},
    "risk": {},
    "health": {},
    "logs": {},
    "settings_history": {},
    "tick_sets": {},
    "backtests": {},
    "preview_settings": {"changes": {"min_net_bps": 7.5}},
    "run_backtest": {"tick_set": "alpha-beta", "settings": {"min_net_bps": 7.5}},
}
BY_OTHER_TESTS = {
    "change_settings",
    "revert_settings",
    "halt_trading",
    "backtest",
    "check_app",
    "dry_run",
    "dry_run_app",
}


@pytest.fixture
async def tape(store: MongoTradeStore) -> list[str]:
    await store.backtests.report_tick_sets([TICK_SET])
    return await played(store, "one")


async def asked(session: Connection, name: str, halting: Connection | None = None, **arguments: Any) -> Any:
    """Return the structured answer. Raises AssertionError with the words of a tool that failed."""
    async with Client(assistant_server(session, halting or session)) as client:
        answer = await client.call_tool(name, arguments)
    assert not answer.is_error, answer.content[0].text
    return answer.structured_content


async def test_each_tool_answers(operator: Connection, tape: list[str]) -> None:
    async with Client(assistant_server(operator, operator)) as client:
        answers = {name: await client.call_tool(name, ASKED[name]) for name in ASKED}
    assert {name: one.content[0].text for name, one in answers.items() if one.is_error} == {}
    assert [name for name, one in answers.items() if not one.structured_content] == []


async def test_a_backtest_is_queued_and_followed(operator: Connection, tape: list[str]) -> None:
    queued = await asked(operator, "run_backtest", tick_set="alpha-beta", latency_ms=80, seed=7)
    followed = await asked(operator, "backtest", backtest_id=queued["backtest_id"])
    assert (followed["state"], followed["newest_trades"]) == ("queued", [])
    assert [one["backtest_id"] for one in (await asked(operator, "backtests"))["items"]] == [queued["backtest_id"]]


async def test_an_app_is_checked_and_run_dry(operator: Connection, tape: list[str]) -> None:
    assert (await asked(operator, "check_app", text=APP))["mistakes"] == []
    (mistake,) = (await asked(operator, "check_app", text="from nowhere select a insert into B;"))["mistakes"]
    assert mistake["line"] == 1
    queued = await asked(operator, "dry_run_app", text=APP)
    assert (await asked(operator, "dry_run", run_id=queued["id"]))["id"] == queued["id"]


async def test_every_tool_is_described_and_tested(operator: Connection) -> None:
    async with Client(assistant_server(operator, operator)) as client:
        tools = (await client.list_tools()).tools
    assert {one.name for one in tools} == set(ASKED) | BY_OTHER_TESTS
    assert all(one.description and one.input_schema["type"] == "object" for one in tools)
    harmless = {one.name for one in tools if one.annotations is not None and one.annotations.read_only_hint}
    assert harmless == {one.__name__ for one in ReadingTools(operator).tools} | {"preview_settings"}


async def test_the_worst_trade_is_found(operator: Connection, tape: list[str]) -> None:
    (worst,) = (await asked(operator, "trades", sort="net", limit=1))["items"]
    assert worst["arbitrage_id"] in tape
    assert (await asked(operator, "trade", arbitrage_id=worst["arbitrage_id"]))["state"] == "closed"


async def test_the_pages_and_the_settings_with_their_ranges_can_be_read(operator: Connection) -> None:
    async with Client(assistant_server(operator, operator)) as client:
        listed = {one.uri for one in (await client.list_resources()).resources}
        settings = json.loads((await client.read_resource("arbitrage://settings")).contents[0].text)
        risk = (await client.read_resource("arbitrage://docs/risk")).contents[0].text
    assert listed == {"arbitrage://settings", *(f"arbitrage://docs/{name}" for name in page_names())}
    assert risk.startswith("# ")
    rows = {row["name"]: row for row in settings}
    assert set(rows) == set(Settings.model_fields) - {"version", "market_rules", "close_now"}
    assert rows["min_net_bps"]["unit"] == "bps"
    assert rows["min_net_bps"]["range"].startswith("−1,000 to") or " to " in rows["min_net_bps"]["range"]
    assert rows["single_leg_policy"]["choices"] == ["complete", "reverse", "hold"]


async def test_without_a_key_nothing_changes(reader: Connection, store: MongoTradeStore) -> None:
    tools = ChangingTools(reader, reader)
    async with Client(assistant_server(reader, reader)) as client:
        preview = await client.call_tool("preview_settings", {"changes": {"min_net_bps": 9.5}})
        number = preview.structured_content["preview_id"]
        change = {"changes": {"min_net_bps": 9.5}, "preview_id": number}
        answers = [
            await client.call_tool("change_settings", change),
            await client.call_tool("halt_trading", {}),
            await client.call_tool("run_backtest", {"tick_set": "alpha-beta"}),
            await client.call_tool("dry_run_app", {"text": APP}),
        ]
    assert all(one.is_error and "key" in one.content[0].text for one in answers)
    assert tools.secret != ChangingTools(reader, reader).secret
    settings = await store.settings.current()
    assert settings is not None
    assert settings.version == 1


async def test_halting_needs_no_preview_and_only_the_key_of_this_machine(
    reader: Connection, operator: Connection, store: MongoTradeStore
) -> None:
    assert (await asked(reader, "halt_trading", halting=operator))["state"] == "halted"
    settings = await store.settings.current()
    assert settings is not None
    assert settings.trading_state == "halted"


async def test_a_change_is_as_previewed_recorded_and_can_be_taken_back(
    operator: Connection, store: MongoTradeStore, tape: list[str]
) -> None:
    change = {"changes": {"min_net_bps": 9.5, "max_notional": "1234"}}
    async with Client(assistant_server(operator, operator)) as client:
        preview = (await client.call_tool("preview_settings", change)).structured_content
        assert preview["changes"]["min_net_bps"] == {"before": 5.0, "after": 9.5}
        assert preview["without_effect"]
        given = change | {"preview_id": preview["preview_id"]}
        changed = (await client.call_tool("change_settings", given)).structured_content
        assert (changed["version"], changed["changes"]) == (2, preview["changes"])
        again = await client.call_tool("change_settings", given)
        assert "preview is of other changes or of older settings" in again.content[0].text
        reverted = (await client.call_tool("revert_settings", {"version": 2})).structured_content
        assert reverted["changes"]["min_net_bps"] == {"before": 9.5, "after": 5.0}
        twice = await client.call_tool("revert_settings", {"version": 2})
        assert "was changed again since" in twice.content[0].text
        unknown = await client.call_tool("revert_settings", {"version": 99})
        assert "There is no version 99" in unknown.content[0].text
        history = (await client.call_tool("settings_history", {})).structured_content["items"]
    assert [(one["version"], one["who"]) for one in history[:2]] == [(3, "assistant (mcp)"), (2, "assistant (mcp)")]
    settings = await store.settings.current()
    assert settings is not None
    assert settings.min_net_bps == 5.0


IMPOSSIBLE: list[tuple[dict[str, Any], str]] = [
    ({"min_net_pbs": 1}, "'min_net_pbs' is not a setting"),
    ({"version": 7}, "'version' is not a setting"),
    ({"min_net_bps": 5.0}, "Nothing would change"),
    ({"max_notional": -1}, "max_notional"),
    ({"min_net_bps": -5}, "must not be below emit_net_bps"),
]


async def test_what_cannot_be_is_not_previewed(operator: Connection) -> None:
    async with Client(assistant_server(operator, operator)) as client:
        answers = [await client.call_tool("preview_settings", {"changes": changes}) for changes, _ in IMPOSSIBLE]
    assert all(one.is_error for one in answers)
    said = [one.content[0].text for one in answers]
    assert [text for text, (_, words) in zip(said, IMPOSSIBLE, strict=True) if words not in text] == []


THRESHOLDS = (9.0, 4.0)


@pytest.mark.parametrize("threshold", THRESHOLDS)
async def test_a_preview_is_what_then_happens_over_the_same_tape(
    operator: Connection, store: MongoTradeStore, tape: list[str], threshold: float
) -> None:
    """Of the sightings that were taken it keeps so many; of those below the threshold it gains so many at most, and as
    nothing else stands in the way here, just as many."""
    change = {"changes": {"min_net_bps": threshold}}
    async with Client(assistant_server(operator, operator)) as client:
        preview = (await client.call_tool("preview_settings", change)).structured_content
        given = change | {"preview_id": preview["preview_id"]}
        assert not (await client.call_tool("change_settings", given)).is_error
    effect = preview["effect"]
    assert effect["taken"]["count"] == len(tape)
    assert effect["kept"]["count"] + effect["lost"]["count"] == len(tape)
    then = await played(store, "two")
    assert len(then) == effect["kept"]["count"] + effect["gained_episodes"]["count"]
    assert len(then) == sum(net_bps >= threshold for net_bps in TAPE)
