"""Files of marked tests are found by the text of the marker, as `make whole` looks for them."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("import pytest\n\n@pytest.mark.slow\ndef test_some():\n    pass\n", pytest.ExitCode.OK),
        ("from pytest import mark as m\n\n@m.slow\ndef test_some():\n    pass\n", pytest.ExitCode.USAGE_ERROR),
    ],
)
def test_a_marker_that_the_text_does_not_name_is_told(tmp_path: Path, text: str, code: int) -> None:
    file = tmp_path / "test_some.py"
    file.write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    options = ("--collect-only", "-q", "-p", "tests.conftest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path))
    command = (sys.executable, "-m", "pytest", *options, "-c", str(tmp_path / "pytest.ini"), str(file))
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, "does not find the marked tests" in done.stderr + done.stdout) == (code, code != 0)
