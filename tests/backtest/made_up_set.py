"""Two made-up recordings of BTC that a replay profile knows, wide enough apart at times to be traded."""

from pathlib import Path

from tests.backtest.recorded import write_tickers

BEGIN = 1_723_075_200_000_000
"""Microseconds UTC of the first row."""
ROWS = 40
STEP = 100_000
GAP = 20
"""At this row the spot market falls silent for ten seconds."""


def made_up_files(folder: Path) -> tuple[Path, Path]:
    """Spot and USD-M: a row each every 0.1 s; from row 10 to 14 spot is 1 % dearer. One row is crossed."""
    spot, usdm = [], []
    for number in range(ROWS):
        time = BEGIN + number * STEP + (10_000_000 if number >= GAP else 0)
        bid = 60_600 if 10 <= number < 15 else 60_000
        spot.append((time, str(bid), str(bid + 10)))
        usdm.append((time + 1_000, "60000", "60010"))
    spot.append((spot[-1][0] + STEP, "60010", "60000"))
    return (
        write_tickers(folder / "spot" / "made-up.gz", "BTCUSDT", *spot),
        write_tickers(folder / "usdm" / "made-up.gz", "BTCUSDT", *usdm),
    )
