"""Import and detection of recorded quotes beside polars, and the import of years of bars.

`python -m benchmarks.recorded_data [--rows N] [--rounds N]`. All runs in this process, in turn; figures are CPU
seconds of all its threads, medians of the rounds. Two exchanges quote one asset, one of them always a little dearer:
without fees there is an opportunity at every quote, with fees at none. Polars reads the CSV files as they are, and
finds opportunities in one Parquet file sorted by time; both have to find as many, of the same net bps.
"""

import argparse
import os
import shutil
import tempfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from statistics import median
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from backtest.detect.batch_detection import detection_summary
from backtest.detect.workers import ThisProcess
from benchmarks.backtests.definition import Found, found
from market.decide.settings import Settings
from market.time_units import MICROSECONDS
from tick_sets.importers.import_formats import FORMATS
from tick_sets.rows.import_format import FileOptions
from tick_sets.sets.file_import import ImportRequest, import_files
from tick_sets.sets.tick_set import open_tick_set

T = TypeVar("T")

EXCHANGES = ("bitstamp", "kraken")
HEADER = "exchange,symbol,timestamp,local_timestamp,ask_amount,ask_price,bid_price,bid_amount\n"
ROWS = 1_040_942
BAR_HOURS = 28_147
START = 1_725_000_000_000_000
GAP = 100_000
"""Microseconds between two quotes, on average."""
MAX_AGE_MS = 60_000
DEARER = 0.002


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recorded_data", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="recorded-") as scratch:
        folder = Path(scratch)
        write_quotes(folder, arguments.rows)
        write_bars(folder / "hours.csv")
        print(
            f"{'':<34} {'ours, s':>9} {'rows/s':>11} {'polars, s':>10} {'ours : it':>10}  load {os.getloadavg()[0]:.1f}"
        )
        compare_imports(folder, arguments.rows, arguments.rounds)
        compare_detection(folder, arguments.rows, arguments.rounds)
        measure_bars(folder, arguments.rounds)
        print(f"load after {os.getloadavg()[0]:.1f}")


def write_quotes(folder: Path, rows: int) -> None:
    """Write a CSV file for each exchange, as Tardis has them, and the Parquet file of polars."""
    random = np.random.default_rng(20241130)
    times = START + np.cumsum(random.integers(1, 2 * GAP, rows))
    exchanges = random.integers(0, len(EXCHANGES), rows)
    middles = np.cumsum(random.integers(-3, 4, rows)) + 6_000_000
    middles = (middles * np.where(exchanges == 1, 1 + DEARER, 1)).astype(np.int64)
    bids, asks = middles - random.integers(1, 50, rows), middles + random.integers(1, 50, rows)
    amounts = random.integers(1, 10**8, (2, rows))
    for number, exchange in enumerate(EXCHANGES):
        places = np.flatnonzero(exchanges == number)
        columns = (times, amounts[0], asks, bids, amounts[1])
        cells = zip(*(column[places].tolist() for column in columns), strict=True)
        with (folder / f"{exchange}.csv").open("w") as file:
            file.write(HEADER)
            for time, ask_amount, ask, bid, bid_amount in cells:
                sides = f"{ask_amount / 1e8:.8f},{ask / 100:.2f},{bid / 100:.2f},{bid_amount / 1e8:.8f}"
                file.write(f"{exchange},BTCUSD,{time - 20_000},{time},{sides}\n")
    columns_of_peer = {"time": times, "exchange": exchanges, "bid": bids / 100, "ask": asks / 100}
    pl.DataFrame(columns_of_peer).write_parquet(folder / "quotes.parquet", compression="uncompressed")


def write_bars(path: Path) -> None:
    """Write hours as Kraken has them: time, open, high, low, close, volume, trades."""
    random = np.random.default_rng(20241201)
    closes = (np.cumsum(random.integers(-50, 51, BAR_HOURS)) + 6_000_000).tolist()
    start = START // MICROSECONDS // 3_600 * 3_600 - 3_600 * BAR_HOURS
    lines = (f"{start + 3_600 * n},1,1,1,{close / 100:.2f},{n % 97 + 1}.5,9\n" for n, close in enumerate(closes))
    path.write_text("".join(lines))


