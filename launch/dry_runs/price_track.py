"""The prices of a log while an app is run over it, few enough to be drawn; pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cep.apps.hosts.hosted_app import AppSource
from cep.apps.hosts.product_streams import PRODUCT_STREAMS

MOST_MARKETS = 12
MOST_POINTS = 600
"""Of a market; once there are more, every second one goes, and of those that come as many are left out."""
QUOTES = ("quotes", "ticks")
"""Streams whose rows have prices."""

_NAMES = {name: tuple(column.name for column in PRODUCT_STREAMS[name].columns) for name in QUOTES}


@dataclass(slots=True)
class MarketTrack:
    points: list[tuple[int, float]] = field(default_factory=list)
    """Time (microseconds) and middle of each."""
    stride: int = 1
    seen: int = 0

    def add(self, at: int, middle: float) -> None:
        if self.seen % self.stride == 0:
            self.points.append((at, middle))
            if len(self.points) > MOST_POINTS:
                self.points, self.stride = self.points[::2], 2 * self.stride
        self.seen += 1


@dataclass(slots=True)
class PriceTrack:
    """The prices of the markets that come first in a log."""

    source: AppSource
    markets: dict[tuple[str, str], MarketTrack] = field(default_factory=dict)

    def add(self, row: Mapping[str, Any]) -> None:
        """Take a row of the app's log; what is no quote is left out."""
        try:
            quote = self._quote(row)
            if quote is not None:
                middle = (float(quote["bid"]) + float(quote["ask"])) / 2
                market = str(quote["exchange"]), str(quote["symbol"])
                if market in self.markets or len(self.markets) < MOST_MARKETS:
                    self.markets.setdefault(market, MarketTrack()).add(int(quote["received_time"]), middle)
        except (KeyError, TypeError, ValueError):
            return

    def reported(self) -> list[dict[str, Any]]:
        return [
            {"exchange": exchange, "symbol": symbol, "points": track.points}
            for (exchange, symbol), track in sorted(self.markets.items())
        ]

    def _quote(self, row: Mapping[str, Any]) -> Mapping[str, Any] | None:
        if not self.source.is_merged:
            return row if row.get("kind") == "quote" else None
        name, values = next((one for one in row["rows"] if one[0] in QUOTES), (None, ()))
        return None if name is None else dict(zip(_NAMES[name], values, strict=True))
