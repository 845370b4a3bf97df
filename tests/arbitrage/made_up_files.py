"""Small files of quotes of two exchanges, as Tardis writes them, that a backtest trades on."""

import gzip
from pathlib import Path

from tests.launch.tardis_rows import HEADER

BEGIN = 1_723_161_600_000_000
"""Microseconds UTC of the first row."""
SECONDS = 45 * 60
STEP = 1_000_000
EPISODE_EVERY = 90
"""Seconds from one dislocation to the next; each lasts three."""
MID = 60_000


def quote_files(folder: Path) -> list[Path]:
    """Write BTC/USD of kraken and bitstamp, a quote each a second; at times one of them is 1.2 % dearer, in turns, or
    0.4 %."""
    folder.mkdir(parents=True, exist_ok=True)
    return [
        _written(folder / "kraken.csv.gz", "kraken", "XBT/USD", side=1),
        _written(folder / "bitstamp.csv.gz", "bitstamp", "btcusd", side=-1),
    ]


def _written(path: Path, exchange: str, symbol: str, side: int) -> Path:
    rows = [HEADER]
    for second in range(SECONDS):
        number, since = divmod(second, EPISODE_EVERY)
        size = (60, 60, 20)[number % 3] if since < 3 and number else 0
        # one exchange after the other is the dear one, so that inventory comes back
        mid = MID + (second % 7) + side * (size * 6 if number % 2 else -size * 6)
        time = BEGIN + second * STEP + (0 if side > 0 else 1_000)
        rows.append(f"{exchange},{symbol},{time},{time + 500},2,{mid + 5},{mid - 5},2\n")
    with gzip.open(path, "wt") as file:
        file.write("".join(rows))
    return path
