"""The app decides as the formula did that stood in its place, whatever settings are changed and processes die."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from cep.apps.hosts.average_app import shipped_average_app
from market.trade.moving_average import AverageRule, AverageTrade
from tests.bots.test_average_trader import ORDERS, Bench
from tests.market.average_rules import naive_rule

MIDS = st.one_of(
    st.sampled_from(["0.3", "0.1", "0.2", "0.7", "100", "100.01"]),
    st.decimals(min_value="0.05", max_value="1e6", places=8).map(str),
)


@dataclass(frozen=True)
class Turn:
    """What happens in one period of a market's exchange."""

    mid: str | None
    """None: no quote that holds."""
    ma_trading: Literal["off", "signals", "orders"]
    ma_interval_ms: int
    passed: int
    """Microseconds since the turn before."""
    dies_after: int | None
    """Steps of the event loop after which its process is killed; another one goes on."""


TURNS = st.lists(
    st.builds(
        Turn,
        st.none() | MIDS,
        st.sampled_from(["off", "signals", "orders"]),
        st.sampled_from([100, 1_000, 5_000, 20_000]),
        st.sampled_from([1, 90_000, 1_000_000, 5_000_000, 20_000_000]),
        st.none() | st.integers(0, 12),
    ),
    max_size=40,
)


async def traded(turns: list[Turn], make_rule: Callable[[], AverageRule]) -> list[AverageTrade]:
    """With a rule of its own for each process, that has seen no close."""
    bench = Bench(ORDERS, rule=make_rule())
    await bench.open()
    for turn in turns:
        bench.clock.time += turn.passed
        changes = {"ma_trading": turn.ma_trading, "ma_interval_ms": turn.ma_interval_ms}
        bench.cache.settings = ORDERS.model_copy(update=changes)
        bench.shown.quotes.clear()
        if turn.mid is not None:
            bench.show(turn.mid)
        working = asyncio.create_task(bench.trader.run_once())
        for _ in range(turn.dies_after or 0):
            await asyncio.sleep(0)
        if turn.dies_after is not None:
            working.cancel()
            bench.rule = make_rule()
            bench.trader = bench.process()
        with suppress(asyncio.CancelledError):
            await working
    return await bench.store.averages.trades()


def cold_naive_rule() -> AverageRule:
    return naive_rule


@settings(max_examples=25, deadline=None)  # to compile an app takes long
@given(TURNS)
def test_the_same_signals_and_orders(turns: list[Turn]) -> None:
    assert asyncio.run(traded(turns, shipped_average_app)) == asyncio.run(traded(turns, cold_naive_rule))


def test_what_is_compared_has_signals_and_orders() -> None:
    turns = [Turn(mid, "orders", 5_000, 5_000_000, None) for mid in ("5", "4", "6", "3", "7")]
    trades = asyncio.run(traded(turns, shipped_average_app))
    assert [(trade.trade_type, trade.trade_price) for trade in trades] == [
        ("BUY", Decimal(6)),
        ("SELL", Decimal(3)),
        ("BUY", Decimal(7)),
    ]
    assert all(trade.order is not None for trade in trades)


def test_a_process_that_takes_over_goes_on_with_what_the_store_has() -> None:
    """The app that comes after has seen none of the closes, and the signal at once is of them."""
    turns = [Turn(mid, "orders", 5_000, 5_000_000, 12 if mid == "4" else None) for mid in ("5", "6", "4", "7")]
    trades = asyncio.run(traded(turns, shipped_average_app))
    assert trades == asyncio.run(traded(turns, cold_naive_rule))
    assert [(trade.trade_type, trade.trade_price) for trade in trades] == [("SELL", Decimal(4)), ("BUY", Decimal(7))]
    assert trades[-1].closes == (Decimal(5), Decimal(6), Decimal(4))
