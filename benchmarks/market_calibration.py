"""Moments of the simulated markets beside those of recorded ones.

`python -m benchmarks.market_calibration [--data FOLDER] [--minutes N]`. FOLDER has the recorded sets, by default
`../shared/data`; without them only the simulated markets are shown, and a sentence says so.
"""

import argparse
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from benchmarks.market_moments import (
    DISLOCATION_BPS,
    Numbers,
    PairMoments,
    Track,
    depth_within,
    lengths_of,
    pair_moments,
    return_moments,
    spread_bps,
)
from benchmarks.recorded_markets import binance_tracks, japanese_tracks, recorded_books
from benchmarks.simulated_tracks import SimulatedTrack, simulated_tracks
from exchanges.simulated_markets import taker_fees
from market.money import BPS
from session.simulated_market import MARKETS, MarketName
from simulators.server import STEP_SECONDS

MIN_NET_BPS = 5.0
"""The default threshold."""
_FINE, _COARSE = 0.05, 1.0
"""Grids in seconds: of quotes, and of trades that are recorded once a second."""

RETURN_HEAD = ("market", "1-s bps", "without > 10", "a year", "kurtosis", "lag 1", "spread bps p50", "p90")
BOOK_HEAD = ("book", "spread bps", "dollars within 5 bps", "within 10 bps")
PAIR_HEAD = (
    *("pair", "basis bps", "half-life s"),
    *(head for bps in DISLOCATION_BPS for head in (f"> {bps:.0f} bps a minute", "s p50", "p90")),
)
NET_HEAD = ("simulated market", "tradable a minute", "s p50", "s p90", "first at s", "net bps p50")

Row = Sequence[str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--minutes", type=float, default=60.0, help="of each simulated market")
    arguments = parser.parse_args()
    simulated = {name: simulated_tracks(name, arguments.minutes) for name in MARKETS}
    recorded = arguments.data.is_dir()
    if not recorded:
        print(f"{arguments.data} is not there: no recorded market is shown; name its folder with --data.")
    binance, japan = (binance_tracks(arguments.data), japanese_tracks(arguments.data)) if recorded else ([], [])
    _print(RETURN_HEAD, [*map(return_row, [*binance, *japan]), *_simulated_returns(simulated)])
    _print(BOOK_HEAD, [*(recorded_book_rows(arguments.data) if recorded else ()), *_simulated_books(simulated)])
    _print(PAIR_HEAD, [*_pairs(binance, _FINE), *_pairs(japan, _COARSE), *_simulated_pairs(simulated)])
    _print(NET_HEAD, [net_row(name, [one.track for one in tracks]) for name, tracks in simulated.items()])
    print("load average", *(f"{load:.2f}" for load in os.getloadavg()), f"on {os.cpu_count()} cores")


def return_row(track: Track) -> Row:
    found = return_moments(track)
    median, p90 = spread_bps(track)
    return (
        track.name,
        *(f"{value:.2f}" for value in (found.deviation, found.quiet_deviation)),
        f"{found.annual:.0%}",
        f"{found.kurtosis:.0f}",
        f"{found.autocorrelation:+.2f}",
        *((f"{median:.3f}", f"{p90:.3f}") if p90 else ("", "")),
    )


def pair_row(name: str, found: PairMoments) -> Row:
    half_life = "" if found.half_life is None else f"{found.half_life:.0f}"
    cells = []
    for dislocations in found.dislocations:
        cells += [f"{dislocations.per_minute:.2f}", _seconds(dislocations.median), _seconds(dislocations.p90)]
    return name, f"{found.deviation:.2f}", half_life, *cells


def recorded_book_rows(data: Path) -> Iterator[Row]:
    for book in recorded_books(data):
        bid, ask = book.bids[0][0], book.asks[0][0]
        mid = (bid + ask) / 2
        depths = [(depth_within(mid, book.bids, bps) + depth_within(mid, book.asks, bps)) / 2 for bps in (5, 10)]
        yield book.name, f"{(ask - bid) / mid * float(BPS):.2f}", *(f"{depth:,.0f}" for depth in depths)


def net_row(name: str, tracks: Sequence[Track]) -> Row:
    """Return the dislocations in which some pair pays both fees and the default threshold."""
    best = best_net_bps(tracks)
    is_tradable = best >= MIN_NET_BPS
    lasted = lengths_of(is_tradable) * STEP_SECONDS
    if not len(lasted):
        return name, "0.00", "", "", "", ""
    minutes = len(best) * STEP_SECONDS / 60
    first = float(np.argmax(is_tradable)) * STEP_SECONDS
    cells = (
        f"{len(lasted) / minutes:.2f}",
        _seconds(float(np.median(lasted))),
        _seconds(float(np.quantile(lasted, 0.9))),
    )
    return name, *cells, f"{first:.1f}", f"{np.median(best[is_tradable]):.1f}"


def best_net_bps(tracks: Sequence[Track]) -> Numbers:
    """Return the best of all ordered pairs, after the default taker fees, at each step."""
    fees = {name: float(fee) for name, fee in taker_fees().items()}
    best: Numbers = np.full(len(tracks[0].times), -np.inf)
    for bought in tracks:
        for sold in tracks:
            if bought is not sold:
                cost = bought.asks * (1 + fees[bought.name])
                best = np.maximum(best, (sold.bids * (1 - fees[sold.name]) - cost) / bought.asks * float(BPS))
    return best


def _simulated_returns(simulated: Mapping[MarketName, list[SimulatedTrack]]) -> Iterator[Row]:
    for name, tracks in simulated.items():
        for one in tracks:
            _, *cells = return_row(one.track)
            yield f"{name}: {one.track.name}", *cells


def _simulated_books(simulated: Mapping[MarketName, list[SimulatedTrack]]) -> Iterator[Row]:
    for name, tracks in simulated.items():
        for one in tracks:
            spread = f"{spread_bps(one.track)[0]:.2f}"
            yield f"{name}: {one.track.name}", spread, *(f"{depth:,.0f}" for depth in one.depths)


def _pairs(tracks: Sequence[Track], step: float) -> Iterator[Row]:
    for one, other in combinations(tracks, 2):
        yield pair_row(f"{one.name.split(',')[0]} – {other.name}", pair_moments(one, other, step))


def _simulated_pairs(simulated: Mapping[MarketName, list[SimulatedTrack]]) -> Iterator[Row]:
    """Yield one pair of each market: they are all alike."""
    for name, tracks in simulated.items():
        one, other = tracks[0].track, tracks[-1].track
        yield pair_row(f"{name}: {one.name} – {other.name}", pair_moments(one, other, _FINE))


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _print(head: Row, rows: Iterable[Row]) -> None:
    print("|", " | ".join(head), "|")
    print("|" + "---|" * len(head))
    for row in rows:
        print("|", " | ".join(row), "|")
    print()


if __name__ == "__main__":
    main()
