"""Runs pytest, then what failed once more by itself: `python -m tests.rerun_failed [pytest's arguments]`.

For the gate alone, whose machine is shared and may be slow: a test that fails beside five others may have met a timeout
of the product, correctly. It counts as passed only if it passes twice in succession with nothing beside it, and is
listed as flaky, to be mended. Failures in more than a few files are never the machine's; files are counted, since one
service that starts too late fails every test of its file.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

MOST_FILES = 5
SUCCESSIONS = 2


def main(arguments: Sequence[str], root: Path | None = None) -> int:
    """Return pytest's exit code. `root`: where the tests are, by default the current folder."""
    with tempfile.TemporaryDirectory() as cache:
        code = _pytest(root, "-o", f"cache_dir={cache}", *arguments)
        if code == pytest.ExitCode.OK:
            return code
        failed = _failed(Path(cache))
    fault = _fault(code, failed)
    if failed is None or fault is not None:
        _say(f"not run again: {fault}")
        return code
    listed = "\n".join(f"  {test}" for test in failed)
    for turn in range(1, SUCCESSIONS + 1):
        _say(f"rerun {turn} of {SUCCESSIONS}, alone:\n{listed}")
        if _pytest(root, "-q", "-m", "", *failed) != pytest.ExitCode.OK:
            return code
    _say(f"FLAKY, failed beside others and passed {SUCCESSIONS} times alone:\n{listed}")
    return pytest.ExitCode.OK


def _fault(code: int, failed: Sequence[str] | None) -> str | None:
    """Return why nothing runs again, if so. `failed`: None if nobody knows."""
    if code != pytest.ExitCode.TESTS_FAILED:
        return f"pytest ended with {code}, which is no failed test"
    if not failed:
        return "pytest could not write down what failed; the disk may be full"
    files = {test.partition("::")[0] for test in failed}
    return f"tests failed in {len(files)} files, more than {MOST_FILES}" if len(files) > MOST_FILES else None


def _pytest(root: Path | None, *arguments: str) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], cwd=root, check=False).returncode


def _failed(cache: Path) -> list[str] | None:
    """Return node ids; pytest keeps them for `--last-failed`. None if it could not: it ends with the code of a failed
    test then, too."""
    try:
        return list(json.loads((cache / "v" / "cache" / "lastfailed").read_text()))
    except (OSError, ValueError):
        return None


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
