"""Cycles to trade in tests, with the rows and requests of their decisions, and reports of exchanges."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from market.decide.cycle_sizing import CycleBounds
from market.decide.settings import Settings
from market.decide.sizing import SizingSide
from market.instruments.cycles import Cycle, CycleLeg
from market.instruments.fees import charged, fee_currency
from market.instruments.markets import Market
from market.instruments.orders import Fill, OrderReport, Side
from market.money import EXACT, Amount, Price
from market.trade.cycle_reservations import CycleRequest, CycleRows
from market.trade.cycle_trades import CycleOrder
from market.trade.leases import UNFENCED
from market.trade.reservation_state import BalanceRow
from tests.market.samples import levels

RICH = Decimal(10) ** 9
NOW = 1_000_000_000


@dataclass(frozen=True)
class Case:
    """A cycle as it was found, with the rows that it is decided on."""

    sides: tuple[SizingSide, ...]
    bounds: CycleBounds
    rows: CycleRows
    request: CycleRequest


def settings_of(**changes: object) -> Settings:
    unlimited = dict.fromkeys(
        ("max_notional", "max_total_notional", "max_exchange_notional", "max_asset_notional", "max_exposure"),
        Decimal(10_000_000),
    )
    known: dict[str, object] = {
        "enabled_exchanges": ("alpha", "beta"),
        "taker_fees": {"alpha": Decimal("0.001"), "beta": Decimal("0.0005")},
        "min_net_bps": 0.0,
        "quarantine_ceiling_bps": 0.0,
        "cool_down_ms": 0,
        "max_slippage_bps": 0.0,
    }
    return Settings.model_validate(unlimited | known | changes)


def case_of(
    sides: Sequence[SizingSide], own: Settings, balances: Mapping[tuple[str, str], Decimal] | None = None
) -> Case:
    """Return the case of these books; `balances`: in place of plenty of what each leg gives."""
    cycle = Cycle(tuple(CycleLeg(side.market, side.side) for side in sides))
    places = [(side.market.exchange, leg.gives) for side, leg in zip(sides, cycle.legs, strict=True)]
    free = dict.fromkeys(places, RICH) if balances is None else balances
    fees = own.taker_fees
    needed = {place: free.get(place, Decimal(0)) for place in cycle.needs}
    with_fees = tuple(
        replace(side, fee_rate=fees[side.market.exchange], free=needed.get(place))
        for side, place in zip(sides, places, strict=True)
    )
    bounds = CycleBounds(Decimal(str(own.min_net_bps)), own.max_slippage_bps, own.max_notional)
    kept = {place: BalanceRow(*place, amount, Decimal(0)) for place, amount in free.items()}
    request = CycleRequest(
        trade_id="found",
        cycle=cycle,
        net_bps=50.0,
        event_time=NOW,
        levels=tuple(side.levels for side in sides),
        quotes=tuple(f"{side.market.exchange}:{side.market.symbol}:1" for side in sides),
        currency=cycle.currency,
        worth={leg.gives: Decimal(1) for leg in cycle.legs},
    )
    return Case(with_fees, bounds, CycleRows(NOW, UNFENCED, own, kept), request)


def side_of(side: Side, symbol: str, price: str, amount: str, exchange: str = "alpha") -> SizingSide:
    base, quote = symbol.split("/")
    sizes = Decimal("0.00001"), Decimal("0.0001"), Decimal("0.0001"), Decimal(0)
    market = Market(exchange, "us", symbol, base, quote, *sizes, "quote")
    return SizingSide(side, market, levels((price, amount)), Decimal(0), None)


def triangle(
    balances: Mapping[tuple[str, str], Decimal] | None = None, exchange: str = "alpha", **changes: object
) -> Case:
    """Return buy BTC/USD, buy ETH/BTC, sell ETH/USD at `exchange`, without fees: 12,000 USD buy 0.3 BTC, those 6 ETH,
    and those bring 12,120."""
    sides = [
        side_of("buy", "BTC/USD", "40000", "0.5", exchange),
        side_of("buy", "ETH/BTC", "0.05", "20", exchange),
        side_of("sell", "ETH/USD", "2020", "6", exchange),
    ]
    known = {"enabled_exchanges": (exchange, "beta"), "taker_fees": {exchange: Decimal(0), "beta": Decimal(0)}}
    own = settings_of(**known | changes)
    return case_of(sides, own, balances)


def report_on(order: CycleOrder, amount: Decimal, price: Decimal | None = None) -> OrderReport:
    """Return a report that so much of the order filled, at its limit price unless another is given."""
    market, at = order.market, order.limit_price if price is None else Price(price)
    cost = EXACT.multiply(at, amount)
    fee = EXACT.multiply(charged(market, order.side, cost, amount), order.fee_rate)
    names = order.client_order_id, market.exchange, market.symbol, order.side
    fill = Fill(*names, at, Amount(amount), cost, fee, fee_currency(market, order.side), NOW)
    return OrderReport(order.name, True, Amount(amount), (fill,) if amount else ())
