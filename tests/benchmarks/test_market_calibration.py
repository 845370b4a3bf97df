"""The moments of the calibration on made-up quotes, and those of the simulated markets within bounds."""

import csv
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from benchmarks.market_calibration import MIN_NET_BPS, best_net_bps, main
from benchmarks.market_moments import Track, depth_within, lengths_of, pair_moments, return_moments, spread_bps
from benchmarks.recorded_markets import japanese_tracks, recorded_books
from benchmarks.simulated_tracks import simulated_tracks
from simulators.server import STEP_SECONDS
from tests.backtest.recorded import SHARED


def track(mids: list[float], half_spread: float = 0.0, step: float = 1.0) -> Track:
    prices = np.array(mids)
    return Track("made up", np.arange(len(mids), dtype=np.float64) * step, prices - half_spread, prices + half_spread)


def test_returns_of_a_price_that_goes_up_and_down_by_ten() -> None:
    found = return_moments(track([100_000 + 100 * (second % 2) for second in range(600)]))
    assert found.deviation == pytest.approx(10, rel=0.01)
    assert found.kurtosis == pytest.approx(1, rel=0.01)
    assert found.autocorrelation == pytest.approx(-1, rel=0.01)


def test_a_spread_is_weighted_by_how_long_it_lasted() -> None:
    times, mids = np.array([0.0, 98.0, 99.0, 100.0]), np.full(4, 100.0)
    half = np.array([0.005, 0.5, 0.5, 0.5])
    assert spread_bps(Track("made up", times, mids - half, mids + half)) == pytest.approx((1, 1))


def test_a_dislocation_is_counted_with_its_length() -> None:
    steady, away = [100_000.0] * 2_400, [100_000.0] * 2_400
    for sample in (*range(400, 420), *range(1_500, 1_540)):
        away[sample] += 120
    found = pair_moments(track(away, step=0.05), track(steady, step=0.05), 0.05)
    five, ten, twenty = found.dislocations
    assert five.per_minute == ten.per_minute == pytest.approx(1, rel=0.01)
    assert five.median == pytest.approx(1.5)
    assert twenty.per_minute == 0
    assert found.half_life is None


def test_runs_and_depth() -> None:
    assert list(lengths_of(np.array([True, True, False, True]))) == [2, 1]
    assert depth_within(100, [(100.01, 2), (100.04, 1), (100.06, 5)], 5) == pytest.approx(300.06)


def test_a_busy_market_is_quiet_but_for_dislocations_that_pay_fees() -> None:
    found = simulated_tracks("busy", 6, seed=2)
    tracks = [one.track for one in found]
    for one in tracks:
        moments = return_moments(one)
        assert 0.7 < moments.quiet_deviation < 1.8
        assert moments.deviation < 8
    is_tradable = best_net_bps(tracks) >= MIN_NET_BPS
    lasted = lengths_of(is_tradable) * STEP_SECONDS
    assert 2 <= len(lasted) / 6 <= 10
    assert np.median(lasted) <= 1
    assert np.argmax(is_tradable) * STEP_SECONDS < 20
    depths = {one.track.name: one.depths for one in found}
    assert depths["coinbaseexchange"][0] > depths["kraken"][0] > depths["bitflyer"][0]


def test_a_storm_is_noise_all_the_time() -> None:
    moments = return_moments(simulated_tracks("storm", 2)[0].track)
    assert moments.deviation > 15
    assert moments.quiet_deviation > 3


def test_without_the_recorded_sets_a_sentence_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["calibration", "--data", str(tmp_path / "none"), "--minutes", "1.5"])
    main()
    said = capsys.readouterr().out
    assert f"{tmp_path / 'none'} is not there: no recorded market is shown" in said
    assert "| busy: kraken |" in said
    assert "| storm |" in said


def test_recorded_sets_are_read_as_they_are() -> None:
    if not SHARED.is_dir():
        pytest.skip("the recorded data are not beside the checkout")
    first, second = japanese_tracks(SHARED)
    with (SHARED / "ticks/lead-lag/bitflyerJPY_2018-08-12_small.csv").open() as file:
        assert len(first.times) == len(list(csv.DictReader(file)))
    assert pair_moments(first, second, 1.0).dislocations[1].per_minute == pytest.approx(0.79, abs=0.01)
    books = list(recorded_books(SHARED))
    assert {book.name.partition(",")[0] for book in books} == {"coinbase", "bitstamp", "bitfinex"}
    for book in books:
        assert all(after <= before for (before, _), (after, _) in pairwise(book.bids))
