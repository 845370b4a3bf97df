"""What cycles cost: detection per quote with a number of cycles watched, in a set and row by row as a session reads its
log, and the exact size of one cycle.

python -m benchmarks.cycles
"""

import sys
from collections.abc import Iterator, Mapping
from decimal import Decimal
from random import Random
from statistics import mean, median, quantiles

import pyarrow as pa

from cep.detection.cycle_detection import CycleDetection
from cep.detection.kernel.cycle_log import CycleLog, cycle_rules, load_cycle_kernel
from cep.detection.kernel.log import TICK_ROWS
from market.decide.cycle_sizing import CycleBounds, SizedCycle, size_cycle
from market.decide.settings import Settings
from market.decide.sizing import SizingSide
from market.instruments.cycles import Cycle, CycleTerms, watched_cycles
from market.instruments.markets import Market
from market.money import Amount, Price, decimal_of
from market.prices.quotes import Level, Quote
from runtime.clock import steady_now, wall_now
from streams.message_format import quote_row, row_of, settings_row

EXCHANGES = ("binance", "bitstamp", "coinbaseexchange", "kraken")
DOLLARS = {"BTC": 60_000.0, "ETH": 3_000.0, "SOL": 150.0, "XRP": 2.0, "ADA": 0.6, "EUR": 1.08, "USD": 1.0}
PAIRS = (("BTC", "EUR", "ETH", "SOL", "XRP", "ADA"), ("USD", "EUR", "BTC", "ETH"))
ROWS = 300_000
LIVE_ROWS = 20_000
DEPTH = 10
SIZED = 400
FEE = decimal_of("0.001")
SETTINGS = Settings(enabled_exchanges=EXCHANGES, taker_fees=dict.fromkeys(EXCHANGES, FEE), max_quote_age_ms=60_000)


def markets() -> tuple[Market, ...]:
    """Return every pair at each exchange, with steps of eight digits."""
    small = Decimal("0.00000001")
    symbols = [(base, quote) for base in PAIRS[0] for quote in PAIRS[1] if DOLLARS[base] != DOLLARS[quote]]
    symbols = [(base, quote) for base, quote in symbols if (quote, base) not in symbols or base < quote]
    return tuple(
        Market(name, "us", f"{base}/{quote}", base, quote, small, small, small, Decimal(0), "quote")
        for name in EXCHANGES
        for base, quote in symbols
    )


def rows(random: Random, every: tuple[Market, ...]) -> pa.Table:
    """Return quotes of markets by turns, 300 a second, a few bps around parity."""
    quoted = [random.choice(every) for _ in range(ROWS)]
    mids = [DOLLARS[one.base] / DOLLARS[one.quote_currency] * (1 + random.gauss(0, 0.0004)) for one in quoted]
    return pa.table(
        {
            "kind": ["quote"] * ROWS,
            "exchange": [one.exchange for one in quoted],
            "symbol": [one.symbol for one in quoted],
            "received_time": [number * 3_333 for number in range(ROWS)],
            "sequence": list(range(1, ROWS + 1)),
            "bid_price": [mid * 0.9999 for mid in mids],
            "ask_price": [mid * 1.0001 for mid in mids],
        }
    ).cast(TICK_ROWS)


def detection(cycles: tuple[Cycle, ...], table: pa.Table) -> tuple[float, int]:
    """Return microseconds a quote, and how much was found."""
    list(CycleLog(cycles, cycle_rules(SETTINGS)).found(table.slice(0, 1_000)))
    log, started = CycleLog(cycles, cycle_rules(SETTINGS)), wall_now()
    found = sum(1 for _ in log.found(table))
    return (wall_now() - started) / ROWS, found


