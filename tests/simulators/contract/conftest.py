"""One bench per test, on the exchange that the test is parametrised with."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.simulators.contract.bench import Bench, opened


@pytest.fixture
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bench]:
    async with opened(request.param, tmp_path) as ready:
        yield ready
