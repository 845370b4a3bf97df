"""The sets of one chunk, in this process: each as if it had been run alone, and no span sees what comes after it."""

from dataclasses import replace
from pathlib import Path

import pytest

from backtest.detect.batch_detection import store_found
from backtest.detect.workers import ThisProcess
from backtest.parameters import Parameters
from backtest.result.asset_marks import marks_of
from backtest.result.performance import performance_of
from backtest.simulate.quote_history import quote_history_of
from backtest.simulate.trade_simulation import trade
from backtest.sweep.candidates import rate_ages, widest_settings
from backtest.sweep.parameter_grids import Grid, axis_of
from backtest.sweep.parameters import variables_of, with_values
from backtest.sweep.results import WHOLE, result_of
from backtest.sweep.store import SweepDefinition, SweepStore, sweep_store
from backtest.sweep.task import run_chunk
from backtest.sweep.walk_forward import spans_of
from market.trade.unwinding import markets_by_symbol
from streams.message_format import row_of
from tests.backtest.sweep_samples import found_alone, log_of, parameters_of, tick_set_of
from tests.cep.logs import MARKETS
from tick_sets.sets.tick_set import open_tick_set

GRID = Grid((axis_of("min_net_bps=6,12"), axis_of("fee_bps=4,9"), axis_of("max_quote_age_ms=200,2000")))
FOLDS = 1


def swept(messages: list[bytes], folder: Path, grid: Grid = GRID) -> SweepStore:
    """Return a sweep with its candidates found, and every chunk done."""
    tick_set = tick_set_of(messages, folder / "set")
    definition = SweepDefinition("mine", tick_set.folder, "abc", grid, parameters_of(), FOLDS, {})
    store = sweep_store(folder, "mine")
    store.begin(definition)
    known = variables_of(definition.parameters)
    sets = [with_values(definition.parameters, point, known) for point in grid.points()]
    under = widest_settings(one for one in sets if one is not None)
    scratch = store.folder / "scratch"
    store_found(ThisProcess(), tick_set, under, scratch)
    store.put_rate_ages(scratch, rate_ages(tick_set, found_alone(messages, under)))
    store.put_marks(scratch, marks_of(tick_set))
    scratch.rename(store.candidates)
    for chunk in store.missing(definition):
        assert run_chunk(store.folder, chunk) == chunk
    assert store.missing(definition) == []
    return store


@pytest.fixture(scope="module")
def messages() -> list[bytes]:
    return log_of(seed=11, rows=120)


@pytest.fixture(scope="module")
def store(messages: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> SweepStore:
    return swept(messages, tmp_path_factory.mktemp("sweep"))


def time_of(message: bytes) -> int:
    time = row_of(message)["received_time"]
    assert isinstance(time, int)
    return time


def parameters_at(store: SweepStore, number: int) -> Parameters:
    definition = store.definition()
    point = list(definition.grid.points())[number]
    found = with_values(definition.parameters, point, variables_of(definition.parameters))
    assert found is not None
    return found


@pytest.mark.parametrize("number", range(GRID.size))
def test_a_set_is_what_it_would_be_alone(number: int, store: SweepStore, messages: list[bytes]) -> None:
    """Detected with its own settings by a plain loop, traded on a tape of its own."""
    definition, parameters = store.definition(), parameters_at(store, number)
    tick_set = open_tick_set(definition.tick_set)
    outcome = trade(
        found_alone(messages, parameters.settings), quote_history_of(tick_set), tick_set.manifest.markets, parameters
    )
    point = list(definition.grid.points())[number]
    (mine,) = [one for one in store.results() if (one.number, one.span) == (number, WHOLE)]
    performance = performance_of(outcome, marks_of(tick_set), markets_by_symbol(tick_set.manifest.markets))
    assert mine == result_of(number, WHOLE, point, outcome, performance)
    assert mine.trades > 0
    assert mine.return_on_capital is not None
    assert mine.turnover is not None
    assert mine.is_balanced


def test_sets_differ(store: SweepStore) -> None:
    whole = [one for one in store.results() if one.span == WHOLE]
    assert len(whole) == GRID.size
    assert len({one.digest for one in whole}) == GRID.size


def test_a_span_is_what_a_log_that_ended_there_gives(store: SweepStore, messages: list[bytes], tmp_path: Path) -> None:
    """No quote after the end of a span is looked at: with all of them gone nothing changes in it."""
    definition = store.definition()
    manifest = open_tick_set(definition.tick_set).manifest
    spans = spans_of(manifest.start_time, manifest.end_time, FOLDS)
    kept = [message for message in messages if time_of(message) < spans[0].end]
    cut = tick_set_of(kept, tmp_path / "cut")
    for number in (0, 3):
        parameters = parameters_at(store, number)
        outcome = trade(found_alone(kept, parameters.settings), quote_history_of(cut), manifest.markets, parameters)
        point = list(definition.grid.points())[number]
        (mine,) = [one for one in store.results() if (one.number, one.span) == (number, 0)]
        assert mine == result_of(number, 0, point, outcome)
        assert mine.trades > 0


def test_a_cut_history_knows_what_a_log_that_ended_there_says(messages: list[bytes], tmp_path: Path) -> None:
    end = time_of(messages[len(messages) // 2])
    kept = [message for message in messages if time_of(message) < end]
    whole, cut = (
        quote_history_of(tick_set_of(messages, tmp_path / "set")),
        quote_history_of(tick_set_of(kept, tmp_path / "cut")),
    )
    differing = 0
    for market in (market for market in MARKETS if not market.is_fx):
        for time in range(time_of(messages[0]), time_of(messages[-1]), 20_000):
            shown = cut.at(market.exchange, market.symbol, time)
            assert whole.until(end).at(market.exchange, market.symbol, time) == shown
            differing += whole.at(market.exchange, market.symbol, time) != shown
        last = time_of(messages[-1])
        seen = [row.place for row in whole.until(end).between(market.exchange, market.symbol, -1, last)]
        assert seen == [row.place for row in cut.between(market.exchange, market.symbol, -1, last)]
    assert differing > 0


def test_sets_that_do_not_go_together_are_left_out(messages: list[bytes], tmp_path: Path) -> None:
    store = swept(messages, tmp_path, Grid((axis_of("min_net_bps=1,3"), axis_of("emit_net_bps=0,2"))))
    assert {one.number for one in store.results()} == {0, 2, 3}


def test_a_chunk_done_again_is_the_same_file(store: SweepStore) -> None:
    path = sorted((store.folder / "results").glob("part-*"))[3]
    before = path.read_bytes()
    path.unlink()
    definition = store.definition()
    assert store.missing(definition) == [3]
    run_chunk(store.folder, 3)
    assert path.read_bytes() == before


def test_chunks_of_another_sweep_are_not_mixed_up(store: SweepStore, messages: list[bytes], tmp_path: Path) -> None:
    """A worker keeps what it read; the next sweep, of another tick set, must not see it."""
    other = swept(messages[: len(messages) // 2], tmp_path, replace(GRID, axes=GRID.axes[:1]))
    whole = [one for one in other.results() if one.span == WHOLE]
    assert {one.opportunities for one in whole}.isdisjoint(
        {one.opportunities for one in store.results() if one.span == WHOLE}
    )
