"""Reservations and reports of two bots, alpha (buys BTC for USD) and beta (sells BTC for EUR)."""

from dataclasses import replace
from decimal import Decimal

from market.accounting.profit_groups import profit_from
from market.decide.settings import Settings
from market.instruments.orders import Fill, OrderReport, Side
from market.money import Amount, Price
from market.prices.episodes import Episode, EpisodeSample, pair_of
from market.prices.opportunities import Opportunity
from market.trade.arbitrages import Arbitrage, Leg, LegRole, held_currency
from market.trade.leases import UNFENCED, Actor
from market.trade.reservations import LegRequest, Reservation
from market.trade.unwinding import client_order_id
from store.ports.trading import TradeStore
from tests.market.samples import EUR_MARKET, USD_MARKET, episodes_of, levels, opportunity_of, settings_of

SETTINGS = settings_of()
FREE = settings_of(max_open_arbitrages=100)
STEP = Decimal("0.0001")
PROFIT = {"gross": "2.5", "slippage": "-0.5", "fees": "-1", "net": "1"}
"""The profit of every arbitrage that `close` closes."""
PRICES: dict[Side, Decimal] = {"buy": Decimal(100), "sell": Decimal(101)}
HOLD_PER_UNIT: dict[Side, Decimal] = {"buy": Decimal("100.1"), "sell": Decimal(1)}
OPENING = {"alpha": {"USD": Decimal(1_000), "BTC": Decimal(0)}, "beta": {"EUR": Decimal(0), "BTC": Decimal(10)}}


def opportunity(identity: str = "opportunity-1", sequence: int = 1) -> Opportunity:
    """Buy on alpha, sell on beta; quotes of another `sequence` are other liquidity."""
    made = opportunity_of((USD_MARKET, levels(("100", "5"))), (EUR_MARKET, levels(("101", "5"))), identity)
    return replace(
        made,
        buy=replace(made.buy, quote_id=f"alpha:BTC/USD:{sequence}"),
        sell=replace(made.sell, quote_id=f"beta:BTC/EUR:{sequence}"),
    )


def leg_request(side: Side, of: Opportunity | None = None, displayed: str = "5", factor: str = "1") -> LegRequest:
    """Alpha's buy or beta's sell, or on the exchange that another opportunity names."""
    of = of or opportunity()
    seen = of.buy if side == "buy" else of.sell
    leg = Leg(
        role=side,
        exchange=seen.exchange,
        symbol=seen.symbol,
        base="BTC",
        quote_currency=seen.quote_currency,
        side=side,
        amount=Amount(Decimal(0)),
        limit_price=Price(PRICES[side]),
        client_order_id=client_order_id(of.opportunity_id, side),
    )
    return LegRequest(
        leg=leg,
        hold_currency=held_currency(leg),
        hold_per_unit=HOLD_PER_UNIT[side],
        factor=Decimal(factor),
        step=STEP,
        displayed=Decimal(displayed),
    )


def request(
    amount: str = "2",
    of: Opportunity | None = None,
    settings: Settings = SETTINGS,
    displayed: str = "5",
    minimum: str = "0.001",
    factor: str = "1",
) -> Reservation:
    """Both legs; `factor` of the sell."""
    of = of or opportunity()
    return Reservation(
        opportunity=of,
        legs=(leg_request("buy", of, displayed), leg_request("sell", of, displayed, factor)),
        amount=Amount(Decimal(amount)),
        amount_step=STEP,
        minimum_amount=Decimal(minimum),
        settings=settings,
    )


def filled(leg: Leg, amount: Decimal | None = None, fill_id: str = "1") -> OrderReport:
    """Return the whole leg, or `amount` of it, in one fill at its limit; a fee of 0.1 % in quote currency."""
    moved = leg.amount if amount is None else Amount(amount)
    cost = moved * leg.limit_price
    fill = Fill(
        fill_id=f"{leg.client_order_id}:{fill_id}",
        exchange=leg.exchange,
        symbol=leg.symbol,
        side=leg.side,
        price=leg.limit_price,
        amount=moved,
        cost=cost,
        fee=cost / 1_000,
        fee_currency=leg.quote_currency,
        filled_at=1_700_000_000_000_000,
    )
    return OrderReport(f"order-{leg.client_order_id}", is_final=True, filled=moved, fills=(fill,) if moved else ())


def close(arbitrage: Arbitrage, _: Settings, now: int) -> Arbitrage:
    """Return the plainest `advance`: it ends, whatever was filled."""
    profit = profit_from("USD", {name: Decimal(part) for name, part in PROFIT.items()})
    return replace(arbitrage, state="closed", profit=profit, times=arbitrage.times | {"ended": now})


def complete(amount: str, hold: str = "0") -> "Completion":
    return Completion(Decimal(amount), Decimal(hold))


class Completion:
    """An `advance` that adds one leg on beta, then closes."""

    def __init__(self, amount: Decimal, hold: Decimal) -> None:
        self.amount = amount
        self.hold = hold

    def __call__(self, arbitrage: Arbitrage, settings: Settings, now: int) -> Arbitrage:
        if arbitrage.leg("complete") is not None:
            return close(arbitrage, settings, now)
        sample = leg_request("sell", arbitrage.opportunity).leg
        role: LegRole = "complete"
        order_id = client_order_id(arbitrage.arbitrage_id, role)
        leg = replace(sample, role=role, amount=Amount(self.amount), held=self.hold, client_order_id=order_id)
        return replace(arbitrage, state="single_leg", legs=(*arbitrage.legs, leg))


async def open_books(store: TradeStore, settings: Settings = SETTINGS) -> None:
    """Store settings and the opening balances of both exchanges."""
    await store.settings.create(settings)
    for exchange, balances in OPENING.items():
        await store.balances.replace(exchange, balances, "before", UNFENCED)


async def balances(store: TradeStore) -> dict[tuple[str, str], tuple[Decimal, Decimal]]:
    """(exchange, currency) → (free, held)."""
    return {(row.exchange, row.currency): (row.free, row.held) for row in await store.balances.rows()}


async def reserved(store: TradeStore, of: Opportunity | None = None, amount: str = "1.5") -> Arbitrage:
    """Return the arbitrage, both legs granted."""
    result = await store.reserve(request(amount, of), UNFENCED)
    assert result.arbitrage is not None, result.rejection
    assert result.arbitrage.state == "reserved"
    return result.arbitrage


async def granted(store: TradeStore, arbitrage_id: str, role: LegRole) -> Leg:
    """Return the leg, which has been granted."""
    leg = leg_of(await store.arbitrage(arbitrage_id), role)
    assert leg.state == "granted"
    return leg


def leg_of(arbitrage: Arbitrage | None, role: LegRole) -> Leg:
    leg = None if arbitrage is None else arbitrage.leg(role)
    assert leg is not None
    return leg


def episode_of(of: Opportunity, reason: str | None, profit: str = "2") -> Episode:
    """Return the episode of that one sighting; `reason` None: it was traded."""
    sample = EpisodeSample(
        pair_of(of), of.event_time, of.expires_at, of.net_bps, Decimal(profit), reason, of.opportunity_id
    )
    (episode,) = episodes_of([sample])
    return episode


async def ready_bot(store: TradeStore, exchange: str) -> Actor:
    """Return a process that acts for `exchange` and takes legs of new trades."""
    lease = await store.leases.acquire(exchange, f"{exchange}-1")
    assert lease is not None
    await store.leases.set_veto(lease.actor, None)
    return lease.actor
