"""What cycles cost: detection per quote with a number of cycles watched, and the exact size of one cycle.

python -m benchmarks.cycles
"""

import sys
from decimal import Decimal
from random import Random
from statistics import median, quantiles

import pyarrow as pa

from cep.detection.kernel.cycle_log import CycleLog, cycle_rules
from cep.detection.kernel.log import TICK_ROWS
from market.decide.cycle_sizing import CycleBounds, SizedCycle, size_cycle
from market.decide.settings import Settings
from market.decide.sizing import SizingSide
from market.instruments.cycles import Cycle, CycleTerms, watched_cycles
from market.instruments.markets import Market
from market.money import Amount, Price, decimal_of
from market.prices.quotes import Level
from runtime.clock import wall_now

EXCHANGES = ("binance", "bitstamp", "coinbaseexchange", "kraken")
DOLLARS = {"BTC": 60_000.0, "ETH": 3_000.0, "SOL": 150.0, "XRP": 2.0, "ADA": 0.6, "EUR": 1.08, "USD": 1.0}
PAIRS = (("BTC", "EUR", "ETH", "SOL", "XRP", "ADA"), ("USD", "EUR", "BTC", "ETH"))
ROWS = 300_000
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
        per_quote, found = detection(tuple(random.sample(cycles, min(count, len(cycles)))), table)
        sys.stdout.write(f"{count} cycles: {per_quote:.2f} µs a quote, {found} found at {ROWS} quotes\n")
    took = sizes(random, cycles)
    cuts = quantiles(took, n=100)
    sys.stdout.write(
        f"size: median {median(took):.2f} ms, p95 {cuts[94]:.2f}, p99 {cuts[98]:.2f}, most {max(took):.1f}\n"
    )


if __name__ == "__main__":
    main()
