"""Every engine of the comparison finds the same opportunities; how fast is for the benchmark to say, not for a test."""

import importlib
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.backtests.comparison import DisagreementError, Measured, check_agreement
from benchmarks.backtests.definition import Found
from benchmarks.backtests.engines import ENGINES, OURS, Engine
from benchmarks.backtests.generator import DAY, DAY_ROWS, generate, peer_file, tick_set_folder
from benchmarks.backtests.measuring import Pass, measured
from benchmarks.backtests.numba_loop import one_pass
from benchmarks.backtests.table import lines, markdown
from tick_sets.sets.tick_set import batches, open_tick_set

ROWS = 200_000
PEERS = [engine for engine in ENGINES if not engine.is_ours]
BOUND = next(engine for engine in ENGINES if engine.name == "numba")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("quotes") / "rows"
    generate(made, ROWS)
    return made


@pytest.fixture(scope="module")
def bound(folder: Path) -> Found:
    return one_pass(peer_file(folder), ROWS, read_ahead=False)


def test_about_every_two_hundredth_quote_has_an_opportunity(bound: Found) -> None:
    assert 0.002 < bound.count / bound.rows < 0.01


def test_both_forms_hold_the_same_quotes(folder: Path) -> None:
    tick_set = open_tick_set(tick_set_folder(folder))
    assert tick_set.manifest.rows == tick_set.manifest.quotes == ROWS
    # as many to a day as a whole set has
    assert tick_set.manifest.end_time - tick_set.manifest.start_time == pytest.approx(DAY * ROWS / DAY_ROWS, rel=0.01)
    for rows in batches(tick_set, "A07"):
        assert rows["bid_price"].to_pylist() == [float(str(text)) for text in rows["bid"].to_pylist()]
        assert rows["ask_price"].to_pylist() == [float(str(text)) for text in rows["ask"].to_pylist()]


@pytest.mark.parametrize("engine", PEERS, ids=lambda engine: engine.name)
def test_a_peer_finds_what_the_bound_finds(engine: Engine, folder: Path, bound: Found) -> None:
    pytest.importorskip(engine.package or "numpy", reason=f"{engine.package} is not installed beside the project")
    module = importlib.import_module(f"benchmarks.backtests.{engine.module}")
    reported = (
        (peer_file(folder), ROWS, bool(engine.arguments)) if engine.package == "numba" else (peer_file(folder), ROWS)
    )
    assert module.one_pass(*reported).agrees(bound)


def test_a_peer_takes_only_as_many_rows_as_it_is_asked_for(folder: Path) -> None:
    few = one_pass(peer_file(folder), ROWS // 3, read_ahead=True)
    pandas_plain = importlib.import_module("benchmarks.backtests.pandas_plain")
    assert few.rows == ROWS // 3
    assert pandas_plain.one_pass(peer_file(folder), ROWS // 3).agrees(few)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("java") is None, reason="Java is not installed")
def test_ours_finds_what_the_bound_finds(
    folder: Path, bound: Found, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARBITRAGE_HOME", str(tmp_path))
    ours = next(engine for engine in ENGINES if engine.name == OURS)
    command = ours.command(Path(sys.executable), folder, ROWS)
    first, second = measured(command, 2, {}, tmp_path / "log")
    assert first.found.agrees(bound)
    assert second.found.agrees(bound)
    assert first.peak > second.found.count
    assert first.cpu > 0


def _measured(engine: Engine, found: Found) -> Measured:
    return Measured(engine, found.rows, [[Pass(found, wall=2.0, cpu=4.0, peak=1, load=0.5)]])


@pytest.mark.parametrize("other", [Found(100, 3, 5, 7), Found(100, 2, 5, 8), Found(100, 2, 6, 7)])
def test_engines_that_disagree_are_reported(other: Found) -> None:
    found = Found(rows=100, count=2, times=5, net_bits=7)
    same = [_measured(BOUND, found), _measured(PEERS[1], found)]
    check_agreement(same)
    with pytest.raises(DisagreementError):
        check_agreement([*same, _measured(PEERS[2], other)])


def test_what_is_not_reported_is_not_compared() -> None:
    found = Found(rows=100, count=2, times=5, net_bits=7)
    check_agreement([_measured(BOUND, replace(found, times=None)), _measured(PEERS[1], found)])
    with pytest.raises(DisagreementError):
        check_agreement(
            [
                _measured(BOUND, replace(found, times=None)),
                _measured(PEERS[1], found),
                _measured(PEERS[2], replace(found, times=6)),
            ]
        )


def test_a_run_that_reports_its_own_time_is_shown_alone_and_whole() -> None:
    found = Found(rows=100, count=2, times=5, net_bits=7, seconds={"run": 1.0, "run_cpu": 0.5})
    alone, whole = lines([_measured(PEERS[-1], found)])
    assert (alone.rate, alone.cpu_rate) == (100, 200)
    assert (whole.rate, whole.cpu_rate) == (50, 25)
    assert "from a cold start" not in "".join(markdown([alone, whole], []))
