"""The stamp of the code on disk changes with the code, and with nothing else."""

import os
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from launch.supervisor.code_stamp import PACKAGES, PROJECT, code_stamp, stamp_of


@pytest.mark.parametrize(
    ("change", "changes"),
    [
        (lambda folder: (folder / "code" / "new.py").write_text(""), True),
        (lambda folder: (folder / "code" / "deep" / "one.py").unlink(), True),
        (lambda folder: (folder / "code" / "deep" / "one.py").write_text("x = 2; y = 3"), True),
        (lambda folder: os.utime(folder / "code" / "deep" / "one.py", (1, 1)), True),
        (lambda folder: (folder / "setup.stamp").write_text("other pins"), True),
        (lambda folder: (folder / "code" / "deep" / "one.pyc").write_text(""), False),
        (lambda folder: (folder / "elsewhere.py").write_text(""), False),
    ],
)
def test_what_changes_it(tmp_path: Path, change: Callable[[Path], object], changes: bool) -> None:
    (tmp_path / "code" / "deep").mkdir(parents=True)
    (tmp_path / "code" / "deep" / "one.py").write_text("x = 1")
    watched = [tmp_path / "code"], [tmp_path / "setup.stamp"]
    before = stamp_of(*watched)
    change(tmp_path)
    assert (stamp_of(*watched) != before) == changes


def test_it_covers_all_our_packages() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    assert set(PACKAGES) == set(project["tool"]["importlinter"]["root_packages"])
    assert code_stamp() == code_stamp()
