"""Sweeps over a set with cycles: each set of parameters is a backtest with cycles, in each span too."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from backtest.detect.workers import ThisProcess
from backtest.parameters import Parameters
from backtest.requested_backtest import RequestedBacktest, parameters_for
from backtest.result.trading_outcome import TradingOutcome
from backtest.run import run_backtest
from backtest.sweep.cycle_candidates import CycleCandidates
from backtest.sweep.job import SweepWorkers, run_sweep
from backtest.sweep.parameter_grids import Grid, Point, axis_of
from backtest.sweep.parameters import variables_of, with_values
from backtest.sweep.results import WHOLE, SetResult, digest_of
from backtest.sweep.store import SweepDefinition, SweepStore, sweep_store
from backtest.sweep.tables import sweep_json, sweep_lines, table_of_sweep
from backtest.sweep.walk_forward import spans_of
from market.instruments.cycles import CycleTerms
from tests.backtest.cycle_sets import MARKETS, Row, cycle_set, random_rows
from tests.backtest.test_cycle_trades import EVERYWHERE, VALUES
from tick_sets.sets.tick_set import TickSet

GRID = Grid((axis_of("min_net_bps=0,20"), axis_of("fee_bps=0,2")))
ROWS = random_rows(7, 80)
FOLDS = 1


def set_of(folder: Path, rows: Sequence[Row] = ROWS) -> TickSet:
    return cycle_set(folder, rows, MARKETS, part_rows=64)


def swept(home: Path, tick_set: TickSet, terms: CycleTerms | None = EVERYWHERE) -> tuple[SweepStore, SweepDefinition]:
    parameters = parameters_for(tick_set, RequestedBacktest(values=VALUES, cycles=terms))
    definition = SweepDefinition("mine", tick_set.folder, "abc", GRID, parameters, FOLDS, {})
    store = sweep_store(home, "mine")
    store.begin(definition)
    here = ThisProcess()
    run_sweep(SweepWorkers(here, here), tick_set, definition, store, lambda *_: None)
    # as another process reads it
    assert store.definition() == definition
    return store, definition


@pytest.fixture(scope="module")
def tick_set(tmp_path_factory: pytest.TempPathFactory) -> TickSet:
    return set_of(tmp_path_factory.mktemp("ticks") / "set")


@pytest.fixture(scope="module")
def sweep(tick_set: TickSet, tmp_path_factory: pytest.TempPathFactory) -> tuple[SweepStore, SweepDefinition]:
    return swept(tmp_path_factory.mktemp("sweep"), tick_set)


def parameters_at(definition: SweepDefinition, point: Point) -> Parameters:
    found = with_values(definition.parameters, point, variables_of(definition.parameters))
    assert found is not None
    return found


def is_of(result: SetResult, trading: TradingOutcome) -> bool:
    """Whether all that a sweep says of a set is what the backtest says."""
    assert trading.cycles is not None
    money = result.profit == trading.profit.parts and result.drawdown == trading.drawdown.depth
    counts = (result.trades, result.cycles) == (trading.trades, len(trading.cycles.trades))
    return money and counts and result.digest == digest_of(trading)


def test_each_set_is_the_backtest_with_its_parameters(
    tick_set: TickSet, sweep: tuple[SweepStore, SweepDefinition]
) -> None:
    store, definition = sweep
    whole = [one for one in store.results() if one.span == WHOLE]
    assert len(whole) == GRID.size
    for result in whole:
        alone = run_backtest(ThisProcess(), tick_set, parameters_at(definition, result.point)).trading
        assert is_of(result, alone)
        assert result.is_balanced
    assert len({one.digest for one in whole}) == GRID.size
    assert min(one.cycles for one in whole) > 0


def test_a_span_is_the_backtest_of_a_recording_that_ended_there(
    tick_set: TickSet, sweep: tuple[SweepStore, SweepDefinition], tmp_path: Path
) -> None:
    store, definition = sweep
    first, _ = spans_of(tick_set.manifest.start_time, tick_set.manifest.end_time, FOLDS)
    cut = set_of(tmp_path / "cut", [row for row in ROWS if int(str(row["received_time"])) < first.end])
    for result in (one for one in store.results() if one.span == 0):
        assert is_of(result, run_backtest(ThisProcess(), cut, parameters_at(definition, result.point)).trading)
        assert result.cycles > 0


def test_a_set_that_is_searched_again_each_time_is_the_same(
    tick_set: TickSet, sweep: tuple[SweepStore, SweepDefinition]
) -> None:
    _, definition = sweep
    kept, searched = CycleCandidates(tick_set), CycleCandidates(tick_set, most_rows=1)
    seen = set[int]()
    for point in GRID.points():
        parameters = parameters_at(definition, point)
        one, other = kept.feed(parameters), searched.feed(parameters)
        assert one is not None
        assert other is not None
        ids = [each.sighting_id for each in one.sightings]
        assert ids == [each.sighting_id for each in other.sightings]
        seen.add(len(ids))
    # what a fee changes is not taken from the set before
    assert len(seen) == 2


def test_the_table_counts_trades_on_cycles(sweep: tuple[SweepStore, SweepDefinition], tick_set: TickSet) -> None:
    store, definition = sweep
    spans = spans_of(tick_set.manifest.start_time, tick_set.manifest.end_time, FOLDS)
    table = table_of_sweep(definition, "USD", store.results(), 0, spans)
    assert any("cycles" in line for line in sweep_lines(table))
    document = sweep_json(table)
    results = document["results"]
    assert isinstance(results, list)
    assert [one["cycles"] for one in results] == [one.cycles for one in table.results]
    assert table.forward is not None
    assert table.forward.folds[0].tested.cycles > 0


def test_without_cycles_nothing_is_said_of_them(tick_set: TickSet, tmp_path: Path) -> None:
    store, definition = swept(tmp_path, tick_set, None)
    table = table_of_sweep(definition, "USD", store.results(), 0, ())
    assert {one.cycles for one in table.results} == {0}
    assert not any("cycles" in line for line in sweep_lines(table))
