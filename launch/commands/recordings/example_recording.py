"""A recording made for somebody who has none: twenty minutes of one coin on two exchanges, with spreads that pay, and a
few rows that no import takes."""

from math import sin
from pathlib import Path

NAME = "example"
BEGIN = 1_723_075_200_000
"""2024-08-08, milliseconds."""
SECONDS = 1_200
EVERY_MS = 250
EPISODE_SECONDS, EPISODE_LASTS = 47, 3
"""So often the second exchange is dearer for so long."""
WIDER = 0.004
"""By how much, a fraction: more than the fees of both and the usual threshold."""
MAPPING = """
exchange = { column = "venue" }
symbol = { column = "pair" }
time = { column = "at", unit = "ms" }

[quote]
bid = "bid"
bid_amount = "bid_amount"
ask = "ask"
ask_amount = "ask_amount"
"""
_HEAD = "venue,pair,at,bid,bid_amount,ask,ask_amount"
_FIRST, _SECOND = "kraken", "coinbaseexchange"


def write_example(folder: Path) -> tuple[Path, Path]:
    """Write the recording and the mapping of its columns below `folder`; return both files."""
    recording, mapping = folder / f"{NAME}.csv", folder / f"{NAME}.toml"
    recording.write_text("\n".join([_HEAD, *_rows()]) + "\n")
    mapping.write_text(MAPPING)
    return recording, mapping


def _rows() -> list[str]:
    rows: list[str] = []
    for at in range(0, SECONDS * 1_000, EVERY_MS):
        seconds = at / 1_000
        mid = 60_000 + 120 * sin(seconds / 61) + 25 * sin(seconds / 11)
        is_wide = seconds % EPISODE_SECONDS < EPISODE_LASTS
        rows += [_row(_FIRST, at, mid), _row(_SECOND, at + 60, mid * (1 + WIDER) if is_wide else mid + 2)]
    # what recorders write when something is wrong: a crossed book, half a line, a row that goes back in time
    rows[1_000] = f"{_FIRST},BTC/USD,{BEGIN + 125_000},60100.0,1,60090.0,1"
    rows[2_000] = f"{_FIRST},BTC/USD,{BEGIN + 250_000},n/a,1,60000.0,1"
    rows[3_001] = _row(_SECOND, 1_000, 60_000)
    return rows


def _row(exchange: str, at: int, mid: float) -> str:
    return f"{exchange},BTC/USD,{BEGIN + at},{mid - 1:.1f},1.5,{mid + 1:.1f},1.5"
