"""A sweep: many parameter sets over one tick set, which is read and searched once, as one Spark job."""

import shutil
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from backtest.backtest_parameters import Parameters
from backtest.detect.batch_detection import detected
from backtest.detect.detected_cache import count_of, opportunities_of, put_aside
from backtest.detect.spark_failures import LOST, first_words
from backtest.detect.spark_progress import watched_jobs
from backtest.result.asset_marks import marks_of
from backtest.sweep.sweep_candidates import NEVER, rate_ages, widest
from backtest.sweep.sweep_errors import SweepRejectedError, SweepStoppedError
from backtest.sweep.sweep_parameters import variables_of, with_values
from backtest.sweep.sweep_store import SweepDefinition, SweepStore
from backtest.sweep.sweep_task import run_chunk
from datasets.ticksets.manifest import read_manifest
from datasets.ticksets.tick_set import TickSet

TRADING = "trading"
"""The stage whose parts are stored one by one."""
MOST_CANDIDATES = 1_000_000
"""About 3 GB in each worker."""

Watch = Callable[[str, float], None]
"""(stage, share of it that is done, 0 to 1)."""


def run_sweep(
    spark: SparkSession, tick_set: TickSet, definition: SweepDefinition, store: SweepStore, watch: Watch
) -> None:
    """Do what is missing of a sweep that `store` has begun.

    Raises SweepRejectedError where no set is left, there is too much to trade or the ticks are others by now,
    SweepStoppedError where Spark gave up, ImportRejectedError where the tick set cannot be read.
    """
    missing = store.missing(definition)
    if not missing:
        return
    sets = sets_of(definition)
    try:
        if not store.candidates.exists():
            with watched_jobs(spark, lambda share: watch("detection", share)):
                _detect(spark, tick_set, sets, store)
        with watched_jobs(spark, lambda share: watch(TRADING, share)):
            _work_off(spark, store.folder, missing)
    except LOST as error:
        check_unchanged(tick_set, store, missing)
        raise SweepStoppedError(
            f"Spark stopped ({first_words(str(error))}); the same command does what is missing"
        ) from error
    check_unchanged(tick_set, store, missing)


def check_unchanged(tick_set: TickSet, store: SweepStore, chunks: list[int]) -> None:
    """Take back what was done meanwhile of a set that was built anew: some of it may have been read from either.

    Raises SweepRejectedError.
    """
    if read_manifest(tick_set.folder) != tick_set.manifest:
        store.remove(chunks)
        raise SweepRejectedError(
            f"{tick_set.manifest.name}: was built anew while it was read, so nothing of this is kept; "
            "sweep it under another --name"
        )


def sets_of(definition: SweepDefinition) -> list[Parameters]:
    """Those whose settings go together. Raises SweepRejectedError where there is none."""
    known = variables_of(definition.parameters)
    made = (with_values(definition.parameters, point, known) for point in definition.grid.points())
    found = [parameters for parameters in made if parameters is not None]
    if not found:
        raise SweepRejectedError("no set is left, because in each of them min_net_bps lies below emit_net_bps")
    return found


def _detect(spark: SparkSession, tick_set: TickSet, sets: list[Parameters], store: SweepStore) -> None:
    """Once for all sets, into a folder that gets its name when it is whole."""
    scratch = store.folder / ".candidates"
    shutil.rmtree(scratch, ignore_errors=True)
    put_aside(detected(spark, tick_set, widest(sets)), scratch)
    count = count_of(scratch)
    if count > MOST_CANDIDATES:
        raise SweepRejectedError(
            f"{count:,} opportunities are too many for a sweep, which takes {MOST_CANDIDATES:,}; raise emit_net_bps"
        )
    ages = [NEVER] * count
    if len({parameters.settings.max_quote_age_ms for parameters in sets}) > 1:
        ages = rate_ages(tick_set, list(opportunities_of(scratch)))
    store.put_rate_ages(scratch, ages)
    store.put_marks(scratch, marks_of(tick_set))
    scratch.rename(store.candidates)


def _work_off(spark: SparkSession, folder: Path, missing: list[int]) -> None:
    """A task per chunk: whoever is free takes the next, and each leaves its part behind."""
    chunks = spark.sparkContext.parallelize(missing, len(missing))
    done = chunks.map(lambda chunk: run_chunk(folder, chunk)).count()
    if done != len(missing):
        raise SweepStoppedError(f"{len(missing) - done} chunks were not done; the same command does what is missing")
