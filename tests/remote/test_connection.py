"""The typed client against a served session: what it reads, what it changes, and what is refused."""

import asyncio
import inspect
from functools import partial

import pytest

from remote.connection import Connection
from runtime.errors import RefusedError
from store.mongo.store import MongoTradeStore
from tests.remote.taped import TAPE, played

READING = (
    *("health", "parts", "quotes", "matrix", "spreads", "opportunities", "statistics", "reasons", "rejections"),
    *("arbitrages", "trades", "pnl", "equity", "balances", "risk", "settings", "settings_versions", "logs"),
    *("tick_sets", "backtests"),
)


async def test_what_needs_no_key_is_read_without_one(reader: Connection) -> None:
    answers = {name: await asyncio.to_thread(getattr(reader, name)) for name in READING}
    assert [name for name, answer in answers.items() if answer is None] == []
    assert not reader.has_key


def test_every_method_names_its_answer() -> None:
    """Answers are typed by the service's own rows, never by hand."""
    methods = [one for name, one in vars(Connection).items() if inspect.isfunction(one) and not name.startswith("_")]
    assert len(methods) > 30
    assert [one.__name__ for one in methods if "return" not in one.__annotations__] == []


async def test_pages_are_joined_up_to_the_limit(reader: Connection, store: MongoTradeStore) -> None:
    done = await played(store, "one")
    for limit in (1, 3, 500):
        rows = await asyncio.to_thread(partial(reader.arbitrages, limit=limit))
        assert [row["arbitrage_id"] for row in rows] == done[::-1][:limit]
    worst = (await asyncio.to_thread(lambda: reader.arbitrages(limit=1, sort="net")))[0]
    detail = await asyncio.to_thread(lambda: reader.arbitrage(worst["arbitrage_id"]))
    assert detail["state"] == "closed"
    kept = await asyncio.to_thread(lambda: reader.opportunities(limit=500))
    assert len(kept) == len(TAPE)
    with pytest.raises(RefusedError, match="ask for 1 row or more"):
        await asyncio.to_thread(lambda: reader.arbitrages(limit=0))


async def test_a_change_needs_a_key_and_the_newest_version(reader: Connection, operator: Connection) -> None:
    with pytest.raises(RefusedError, match="key"):
        await asyncio.to_thread(lambda: reader.change_settings({"min_net_bps": 9.5}))
    changed = await asyncio.to_thread(lambda: operator.change_settings({"min_net_bps": 9.5}))
    assert (changed["version"], changed["min_net_bps"]) == (2, 9.5)
    with pytest.raises(RefusedError, match="at version 2 by now"):
        await asyncio.to_thread(lambda: operator.change_settings({"min_net_bps": 8.0}, version=1))
    with pytest.raises(RefusedError, match="min_net_bps"):
        await asyncio.to_thread(lambda: operator.change_settings({"min_net_bps": "many"}))
    state = await asyncio.to_thread(lambda: operator.set_trading_state("reduce_only"))
    assert state == {"state": "reduce_only", "settings_version": 3}


async def test_what_is_not_there_is_refused_in_its_own_words(reader: Connection) -> None:
    with pytest.raises(RefusedError, match="There is no arbitrage a b"):
        await asyncio.to_thread(lambda: reader.arbitrage("a b"))
    with pytest.raises(RefusedError):
        await asyncio.to_thread(lambda: reader.get("/inventory", colour="red"))
