"""Checks that a file's own ticker is the market that the user named: one file is about one of them."""

import re
from pathlib import Path

from tick_sets.errors import reject

_NO_LETTERS = re.compile(r"[^A-Z0-9]")
_CONTRACT = re.compile(r"|PERP|[0-9]{6}|[FGHJKMNQUVXZ][0-9]{2}")
"""What follows the pair in a contract's ticker: nothing, or its day or month of delivery."""


class OneTicker:
    """Checks the ticker of each row of one file: the same throughout, and that of the named market."""

    def __init__(self, path: Path, symbol: str) -> None:
        self._path = path
        self._symbol = symbol
        self._checked: str | None = None

    def check(self, ticker: object, line: int | None) -> None:
        """Raise ImportRejectedError if `ticker` is not that of the file's market."""
        if ticker == self._checked:
            return
        if self._checked is not None:
            reject(self._path, line, f"is about {ticker}, while the rows before it are about {self._checked}")
        if not self._is_named(str(ticker)):
            reject(self._path, line, f"is about {ticker}, while {self._symbol} is named")
        self._checked = str(ticker)

    def _is_named(self, ticker: str) -> bool:
        """Return whether `ticker` is the market: BTCUSDT, BTC-USDT, BTCUSD_PERP all begin with both currencies; the
        rest names the contract."""
        pair = _NO_LETTERS.sub("", self._symbol.partition(":")[0].upper())
        letters = _NO_LETTERS.sub("", ticker.upper())
        if ":" not in self._symbol:
            return letters == pair
        return letters.startswith(pair) and _CONTRACT.fullmatch(letters.removeprefix(pair)) is not None
