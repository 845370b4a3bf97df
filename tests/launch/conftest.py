"""Fixtures that tests of commands share."""

from pathlib import Path

import pytest


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the data folder of the commands that a test runs."""
    monkeypatch.setenv("ARBITRAGE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"
