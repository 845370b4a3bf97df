"""A session with two markets and an FX market, and rows of its log."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from market.instruments.markets import Market
from market.money import Amount, Price
from market.prices.opportunities import Opportunity
from market.prices.quotes import FeedMark, Level, MarkKind, Quote
from market.trade.arbitrages import Arbitrage
from session.session import Services, Session
from streams.message_format import mark_row, quote_row, row_of
from streams.records import Record
from streams.topics import TICKS
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, opportunity_of, order_leg, settings_of

FX_MARKET = replace(USD_MARKET, exchange="fx", symbol="EUR/USD", base="EUR", quote_currency="USD", is_fx=True)
MARKETS = (USD_MARKET, EUR_MARKET, FX_MARKET)
SETTINGS = settings_of(
    enabled_exchanges=("alpha", "beta"), taker_fees={"alpha": Decimal("0.001"), "beta": Decimal("0.0012")}
)
START = 1_700_000_000_000_000
NOWHERE = "127.0.0.1:1"
"""Nothing answers there, and says so at once."""


class SteppedClock:
    """Stands still until moved."""

    def __init__(self) -> None:
        self.time = START

    def now(self) -> int:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += int(seconds * 1_000_000)


def session_of(
    home: Path, mongodb: str = f"mongodb://{NOWHERE}", database: str = "ui", kafka: str = NOWHERE
) -> Session:
    return Session("session-1", "paper", home, Services(kafka, mongodb, database), MARKETS, "USD")


def quote(market: Market, bid: str, ask: str, time: int = START, sequence: int | None = None) -> Quote:
    """One level a side, 2 of base each."""
    return Quote(
        kind="fx" if market.is_fx else "quote",
        exchange=market.exchange,
        region=market.region,
        symbol=market.symbol,
        base=market.base,
        quote_currency=market.quote_currency,
        bids=(Level(Price(Decimal(bid)), Amount(Decimal(2))),),
        asks=(Level(Price(Decimal(ask)), Amount(Decimal(2))),),
        exchange_time=None,
        received_time=time,
        sequence=time if sequence is None else sequence,
    )


def mark(kind: MarkKind, market: Market, time: int) -> FeedMark:
    return FeedMark(kind, market.exchange, market.region, market.symbol, market.base, market.quote_currency, time, time)


def tick(made: Quote | FeedMark) -> dict[str, object]:
    """As it is read from the topic."""
    return row_of(quote_row(made) if isinstance(made, Quote) else mark_row(made))


def record(made: Quote | FeedMark, offset: int = 0) -> Record:
    value = quote_row(made) if isinstance(made, Quote) else mark_row(made)
    return Record(TICKS, 0, offset, made.base, value, made.received_time)


def opportunity(identity: str = "opportunity-1", net_bps: float = 50.0, time: int = START) -> Opportunity:
    book = levels(("100", "5"))
    return opportunity_of((USD_MARKET, book), (EUR_MARKET, book), identity, net_bps, time)


def arbitrage(identity: str = "opportunity-1", state: str = "reserved") -> Arbitrage:
    """Both legs reserved, nothing filled."""
    ended = (
        order_leg(USD_MARKET, "buy", Decimal(2), Decimal(100), identity=identity),
        order_leg(EUR_MARKET, "sell", Decimal(2), Decimal(100), identity=identity),
    )
    return Arbitrage(
        arbitrage_id=identity,
        base="BTC",
        state=state,  # type: ignore[arg-type]  # of ArbitrageState, from tables of cases
        opportunity=opportunity(identity),
        legs=tuple(replace(leg, state="reserved") for leg in ended),
        amount=Amount(Decimal(2)),
        send_by=START + 1_000_000,
        times={"event": START},
    )
