"""What failed beside others passes only if it passes alone."""

from pathlib import Path

import pytest

from tests.rerun_failed import MOST_FAILURES, SUCCESSIONS, main

FAILS_FIRST = """
from pathlib import Path
import pytest

@pytest.mark.parametrize("name", ["a b", "[c::d"])
def test_of(name):
    runs = Path(f"{ord(name[0])}.txt")
    before = runs.read_text() if runs.exists() else ""
    runs.write_text(before + "x")
    assert len(before) in PASSING
"""


def _passing(root: Path, numbers: object) -> Path:
    """Return a folder of tests that pass in these runs."""
    (root / "pytest.ini").write_text("[pytest]\n")
    (root / "test_some.py").write_text(FAILS_FIRST.replace("PASSING", repr(numbers)))
    return root


@pytest.mark.parametrize(
    ("passing", "code", "runs"),
    [
        pytest.param([0], 0, 1, id="passed at once"),
        pytest.param([1, 2], 0, 1 + SUCCESSIONS, id="passed alone"),
        pytest.param([2], 1, 2, id="failed alone"),
        pytest.param([1], 1, 1 + SUCCESSIONS, id="passed alone only once"),
    ],
)
def test_what_failed_runs_again(tmp_path: Path, passing: list[int], code: int, runs: int) -> None:
    assert main(["-q"], _passing(tmp_path, passing)) == code
    assert [len(path.read_text()) for path in tmp_path.glob("*.txt")] == [runs, runs]


def test_many_failures_are_never_flaky(tmp_path: Path) -> None:
    failing = "".join(f"def test_{number}():\n    assert False\n" for number in range(MOST_FAILURES - 1))
    root = _passing(tmp_path, [1, 2])
    (root / "test_more.py").write_text(failing)
    assert main(["-q"], root) == 1
    assert [path.read_text() for path in tmp_path.glob("*.txt")] == ["x", "x"]


def test_what_cannot_be_collected_is_not_run_again(tmp_path: Path) -> None:
    (_passing(tmp_path, [0]) / "test_more.py").write_text("import nowhere_at_all\n")
    assert main(["-q"], tmp_path) == pytest.ExitCode.INTERRUPTED
