"""The package: few names, each documented, and an import that costs nothing."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import arbitrage

HEAVY = ("pyarrow", "pandas", "numpy", "numba", "pyspark", "ccxt", "pymongo", "fastapi", "pydantic", "aiohttp")


def test_there_are_at_most_twenty_names_and_each_is_there() -> None:
    assert len(arbitrage.__all__) <= 20
    assert sorted(arbitrage.__all__) == arbitrage.__all__ == dir(arbitrage)
    assert all(getattr(arbitrage, name).__name__ == name for name in arbitrage.__all__)


def test_a_name_that_is_not_there_is_named() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'backtset'"):
        arbitrage.backtset  # noqa: B018 - to look is the test


@pytest.mark.parametrize("code", ["import arbitrage", "import arbitrage; arbitrage.connect()"])
def test_what_is_not_used_is_not_loaded(code: str, tmp_path: Path) -> None:
    loaded = f"{code}; import sys; print(*(name for name in {HEAVY} if name in sys.modules))"
    answer = subprocess.run(
        (sys.executable, "-c", loaded),
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(arbitrage.__file__).parents[1],
    )
    assert answer.stdout.split() == []
    assert list(tmp_path.iterdir()) == []


FUNCTIONS = ("backtest", "connect", "import_files", "open_tick_set", "sweep", "verify")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_says_its_errors_and_has_an_example(name: str) -> None:
    text = inspect.getdoc(getattr(arbitrage, name)) or ""
    assert "Raises RefusedError" in text
    assert "Example: `" in text


@pytest.mark.parametrize("name", ["Backtest", "Connection", "Rows", "Sweep", "Ticks"])
def test_every_public_method_has_words(name: str) -> None:
    methods = {key: one for key, one in vars(getattr(arbitrage, name)).items() if not key.startswith("_")}
    silent = [key for key, one in methods.items() if callable(one) and not inspect.getdoc(one)]
    assert silent == []
