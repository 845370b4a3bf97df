"""A recorded session as one folder: its log as a tick set, the opportunities, and the store's documents.

<session>/log/session.json              what the session was; written last, so where it stands all else does
<session>/log/ticks/                    the tick set
<session>/log/opportunities.parquet     partition, offset, time, value
<session>/log/cycle_opportunities.parquet   the same, if it looked for cycles
<session>/log/books/*.jsonl             one JSON object a line: arbitrages, cycles, rejections, signals, settings,
                                        fills
<session>/log/raw/                      what the first two are made of; gone once they are
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter, ValidationError

from backtest.verify.errors import CannotVerifyError
from market.instruments.markets import Market
from market.trade.arbitrages import Rejection
from market.trade.moving_average import AverageTrade
from market.validation_messages import sentence_of
from store.queries.session_export import ExportedArbitrage, ExportedCycle, ExportedFill
from store.server.documents import SettingsVersion
from tick_sets.errors import ImportRejectedError
from tick_sets.file_names import LOG_SET
from tick_sets.sets.log_tick_set import LogSpan
from tick_sets.sets.tick_set import TickSet, open_tick_set

FORMAT = 3
"""Version of the decision records; raised with each change of their names."""
SESSION, OPPORTUNITIES = "session.json", "opportunities.parquet"
CYCLE_OPPORTUNITIES = "cycle_opportunities.parquet"
BOOKS = Path("books")
ARBITRAGES, CYCLES, REJECTIONS, SIGNALS, SETTINGS, FILLS = (
    BOOKS / f"{name}.jsonl" for name in ("arbitrages", "cycles", "rejections", "signals", "settings", "fills")
)

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class SessionHead:
    """Session id, mode and log span. Holds no address and no secret."""

    mode: str
    span: LogSpan
    format: int = FORMAT
    kept: dict[str, int] = field(default_factory=dict)
    """File below `log` → documents in it; empty if an earlier version wrote it."""


@dataclass(frozen=True, slots=True)
class RecordedMessage:
    """A row of `opportunities` or `cycle_opportunities`; `time` of its record, microseconds."""

    time: int
    value: bytes


HEAD = TypeAdapter(SessionHead)
EXPORTED_ARBITRAGE = TypeAdapter(ExportedArbitrage)
EXPORTED_CYCLE = TypeAdapter(ExportedCycle)
EXPORTED_FILL = TypeAdapter(ExportedFill)
REJECTION = TypeAdapter(Rejection)
SIGNAL = TypeAdapter(AverageTrade)
SETTINGS_VERSION = TypeAdapter(SettingsVersion)


@dataclass(frozen=True, slots=True)
class RecordedSession:
    """Every read raises CannotVerifyError for missing or damaged files."""

    folder: Path
    """The session's `log`."""
    head: SessionHead

    @property
    def session_id(self) -> str:
        return self.head.span.session_id

    @property
    def markets(self) -> tuple[Market, ...]:
        return self.head.span.markets

    def tick_set(self) -> TickSet:
        try:
            found = open_tick_set(self.folder / LOG_SET)
        except ImportRejectedError as error:
            raise CannotVerifyError(str(error)) from error
        for one in found.manifest.partitions:
            rows = _rows_in(found.path(one))
            if rows != one.rows:
                raise CannotVerifyError(f"{found.path(one)}: has {rows:,} rows, and was written with {one.rows:,}")
        if {one.base for one in found.manifest.partitions} != set(self.head.span.bases):
            raise CannotVerifyError(f"{found.folder}: does not hold the log of {', '.join(self.head.span.bases)}")
        return found

    def count(self, name: str) -> int:
        """Return the number of documents in one file of the books."""
        with self._opened(self.folder / name) as file:
            return sum(1 for _ in file)

    def messages(self, name: str = OPPORTUNITIES) -> Iterator[RecordedMessage]:
        """Return the messages of CEP in a file, in order per base; those of cycles have one order."""
        path = self.folder / name
        try:
            with pq.ParquetFile(path) as file:
                for group in range(file.num_row_groups):
                    rows = file.read_row_group(group, ["time", "value"], use_threads=False).to_pylist()
                    yield from (RecordedMessage(int(row["time"]), bytes(row["value"])) for row in rows)
        except (OSError, pa.ArrowInvalid) as error:
            raise CannotVerifyError(f"{path}: cannot be read ({error})") from error

    def arbitrages(self) -> Iterator[ExportedArbitrage]:
        """Return the arbitrages, oldest first."""
        return self._lines(ARBITRAGES, EXPORTED_ARBITRAGE)

    def cycles(self) -> Iterator[ExportedCycle]:
        """Return the trades on cycles, oldest first; an earlier version had none."""
        has_any = str(CYCLES) in self.head.kept or (self.folder / CYCLES).exists()
        return self._lines(CYCLES, EXPORTED_CYCLE) if has_any else iter(())

    def rejections(self) -> Iterator[Rejection]:
        return self._lines(REJECTIONS, REJECTION)

    @property
    def has_signals(self) -> bool:
        """Return whether signals were recorded; an earlier version did not."""
        return str(SIGNALS) in self.head.kept or (self.folder / SIGNALS).exists()

    def signals(self) -> Iterator[AverageTrade]:
        """Return the signals of the moving average, oldest first."""
        return self._lines(SIGNALS, SIGNAL) if self.has_signals else iter(())

    def settings(self) -> Iterator[SettingsVersion]:
        """Return the settings by version."""
        return self._lines(SETTINGS, SETTINGS_VERSION)

    def fills(self) -> Iterator[ExportedFill]:
        return self._lines(FILLS, EXPORTED_FILL)

    def _lines(self, name: Path, adapter: TypeAdapter[Value]) -> Iterator[Value]:
        path = self.folder / name
        with self._opened(path) as file:
            for number, line in enumerate(file, start=1):
                yield _value(path, number, line, adapter)

    @contextmanager
    def _opened(self, path: Path) -> Iterator[BinaryIO]:
        try:
            with path.open("rb") as file:
                yield file
        except OSError as error:
            raise CannotVerifyError(f"{path}: cannot be read ({error.strerror})") from error