def compare_imports(folder: Path, rows: int, rounds: int) -> None:
    files = tuple(folder / f"{exchange}.csv" for exchange in EXCHANGES)
    request = ImportRequest(FORMATS["tardis-quotes"], files)

    def imported() -> None:
        shutil.rmtree(folder / "set", ignore_errors=True)
        import_files(folder / "set", request, lambda *_: None)

    def read() -> None:
        for path in files:
            pl.read_csv(path)

    show("import; polars: read_csv", rows, *in_turn(imported, read, rounds))


def compare_detection(folder: Path, rows: int, rounds: int) -> None:
    for name, fee in (("opportunities at every quote", "0"), ("at none", "0.0020")):
        settings = Settings(
            enabled_exchanges=EXCHANGES,
            taker_fees=dict.fromkeys(EXCHANGES, Decimal(fee)),
            emit_net_bps=0.0,
            min_net_bps=0.0,
            max_quote_age_ms=MAX_AGE_MS,
        )

        def ours(settings: Settings = settings) -> tuple[int, int]:
            summary = detection_summary(ThisProcess(), open_tick_set(folder / "set"), settings)
            return summary.messages, summary.net_bits

        def theirs(fee: float = float(fee)) -> tuple[int, int]:
            answer = opportunities(folder / "quotes.parquet", fee)
            return answer.count, answer.net_bits

        if ours() != theirs():
            raise SystemExit(f"detection, {name}: {ours()} by us, {theirs()} by polars")
        show(f"detection, {name}", rows, *in_turn(ours, theirs, rounds))


def opportunities(path: Path, fee: float) -> Found:
    """Return what polars finds: at each quote both directions with the other exchange's newest quote."""
    newest = [
        pl.when(pl.col("exchange") == number).then(pl.col(name)).forward_fill().alias(f"{name}_{number}")
        for number in range(len(EXCHANGES))
        for name in ("time", "bid", "ask")
    ]
    is_young = pl.all_horizontal(pl.col("time") - pl.col(f"time_{n}") <= MAX_AGE_MS * 1_000 for n in (0, 1))
    nets = [
        pl.when(is_young).then(net(pl.col(f"ask_{buy}"), pl.col(f"bid_{sell}"), fee)).alias(f"net_{buy}")
        for buy, sell in ((0, 1), (1, 0))
    ]
    spreads = pl.scan_parquet(path).with_columns(newest).select("time", *nets)
    frame = spreads.filter(pl.any_horizontal(pl.exclude("time") >= 0)).collect(engine="streaming")
    nets_bps: npt.NDArray[np.float64] = frame.drop("time").to_numpy()
    places, columns = np.nonzero(nets_bps >= 0)
    return found(len(frame), frame["time"].to_numpy()[places], nets_bps[places, columns])


def net(buy: pl.Expr, sell: pl.Expr, fee: float) -> pl.Expr:
    """Return net bps in the order of operations of `benchmarks.backtests.definition`."""
    return (sell - buy) * 10000.0 / buy - (buy * fee + sell * fee) * 10000.0 / buy


def measure_bars(folder: Path, rounds: int) -> None:
    options = FileOptions(exchange="kraken", symbol="BTC/USD", half_spread_bps=Decimal(1))
    request = ImportRequest(FORMATS["kraken-ohlcvt"], (folder / "hours.csv",), options)

    def imported() -> None:
        shutil.rmtree(folder / "bars", ignore_errors=True)
        import_files(folder / "bars", request, lambda *_: None)

    def read() -> None:
        pl.read_csv(folder / "hours.csv", has_header=False)

    show(f"import of {BAR_HOURS:,} hourly bars", BAR_HOURS, *in_turn(imported, read, rounds))


def in_turn(ours: Callable[[], T], theirs: Callable[[], T], rounds: int) -> tuple[float, float]:
    """Return the medians of both, CPU seconds; one round of each comes before those that count."""
    timed: list[tuple[float, float]] = []
    for _ in range(rounds + 1):
        begun = cpu_seconds()
        ours()
        between = cpu_seconds()
        theirs()
        timed.append((between - begun, cpu_seconds() - between))
    return median(one for one, _ in timed[1:]), median(other for _, other in timed[1:])


def cpu_seconds() -> float:
    """Return user and system seconds of this process and all its threads."""
    used = getrusage(RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def show(name: str, rows: int, ours: float, theirs: float) -> None:
    print(f"{name:<34} {ours:>9.3f} {rows / ours:>11,.0f} {theirs:>10.3f} {ours / theirs:>10.2f}")


if __name__ == "__main__":
    main()
