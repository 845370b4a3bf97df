"""What a sweep keeps on disk: another definition is rejected under its name, a part is whole or not there."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backtest.sweep.errors import SweepRejectedError
from backtest.sweep.job import check_unchanged
from backtest.sweep.parameter_grids import Grid, axis_of, range_of
from backtest.sweep.results import SetResult
from backtest.sweep.store import SweepDefinition, SweepStore, sweep_store
from tests.backtest.sweep_samples import log_of, parameters_of, tick_set_of
from tests.backtest.test_walk_forward import result

DEFINITION = SweepDefinition(
    name="mine",
    tick_set=Path("/ticks/a"),
    fingerprint="abc",
    grid=Grid((axis_of("min_net_bps=0:10:2.5"),), (range_of("max_notional=100:5000"),), draws=130, seed=5),
    parameters=parameters_of(),
    folds=3,
    versions={"program": "1"},
)


def begun(home: Path) -> SweepStore:
    store = sweep_store(home, "mine")
    store.begin(DEFINITION)
    return store


def test_a_definition_is_read_back_as_it_was(tmp_path: Path) -> None:
    store = begun(tmp_path)
    assert store.definition() == DEFINITION
    assert list(store.definition().grid.points()) == list(DEFINITION.grid.points())
    store.begin(DEFINITION)


def test_a_tick_set_may_move(tmp_path: Path) -> None:
    store = begun(tmp_path)
    store.begin(replace(DEFINITION, tick_set=Path("/ticks/b")))
    assert store.definition().tick_set == Path("/ticks/b")


CHANGES: list[tuple[Callable[[SweepDefinition], SweepDefinition], str]] = [
    (lambda one: replace(one, fingerprint="other"), "(the tick set differs)"),
    (lambda one: replace(one, grid=replace(one.grid, seed=6)), "(the parameter sets differ)"),
    (lambda one: replace(one, folds=None), "(the walk-forward split differs)"),
    (
        lambda one: replace(one, parameters=replace(one.parameters, decision_ms=6.0), versions={}),
        "(the fixed parameters and the version of the program differ)",
    ),
]


@pytest.mark.parametrize(("change", "said"), CHANGES, ids=[said for _, said in CHANGES])
def test_another_definition_is_rejected_under_the_same_name(
    change: Callable[[SweepDefinition], SweepDefinition], said: str, tmp_path: Path
) -> None:
    store = begun(tmp_path)
    with pytest.raises(SweepRejectedError) as rejected:
        store.begin(change(DEFINITION))
    assert said in str(rejected.value)
    assert "\n" not in str(rejected.value)
    assert store.definition() == DEFINITION


@pytest.mark.parametrize("name", ["", "a/b", "..", ".hidden", "a b", "x" * 101])
def test_a_name_that_is_no_folder_is_rejected(name: str, tmp_path: Path) -> None:
    with pytest.raises(SweepRejectedError, match="is not a valid sweep name"):
        sweep_store(tmp_path, name)


def test_what_is_not_there_or_damaged_is_said(tmp_path: Path) -> None:
    with pytest.raises(SweepRejectedError, match="there is no sweep 'mine'"):
        sweep_store(tmp_path, "mine").definition()
    store = begun(tmp_path)
    (store.folder / "sweep.json").write_text('{"name": 3')
    with pytest.raises(SweepRejectedError, match="cannot be read as a sweep"):
        store.definition()


def test_a_sweep_whose_candidates_are_of_an_earlier_format_is_shown_and_continued(tmp_path: Path) -> None:
    """As the version before stored it: format 2, and candidates without a number."""
    store = begun(tmp_path)
    document = json.loads((store.folder / "sweep.json").read_text()) | {"format": 2}
    (store.folder / "sweep.json").write_text(json.dumps(document))
    (store.folder / "candidates").mkdir()
    store.put_part(0, results_of(0))
    store.begin(DEFINITION)
    assert (store.definition(), store.results()) == (DEFINITION, results_of(0))
    assert not store.candidates.exists(), "detection runs once more"
    store.drop_candidates()
    assert sorted(path.name for path in store.folder.iterdir()) == ["results", "sweep.json"]


def test_a_definition_of_a_later_format_says_what_to_do(tmp_path: Path) -> None:
    store = begun(tmp_path)
    document = json.loads((store.folder / "sweep.json").read_text()) | {"format": 9}
    (store.folder / "sweep.json").write_text(json.dumps(document))
    with pytest.raises(SweepRejectedError, match=r"of format 9, .* remove its folder and run the sweep again"):
        store.definition()


def results_of(chunk: int) -> list[SetResult]:
    return [result(number, span, f"{number}.5") for number in DEFINITION.sets_of(chunk) for span in (-1, 0, 1)]


def test_parts_are_missing_until_they_are_put(tmp_path: Path) -> None:
    store = begun(tmp_path)
    assert DEFINITION.chunks * DEFINITION.chunk_sets >= DEFINITION.grid.size
    assert store.missing(DEFINITION) == list(range(DEFINITION.chunks))
    for chunk in (5, 0):
        store.put_part(chunk, results_of(chunk))
    assert store.missing(DEFINITION) == [number for number in range(DEFINITION.chunks) if number not in (0, 5)]
    assert store.results() == [*results_of(0), *results_of(5)]


def test_every_set_is_in_one_chunk() -> None:
    found = [number for chunk in range(DEFINITION.chunks) for number in DEFINITION.sets_of(chunk)]
    assert found == list(range(130))
    assert [len(results_of(chunk)) // 3 for chunk in range(DEFINITION.chunks)] == [3] * 43 + [1]


@pytest.mark.parametrize(
    ("size", "chunks", "chunk_sets"), [(1, 1, 1), (64, 64, 1), (1_000, 63, 16), (100_000, 2_000, 50)]
)
def test_chunks_are_many_enough_for_all_cores_and_large_enough_to_pay(size: int, chunks: int, chunk_sets: int) -> None:
    definition = replace(DEFINITION, grid=replace(DEFINITION.grid, draws=size))
    assert (definition.chunks, definition.chunk_sets) == (chunks, chunk_sets)


def test_a_damaged_part_is_named(tmp_path: Path) -> None:
    store = begun(tmp_path)
    store.put_part(0, results_of(0))
    path = store.folder / "results" / "part-00000.parquet"
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(SweepRejectedError, match=r"part-00000.parquet: is damaged .* remove it"):
        store.results()


def test_a_part_that_is_none_is_named(tmp_path: Path) -> None:
    store = begun(tmp_path)
    pq.write_table(pa.table({"set": [1]}), store.folder / "results" / "part-00000.parquet")
    with pytest.raises(SweepRejectedError, match=r"part-00000.parquet: is damaged .* remove it"):
        store.results()


def test_results_whose_definition_is_gone_are_no_ones(tmp_path: Path) -> None:
    store = begun(tmp_path)
    store.put_part(0, results_of(0))
    store.candidates.mkdir()
    (store.folder / "sweep.json").unlink()
    store.begin(replace(DEFINITION, fingerprint="other"))
    assert (store.results(), store.candidates.exists()) == ([], False)


def test_nothing_is_kept_of_a_set_that_was_built_again_meanwhile(tmp_path: Path) -> None:
    tick_set = tick_set_of(log_of(seed=11, rows=40), tmp_path / "set")
    store = begun(tmp_path)
    for chunk in (0, 1):
        store.put_part(chunk, results_of(chunk))
    check_unchanged(tick_set, store, [1])
    assert store.results() == [*results_of(0), *results_of(1)]
    shutil.rmtree(tmp_path / "set")
    tick_set_of(log_of(seed=11, rows=50), tmp_path / "set")
    with pytest.raises(SweepRejectedError, match="was rebuilt while it was read"):
        check_unchanged(tick_set, store, [1])
    assert store.results() == results_of(0)


def test_money_is_read_back_to_the_last_digit(tmp_path: Path) -> None:
    store = begun(tmp_path)
    exact = replace(result(0, -1, "0.1234567890123456789012345678"), drawdown=Decimal("-0"), digest="d", rejected=3)
    store.put_part(0, [exact])
    assert store.results() == [exact]
