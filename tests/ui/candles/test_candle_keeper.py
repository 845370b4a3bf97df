import asyncio
from decimal import Decimal
from pathlib import Path

import pytest

from market.prices.candles import INTERVALS, QuoteCandle
from runtime.clock import SystemClock, wall_now
from ui.candles.candle_files import END, KeptInterval
from ui.candles.candle_keeper import CandleKeeper

MARKET = ("alpha", "BTC/USD")
SECOND = INTERVALS["1s"]
HOUR = INTERVALS["1h"]
NOW = wall_now() // HOUR * HOUR - 2 * HOUR
"""A whole hour, of which nothing is too old to be kept."""


def keeper_at(folder: Path) -> CandleKeeper:
    return CandleKeeper(folder / "candles", [MARKET])


def add(keeper: CandleKeeper, second: int, bid: int) -> None:
    keeper.book.of(*MARKET).add_quote(NOW + second * SECOND, second, Decimal(bid), Decimal(bid + 2))


async def seconds(keeper: CandleKeeper) -> list[tuple[int, Decimal]]:
    return [((one.start - NOW) // SECOND, one.close) for one in await keeper.candles(MARKET, "1s", 0, END)]


async def test_what_is_on_disk_and_what_is_not_are_read_as_one(tmp_path: Path) -> None:
    keeper = keeper_at(tmp_path)
    for second in range(3):
        add(keeper, second, second)
    before = await seconds(keeper)
    await keeper.write()
    assert await seconds(keeper) == before == [(0, Decimal(1)), (1, Decimal(2)), (2, Decimal(3))]
    add(keeper, 3, 9)
    assert (await seconds(keeper))[-1] == (3, Decimal(10))
    assert [one.start for one in await keeper.candles(MARKET, "1s", 0, END, 2)] == [NOW + 2 * SECOND, NOW + 3 * SECOND]


async def test_a_process_that_was_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    first = keeper_at(tmp_path)
    for second in range(0, 4_000, 7):
        add(first, second, second % 50 + 1)
    await first.write()
    lengths: tuple[KeptInterval, ...] = ("1m", "1h")
    expected: dict[str, list[QuoteCandle]] = {}
    add(first, 4_100, 80)
    for interval in lengths:
        expected[interval] = await first.candles(MARKET, interval, 0, END)
    again = keeper_at(tmp_path)
    await again.resume()
    # the log brings the last rows again; the second that grew was not written
    for second in (3_990, 3_997, 4_100):
        add(again, second, 80 if second == 4_100 else second % 50 + 1)
    for interval in lengths:
        assert await again.candles(MARKET, interval, 0, END) == expected[interval]


async def test_what_was_written_before_the_disk_was_full_is_written_once(tmp_path: Path) -> None:
    keeper = keeper_at(tmp_path)
    for second in range(3):
        add(keeper, second, second + 1)
    keeper.book.of("beta", "BTC/USD").add_quote(NOW, 1, Decimal(7), Decimal(9))
    keeper.book.of("beta", "BTC/USD").add_quote(NOW + SECOND, 2, Decimal(7), Decimal(9))
    (tmp_path / "candles").mkdir()
    in_the_way = tmp_path / "candles" / "beta"
    in_the_way.write_text("a file in the way")
    for _ in range(3):
        await keeper.write()
    in_the_way.unlink()
    await keeper.write()
    lines = [line for path in (tmp_path / "candles").rglob("1s/*.csv") for line in path.read_text().splitlines()]
    assert len(lines) == len(set(lines)) == 3


async def test_a_write_that_is_cancelled_is_known_to_be_done(tmp_path: Path) -> None:
    keeper = keeper_at(tmp_path)
    add(keeper, 0, 1)
    add(keeper, 1, 2)
    writing = asyncio.create_task(keeper.write())
    await SystemClock().sleep(0)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    await keeper.write()
    (path,) = (tmp_path / "candles").rglob("1s/*.csv")
    assert len(path.read_text().splitlines()) == 1


async def test_a_disk_that_takes_nothing_is_tried_again(tmp_path: Path) -> None:
    keeper = keeper_at(tmp_path)
    add(keeper, 0, 1)
    add(keeper, 1, 2)
    (tmp_path / "candles").write_text("a file in the way")
    await keeper.write()
    (tmp_path / "candles").unlink()
    await keeper.write()
    assert await seconds(keeper_at(tmp_path)) == [(0, Decimal(2))]
