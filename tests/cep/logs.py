"""Made-up logs of `ticks`: every kind of row, as feeders and the settings bridge would write them."""

import random
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path

from market.decide.settings import Settings
from market.instruments.markets import Market
from market.money import Amount, Price
from market.prices.quotes import FeedMark, Level, MarkKind, Quote
from session.session import Services, Session
from streams.message_format import mark_row, marker_row, quote_row, settings_row
from streams.topic_writer import TopicWriter
from streams.topics import TICKS

WRITTEN_SECONDS = 120.0
START = 1_700_000_000_000_000
DOLLARS = {"BTC": Decimal(60_000), "ETH": Decimal(3_000)}
RATES = {"EUR/USD": Decimal("1.09"), "USD/JPY": Decimal(150)}
IN_DOLLARS = {"USD": Decimal(1), "EUR": Decimal("1.09"), "JPY": 1 / Decimal(150)}


def market(exchange: str, base: str, quote_currency: str, is_fx: bool = False, code: str | None = None) -> Market:
    """`code`: the exchange's own code of `base`, if it differs."""
    small = Decimal("0.0001")
    symbol = f"{code or base}/{quote_currency}"
    return Market(exchange, "us", symbol, base, quote_currency, small, small, small, Decimal(1), "quote", is_fx)


MARKETS = (
    market("coinbaseexchange", "BTC", "USD"),
    market("bitstamp", "BTC", "EUR"),
    market("bitflyer", "BTC", "JPY"),
    market("kraken", "BTC", "USD"),
    market("kraken", "BTC", "EUR"),
    market("kraken", "ETH", "USD"),
    market("bitstamp", "ETH", "EUR"),
    market("coinbaseexchange", "ETH", "USD", code="WETH"),
    market("kraken", "ETH", "USD", code="WETH"),
    market("kraken", "EUR", "USD", is_fx=True),
    market("kraken", "USD", "JPY", is_fx=True),
)
BASES = ("BTC", "ETH")


def session(home: Path = Path("unused"), kafka: str = "unused", session_id: str = "test") -> Session:
    return Session(
        session_id=session_id,
        mode="paper",
        home=home,
        services=Services(kafka=kafka, mongodb="unused", database="test"),
        markets=MARKETS,
        settlement_currency="USD",
    )


def settings(version: int = 1, **changed: object) -> Settings:
    exchanges = ("coinbaseexchange", "bitstamp", "bitflyer", "kraken")
    fees = {"coinbaseexchange": "0.001", "bitstamp": "0.0012", "bitflyer": "0.0010", "kraken": "0.00095"}
    stated: dict[str, object] = {
        "version": version,
        "enabled_exchanges": exchanges,
        "emit_net_bps": 0.0,
        "min_net_bps": 5.0,
        "max_quote_age_ms": 2_000,
        "taker_fees": {exchange: Decimal(fee) for exchange, fee in fees.items()},
    }
    return Settings.model_validate(stated | changed)


class LogMaker:
    """Rows in order, 5–40 ms apart; the same seed gives the same log."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._now = START
        self._version = 0
        self.rows: list[bytes] = []

    def write(self, count: int) -> list[bytes]:
        """Write settings first, FX soon after, then `count` rows of any kind."""
        self._settings()
        for symbol in RATES:
            self._quote(next(market for market in MARKETS if market.symbol == symbol))
        for _ in range(count):
            self._now += self._random.randint(5, 40) * 1_000
            self._any_row()
        return self.rows

    def end(self) -> list[bytes]:
        for base in BASES:
            self.rows.append(marker_row("end", base, f"end-{base}", self._now))
        return self.rows

    def _any_row(self) -> None:
        dice = self._random.random()
        chosen = self._random.choice(MARKETS)
        if dice < 0.85:
            self._quote(chosen)
        elif dice < 0.93:
            self._mark(chosen, "fx_alive" if chosen.is_fx else "alive")
        elif dice < 0.96:
            self._mark(chosen, "fx_withdrawn" if chosen.is_fx else "withdrawn")
        elif dice < 0.98:
            self._settings()
        elif dice < 0.99:
            self._now += 1_500_000  # long enough for some quotes to grow too old
        else:
            self.rows.append(marker_row("probe", self._random.choice(BASES), f"probe-{len(self.rows)}", self._now))

    def _quote(self, chosen: Market) -> None:
        middle = RATES.get(chosen.symbol)
        if middle is None:
            middle = DOLLARS[chosen.base] / IN_DOLLARS[chosen.quote_currency]
        middle = round(middle * (1 + Decimal(self._random.randint(-25, 25)) / 10_000), 5)
        step = max(round(middle / 20_000, 5), Decimal("0.00001"))
        quote = Quote(
            kind="fx" if chosen.is_fx else "quote",
            exchange=chosen.exchange,
            region=chosen.region,
            symbol=chosen.symbol,
            base=chosen.base,
            quote_currency=chosen.quote_currency,
            bids=self._levels(middle, -step),
            asks=self._levels(middle, step),
            exchange_time=None if self._random.random() < 0.3 else self._now - 1_000,
            received_time=self._now,
            sequence=self._now + len(self.rows),
        )
        self.rows.append(quote_row(quote, BASES if chosen.is_fx else ()))

    def _levels(self, middle: Decimal, step: Decimal) -> tuple[Level, ...]:
        amount = Decimal(self._random.randint(1, 100_000)) / 10_000
        return tuple(Level(Price(middle + step * depth), Amount(amount * depth)) for depth in (1, 2, 3))

    def _mark(self, chosen: Market, kind: MarkKind) -> None:
        mark = FeedMark(
            kind=kind,
            exchange=chosen.exchange,
            region=chosen.region,
            symbol=chosen.symbol,
            base=chosen.base,
            quote_currency=chosen.quote_currency,
            received_time=self._now,
            sequence=self._now + len(self.rows),
        )
        self.rows.append(mark_row(mark, BASES if chosen.is_fx else ()))

    def _settings(self) -> None:
        self._version += 1
        changed: dict[str, object] = {"emit_net_bps": self._random.choice([-30.0, -5.0, 0.0, 0.1, 3.0])}
        if self._version % 3 == 0:
            changed["enabled_exchanges"] = ("kraken", "bitstamp", "bitflyer")
        if self._version % 4 == 0:
            changed["max_quote_age_ms"] = 400
        if self._version % 2 == 0:
            changed["asset_thresholds"] = {"ETH": 9.0}
        if self._version % 5 in (2, 3):
            changed["pair_thresholds"] = {"kraken>bitstamp": 14.0, "bitflyer/kraken": 3.0}
        self.rows.append(settings_row(settings(self._version, **changed), self._now, BASES))


async def write_ticks(kafka: str, rows: Iterable[bytes]) -> None:
    """Write the rows into partition 0 of `ticks`."""
    writer = TopicWriter(kafka)
    await writer.open()
    for row in rows:
        writer.write(TICKS, row, partition=0)
    await writer.flush(WRITTEN_SECONDS)
    await writer.close()
