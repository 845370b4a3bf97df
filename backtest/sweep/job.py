"""A sweep: many parameter sets over one tick set, with a single detection for all of them."""

import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from backtest.detect.batch_detection import layout_of_set, store_found
from backtest.detect.found_opportunities import count_of, opportunities_of
from backtest.detect.workers import Report, Workers, WorkersStoppedError
from backtest.parameters import Parameters
from backtest.result.asset_marks import marks_of
from backtest.sweep.candidates import NEVER, rate_ages, widest_settings
from backtest.sweep.errors import SweepRejectedError, SweepStoppedError
from backtest.sweep.parameters import variables_of, with_values
from backtest.sweep.store import SweepDefinition, SweepStore
from backtest.sweep.task import load_task, run_chunk
from tick_sets.sets.manifest import read_manifest
from tick_sets.sets.tick_set import TickSet

TRADING = "trading"
"""The stage whose parts are stored one by one."""
MAX_CANDIDATES = 1_000_000
"""About 3 GB in each worker."""

Watch = Callable[[str, float], None]
"""(stage, share of it that is done, 0 to 1)."""


@dataclass(frozen=True, slots=True)
class SweepWorkers:
    """Who detects, and who trades the sets."""

    detecting: Workers
    trading: Workers


def run_sweep(
    workers: SweepWorkers, tick_set: TickSet, definition: SweepDefinition, store: SweepStore, watch: Watch
) -> None:
    """Compute the missing chunks of the sweep in `store`.

    Raises SweepRejectedError if no set is left, there is too much to trade or the ticks have changed by now,
    SweepStoppedError if the workers gave up, ImportRejectedError if the tick set cannot be read.
    """
    missing = store.missing(definition)
    if not missing:
        return
    sets = sets_of(definition)
    try:
        if not store.candidates.exists():
            _detect(workers.detecting, tick_set, sets, store, lambda share: watch("detection", share))
        _run_chunks(workers.trading, store.folder, missing, lambda share: watch(TRADING, share))
    except WorkersStoppedError as error:
        check_unchanged(tick_set, store, missing)
        raise SweepStoppedError(f"{error}; run the same command again to continue") from error
    check_unchanged(tick_set, store, missing)


def check_unchanged(tick_set: TickSet, store: SweepStore, chunks: list[int]) -> None:
    """Remove what was done meanwhile if the set was rebuilt: some of it may have been read from either. Raises
    SweepRejectedError."""
    if read_manifest(tick_set.folder) != tick_set.manifest:
        store.remove(chunks)
        raise SweepRejectedError(
            f"{tick_set.manifest.name}: was rebuilt while it was read, so these results were discarded; "
            "run the sweep under another --name"
        )


def sets_of(definition: SweepDefinition) -> list[Parameters]:
    """Return the sets with consistent settings. Raises SweepRejectedError if there is none."""
    known = variables_of(definition.parameters)
    made = (with_values(definition.parameters, point, known) for point in definition.grid.points())
    found = [parameters for parameters in made if parameters is not None]
    if not found:
        raise SweepRejectedError("no set is valid: min_net_bps is below emit_net_bps in each of them")
    return found


def _detect(workers: Workers, tick_set: TickSet, sets: list[Parameters], store: SweepStore, report: Report) -> None:
    """Detect once for all sets, into a folder that is renamed when complete."""
    scratch = store.folder / ".candidates"
    shutil.rmtree(scratch, ignore_errors=True)
    store.drop_candidates()
    store_found(workers, tick_set, widest_settings(sets), scratch, report=report)
    count = count_of(scratch)
    if count > MAX_CANDIDATES:
        raise SweepRejectedError(
            f"{count:,} opportunities are too many for a sweep (maximum {MAX_CANDIDATES:,}); raise emit_net_bps"
        )
    ages = [NEVER] * count
    if len({parameters.settings.max_quote_age_ms for parameters in sets}) > 1:
        ages = rate_ages(tick_set, list(opportunities_of(scratch, layout_of_set(tick_set))))
    store.put_rate_ages(scratch, ages)
    store.put_marks(scratch, marks_of(tick_set))
    scratch.rename(store.candidates)


def _run_chunks(workers: Workers, folder: Path, missing: list[int], report: Report) -> None:
    """Trade chunk by chunk; each writes its own results."""
    if workers.shares_memory:
        load_task(folder)
    done = workers.run(partial(_chunks, folder, missing), len(missing), report)
    if len(done) != len(missing):
        raise SweepStoppedError(
            f"{len(missing) - len(done)} chunks are missing; run the same command again to continue"
        )


def _chunks(folder: Path, missing: list[int], numbers: Iterable[int]) -> Iterator[int]:
    return (run_chunk(folder, missing[number]) for number in numbers)
