"""Candles as ccxt reads them, by REST and as they are streamed, are those of the trades that ccxt reads."""

import asyncio
from decimal import Decimal
from pathlib import Path

import ccxt
import pytest

from market.time_units import MICROSECONDS
from tests.exchanges.stepped_clock import SteppedClock
from tests.simulators.contract.abilities import CANDLES, STREAMED_CANDLES
from tests.simulators.contract.bench import DEADLINE, Bench, opened

MINUTE_MS = 60_000
Ohlcv = list[float]


def traded_for(bench: Bench, clock: SteppedClock, minutes: int) -> None:
    """Trade some times in each of `minutes` minutes."""
    tape = bench.exchange.tape
    for _ in range(minutes):
        clock.time = (clock.time // (60 * MICROSECONDS) + 1) * 60 * MICROSECONDS
        begun = clock.time
        bench.tick_until(
            lambda begun=begun: sum(trade.traded_at >= begun for trade in tape.newest(bench.symbol, 20)) >= 3  # type: ignore[misc]
        )
        clock.advance(1)


def expected_candles(bench: Bench, minutes: int) -> list[Ohlcv]:
    """Return the candles of the trades on the tape, which are those of fetchTrades."""
    length, found = minutes * MINUTE_MS, dict[int, list[Decimal]]()
    for trade in bench.exchange.tape.newest(bench.symbol, 1_000)[::-1]:
        began, price = trade.traded_at // 1_000 // length * length, trade.price
        first, high, low, _, volume = found.get(began, [price] * 4 + [Decimal(0)])
        found[began] = [first, max(high, price), min(low, price), price, volume + trade.amount]
    return [[began, *(float(number) for number in numbers)] for began, numbers in found.items()]


@pytest.mark.parametrize("exchange", CANDLES)
@pytest.mark.parametrize(("timeframe", "minutes"), [("1m", 1), ("5m", 5)])
async def test_candles_are_those_of_the_trades(exchange: str, timeframe: str, minutes: int, tmp_path: Path) -> None:
    clock = SteppedClock.for_slow_clients()
    async with opened(exchange, tmp_path, clock) as bench:
        await bench.client.load_markets()
        traded_for(bench, clock, 8)
        wanted = expected_candles(bench, minutes)
        assert len(wanted) >= 2
        assert await bench.client.fetch_ohlcv(bench.symbol, timeframe) == wanted
        since = int(wanted[1][0])
        assert await bench.client.fetch_ohlcv(bench.symbol, timeframe, since) == wanted[1:]
        assert await bench.client.fetch_ohlcv(bench.symbol, timeframe, since, 1) == wanted[1:2]


@pytest.mark.parametrize("exchange", CANDLES)
async def test_candles_of_no_such_length_are_rejected(exchange: str, tmp_path: Path) -> None:
    async with opened(exchange, tmp_path) as bench:
        with pytest.raises(ccxt.ExchangeError):
            await bench.client.fetch_ohlcv(bench.symbol, "7m")


@pytest.mark.parametrize("exchange", STREAMED_CANDLES)
async def test_streamed_candles_are_those_of_the_trades(exchange: str, tmp_path: Path) -> None:
    clock = SteppedClock.for_slow_clients()
    async with opened(exchange, tmp_path, clock) as bench:
        await bench.client.load_markets()
        seen: dict[int, Ohlcv] = {}

        async def watch() -> None:
            while True:
                for row in await bench.client.watch_ohlcv(bench.symbol, "1m"):
                    seen[row[0]] = row

        watching = asyncio.ensure_future(watch())
        async with asyncio.timeout(DEADLINE):
            while len(seen) < 3:
                traded_for(bench, clock, 1)
                await asyncio.wait([watching], timeout=0.05)
                assert not watching.done(), watching.result()
            wanted = {int(row[0]): row for row in expected_candles(bench, 1)}
            while {began: wanted[began] for began in seen} != seen:
                await asyncio.wait([watching], timeout=0.05)
        watching.cancel()
