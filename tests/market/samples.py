"""Markets, settings and opportunities that the tests of market and bots share."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Literal

from market.decide.settings import Settings
from market.instruments.fees import charged, fee_currency
from market.instruments.markets import Market
from market.instruments.orders import Fill, Side
from market.money import Amount, Price
from market.prices.episodes import Episode, Episodes, EpisodeSample
from market.prices.opportunities import FxRate, Opportunity, OpportunityLeg
from market.prices.quotes import Level
from market.trade.arbitrages import Arbitrage, Leg
from market.trade.unwinding import client_order_id

USD_MARKET = Market(
    exchange="alpha",
    region="us",
    symbol="BTC/USD",
    base="BTC",
    quote_currency="USD",
    tick_size=Decimal("0.01"),
    lot_step=Decimal("0.0001"),
    minimum_amount=Decimal("0.0001"),
    minimum_notional=Decimal(1),
    fee_side="quote",
)
EUR_MARKET = replace(USD_MARKET, exchange="beta", region="eu", symbol="BTC/EUR", quote_currency="EUR")
JPY_MARKET = replace(
    USD_MARKET,
    exchange="gamma",
    region="jp",
    symbol="BTC/JPY",
    quote_currency="JPY",
    tick_size=Decimal(1),
    lot_step=Decimal("0.001"),
    minimum_amount=Decimal("0.001"),
    minimum_notional=Decimal(0),
    fee_side="base",
)
MARKETS = (USD_MARKET, EUR_MARKET, JPY_MARKET)

EUR_RATE = FxRate(
    "EUR", "EUR/USD", inverted=False, bid=Decimal("1.0999"), ask=Decimal("1.1001"), quote_id="fx:EUR/USD:1"
)
JPY_RATE = FxRate("JPY", "USD/JPY", inverted=True, bid=Decimal("149.9"), ask=Decimal("150.1"), quote_id="fx:USD/JPY:1")
RATES = {"EUR": EUR_RATE, "JPY": JPY_RATE}


def settings_of(**changes: object) -> Settings:
    known: dict[str, object] = {
        "enabled_exchanges": ("alpha", "beta", "gamma"),
        "taker_fees": {"alpha": Decimal("0.001"), "beta": Decimal("0.0012"), "gamma": Decimal("0.0015")},
        "cool_down_ms": 0,
    }
    return Settings.model_validate(known | changes)


def levels(*rows: tuple[str, str]) -> tuple[Level, ...]:
    return tuple(Level(Price(Decimal(price)), Amount(Decimal(amount))) for price, amount in rows)


def leg_of(market: Market, book: tuple[Level, ...], sequence: int = 1, age: int = 0) -> OpportunityLeg:
    return OpportunityLeg(
        exchange=market.exchange,
        symbol=market.symbol,
        quote_currency=market.quote_currency,
        price=book[0].price,
        amount=book[0].amount,
        levels=book,
        quote_id=f"{market.exchange}:{market.symbol}:{sequence}",
        age=age,
    )


def opportunity_of(
    buy: tuple[Market, tuple[Level, ...]],
    sell: tuple[Market, tuple[Level, ...]],
    identity: str = "opportunity-1",
    net_bps: float = 50.0,
    event_time: int = 1_000_000,
    lifetime: int = 1_000_000,
    sequence: int = 1,
) -> Opportunity:
    """`net_bps` is what CEP claims; the books say what is true. `sequence` is that of both quotes."""
    currencies = {market.quote_currency for market, _ in (buy, sell)}
    return Opportunity(
        opportunity_id=identity,
        base="BTC",
        buy=leg_of(*buy, sequence),
        sell=leg_of(*sell, sequence),
        fx=tuple(RATES[currency] for currency in sorted(currencies - {"USD"})),
        settings_version=1,
        gross_bps=net_bps + 20,
        fee_bps=20.0,
        net_bps=net_bps,
        expected_profit=1.0,
        currency="USD",
        event_time=event_time,
        detected_time=event_time + 5_000,
        expires_at=event_time + lifetime,
        offset=1,
    )


def fill_of(
    market: Market,
    side: Side,
    amount: Decimal,
    price: Decimal,
    fee_rate: Decimal = Decimal(0),
    fill_id: str = "1",
) -> Fill:
    """Its fee to 8 digits, in the market's fee currency."""
    cost = amount * price
    return Fill(
        fill_id=f"{market.exchange}-{side}-{fill_id}",
        exchange=market.exchange,
        symbol=market.symbol,
        side=side,
        price=Price(price),
        amount=Amount(amount),
        cost=cost,
        fee=(charged(market, side, cost, amount) * fee_rate).quantize(Decimal("1E-8")),
        fee_currency=fee_currency(market, side),
        filled_at=0,
    )


def order_leg(
    market: Market,
    role: Literal["buy", "sell"],
    amount: Decimal,
    price: Decimal,
    fills: Sequence[Fill] = (),
    identity: str = "opportunity-1",
) -> Leg:
    """Return a leg that has ended with these fills."""
    return Leg(
        role=role,
        exchange=market.exchange,
        symbol=market.symbol,
        base=market.base,
        quote_currency=market.quote_currency,
        side=role,
        amount=Amount(amount),
        limit_price=Price(price),
        client_order_id=client_order_id(identity, role),
        state="done",
        fills=tuple(fills),
        times={"reserved": 1, "granted": 2},
    )


def arbitrage_of(opportunity: Opportunity, *legs: Leg) -> Arbitrage:
    return Arbitrage(
        arbitrage_id=opportunity.opportunity_id,
        base=opportunity.base,
        state="reserved",
        opportunity=opportunity,
        legs=legs,
        amount=legs[0].amount,
        send_by=0,
    )


def episodes_of(samples: Iterable[EpisodeSample]) -> tuple[Episode, ...]:
    """Return the episodes of samples in time order."""
    found = Episodes()
    for sample in samples:
        found.add(sample)
    return found.all()