def _rows_in(path: Path) -> int:
    try:
        return int(pq.read_metadata(path).num_rows)
    except (OSError, pa.ArrowInvalid) as error:
        raise CannotVerifyError(f"{path}: cannot be read ({error})") from error


def open_session(folder: Path) -> RecordedSession:
    """Open the session's `folder` below `recordings`. Raises CannotVerifyError if it holds no whole recorded
    session."""
    path = folder / "log" / SESSION
    try:
        head = HEAD.validate_json(path.read_bytes())
    except FileNotFoundError:
        raise CannotVerifyError(_what_is_missing(folder)) from None
    except (OSError, ValidationError) as error:
        raise CannotVerifyError(f"{path}: cannot be read ({str(error).splitlines()[0]})") from error
    if head.format != FORMAT:
        raise CannotVerifyError(
            f"{path}: recorded by another version (format {head.format}; this one verifies format {FORMAT}); "
            "verify it with that version, or replay it without --verify"
        )
    return RecordedSession(folder / "log", head)


def _what_is_missing(folder: Path) -> str:
    if not folder.is_dir():
        return f"{folder}: is not a folder; name a session below `recordings` of the data folder"
    if not (folder / "log").is_dir():
        return f"{folder}: holds no recorded log; record one with `arbitrage paper --record`"
    return f"{folder}: ended before its log was complete, so it cannot be verified"


def _value(path: Path, number: int, line: bytes, adapter: TypeAdapter[Value]) -> Value:
    try:
        return adapter.validate_json(line)
    except ValidationError as error:
        why = sentence_of(error.errors()[:1], "the line")
        raise CannotVerifyError(f"{path}, line {number}: is not as this version writes it ({why})") from error
