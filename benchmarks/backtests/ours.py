"""Ours: the summary of what detection finds in the tick set, in this process or by Spark on this machine's cores.

`python -m benchmarks.backtests.ours TICK_SET ROWS [spark|trade]`; with `trade` a whole backtest in this process: every
opportunity found is stored, and traded on the books of five simulated accounts.
"""

import logging
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from time import perf_counter

from backtest.detect.batch_detection import detection_summary
from backtest.detect.workers import ThisProcess, Workers
from backtest.parameters import Parameters
from benchmarks.backtests.definition import ASSETS, EXCHANGES, FEES, MAX_AGE, Found, answer
from launch.setup.data_dir import home_folder
from market.decide.settings import Settings
from tick_sets.sets.tick_set import TickSet, open_tick_set

TRADE, SPARK = "trade", "spark"
OPENING_DOLLARS = Decimal(10_000_000)
OPENING_UNITS = Decimal(10_000)
SETTINGS = Settings(
    enabled_exchanges=EXCHANGES,
    taker_fees={exchange: Decimal(fee) for exchange, fee in zip(EXCHANGES, FEES, strict=True)},
    emit_net_bps=0.0,
    min_net_bps=0.0,
    max_quote_age_ms=MAX_AGE // 1_000,
)


def detection(workers: Workers, tick_set: TickSet) -> Found:
    summary = detection_summary(workers, tick_set, SETTINGS)
    return Found(summary.rows, summary.opportunities, None, summary.net_bits)


def backtest(workers: Workers, tick_set: TickSet) -> Found:
    from backtest.run import run_backtest  # noqa: PLC0415 -- detection alone does not pay for what trading imports

    began = perf_counter()
    result = run_backtest(workers, tick_set, parameters())
    seconds = {**result.seconds, "whole": perf_counter() - began, "trades": float(result.trading.trades)}
    return Found(result.detection.rows, result.detection.opportunities, None, result.detection.net_bits, seconds)


def parameters() -> Parameters:
    """Return parameters with balances that are large enough to reject nothing for a day."""
    balances = {exchange: {"USD": OPENING_DOLLARS, **dict.fromkeys(ASSETS, OPENING_UNITS)} for exchange in EXCHANGES}
    return Parameters(SETTINGS, balances)


def main() -> None:
    # peers do not log anything during a pass either
    logging.disable(logging.WARNING)
    folder = Path(sys.argv[1])
    one_pass: Callable[[Workers, TickSet], Found] = backtest if TRADE in sys.argv else detection
    if SPARK not in sys.argv:
        answer(lambda: one_pass(ThisProcess(), open_tick_set(folder)))
        return
    # what is searched in this process does not pay for importing Spark
    from backtest.detect.batch_session import backtest_session  # noqa: PLC0415
    from backtest.detect.spark_workers import SparkWorkers  # noqa: PLC0415

    with backtest_session(home_folder()) as spark:
        answer(lambda: one_pass(SparkWorkers(spark), open_tick_set(folder)))


if __name__ == "__main__":
    main()
