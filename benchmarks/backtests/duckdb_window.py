"""DuckDB: each exchange's newest quote as `last_value … IGNORE NULLS` over a running window of the asset.

`python -m benchmarks.backtests.duckdb_window FILE ROWS`
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import numpy as np

from benchmarks.backtests.definition import EXCHANGES, FEE_RATES, MAX_AGE, Found, answer, found

MEMORY = {"memory_limit": "12GB"}


def one_pass(path: Path, rows: int) -> Found:
    # rows that do not fit in memory go to the disk, by default to the current folder
    with TemporaryDirectory() as scratch, duckdb.connect(config={"temp_directory": scratch, **MEMORY}) as connection:
        columns = connection.execute(query(), {"path": str(path), "rows": rows}).fetchnumpy()
    times = columns.pop("time")
    nets_bps = np.column_stack([np.ma.filled(column, np.nan) for column in columns.values()])
    places, kinds = np.nonzero(nets_bps >= 0)
    return found(rows, times[places], nets_bps[places, kinds])


def query() -> str:
    numbers = range(len(EXCHANGES))
    newest = ", ".join(
        f"last_value(CASE WHEN exchange = {number} THEN {name} END IGNORE NULLS) OVER past AS {name}_{number}"
        for number in numbers
        for name in ("time", "bid", "ask")
    )
    own_fee = "CASE exchange " + " ".join(f"WHEN {n} THEN {FEE_RATES[n]!r}::DOUBLE" for n in numbers) + " END"
    nets = [column for number in numbers for column in _nets(number)]
    columns, names = ", ".join(nets), [f"{side}_{number}" for number in numbers for side in ("sell", "buy")]
    return f"""
        WITH quotes AS (SELECT *, {own_fee} AS fee FROM read_parquet($path) LIMIT $rows),
        latest AS (
            SELECT *, {newest} FROM quotes
            WINDOW past AS (PARTITION BY asset ORDER BY time ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
        ),
        spreads AS (SELECT time, {columns} FROM latest)
        SELECT * FROM spreads WHERE {" OR ".join(f"{name} >= 0" for name in names)}
    """


def _nets(number: int) -> tuple[str, str]:
    """Return both directions with one exchange, null if the pair does not count."""
    counts = f"exchange <> {number} AND time - time_{number} <= {MAX_AGE}"
    fee = f"{FEE_RATES[number]!r}::DOUBLE"
    return (
        f"CASE WHEN {counts} THEN {net(f'ask_{number}', 'bid', fee, 'fee')} END AS sell_{number}",
        f"CASE WHEN {counts} THEN {net('ask', f'bid_{number}', 'fee', fee)} END AS buy_{number}",
    )


def net(buy: str, sell: str, buy_fee: str, sell_fee: str) -> str:
    gross = f"({sell} - {buy}) * 1e4 / {buy}"
    return f"{gross} - ({buy} * {buy_fee} + {sell} * {sell_fee}) * 1e4 / {buy}"


if __name__ == "__main__":
    path, wanted = Path(sys.argv[1]), int(sys.argv[2])
    answer(lambda: one_pass(path, wanted))
