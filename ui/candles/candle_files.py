"""Candles of one second, one minute and one hour in files of the data folder.

`<home>/candles/<exchange>/<symbol>/1s/2026-11-30T14.csv`, `…/1m/2026-11-30.csv`, `…/1h/2026.csv`: a line a candle,
oldest first: start (microseconds UTC), open, high, low, close, bid, ask, quotes. Each candle is written once, when it
is over. A line that has no end was cut off, by a kill or a full disk: it is read over, and the next write removes it.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from itertools import groupby, islice
from pathlib import Path
from typing import BinaryIO, Literal
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
_FIELDS = len(fields(QuoteCandle))
_TAIL_BYTES = 4_096
"""The last lines of a file; one has some 100 bytes."""
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
        """Write candles behind those that there are; what is not newer than a file's last one is there already. So a
        write that failed on its way can be repeated. Raises OSError."""
        folder = self._folder(exchange, symbol, interval)
        pattern = _UPKEEP[interval].pattern
        for name, group in groupby(candles, key=lambda one: _moment(one.start).strftime(pattern)):
            folder.mkdir(parents=True, exist_ok=True)
            with (folder / f"{name}.csv").open("ab+") as file:
                last = _last_start(file)
                file.write(b"".join(_line(candle) for candle in group if candle.start > last))

    def read(
        self, exchange: str, symbol: str, interval: KeptInterval, since: int, until: int, most: int = MOST_READ
    ) -> list[QuoteCandle]:
        """Return the newest `most` candles with `since` ≤ start < `until`, oldest first."""
        found: list[QuoteCandle] = []
        for begin, path in reversed(self._periods(exchange, symbol, interval)):
            if begin < until:
                found[:0] = _candles_of(path, since, until, most - len(found))
            if begin <= since or len(found) >= most:
                break
        return found

    def newest(self, exchange: str, symbol: str, interval: KeptInterval) -> QuoteCandle | None:
        """Return the last candle that is whole."""
        for _, path in reversed(self._periods(exchange, symbol, interval)):
            found = _candles_of(path, 0, END, 1)
            if found:
                return found[0]
        return None

    def remove_old(self, now: int) -> None:
        """Remove what is older than it is kept; `now` in microseconds."""
        for interval, upkeep in _UPKEEP.items():
            if upkeep.kept is None:
                continue
            for path in self._root.glob(f"*/*/{interval}/*.csv"):
                begin = _begin(interval, path)
                if begin is not None and begin + upkeep.length < now - upkeep.kept:
                    path.unlink(missing_ok=True)

    def _folder(self, exchange: str, symbol: str, interval: KeptInterval) -> Path:
        return self._root / _file_name(exchange) / _file_name(symbol) / interval

    def _periods(self, exchange: str, symbol: str, interval: KeptInterval) -> list[tuple[int, Path]]:
        """Return (begin, file), oldest first."""
        paths = self._folder(exchange, symbol, interval).glob("*.csv")
        begun = ((_begin(interval, path), path) for path in paths)
        return sorted((begin, path) for begin, path in begun if begin is not None)


def _begin(interval: KeptInterval, path: Path) -> int | None:
    """Return when a file begins, microseconds; None if it is not ours."""
    try:
        begin = datetime.strptime(path.stem, _UPKEEP[interval].pattern).replace(tzinfo=UTC)
    except ValueError:
        return None
    return int(begin.timestamp()) * MICROSECONDS


def _file_name(name: str) -> str:
    """Return the name as one that a file can have: symbols have slashes and colons, and an exchange of the user's own
    may be called anything, `..` too."""
    return quote(name, safe="").replace(".", "%2E")


def _line(candle: QuoteCandle) -> bytes:
    prices = (candle.open, candle.high, candle.low, candle.close, candle.bid, candle.ask)
    return f"{candle.start},{','.join(map(text_of, prices))},{candle.quotes}\n".encode()


def _candles_of(path: Path, since: int, until: int, most: int) -> list[QuoteCandle]:
    """Return the newest `most` candles of a file with `since` ≤ start < `until`, oldest first."""
    try:
        lines = path.read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return []
    return list(islice(_newest_first(lines, since, until), most))[::-1]


def _newest_first(lines: Sequence[bytes], since: int, until: int) -> Iterator[QuoteCandle]:
    """Yield them. Most of a file is before what is asked for, and to read a line costs more than to look at its start.
    One that was cut off, which may begin with any number, is no place to stop at."""
    for line in reversed(lines):
        start, _, rest = line.partition(b",")
        if not start.isdigit() or rest.count(b",") != _FIELDS - 2 or int(start) >= until:
            continue
        if int(start) < since:
            return
        candle = _candle(int(start), rest)
        if candle is not None:
            yield candle


def _candle(start: int, rest: bytes) -> QuoteCandle | None:
    """None for a line that was cut off."""
    texts = rest.decode(errors="replace").split(",")
    if len(texts) != _FIELDS - 1 or not texts[-1].isdigit():
        return None
    try:
        opened, high, low, close, bid, ask = (written_decimal(text) for text in texts[:-1])
    except ValueError:
        return None
    return QuoteCandle(start, opened, high, low, close, bid, ask, int(texts[-1]))


def _last_start(file: BinaryIO) -> int:
    """Return the start of the last whole line, -1 if there is none; cuts off what has no end behind it."""
    size = file.seek(0, os.SEEK_END)
    first = max(0, size - _TAIL_BYTES)
    file.seek(first)
    tail = file.read()
    whole = tail.rfind(b"\n") + 1
    if first and not whole:
        # nothing that we wrote: the next line stands apart from it
        file.write(b"\n")
    elif whole < len(tail):
        file.truncate(first + whole)
    lines = reversed(tail[:whole].split(b"\n"))
    starts = (line.partition(b",")[0] for line in lines if line.count(b",") == _FIELDS - 1)
    return next((int(start) for start in starts if start.isdigit()), -1)


def _moment(microseconds: int) -> datetime:
    return datetime.fromtimestamp(microseconds // MICROSECONDS, UTC)
