"""Hummingbot's connectors trade on Kraken, over its WebSocket v1, and on Binance.

They come from its source distribution: it has no wheels, and its requirements exclude each other. Installed are those
that the connectors import; compiled is what they use.
"""

import os
import shutil
import subprocess
from decimal import Decimal
from pathlib import Path

import pytest

from simulators.matching.exchange_journal import read_journal
from tests.clients.environments import environment, python_of, source
from tests.clients.running import assert_placed_and_cancelled, said
from tests.clients.serving import ServedExchanges

pytestmark = pytest.mark.soak

HUMMINGBOT = "hummingbot==20260922"
TO_COMPILE = ("cython==3.3.1", "setuptools==84.2.1")
TO_RUN = (
    "aiohttp==3.14.5",
    "async-timeout==4.0.3",
    "bidict==0.24.1",
    "cachetools==8.0.2",
    "hexbytes==2.0.0",
    "numpy==2.5.5",
    "pandas==3.1.1",
    "pydantic==2.14.4",
    "ujson==6.1.0",
)
SCRIPT = Path(__file__).with_name("scripts") / "use_hummingbot.py"
_COMPILE_SECONDS = 900


@pytest.mark.parametrize("exchange", ["kraken", "binance"])
def test_its_connector_cancels_one_order_and_fills_another(
    exchange: str, on_own_ports: ServedExchanges, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    cache = request.config.cache
    assert cache is not None
    python = environment(cache, [*TO_COMPILE, *TO_RUN], python_of("3.12"))
    folder = compiled(source(cache, python, HUMMINGBOT), python)
    command = [str(python), str(SCRIPT), str(on_own_ports.file), exchange, "unittest"]
    answer = said(command, {**os.environ, "PYTHONPATH": str(folder)}, tmp_path)
    journal = on_own_ports.journal(exchange)
    assert_placed_and_cancelled(answer, journal)
    fills = answer["fills"]
    assert isinstance(fills, list)
    heard = {one["id"]: (Decimal(one["amount"]), Decimal(one["price"])) for one in fills}
    assert heard == {fill.fill_id: (fill.amount, fill.price) for entry in read_journal(journal) for fill in entry.fills}
    assert sum(amount for amount, _ in heard.values()) == Decimal("0.01")


def compiled(folder: Path, python: Path) -> Path:
    """Return the source's folder, with what the connectors need compiled in it, once. Skips without a compiler."""
    if (folder / "compiled").exists():
        return folder
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    package = folder / "hummingbot"
    needed = {*package.glob("core/**/*.pyx"), *package.glob("connector/*.pyx")}
    for part in set(package.glob("**/*.pyx")) - needed:
        part.unlink()
    subprocess.run(
        [str(python), "setup.py", "build_ext", "--inplace"],
        cwd=folder,
        env={**os.environ, "WITHOUT_CYTHON_OPTIMIZATIONS": "1"},
        capture_output=True,
        check=True,
        timeout=_COMPILE_SECONDS,
    )
    (folder / "compiled").touch()
    return folder
