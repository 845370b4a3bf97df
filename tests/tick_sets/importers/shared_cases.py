"""Small inputs from outside that once gave a wrong result; they lie beside the checkout."""

from pathlib import Path

import pytest

CASES = Path(__file__).parents[4] / "shared" / "cases" / "import"


def case_or_skip(name: str) -> Path:
    path = CASES / name
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return path
