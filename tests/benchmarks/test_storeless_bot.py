"""The bot without a store: chooses as the session's bots do, posts both orders at once, and leaves a single leg."""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pytest

from benchmarks.storeless_bot import TERMS, TRADES, StorelessBot, Terms
from exchanges.errors import OrderRejectedError
from exchanges.ports.permits import ALWAYS_PERMITTED, Permit
from market.instruments.markets import Market
from market.instruments.orders import AccountFill, LimitOrder, OpenOrder, OrderReport
from market.money import Amount
from market.prices.opportunities import Opportunity
from market.trade.arbitrages import Arbitrage
from runtime.clock import wall_now
from tests.bots.exchange_floor import OPENING
from tests.market.samples import EUR_MARKET, USD_MARKET, fill_of, levels, opportunity_of, settings_of

MARKETS = (USD_MARKET, EUR_MARKET)
LONG = 60_000_000
"""Microseconds: no opportunity expires while a test runs."""
SECONDS = 60.0
TWO: dict[str, Any] = {"identity": "two", "sequence": 2}
SETTINGS = settings_of(max_notional=600, max_quote_age_ms=600_000, trading_state="halted")
"""As they are once the session's own bots have been stopped."""


@dataclass
class Exchange:
    """Fills a share of each order once both exchanges have one; None: it rejects them."""

    market: Market
    both_posted: asyncio.Barrier
    share: Decimal | None = Decimal(1)
    left: int | None = None
    orders: list[LimitOrder] = field(default_factory=list)

    @property
    def exchange(self) -> str:
        return self.market.exchange

    def legs_left(self) -> int | None:
        return self.left

    async def place(self, order: LimitOrder, permit: Permit = ALWAYS_PERMITTED) -> OrderReport:
        permit.check()
        self.orders.append(order)
        await self.both_posted.wait()
        if self.share is None:
            raise OrderRejectedError("no")
        amount = Amount(order.amount * self.share)
        number = str(len(self.orders))
        made_up = fill_of(self.market, order.side, amount, order.price, fill_id=number)
        fill = replace(made_up, filled_at=wall_now())
        return OrderReport(number, True, amount, (fill,) if amount else ())

    async def look_up(self, order: LimitOrder, others: Collection[str] = ()) -> OrderReport | None:
        raise AssertionError("every report is final")

    async def cancel(self, order: LimitOrder, exchange_order_id: str) -> None:
        raise AssertionError("every report is final")

    async def open_orders(self) -> list[OpenOrder]:
        return []

    async def fills_since(self, since: int) -> list[AccountFill]:
        return []

    async def balances(self) -> dict[str, Decimal]:
        return OPENING[self.exchange]

    async def close(self) -> None:
        """Nothing is open."""


def offered(
    identity: str = "one", sequence: int = 1, age: int = 0, net_bps: float = 50.0, shown: str = "1"
) -> Opportunity:
    """Bought at alpha, sold at beta; as much as `shown` on both sides."""
    return opportunity_of(
        (USD_MARKET, levels(("6000", shown))),
        (EUR_MARKET, levels(("5618", shown))),
        identity=identity,
        net_bps=net_bps,
        event_time=wall_now() - age,
        lifetime=LONG,
        sequence=sequence,
    )


async def one_by_one(opportunities: Iterable[Opportunity]) -> AsyncIterator[Opportunity]:
    """Each once the bot has nothing more to do about those before."""
    for opportunity in opportunities:
        yield opportunity
        for _ in range(50):
            await asyncio.sleep(0)


async def traded(
    opportunities: Iterable[Opportunity],
    shares: Mapping[str, Decimal | None] | None = None,
    left: int | None = None,
    changes: Mapping[str, object] = MappingProxyType({}),
) -> tuple[list[Arbitrage], list[Exchange]]:
    posted = asyncio.Barrier(2)
    shares = shares or {}
    exchanges = [Exchange(market, posted, shares.get(market.exchange, Decimal(1)), left) for market in MARKETS]
    bot = StorelessBot(MARKETS, SETTINGS.model_copy(update=changes), {one.exchange: one for one in exchanges})
    await bot.open()
    return await bot.trade(one_by_one(opportunities), SECONDS), exchanges


async def test_both_orders_are_posted_before_either_is_answered() -> None:
    (arbitrage,), (alpha, beta) = await traded([offered()])
    assert arbitrage.state == "closed"
    assert [(order.side, order.amount) for order in alpha.orders] == [("buy", Decimal("0.0970"))]
    assert [(order.side, order.amount) for order in beta.orders] == [("sell", Decimal("0.0970"))]
    assert {"event", "detected", "sent", "filled"} <= arbitrage.times.keys()


@pytest.mark.parametrize(
    ("alpha", "beta", "state"),
    [
        (Decimal(1), Decimal(1), "closed"),
        (Decimal(1), Decimal(0), "residual"),
        (Decimal(0), Decimal(1), "residual"),
        (Decimal(1), Decimal("0.5"), "residual"),
        (Decimal(1), None, "residual"),
        (Decimal(0), Decimal(0), "unfilled"),
        (None, None, "unfilled"),
    ],
)
async def test_a_single_leg_is_left_and_never_completed(
    alpha: Decimal | None, beta: Decimal | None, state: str
) -> None:
    (arbitrage,), exchanges = await traded([offered()], {"alpha": alpha, "beta": beta})
    assert arbitrage.state == state
    assert [len(one.orders) for one in exchanges] == [1, 1]


@pytest.mark.parametrize(
    ("offers", "left", "changes", "begun"),
    [
        ([{}, TWO], None, {}, ["one", "two"]),
        ([{}, TWO], None, {"cool_down_ms": 60_000}, ["one"]),
        # the first takes all that the quotes show, and the second is of the same quotes
        ([{"shown": "0.05"}, TWO | {"sequence": 1, "shown": "0.05"}], None, {}, ["one"]),
        ([{"net_bps": 10.0}], None, {"min_net_bps": 20.0}, []),
        ([{"age": 2 * LONG}], None, {}, []),
        ([{}], 0, {}, []),
        ([{}], 1, {}, ["one"]),
    ],
    ids=["both", "cool-down", "liquidity used", "below threshold", "expired", "no rate budget", "rate budget"],
)
async def test_it_takes_what_the_sessions_bots_would_take(
    offers: list[dict[str, Any]], left: int | None, changes: dict[str, object], begun: list[str]
) -> None:
    arbitrages, _ = await traded((offered(**offer) for offer in offers), left=left, changes=changes)
    assert [one.arbitrage_id for one in arbitrages] == begun


async def test_terms_and_trades_pass_between_processes_unchanged() -> None:
    terms = Terms(SETTINGS, {"alpha": ('{"polls": {}}', 5)})
    assert TERMS.validate_json(TERMS.dump_json(terms)) == terms
    arbitrages, _ = await traded([offered()])
    assert TRADES.validate_json(TRADES.dump_json(arbitrages)) == arbitrages
