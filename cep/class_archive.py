"""A class data archive for Spark's JVM, made once at set-up, so that CEP starts faster.

Loading and verifying some 20,000 classes is a third of the start on a busy machine. The JVM itself checks that the
archive fits its version and class path; otherwise it starts without it.
"""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

from pyspark.sql.streaming.query import StreamingQuery

from cep.detection.job import check_alive, probed, start_opportunities
from cep.detection.log_start import Checkpoint, LogStart
from cep.detection.market_layout import layout_of
from cep.detection.window_query import first_batch, start_spreads
from cep.errors import CepStoppedError
from cep.spark_session import (
    archive_path,
    connector_jars,
    jar_list,
    listed_jars,
    spark_session,
    stop_in_order,
)
from session.session import Session
from streams.errors import StreamError

SPREADS_SECONDS = 60.0


def make_class_archive(session: Session, report: Callable[[str], None]) -> Path:
    """Create the archive by running both queries once on the empty, temporary topics at `session.kafka`.

    Takes about 25 s. Raises CepCannotStartError, CepStoppedError; then an older archive stays.
    """
    archive = archive_path(session.home)
    made = archive.with_suffix(".new")
    made_for = listed_jars(archive)
    scratch = session.home / "spark-archive"
    report("creating an archive of Spark's classes for faster starts (about half a minute)")
    spark = spark_session(
        connector_jars(session.home / "jars" / "spark"),
        scratch,
        session.services.partitions,
        jvm_options=(f"-XX:ArchiveClassesAtExit={made}", "-Xlog:disable"),
        extra={"spark.log.level": "OFF"},
    )
    layout, opening = layout_of(session), LogStart(dict.fromkeys(range(session.services.partitions), 0), None)
    try:
        start_opportunities(spark, session, layout, Checkpoint(scratch / "checkpoint", opening))
        asyncio.run(probed(session))
        asyncio.run(_has_run(start_spreads(spark, session, layout, opening)))
    except StreamError as error:
        raise CepStoppedError(str(error)) from error
    finally:
        stop_in_order(spark)
        shutil.rmtree(scratch, ignore_errors=True)
    if not made.exists():
        raise CepStoppedError("the JVM did not write an archive of its classes")
    jar_list(archive).unlink(missing_ok=True)
    made.replace(archive)
    jar_list(archive).write_text(made_for)
    return archive


async def _has_run(query: StreamingQuery) -> None:
    """Return after the query's first batch. Raises CepStoppedError if there is none in time."""
    try:
        async with asyncio.timeout(SPREADS_SECONDS):
            await first_batch(query)
        check_alive(query, None)
    except TimeoutError:
        raise CepStoppedError(f"query {query.name} did not run") from None
