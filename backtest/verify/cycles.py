"""Finds the cycles of a recorded session again, and compares them with what its detection wrote."""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from backtest.detect.merged_rows import By, merged_rows
from backtest.verify.first_difference import NOTHING, FirstDifference, first_unlike
from backtest.verify.opportunities import row_digest
from backtest.verify.recorded_session import CYCLE_OPPORTUNITIES, RecordedSession
from cep.detection.cycle_detection import CycleDetection
from market.instruments.cycles import session_cycles
from market.prices.cycle_opportunities import CycleOpportunity
from streams.cycle_messages import FOUND, cycle_opportunity_of
from streams.message_format import row_of
from tick_sets.sets.tick_set import TickSet

Row = Mapping[str, Any]

DOCUMENT = "document"
COLUMNS = (
    *("exchange", "symbol", "sequence", "exchange_time"),
    *("bid", "bid_amount", "bids", "ask", "ask_amount", "asks"),
    DOCUMENT,
)


def cycle_messages(tick_set: TickSet, detection: CycleDetection, by: By = "offset") -> Iterator[tuple[int, bytes]]:
    """Return offset and message of all that its rows lead to, in order, markers too; `by` time if no session wrote the
    set. Raises ImportRejectedError if a file cannot be read."""
    for offset, row in log_rows(tick_set, by):
        for _, message in detection.take(offset, row):
            yield offset, message


def log_rows(tick_set: TickSet, by: By) -> Iterator[tuple[int, Row]]:
    """Return each row as the log had it, as far as detection reads it."""
    currencies = {(one.exchange, one.symbol): one.quote_currency for one in tick_set.manifest.markets}
    for rows in merged_rows(tick_set, COLUMNS, by):
        for row in rows.to_pylist():
            if row[DOCUMENT] is not None:
                yield row["offset"], orjson.loads(row[DOCUMENT])
            else:
                yield row["offset"], row | {"quote_currency": currencies.get((row["exchange"], row["symbol"]))}


@dataclass(slots=True)
class CycleComparison:
    """What the session's detection wrote, message by message, beside what its log leads to."""

    wanted: Container[str] = frozenset()
    """Ids of those that were traded."""
    count: int = 0
    """Of cycles that were compared; repeats after a crash do not count."""
    found: dict[str, CycleOpportunity] = field(default_factory=dict)
    """Those that are wanted, as they were derived."""
    _written: dict[str, bytes] = field(default_factory=dict)
    """Digest of the first message of each id."""

    def difference(self, session: RecordedSession, tick_set: TickSet) -> FirstDifference | None:
        """Return the first difference up to the first end marker: behind that the set lacks rows of some bases. Raises
        CannotVerifyError, ImportRejectedError."""
        span = session.head.span
        cycles = session_cycles(span.markets, span.cycles, span.settlement_currency)
        if not cycles:
            return None
        last, detection = min(span.last.values()), CycleDetection(cycles)
        derived = _until(last, (row_of(message) for _, message in cycle_messages(tick_set, detection)))
        written = _until(last, (row_of(one.value) for one in session.messages(CYCLE_OPPORTUNITIES)))
        for row in written:
            known = self._written.get(row["opportunity_id"])
            if known is None:
                found = self._first_unlike(row, next(derived, None))
            else:
                found = None if known == row_digest(row) else _named(row, "message", "another", "its first message")
            if found is not None:
                return found
        lacking = next(derived, None)
        return None if lacking is None else _named(lacking, "cycle", NOTHING, f"{lacking['net_bps']:.4f} bps")

    def _first_unlike(self, row: Row, derived: Row | None) -> FirstDifference | None:
        self._written[row["opportunity_id"]] = row_digest(row)
        self.count += 1
        if derived is None:
            return _named(row, "cycle", f"{row['net_bps']:.4f} bps", NOTHING)
        if derived["opportunity_id"] in self.wanted:
            known = cycle_opportunity_of(derived, 0)
            if isinstance(known, CycleOpportunity):
                self.found[known.opportunity_id] = known
        unlike = first_unlike(row, derived)
        return None if unlike is None else _named(row, *unlike)


def _until(last: int, rows: Iterator[Row]) -> Iterator[Row]:
    return (row for row in rows if row["kind"] == FOUND and row["offset"] <= last)


def _named(row: Row, name: str, recorded: object, derived: object) -> FirstDifference:
    where = f"cycle {row['opportunity_id']} ({row['cycle_id']}) at row {row['offset']:,} of the log"
    return FirstDifference(where, name, recorded, derived)