def live(cycles: tuple[Cycle, ...], table: pa.Table, every: tuple[Market, ...]) -> tuple[float, float, int]:
    """Return microseconds a row of the log, mean and 99 %, and how many messages came of LIVE_ROWS rows."""
    detection, found, took = CycleDetection(cycles), 0, []
    detection.apply_opening(settings_row(SETTINGS, 0, ("BTC",)).decode())
    load_cycle_kernel(cycles)
    messages = list(log_messages(table.slice(0, LIVE_ROWS), {one.symbol: one for one in every}))
    for offset, message in enumerate(messages):
        started = steady_now()
        found += len(detection.take(offset, row_of(message)))
        took.append(steady_now() - started)
    return mean(took), quantiles(took, n=100)[98], found


def log_messages(table: pa.Table, markets: Mapping[str, Market]) -> Iterator[bytes]:
    """Return the rows as feeds write them, with DEPTH levels a side."""
    for row in table.to_pylist():
        bid, ask = (decimal_of(f"{row[name]:.8f}") for name in ("bid_price", "ask_price"))
        bids, asks = (
            tuple(Level(Price(price * (1000 + sign * n) / 1000), Amount(Decimal(1))) for n in range(DEPTH))
            for sign, price in ((-1, bid), (1, ask))
        )
        market = markets[row["symbol"]]
        names = row["exchange"], "us", row["symbol"], market.base, market.quote_currency
        time, sequence = row["received_time"], row["sequence"]
        yield quote_row(Quote("quote", *names, bids, asks, None, time, sequence))


def sizes(random: Random, cycles: tuple[Cycle, ...]) -> list[float]:
    """Return milliseconds of each cycle over books of ten levels that pay 5 to 30 bps at the best prices."""
    took = []
    for _ in range(SIZED):
        cycle = random.choice(cycles)
        share = random.uniform(5, 30) / 10_000 / len(cycle.legs) + float(FEE)
        sides = [
            SizingSide(leg.side, leg.market, book(random, leg.market, leg.side == "buy", share), FEE, None)
            for leg in cycle.legs
        ]
        started = wall_now()
        found = size_cycle(sides, CycleBounds(decimal_of("2"), 5.0, decimal_of("1000")))
        took.append((wall_now() - started) / 1_000)
        if not isinstance(found, SizedCycle):
            sys.stdout.write(f"{found}\n")
    return took


def book(random: Random, market: Market, buys: bool, share: float) -> tuple[Level, ...]:
    fair = DOLLARS[market.base] / DOLLARS[market.quote_currency]
    levels = []
    for depth in range(10):
        away = depth * random.uniform(0.5, 2) / 10_000 - share
        price = fair * (1 + away if buys else 1 - away)
        amount = random.lognormvariate(0, 1) * 400 / DOLLARS[market.base]
        levels.append(Level(Price(decimal_of(f"{price:.8f}")), Amount(decimal_of(f"{amount:.8f}"))))
    return tuple(sorted(levels, reverse=not buys))


def main() -> None:
    random, every = Random(1), markets()
    terms = CycleTerms(4, frozenset(EXCHANGES), frozenset(EXCHANGES))
    started = wall_now()
    cycles = watched_cycles(every, terms, "USD", EXCHANGES).cycles
    sys.stdout.write(f"{len(cycles)} cycles of {len(every)} markets found in {(wall_now() - started) / 1_000:.0f} ms\n")
    table = rows(random, every)
    for count in (50, 500, 2_000):
        some = tuple(random.sample(cycles, min(count, len(cycles))))
        per_quote, found = detection(some, table)
        sys.stdout.write(f"{count} cycles: {per_quote:.2f} µs a quote, {found} found at {ROWS} quotes\n")
        average, most, found = live(some, table, every)
        sys.stdout.write(f"  as messages: {average:.0f} µs a row, 99 % {most:.0f}, {found} at {LIVE_ROWS} rows\n")
    took = sizes(random, cycles)
    cuts = quantiles(took, n=100)
    sys.stdout.write(
        f"size: median {median(took):.2f} ms, p95 {cuts[94]:.2f}, p99 {cuts[98]:.2f}, most {max(took):.1f}\n"
    )


if __name__ == "__main__":
    main()
