"""Runs pytest, then what failed once more by itself: `python -m tests.rerun_failed [pytest's arguments]`.

For the gate alone, whose machine is shared and may be slow: a test that fails beside five others may have met a timeout
of the product, correctly. It counts as passed only if it passes twice in succession with nothing beside it, and is
listed as flaky, to be mended. More than a few failures are never the machine's.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

MOST_FAILURES = 3
SUCCESSIONS = 2


def main(arguments: Sequence[str], root: Path | None = None) -> int:
    """Pytest's exit code. `root`: where the tests are, by default the current folder."""
    with tempfile.TemporaryDirectory() as cache:
        code = _pytest(root, "-o", f"cache_dir={cache}", *arguments)
        failed = _failed(Path(cache)) if code == pytest.ExitCode.TESTS_FAILED else []
    if not 0 < len(failed) <= MOST_FAILURES:
        return code
    listed = "\n".join(f"  {test}" for test in failed)
    for turn in range(1, SUCCESSIONS + 1):
        _say(f"rerun {turn} of {SUCCESSIONS}, alone:\n{listed}")
        if _pytest(root, "-q", "-m", "", *failed) != pytest.ExitCode.OK:
            return code
    _say(f"FLAKY, failed beside others and passed {SUCCESSIONS} times alone:\n{listed}")
    return pytest.ExitCode.OK


def _pytest(root: Path | None, *arguments: str) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], cwd=root, check=False).returncode


def _failed(cache: Path) -> list[str]:
    """Node ids; pytest keeps them for `--last-failed`."""
    return list(json.loads((cache / "v" / "cache" / "lastfailed").read_text()))


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
