"""Each notebook of the documentation runs from its first cell to its last, on files that are made here."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.arbitrage.made_up_files import quote_files

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def test_there_are_three() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["spread-study", "stream-app", "walk-forward"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path: Path, tmp_path: Path) -> None:
    quote_files(tmp_path / "data")
    environment = {name: value for name, value in os.environ.items() if name != "ARBITRAGE_HOME"}
    answer = subprocess.run(
        (sys.executable, "-m", "tests.arbitrage.run_notebook", str(path)),
        cwd=tmp_path,
        env=environment | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    assert (tmp_path / ".data" / "ticks" / "study" / "manifest.json").is_file()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_kept_without_results(path: Path) -> None:
    """Pictures and times of one machine would change with every run."""
    code = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
