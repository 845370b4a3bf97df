"""The bound: a compiled loop over the columns as pyarrow reads them, in order of time, with state for every market.

`python -m benchmarks.backtests.numba_loop FILE ROWS`; with READ_AHEAD a second thread reads while the loop runs.
"""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.backtests.definition import ASSETS, EXCHANGES, FEE_RATES, MAX_AGE, START, Found, Numbers, answer

READ_AHEAD = "ahead"

Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]


@numba.njit(cache=True, nogil=True)
def detect(
    times: Integers,
    exchanges: Codes,
    assets: Codes,
    bids: Numbers,
    asks: Numbers,
    fees: Numbers,
    latest: Numbers,
    sums: Integers,
) -> None:
    """Fill `sums` (count, times, bits) from the rows; `latest`: seen, bid and ask of each (asset, exchange)."""
    count, late, bits = sums[0], sums[1], sums[2]
    for row in range(len(times)):
        now, mine, asset, bid, ask = times[row], exchanges[row], assets[row], bids[row], asks[row]
        latest[asset, mine, 0], latest[asset, mine, 1], latest[asset, mine, 2] = now, bid, ask
        for other in range(latest.shape[1]):
            if other == mine or not now - latest[asset, other, 0] <= MAX_AGE:
                continue
            for is_buyer in range(2):
                if is_buyer:
                    buy, sell, buy_fee, sell_fee = ask, latest[asset, other, 1], fees[mine], fees[other]
                else:
                    buy, sell, buy_fee, sell_fee = latest[asset, other, 2], bid, fees[other], fees[mine]
                gross = (sell - buy) * 10000.0 / buy
                net = gross - (buy * buy_fee + sell * sell_fee) * 10000.0 / buy
                if net >= 0.0:
                    count += 1
                    late += now - START
                    bits += np.float64(net).view(np.int64)
    sums[0], sums[1], sums[2] = count, late, bits


def tables(path: Path, rows: int, read_ahead: bool) -> Iterator[pa.Table]:
    """Yield row group by row group, `rows` in all."""
    with pq.ParquetFile(path, memory_map=True) as file, ThreadPoolExecutor(1) as reader:
        numbers = range(-(-rows // file.metadata.row_group(0).num_rows))
        if read_ahead:
            coming = reader.submit(file.read_row_group, 0)
            for number in numbers:
                table = coming.result()
                if number + 1 < len(numbers):
                    coming = reader.submit(file.read_row_group, number + 1)
                yield table
        else:
            for number in numbers:
                yield file.read_row_group(number)


def one_pass(path: Path, rows: int, read_ahead: bool) -> Found:
    latest = np.full((len(ASSETS), len(EXCHANGES), 3), np.nan)
    sums, fees, left = np.zeros(3, np.int64), np.array(FEE_RATES), rows
    for table in tables(path, rows, read_ahead):
        part = table.slice(0, left)
        left -= len(part)
        times, exchanges, assets, bids, asks = (column.to_numpy() for column in part.combine_chunks().columns)
        detect(times, exchanges, assets, bids, asks, fees, latest, sums)
    return Found(rows, int(sums[0]), int(sums[1]), int(sums[2]) % (1 << 64))


if __name__ == "__main__":
    path, wanted = Path(sys.argv[1]), int(sys.argv[2])
    answer(lambda: one_pass(path, wanted, READ_AHEAD in sys.argv))
