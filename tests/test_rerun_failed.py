"""What failed beside others passes only if it passes alone."""

from pathlib import Path

import pytest

from tests.rerun_failed import MOST_FILES, SUCCESSIONS, main

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
    (root / "pytest.ini").write_text("[pytest]\naddopts = -p no:schemathesis -p no:hypothesispytest\n")
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


def _failing(root: Path, files: int) -> None:
    for number in range(files):
        (root / f"test_more_{number}.py").write_text("def test_more():\n    assert False\n")


@pytest.mark.parametrize(("files", "runs"), [(MOST_FILES - 1, 2), (MOST_FILES, 1)])
def test_failures_in_many_files_are_never_flaky(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], files: int, runs: int
) -> None:
    root = _passing(tmp_path, [1, 2])
    _failing(root, files)
    assert main(["-q"], root) == pytest.ExitCode.TESTS_FAILED
    assert [len(path.read_text()) for path in tmp_path.glob("*.txt")] == [runs, runs]
    said = f"not run again: tests failed in {MOST_FILES + 1} files, more than {MOST_FILES}"
    assert (said in capfd.readouterr().out) == (files == MOST_FILES)


def test_what_cannot_be_collected_is_not_run_again(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (_passing(tmp_path, [0]) / "test_more.py").write_text("import nowhere_at_all\n")
    assert main(["-q"], tmp_path) == pytest.ExitCode.INTERRUPTED
    assert "not run again: pytest ended with 2, which is no failed test" in capfd.readouterr().out


EMPTIES = """
from pathlib import Path
import pytest

@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    Path(session.config.getini("cache_dir"), "v", "cache", "lastfailed").write_text("")
"""


def test_failures_that_pytest_could_not_write_down_are_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (_passing(tmp_path, [1]) / "conftest.py").write_text(EMPTIES)
    assert main(["-q"], tmp_path) == pytest.ExitCode.TESTS_FAILED
    assert "not run again: pytest could not write down what failed; the disk may be full" in capfd.readouterr().out
