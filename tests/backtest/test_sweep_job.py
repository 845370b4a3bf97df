"""A sweep, by forks and by Spark: each set is what a backtest with its parameters comes to alone, and nothing is done
twice."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from backtest.detect.batch_session import backtest_session
from backtest.detect.forked_workers import ForkedWorkers
from backtest.detect.spark_workers import SparkWorkers
from backtest.detect.workers import ThisProcess
from backtest.run import run_backtest
from backtest.sweep.errors import SweepRejectedError
from backtest.sweep.job import SweepWorkers, run_sweep
from backtest.sweep.parameter_grids import Grid, axis_of, range_of
from backtest.sweep.parameters import checked_against, variables_of, with_values
from backtest.sweep.results import WHOLE, result_of
from backtest.sweep.store import SweepDefinition, SweepStore, sweep_store
from tests.backtest.sweep_samples import log_of, parameters_of, tick_set_of
from tick_sets.sets.tick_set import TickSet

GRID = Grid(
    (axis_of("latency_ms=0,90"), axis_of("max_quote_age_ms=200,2000")),
    (range_of("min_net_bps=3:14"), range_of("fee_bps.kraken=2:11"), range_of("max_notional=100:5000")),
    draws=24,
    seed=4,
)


@pytest.fixture(scope="module", params=["forks", pytest.param("spark", marks=pytest.mark.slow)])
def workers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SweepWorkers]:
    if request.param == "forks":
        yield SweepWorkers(ThisProcess(), ForkedWorkers(2))
        return
    if shutil.which("java") is None:
        pytest.skip("no java on the PATH")
    with backtest_session(tmp_path_factory.mktemp("home"), "local[2]") as started:
        yield SweepWorkers(SparkWorkers(started), SparkWorkers(started))


@pytest.fixture(scope="module")
def tick_set(tmp_path_factory: pytest.TempPathFactory) -> TickSet:
    return tick_set_of(log_of(seed=11, rows=120), tmp_path_factory.mktemp("ticks") / "set")


def definition_of(tick_set: TickSet, grid: Grid, name: str) -> SweepDefinition:
    parameters = parameters_of()
    return SweepDefinition(name, tick_set.folder, "abc", checked_against(grid, parameters), parameters, 1, {})


def swept(workers: SweepWorkers, tick_set: TickSet, definition: SweepDefinition, home: Path) -> SweepStore:
    store = sweep_store(home, definition.name)
    store.begin(definition)
    run_sweep(workers, tick_set, definition, store, lambda _stage, _share: None)
    return store


def test_two_dozen_sets_are_what_each_comes_to_alone(workers: SweepWorkers, tick_set: TickSet, tmp_path: Path) -> None:
    definition = definition_of(tick_set, GRID, "many")
    store = swept(workers, tick_set, definition, tmp_path)
    whole = [one for one in store.results() if one.span == WHOLE]
    assert [one.number for one in whole] == list(range(24))
    assert len({one.digest for one in whole}) > 20
    known = variables_of(definition.parameters)
    points = list(definition.grid.points())
    for number in (0, 9, 23):
        parameters = with_values(definition.parameters, points[number], known)
        assert parameters is not None
        alone = run_backtest(ThisProcess(), tick_set, parameters)
        assert whole[number] == result_of(number, WHOLE, points[number], alone.trading, alone.performance)
    assert all(one.is_balanced for one in whole)
    assert sum(one.trades for one in whole) > 24

    # what is missing is done again from what was found once, and comes to the same
    parts = {path: path.read_bytes() for path in sorted((store.folder / "results").iterdir())}
    for path in list(parts)[::3]:
        path.unlink()
    run_sweep(workers, tick_set, definition, store, lambda _stage, _share: None)
    assert {path: path.read_bytes() for path in sorted((store.folder / "results").iterdir())} == parts


def test_a_sweep_without_a_set_is_rejected(workers: SweepWorkers, tick_set: TickSet, tmp_path: Path) -> None:
    grid = Grid((axis_of("min_net_bps=-5,-3"),))
    with pytest.raises(SweepRejectedError, match="no set is valid"):
        swept(workers, tick_set, definition_of(tick_set, grid, "none"), tmp_path)


def test_nothing_is_done_where_all_is_there(workers: SweepWorkers, tick_set: TickSet, tmp_path: Path) -> None:
    definition = definition_of(tick_set, replace(GRID, draws=2), "two")
    store = swept(workers, tick_set, definition, tmp_path)
    shutil.rmtree(store.candidates)
    run_sweep(workers, tick_set, definition, store, lambda _stage, _share: None)
    assert not store.candidates.exists()
