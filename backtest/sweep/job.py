"""A sweep: many parameter sets over one tick set as one Spark job, with a single detection for all of them."""

import shutil
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from backtest.detect.batch_detection import layout_of_set, store_found
from backtest.detect.found_opportunities import count_of, opportunities_of
from backtest.detect.spark_failures import LOST, first_line
from backtest.detect.spark_progress import jobs_with_progress
from backtest.detect.spark_workers import SparkWorkers
from backtest.detect.workers import Report, Workers, WorkersStoppedError
from backtest.parameters import Parameters
from backtest.result.asset_marks import marks_of
from backtest.sweep.candidates import NEVER, rate_ages, widest_settings
from backtest.sweep.errors import SweepRejectedError, SweepStoppedError
from backtest.sweep.parameters import variables_of, with_values
from backtest.sweep.store import SweepDefinition, SweepStore
from backtest.sweep.task import run_chunk
from tick_sets.sets.manifest import read_manifest
from tick_sets.sets.tick_set import TickSet

TRADING = "trading"
"""The stage whose parts are stored one by one."""
MAX_CANDIDATES = 1_000_000
"""About 3 GB in each worker."""

Watch = Callable[[str, float], None]
"""(stage, share of it that is done, 0 to 1)."""


def run_sweep(
    spark: SparkSession, tick_set: TickSet, definition: SweepDefinition, store: SweepStore, watch: Watch
) -> None:
    """Compute the missing chunks of the sweep in `store`.

    Raises SweepRejectedError if no set is left, there is too much to trade or the ticks have changed by now,
    SweepStoppedError if Spark gave up, ImportRejectedError if the tick set cannot be read.
    """
    missing = store.missing(definition)
    if not missing:
        return
    sets = sets_of(definition)
    try:
        if not store.candidates.exists():
            _detect(SparkWorkers(spark), tick_set, sets, store, lambda share: watch("detection", share))
        with jobs_with_progress(spark, lambda share: watch(TRADING, share)):
            _run_chunks(spark, store.folder, missing)
    except (*LOST, WorkersStoppedError) as error:
        check_unchanged(tick_set, store, missing)
        is_ours = isinstance(error, WorkersStoppedError)
        words = str(error) if is_ours else f"Spark stopped ({first_line(str(error))})"
        raise SweepStoppedError(f"{words}; run the same command again to continue") from error
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


def _run_chunks(spark: SparkSession, folder: Path, missing: list[int]) -> None:
    """Run one Spark task per chunk; each writes its own results."""
    chunks = spark.sparkContext.parallelize(missing, len(missing))
    done = chunks.map(lambda chunk: run_chunk(folder, chunk)).count()
    if done != len(missing):
        raise SweepStoppedError(f"{len(missing) - done} chunks are missing; run the same command again to continue")
