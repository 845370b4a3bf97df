"""Candles of one second, one minute and one hour in files of the data folder.

`<home>/candles/<exchange>/<symbol>/1s/2026-11-30T14.csv`, `…/1m/2026-11-30.csv`, `…/1h/2026.csv`: a line a candle,
oldest first: start (microseconds UTC), open, high, low, close, bid, ask, quotes. Each candle is written once, when it
is over. A line that a kill cut off is skipped.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from market.money import text_of, written_decimal
from market.prices.candles import INTERVALS, QuoteCandle
from market.time_units import MICROSECONDS

KeptInterval = Literal["1s", "1m", "1h"]
KEPT: tuple[KeptInterval, ...] = ("1s", "1m", "1h")
"""Shortest first; longer ones are made of these."""
HOUR, DAY = INTERVALS["1h"], INTERVALS["1d"]
END = 2**63
"""After every time, microseconds."""
MOST_READ = 60_000
"""Candles that one reading brings: some 0.2 s of a core."""


@dataclass(frozen=True, slots=True)
class _Upkeep:
    """`length` of what one file covers, and after how long it is removed (None: never); microseconds."""

    pattern: str
    length: int
    kept: int | None


_UPKEEP: dict[KeptInterval, _Upkeep] = {
    "1s": _Upkeep("%Y-%m-%dT%H", HOUR, 12 * HOUR),
    "1m": _Upkeep("%Y-%m-%d", DAY, 30 * DAY),
    "1h": _Upkeep("%Y", 366 * DAY, None),
}
"""For fifty markets some 90 MB of seconds, 130 MB of minutes, and 25 MB of hours a year."""


class CandleFiles:
    """The files below one folder; every method blocks on the disk."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def append(self, exchange: str, symbol: str, interval: KeptInterval, candles: Iterable[QuoteCandle]) -> None:
        """Write candles behind those that there are; they are newer. Raises OSError."""
        folder = self._folder(exchange, symbol, interval)
        pattern = _UPKEEP[interval].pattern
        for name, group in groupby(candles, key=lambda one: _moment(one.start).strftime(pattern)):
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{name}.csv"
            with path.open("ab") as file:
                if file.tell() and not _ends_a_line(path):
                    file.write(b"\n")
                file.write(b"".join(_line(candle) for candle in group))

    def read(
        self, exchange: str, symbol: str, interval: KeptInterval, since: int, until: int, most: int = MOST_READ
    ) -> list[QuoteCandle]:
        """Return the newest `most` candles with `since` ≤ start < `until`, oldest first."""
        found: list[QuoteCandle] = []
        for begin, path in reversed(self._periods(exchange, symbol, interval)):
            if begin < until:
                found[:0] = _lines_of(path, since, until)
            if begin <= since or len(found) >= most:
                break
        return found[-most:]

    def newest(self, exchange: str, symbol: str, interval: KeptInterval) -> QuoteCandle | None:
        """Return the last candle that is whole."""
        for _, path in reversed(self._periods(exchange, symbol, interval)):
            lines = _lines_of(path, 0, END)
            if lines:
                return lines[-1]
        return None

    def remove_old(self, now: int) -> None:
        """Remove what is older than it is kept; `now` in microseconds."""
        for interval, upkeep in _UPKEEP.items():
            if upkeep.kept is None:
                continue
            for path in self._root.glob(f"*/*/{interval}/*.csv"):
                if self._begin(interval, path) + upkeep.length < now - upkeep.kept:
                    path.unlink(missing_ok=True)

    def _folder(self, exchange: str, symbol: str, interval: KeptInterval) -> Path:
        return self._root / _file_name(exchange) / _file_name(symbol) / interval

    def _periods(self, exchange: str, symbol: str, interval: KeptInterval) -> list[tuple[int, Path]]:
        """Return (begin, file), oldest first."""
        paths = sorted(self._folder(exchange, symbol, interval).glob("*.csv"))
        return [(self._begin(interval, path), path) for path in paths]

    @staticmethod
    def _begin(interval: KeptInterval, path: Path) -> int:
        try:
            begin = datetime.strptime(path.stem, _UPKEEP[interval].pattern).replace(tzinfo=UTC)
        except ValueError:
            # somebody else's file: before all of ours, and without a line that is read
            return 0
        return int(begin.timestamp()) * MICROSECONDS


def _file_name(name: str) -> str:
    """A symbol has slashes and colons, and an exchange of the user's own may have any name, `..` among them."""
    return quote(name, safe="").replace(".", "%2E")


def _line(candle: QuoteCandle) -> bytes:
    prices = (candle.open, candle.high, candle.low, candle.close, candle.bid, candle.ask)
    return f"{candle.start},{','.join(map(text_of, prices))},{candle.quotes}\n".encode()


def _lines_of(path: Path, since: int, until: int) -> list[QuoteCandle]:
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    return list(_candles(lines, since, until))


def _candles(lines: Iterable[bytes], since: int, until: int) -> Iterator[QuoteCandle]:
    for line in lines:
        start, _, rest = line.partition(b",")
        # most of a file is before or after what is asked for
        if start.isdigit() and since <= int(start) < until:
            candle = _candle(int(start), rest)
            if candle is not None:
                yield candle


def _candle(start: int, rest: bytes) -> QuoteCandle | None:
    """None for a line that was cut off."""
    fields = rest.decode(errors="replace").split(",")
    if len(fields) != len(QuoteCandle.__slots__) - 1 or not fields[-1].isdigit():
        return None
    try:
        opened, high, low, close, bid, ask = (written_decimal(field) for field in fields[:-1])
    except ValueError:
        return None
    return QuoteCandle(start, opened, high, low, close, bid, ask, int(fields[-1]))


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read(1) == b"\n"


def _moment(microseconds: int) -> datetime:
    return datetime.fromtimestamp(microseconds // MICROSECONDS, UTC)
