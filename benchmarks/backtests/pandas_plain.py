"""Plain pandas: the whole file in memory, and per asset each exchange's newest quote by filling forward.

`python -m benchmarks.backtests.pandas_plain FILE ROWS`
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.backtests.definition import EXCHANGES, FEE_RATES, MAX_AGE, Found, Numbers, Times, answer, found


def one_pass(path: Path, rows: int) -> Found:
    frame = pd.read_parquet(path).head(rows)
    parts = [part for _, quotes in frame.groupby("asset", sort=False) for part in opportunities(quotes)]
    times, net_bps = (np.concatenate(column) for column in zip(*parts, strict=True))
    return found(len(frame), times, net_bps)


def opportunities(quotes: pd.DataFrame) -> Iterator[tuple[Times, Numbers]]:
    """Yield, for one asset, times and net bps per exchange beside the one that has just quoted."""
    exchanges, times = quotes["exchange"], quotes["time"]
    own_fee = np.array(FEE_RATES)[exchanges]
    for number, _ in enumerate(EXCHANGES):
        is_there = exchanges == number
        latest = quotes[["time", "bid", "ask"]].where(is_there).ffill()
        counts = ~is_there & (times - latest["time"] <= MAX_AGE)
        fee = FEE_RATES[number]
        for net_bps in (
            net(latest["ask"], quotes["bid"], fee, own_fee),
            net(quotes["ask"], latest["bid"], own_fee, fee),
        ):
            pays = counts & (net_bps >= 0)
            yield times[pays].to_numpy(), net_bps[pays].to_numpy()


def net(buy: pd.Series, sell: pd.Series, buy_fee: Numbers | float, sell_fee: Numbers | float) -> pd.Series:
    gross = (sell - buy) * 10000.0 / buy
    return gross - (buy * buy_fee + sell * sell_fee) * 10000.0 / buy


if __name__ == "__main__":
    path, wanted = Path(sys.argv[1]), int(sys.argv[2])
    answer(lambda: one_pass(path, wanted))
