"""Spread windows by a plain loop over the spreads of every row."""

from collections.abc import Iterable
from math import sqrt
from typing import Any

from session.session import Session
from streams.message_format import row_of
from tests.cep.detection.oracle import Spread, expected_spreads

WINDOWS = ((10_000_000, 1_000_000), (60_000_000, 5_000_000))
SECOND = 1_000_000
Window = tuple[str, str, str, int, int]


def expected_windows(messages: list[bytes], session: Session) -> dict[Window, dict[str, float]]:
    """Those that have closed: a second past their end, and begun after the base's first second with a spread."""
    rows: dict[Window, list[tuple[float, bool]]] = {}
    first: dict[str, int] = {}
    for spread in expected_spreads(messages, session):
        first.setdefault(spread.base, spread.event_time - spread.event_time % SECOND + SECOND)
        above = is_above(spread)
        for start, end in _windows_at(spread.event_time):
            window = (spread.base, spread.buy.exchange, spread.sell.exchange, start, end)
            rows.setdefault(window, []).append((spread.net_bps, above))
    newest = _newest(messages)
    return {
        window: _statistics(found)
        for window, found in rows.items()
        if window[4] <= newest[window[0]] - SECOND and window[3] >= first[window[0]]
    }


def is_above(spread: Spread) -> bool:
    """Return whether it is at or over the threshold: of its direction, its pair or its asset, else the general one."""
    settings, buy, sell = spread.settings, spread.buy.exchange, spread.sell.exchange
    pairs = settings.get("pair_thresholds", {})
    own = [pairs[name] for name in (f"{buy}>{sell}", f"{buy}/{sell}", f"{sell}/{buy}") if name in pairs]
    own += [value for base, value in settings.get("asset_thresholds", {}).items() if base == spread.base]
    return bool(spread.net_bps >= (max(own) if own else settings["min_net_bps"]))


def found_windows(rows: Iterable[dict[str, Any]]) -> dict[Window, dict[str, float]]:
    windows: dict[Window, dict[str, float]] = {}
    for row in rows:
        window = (row["base"], row["buy_exchange"], row["sell_exchange"], row["start"], row["end"])
        assert window not in windows, "a window is written once"
        windows[window] = {name: row[name] for name in ("mean_bps", "deviation", "max_bps", "share_above", "rows")}
    return windows


def _windows_at(time: int) -> Iterable[tuple[int, int]]:
    for length, slide in WINDOWS:
        start = time - time % slide
        while start + length > time:
            yield start, start + length
            start -= slide


def _newest(messages: list[bytes]) -> dict[str, int]:
    newest: dict[str, int] = {}
    for message in messages:
        row = row_of(message)
        if row["kind"] not in ("probe", "end"):
            for base in row.get("bases") or [row["base"]]:
                newest[base] = max(newest.get(base, 0), row["received_time"])
    return newest


def _statistics(rows: list[tuple[float, bool]]) -> dict[str, float]:
    values = [value for value, _ in rows]
    mean = sum(values) / len(values)
    return {
        "mean_bps": mean,
        "deviation": sqrt(sum((value - mean) ** 2 for value in values) / len(values)),
        "max_bps": max(values),
        "share_above": sum(above for _, above in rows) / len(rows),
        "rows": len(rows),
    }
