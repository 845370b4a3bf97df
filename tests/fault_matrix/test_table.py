from pathlib import Path

from simulators.faults.fault_kinds import FAULT_KINDS
from tests.fault_matrix.feeds import LIMIT_FAR, patience_under
from tests.fault_matrix.table import covered, page
from tests.fault_matrix.trials import FEED_TRIALS

PAGE = Path(__file__).parents[2] / "docs" / "fault-matrix.md"


def test_the_page_is_what_the_tests_hold_us_to() -> None:
    assert PAGE.read_text() == page(), "python -m tests.fault_matrix.table > docs/fault-matrix.md"


def test_every_fault_has_a_line() -> None:
    # lies have a table of their own: docs/chaos.md
    assert covered() == tuple(kind for kind in FAULT_KINDS if kind != "lie")


def test_where_a_message_tells_of_the_fault_no_slow_machine_withdraws_the_quote_first() -> None:
    far = {trial.kind for trial in FEED_TRIALS if patience_under(trial) == LIMIT_FAR}
    assert {"garbage_frame", "truncated_frame", "crossed_book", "maintenance", "socket_ended"} <= far
    assert far.isdisjoint({"silent_stream", "no_pongs", "dropped_message", "clock_skew", "latency"})
