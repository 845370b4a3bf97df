"""The end of a recorded session: exports the store's documents beside the log, so that one folder holds everything that
a verification needs."""

import json
import logging
import shutil
from collections.abc import AsyncIterable, Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter

from backtest.verify.recorded_session import (
    ARBITRAGES,
    BOOKS,
    CYCLE_OPPORTUNITIES,
    CYCLES,
    EXPORTED_ARBITRAGE,
    EXPORTED_CYCLE,
    EXPORTED_FILL,
    FILLS,
    HEAD,
    OPPORTUNITIES,
    REJECTION,
    REJECTIONS,
    SESSION,
    SETTINGS,
    SETTINGS_VERSION,
    SIGNAL,
    SIGNALS,
    SessionHead,
)
from launch.sessions.detection_start import detection_start
from launch.sessions.shutdown import until
from launch.setup.data_dir import write_atomically
from launch.supervisor.slow_steps import reported_if_slow
from pricefeeds.log_recorder import ENDED, STOPPED, log_folder
from session.session import Session
from store.errors import StoreError
from store.queries.session_export import SessionExport, exporting
from streams import topics
from streams.errors import StreamError
from streams.tick_writer import TickWriter
from streams.topic_writer import TopicWriter
from tick_sets.errors import ImportRejectedError
from tick_sets.file_names import LOG_SET
from tick_sets.sets.log_parts import LogParts
from tick_sets.sets.log_tick_set import LogSpan, build_tick_set, write_messages

END_SECONDS = 60.0
"""Time limit for the end marker to pass through CEP, which may just be restarting."""
RAW, RAW_HEAD = "raw", "head.json"

Echo = Callable[[str], None]
Value = TypeVar("Value")

log = logging.getLogger("launch")


async def end_logs(sessions: Sequence[Session], started: int, echo: Echo) -> None:
    """Export the decisions, write the end marker to each log and wait for it, while all processes still run and trading
    has ended. `sessions`: one, or those of all regions with a log.

    Every exported rejection is of an opportunity before the marker of its log, whichever region's folder is read; and
    every version of the settings in a log is exported. A failure is reported and not raised.
    """

    async def kept(session: Session) -> bool:
        raw = log_folder(session.home, session.session_id) / RAW
        await _export(session, raw.parent / BOOKS.name, _versions)
        write_atomically(raw / RAW_HEAD, HEAD.dump_json(_head(session, started, raw), indent=2))
        return True

    async def over(session: Session) -> bool:
        return await _is_over(session, echo)

    left = list(sessions)
    for step in (_is_exported, _write_end_markers, over, kept):
        left = [one for one in left if await _done(step(one), echo)]


async def _done(step: Awaitable[bool], echo: Echo) -> bool:
    try:
        return await step
    except (StoreError, StreamError, OSError, LookupError, ValueError) as error:
        log.warning("end of the log not recorded", extra={"error": str(error)})
        echo(f"this session cannot be verified: {error}")
        return False


async def _is_exported(session: Session) -> bool:
    await _export(session, log_folder(session.home, session.session_id) / BOOKS.name, _decisions)
    return True


async def _is_over(session: Session, echo: Echo) -> bool:
    """Return whether the log was recorded to its end marker."""
    raw = log_folder(session.home, session.session_id) / RAW

    async def is_over() -> bool:
        return (raw / ENDED).exists() or (raw / STOPPED).exists()

    line = f"waiting up to {END_SECONDS:.0f} s until Spark has processed the log to its end, for a verification"
    if not await reported_if_slow(until(is_over, END_SECONDS), lambda: line, echo):
        echo("Spark did not process the log to its end in time: this session cannot be verified")
        return False
    if (raw / STOPPED).exists():
        reason = json.loads((raw / STOPPED).read_text())["reason"]
        echo(f"the log was not recorded to its end ({reason}): this session cannot be verified")
        return False
    return True


def build_log(folder: Path) -> bool:
    """Build the files that a verification reads from the raw rows of `folder`, a session's `log`. Returns whether they
    exist. Does nothing if they were built before. Raises ImportRejectedError if rows are missing."""
    raw = folder / RAW
    if (folder / SESSION).exists() or not (raw / RAW_HEAD).exists():
        return (folder / SESSION).exists()
    head = HEAD.validate_json((raw / RAW_HEAD).read_bytes())
    parts = LogParts(raw)
    build_tick_set(parts, head.span, folder / LOG_SET)
    write_messages(parts, topics.OPPORTUNITIES, head.span, folder / OPPORTUNITIES)
    if head.span.cycles is not None:
        write_messages(parts, topics.CYCLE_OPPORTUNITIES, head.span, folder / CYCLE_OPPORTUNITIES)
    write_atomically(folder / SESSION, HEAD.dump_json(head, indent=2))
    shutil.rmtree(raw)
    return True


def finish_recording(session: Session, echo: Echo) -> bool:
    """Finish the recording once all processes have ended. Returns whether its log can be verified."""
    folder = log_folder(session.home, session.session_id)
    try:
        return build_log(folder)
    except (ImportRejectedError, OSError, ValueError) as error:
        echo(f"this session cannot be verified: {error}")
        return False


async def _write_end_markers(session: Session) -> bool:
    """Write an `end` row after the last row that was decided on, in each base's log."""
    writer = TopicWriter(session.services.kafka)
    await writer.open()
    try:
        rows = TickWriter(writer, session.bases, session.services.partitions)
        for base in session.bases:
            rows.marker("end", base, session.session_id, session.clock().now())
        await writer.flush()
    finally:
        await writer.close()
    return True


def _head(session: Session, started: int, raw: Path) -> SessionHead:
    """Return the head. Raises LookupError if the start of CEP is not known."""
    first, settings = detection_start(session)
    last: dict[str, int] = json.loads((raw / ENDED).read_text())[topics.TICKS]
    span = LogSpan(
        session_id=session.session_id,
        markets=session.markets,
        settlement_currency=session.settlement_currency,
        partitions=session.services.partitions,
        first=first,
        settings=settings,
        last={base: last[base] for base in session.bases},
        started_at=started,
        cycles=session.cycles,
        region=session.place.region,
    )
    books = ARBITRAGES, CYCLES, REJECTIONS, SIGNALS, SETTINGS, FILLS
    kept = {str(name): _lines_in(raw.parent / name) for name in books}
    return SessionHead(session.mode, span, kept=kept)


def _lines_in(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)


async def _export(session: Session, folder: Path, part: Callable[[SessionExport, Path], Awaitable[None]]) -> None:
    _prepare(folder)
    async with exporting(session) as export:
        await part(export, folder)


def _prepare(folder: Path) -> None:
    """Make the folder, readable by the owner only."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)


async def _decisions(export: SessionExport, folder: Path) -> None:
    await _write(folder / FILLS.name, export.fills(), EXPORTED_FILL)
    await _write(folder / ARBITRAGES.name, export.arbitrages(), EXPORTED_ARBITRAGE)
    await _write(folder / CYCLES.name, export.cycles(), EXPORTED_CYCLE)
    await _write(folder / REJECTIONS.name, export.rejections(), REJECTION)
    # each order's signal was there first
    await _write(folder / SIGNALS.name, export.signals(), SIGNAL)


async def _versions(export: SessionExport, folder: Path) -> None:
    await _write(folder / SETTINGS.name, export.settings(), SETTINGS_VERSION)


async def _write(path: Path, values: AsyncIterable[Value], adapter: TypeAdapter[Value]) -> None:
    """Write one JSON object a line."""
    with path.open("wb") as file:
        async for value in values:
            file.write(adapter.dump_json(value) + b"\n")
