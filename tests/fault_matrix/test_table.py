from pathlib import Path

from simulators.faults.fault_kinds import FAULT_KINDS
from tests.fault_matrix.table import covered, page

PAGE = Path(__file__).parents[2] / "docs" / "fault-matrix.md"


def test_the_page_is_what_the_tests_hold_us_to() -> None:
    assert PAGE.read_text() == page(), "python -m tests.fault_matrix.table > docs/fault-matrix.md"


def test_every_fault_has_a_line() -> None:
    # lies have a table of their own: docs/chaos.md
    assert covered() == tuple(kind for kind in FAULT_KINDS if kind != "lie")
