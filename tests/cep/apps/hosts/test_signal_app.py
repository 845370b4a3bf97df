"""An app of the demo's shape, on a server with the exchanges' answers: its signals are those of the formula."""

import random

import pytest
from aiohttp import web

from cep.apps.hosts.hosted_app import app_source
from cep.apps.hosts.stored_tables import table_changes
from tests.cep.apps.hosts.call_server import call_server
from tests.cep.apps.hosts.call_world import CallWorld
from tests.cep.apps.hosts.signal_app import REGION, TICKERS, exact_means, expected_signals, signal_text

CLOSES = 60


def walks(seed: int) -> dict[str, list[float]]:
    """Close by path, in quarters, so that some equal their mean."""
    chance = random.Random(seed)
    walks = {}
    for ticker in TICKERS:
        steps = [chance.choice((-1.0, -0.25, 0.0, 0.25, 1.0)) for _ in range(CLOSES)]
        walks[ticker.path] = [100.0 + sum(steps[:at]) for at in range(1, CLOSES + 1)]
    return walks


@pytest.mark.parametrize("seed", range(4))
async def test_signals_are_those_of_the_formula(seed: int) -> None:
    closes, texts = walks(seed), {one.path: one for one in TICKERS}

    def answer(path: str, number: int) -> web.Response:
        ticker, close = texts[path], closes[path][number - 1]
        return web.json_response({ticker.close: str(close) if ticker.is_text else close, "time": "2026"})

    source = app_source(signal_text(), "signals", (("region", REGION),))
    async with call_server(answer) as server:
        world = CallWorld(source, {one.origin: server.url for one in TICKERS})
        running = world.opened()
        running.tick(0)
        for number in range(1, CLOSES + 1):
            running.tick(5 * number)
            await running.answered(len(TICKERS))
        await running.calls.close()
    given = sorted((row.time, row.stream, row.values["exchange"], row.values["price"])
                   for row in world.rows.values() if row.stream in ("Bought", "Sold"))  # fmt: skip
    for ticker in TICKERS:
        wanted = expected_signals(closes[ticker.path], exact_means(closes[ticker.path]))
        assert len(wanted) >= 3
        assert [("BUY" if stream == "Bought" else "SELL", price)
                for _, stream, exchange, price in given if exchange == ticker.exchange] == wanted  # fmt: skip
    kept = [one for one in table_changes(world.topic, "signals", source.outside.tables) if one.row is not None]
    assert len(kept) == len(given)
    assert {one.row["region"] for one in kept if one.row} == {REGION}


async def test_elsewhere_it_asks_and_gives_nothing() -> None:
    source = app_source(signal_text(), "signals", (("region", "eu"),))
    async with call_server(lambda _path, _number: web.json_response({"price": "1", "last": "1", "ltp": 1})) as server:
        world = CallWorld(source, {one.origin: server.url for one in TICKERS})
        running = world.opened()
        running.tick(0)
        running.tick(5)
        await running.answered(len(TICKERS))
        await running.calls.close()
    assert {row.stream for row in world.rows.values()} == {f"Ask{one.name}" for one in TICKERS}
