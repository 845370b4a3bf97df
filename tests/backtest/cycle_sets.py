"""Made-up tick sets of several bases, FX and crosses, and the cycles of their rows by a plain loop."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from random import Random

import pyarrow as pa

from market.decide.settings import Settings
from market.instruments.cycles import Cycle
from market.instruments.markets import Market
from streams.message_format import levels_text
from tests.market.samples import levels
from tick_sets.sets.builder import TickSetBuilder
from tick_sets.sets.manifest import Manifest
from tick_sets.sets.schema import SOURCE_SCHEMA
from tick_sets.sets.tick_set import TickSet, open_tick_set

BEGIN = 1_723_075_200_000_000
"""Microseconds UTC of the first row."""
SECOND = 1_000_000


def market_of(exchange: str, symbol: str, *, is_fx: bool = False) -> Market:
    base, quote = symbol.split("/")
    sizes = Decimal("0.00001"), Decimal("0.0001"), Decimal("0.0001"), Decimal(0)
    return Market(exchange, "us", symbol, base, quote, *sizes, "quote", is_fx)


MARKETS = (
    market_of("alpha", "BTC/USD"),
    market_of("alpha", "ETH/USD"),
    market_of("alpha", "ETH/BTC"),
    market_of("beta", "BTC/EUR"),
    market_of("alpha", "EUR/USD", is_fx=True),
)
MIDS = {"BTC/USD": 40_000.0, "ETH/USD": 2_000.0, "ETH/BTC": 0.05, "BTC/EUR": 36_000.0, "EUR/USD": 40 / 36}
SETTINGS = Settings(
    enabled_exchanges=("alpha", "beta"),
    taker_fees={"alpha": Decimal("0.0005"), "beta": Decimal("0.0005")},
    min_net_bps=0.0,
    max_notional=Decimal(100_000),
    max_quote_age_ms=3_600_000,
)

Row = Mapping[str, object]


def row_of(
    symbol: str, time: int, bid: str, ask: str, amounts: Sequence[str] = ("1",), kind: str | None = None
) -> dict[str, object]:
    """Return a quote, or a mark of the feed; each further amount is of a level a thousandth worse."""
    market = next(one for one in MARKETS if one.symbol == symbol)
    own = kind or ("fx" if market.is_fx else "quote")
    known: dict[str, object] = {
        "base": None if market.is_fx else market.base,
        "rank": 0 if market.is_fx else 1,
        "kind": own,
        "exchange": market.exchange,
        "symbol": symbol,
        "received_time": time,
    }
    if own not in ("quote", "fx"):
        return known
    sides = {
        "bid": [(str(Decimal(bid) * (1000 - n) / 1000), amount) for n, amount in enumerate(amounts)],
        "ask": [(str(Decimal(ask) * (1000 + n) / 1000), amount) for n, amount in enumerate(amounts)],
    }
    prices = {"bid_price": float(bid), "ask_price": float(ask), "bid": bid, "ask": ask}
    texts = {f"{side}s": levels_text(levels(*rows)) for side, rows in sides.items()}
    return known | prices | {"bid_amount": amounts[0], "ask_amount": amounts[0]} | texts


def cycle_set(
    folder: Path, rows: Sequence[Row], markets: tuple[Market, ...] = MARKETS, part_rows: int = 131_072
) -> TickSet:
    """Return a set of these rows; with few `part_rows` each day has its own files."""
    manifest = Manifest(folder.name, "made up", "generated", "USD", markets, (), (), len(rows))
    with TickSetBuilder(folder, manifest.bases, part_rows) as builder:
        builder.add(pa.Table.from_pylist([dict(row) for row in rows], schema=SOURCE_SCHEMA))
        builder.finish(manifest)
    return open_tick_set(folder)


def random_rows(seed: int, count: int, step: int = 20 * SECOND) -> list[Row]:
    """Return rows of all markets that wander a few bps apart, some at one time, with marks between them."""
    random, time, rows = Random(seed), BEGIN, list[Row]()
    for _ in range(count):
        market = random.choice(MARKETS)
        time += random.choice((0, 1, step))
        mid = MIDS[market.symbol] * (1 + random.gauss(0, 0.0012))
        kind = random.choices(("quote", "alive", "withdrawn"), (20, 2, 1))[0]
        own = f"fx_{kind}" if market.is_fx else kind
        bid, ask = f"{mid * 0.9999:.6f}", f"{mid * 1.0001:.6f}"
        rows.append(row_of(market.symbol, time, bid, ask, ("1", "2"), {"quote": None, "fx_quote": None}.get(own, own)))
    return rows


@dataclass(frozen=True, slots=True)
class Seen:
    sighting_id: str
    time: int
    cycle_id: str
    net_bps: float


def plainly_seen(rows: Sequence[Row], cycles: Sequence[Cycle], settings: Settings) -> Iterator[Seen]:
    """Return what pays at each row, best first, by multiplying out every cycle at every quote: written for itself, from
    the definition in docs/strategies.md."""
    newest: dict[tuple[str, str], tuple[float, float, int]] = {}
    seen_at: dict[tuple[str, str], int] = {}
    for number, row in enumerate(rows, 1):
        sequence = int(str(row.get("sequence") or number))
        place, now = (str(row["exchange"]), str(row["symbol"])), int(str(row["received_time"]))
        kind = str(row["kind"]).removeprefix("fx_")
        if kind == "withdrawn":
            newest.pop(place, None)
            continue
        seen_at[place] = now
        if kind == "alive":
            continue
        newest[place] = float(str(row["bid_price"])), float(str(row["ask_price"])), sequence
        found = [
            Seen(identity, now, cycle.cycle_id, net_bps)
            for cycle in cycles
            if place in [(leg.market.exchange, leg.market.symbol) for leg in cycle.legs]
            for identity, net_bps in _paying(cycle, newest, seen_at, now, settings)
        ]
        yield from sorted(found, key=lambda one: -one.net_bps)


def _paying(
    cycle: Cycle,
    newest: Mapping[tuple[str, str], tuple[float, float, int]],
    seen_at: Mapping[tuple[str, str], int],
    now: int,
    settings: Settings,
) -> Iterator[tuple[str, float]]:
    rate, words = 1.0, [cycle.cycle_id]
    for leg in cycle.legs:
        place = leg.market.exchange, leg.market.symbol
        if place not in newest or now - seen_at[place] > settings.max_quote_age_ms * 1_000:
            return
        bid, ask, sequence = newest[place]
        kept = 1.0 / (1.0 + float(settings.taker_fees[place[0]]))
        rate *= kept / ask if leg.side == "buy" else bid * (1.0 - float(settings.taker_fees[place[0]]))
        words.append(f"{place[0]}:{place[1]}:{sequence}")
    net_bps = (rate - 1.0) * 10000.0
    if net_bps >= settings.emit_net_bps:
        yield hashlib.sha256("|".join(words).encode()).hexdigest()[:32], net_bps
