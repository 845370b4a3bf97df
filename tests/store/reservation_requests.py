"""Reservations and reports of two bots, alpha (buys BTC for USD) and beta (sells BTC for EUR)."""

from dataclasses import replace
from decimal import Decimal

from market.accounting.profit_groups import profit_from
from market.decide.settings import Settings
from market.instruments.orders import Fill, OrderReport, Side
from market.money import Amount, Price
from market.prices.opportunities import Opportunity
from market.trade.arbitrages import Arbitrage, Leg, LegRole
from market.trade.leases import UNFENCED
from market.trade.leg_planning import client_order_id
from market.trade.reservations import Reservation
from store.store_port import TradeStore
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, opportunity_of, settings_of

SETTINGS = settings_of()
FREE = settings_of(max_open_arbitrages=100)
STEP = Decimal("0.0001")
PROFIT = {"gross": "2.5", "slippage": "-0.5", "fees": "-1", "net": "1"}
"""Of every arbitrage that `close` closes."""
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


def request(
    side: Side,
    amount: str = "2",
    of: Opportunity | None = None,
    settings: Settings = SETTINGS,
    displayed: str = "5",
    minimum: str = "0.001",
    factor: str = "1",
) -> Reservation:
    of = of or opportunity()
    market = USD_MARKET if side == "buy" else EUR_MARKET
    leg = Leg(
        role=side,
        exchange=market.exchange,
        symbol=market.symbol,
        base="BTC",
        quote_currency=market.quote_currency,
        side=side,
        amount=Amount(Decimal(amount)),
        limit_price=Price(PRICES[side]),
        client_order_id=client_order_id(of.opportunity_id, side),
    )
    return Reservation(
        opportunity=of,
        leg=leg,
        hold_currency="USD" if side == "buy" else "BTC",
        hold_per_unit=HOLD_PER_UNIT[side],
        amount_step=STEP,
        leg_factor=Decimal(factor),
        leg_step=STEP,
        minimum_amount=Decimal(minimum),
        displayed_amount=Decimal(displayed),
        settings=settings,
    )


def filled(leg: Leg, amount: Decimal | None = None, fill_id: str = "1") -> OrderReport:
    """The whole leg, or `amount` of it, in one fill at its limit; a fee of 0.1 % in quote currency."""
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
    """The plainest `advance`: it ends, whatever was filled."""
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
        sample = request("sell", of=arbitrage.opportunity).leg
        role: LegRole = "complete"
        order_id = client_order_id(arbitrage.arbitrage_id, role)
        leg = replace(sample, role=role, amount=Amount(self.amount), held=self.hold, client_order_id=order_id)
        return replace(arbitrage, state="single_leg", legs=(*arbitrage.legs, leg))


async def open_books(store: TradeStore, settings: Settings = SETTINGS) -> None:
    """Settings in force and opening balances on both exchanges."""
    await store.settings.create(settings)
    for exchange, balances in OPENING.items():
        await store.balances.replace(exchange, balances, "before", UNFENCED)


async def balances(store: TradeStore) -> dict[tuple[str, str], tuple[Decimal, Decimal]]:
    """(exchange, currency) → (free, held)."""
    return {(row.exchange, row.currency): (row.free, row.held) for row in await store.balances.rows()}


async def reserve_both(store: TradeStore, of: Opportunity, amounts: tuple[str, str] = ("2", "1.5")) -> Arbitrage:
    """The arbitrage, reserved."""
    await store.reserve(request("buy", amounts[0], of), UNFENCED)
    result = await store.reserve(request("sell", amounts[1], of), UNFENCED)
    assert result.arbitrage is not None
    assert result.arbitrage.state == "reserved"
    return result.arbitrage


async def sent(store: TradeStore, arbitrage_id: str, role: LegRole) -> Leg:
    leg = await store.start_sending(arbitrage_id, role, UNFENCED)
    assert leg is not None
    return leg
