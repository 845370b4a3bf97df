"""The cycles of a recorded session are found again; what was changed, left out or added is named."""

from collections.abc import Callable, Sequence
from pathlib import Path

import orjson
import pytest

from backtest.verify.cycles import CycleComparison
from backtest.verify.first_difference import FirstDifference
from backtest.verify.recorded_session import CYCLE_OPPORTUNITIES, RecordedSession, SessionHead
from cep.detection.cycle_detection import CycleDetection
from market.instruments.cycles import CycleTerms, session_cycles
from streams.message_format import marker_row, row_of, settings_row
from streams.records import Record
from streams.topics import TICKS
from tests.backtest.cycle_sets import BEGIN, MARKETS, SETTINGS, random_rows
from tests.backtest.verify.made_up import write_messages
from tick_sets.file_names import LOG_SET
from tick_sets.sets.log_parts import LogParts
from tick_sets.sets.log_tick_set import LogSpan, build_tick_set

TERMS = CycleTerms(4, frozenset({"alpha", "beta"}), frozenset({"alpha", "beta"}))
BASES = ("BTC", "ETH")
Rows = list[bytes]


def log_rows() -> Rows:
    """Return a log in the order in which rows came, which is not that of their times, with settings that change."""
    rows = []
    for number, row in enumerate(random_rows(3, 300), 1):
        market = next(one for one in MARKETS if one.symbol == row["symbol"])
        known = {name: value for name, value in row.items() if value is not None and not name.endswith("_price")}
        whom: dict[str, object] = {"bases": BASES} if market.is_fx else {}
        late = {"received_time": int(str(row["received_time"])) - (number % 3) * 5}
        own = {"sequence": number, "quote_currency": market.quote_currency, "base": market.base, "region": "us"}
        rows.append(orjson.dumps(known | own | whom | late))
    stricter = SETTINGS.model_copy(update={"version": 2, "emit_net_bps": 3.0})
    rows.insert(200, settings_row(stricter, BEGIN, BASES))
    ends = [marker_row("end", base, "it", BEGIN) for base in BASES]
    # rows behind the first marker are not all in the set
    return [settings_row(SETTINGS, BEGIN, BASES), *rows[:250], ends[0], *rows[250:260], ends[1]]


@pytest.fixture
def session(tmp_path: Path) -> RecordedSession:
    values, parts = log_rows(), LogParts(tmp_path / "raw")
    parts.write(TICKS, [Record(TICKS, 0, number, None, value, BEGIN) for number, value in enumerate(values)])
    last = {base: values.index(marker_row("end", base, "it", BEGIN)) for base in BASES}
    span = LogSpan("it", MARKETS, "USD", 1, {0: 0}, None, last, BEGIN, cycles=TERMS)
    build_tick_set(parts, span, tmp_path / LOG_SET)
    made = RecordedSession(tmp_path, SessionHead("paper", span))
    written(made, detected(values))
    return made


def detected(values: Rows) -> Rows:
    """Return what a session's detection writes at each row of its log."""
    detection = CycleDetection(session_cycles(MARKETS, TERMS, "USD"))
    return [message for offset, value in enumerate(values) for _, message in detection.take(offset, row_of(value))]


def written(session: RecordedSession, messages: Sequence[bytes]) -> None:
    write_messages(session.folder / CYCLE_OPPORTUNITIES, [(BEGIN, message) for message in messages])


def difference_of(session: RecordedSession) -> tuple[int, FirstDifference | None]:
    comparison = CycleComparison()
    found = comparison.difference(session, session.tick_set())
    return comparison.count, found


def test_what_was_written_is_found_again_up_to_the_first_end_marker(session: RecordedSession) -> None:
    messages = detected(log_rows())
    rows = [row_of(message) for message in messages]
    cycles = [row for row in rows if row["kind"] == "cycle_opportunity"]
    before = [row for row in cycles if row["offset"] < session.head.span.last["BTC"]]
    assert len(cycles) > len(before) > 50
    assert {row["settings_version"] for row in before} == {SETTINGS.version, 2}
    assert difference_of(session) == (len(before), None)


def test_what_a_killed_detection_wrote_again_is_no_difference(session: RecordedSession) -> None:
    messages = detected(log_rows())
    written(session, [*messages[:40], *messages[20:]])
    assert difference_of(session)[1] is None


def changed(message: bytes, **values: object) -> bytes:
    return orjson.dumps({**row_of(message), **values})


@pytest.mark.parametrize(
    ("tamper", "named"),
    [
        (lambda rows: [*rows[:9], changed(rows[9], net_bps=1.25), *rows[10:]], "net_bps recorded 1.25"),
        (lambda rows: [*rows[:9], changed(rows[9], legs=[]), *rows[10:]], "legs[0] recorded nothing"),
        (lambda rows: [*rows[:9], *rows[10:]], "opportunity_id recorded"),
        (lambda rows: [*rows[:9], changed(rows[9], opportunity_id="f00d"), *rows[9:]], "opportunity_id recorded f00d"),
        (lambda rows: [*rows[:10], changed(rows[9], net_bps=1.25), *rows[10:]], "message recorded another"),
        (lambda rows: rows[:30], "cycle recorded nothing"),
        (lambda rows: [*rows, changed(rows[9], opportunity_id="f00d")], "derived nothing"),
    ],
)
def test_each_other_difference_is_named(session: RecordedSession, tamper: Callable[[Rows], Rows], named: str) -> None:
    cycles = [one for one in detected(log_rows()) if row_of(one)["kind"] == "cycle_opportunity"]
    written(session, tamper(cycles))
    assert named in str(difference_of(session)[1])


def test_a_session_without_cycles_has_nothing_to_compare(session: RecordedSession, tmp_path: Path) -> None:
    span = LogSpan("it", MARKETS, "USD", 1, {0: 0}, None, session.head.span.last, BEGIN)
    (tmp_path / CYCLE_OPPORTUNITIES).unlink()
    assert difference_of(RecordedSession(tmp_path, SessionHead("paper", span))) == (0, None)
