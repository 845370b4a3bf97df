"""Polars' streaming engine: the quotes of each asset, and in them each exchange's newest one by filling forward.

`forward_fill().over("asset")` in one plan takes four times as long here and three times the memory. `python -m
benchmarks.backtests.polars_streaming FILE ROWS`
"""

import sys
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.backtests.definition import EXCHANGES, FEE_RATES, MAX_AGE, Found, answer, found


def one_pass(path: Path, rows: int) -> Found:
    parts = pl.scan_parquet(path).head(rows).collect(engine="streaming").partition_by("asset")
    frame = pl.concat([opportunities(quotes) for quotes in parts])
    nets_bps = frame.drop("time").to_numpy()
    # a null became NaN, which is not >= 0
    places, columns = np.nonzero(nets_bps >= 0)
    return found(rows, frame["time"].to_numpy()[places], nets_bps[places, columns])


def opportunities(quotes: pl.DataFrame) -> pl.DataFrame:
    """Return, for one asset, the rows at which a pair pays, with net bps of each."""
    spreads = quotes.lazy().with_columns(*newest()).select("time", *nets())
    return spreads.filter(pl.any_horizontal(pl.exclude("time") >= 0)).collect(engine="streaming")


def newest() -> list[pl.Expr]:
    """Return, per exchange: time, bid and ask of its newest quote."""
    return [
        pl.when(pl.col("exchange") == number).then(pl.col(name)).forward_fill().alias(f"{name}_{number}")
        for number, _ in enumerate(EXCHANGES)
        for name in ("time", "bid", "ask")
    ]


def nets() -> list[pl.Expr]:
    """Return, per exchange and direction: net bps, null if the pair does not count."""
    own_fee = pl.lit(pl.Series(FEE_RATES)).gather(pl.col("exchange"))
    found: list[pl.Expr] = []
    for number, fee in enumerate(FEE_RATES):
        is_young = pl.col("time") - pl.col(f"time_{number}") <= MAX_AGE
        counts = (pl.col("exchange") != number) & is_young
        bid, ask = pl.col(f"bid_{number}"), pl.col(f"ask_{number}")
        for name, net_bps in (
            (f"sell_{number}", net(ask, pl.col("bid"), pl.lit(fee), own_fee)),
            (f"buy_{number}", net(pl.col("ask"), bid, own_fee, pl.lit(fee))),
        ):
            found.append(pl.when(counts).then(net_bps).alias(name))
    return found


def net(buy: pl.Expr, sell: pl.Expr, buy_fee: pl.Expr, sell_fee: pl.Expr) -> pl.Expr:
    gross = (sell - buy) * 10000.0 / buy
    return gross - (buy * buy_fee + sell * sell_fee) * 10000.0 / buy


if __name__ == "__main__":
    path, wanted = Path(sys.argv[1]), int(sys.argv[2])
    answer(lambda: one_pass(path, wanted))
