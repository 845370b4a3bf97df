"""ccxt's own live tests, which its source distribution has, against the simulated exchanges.

They are unmodified but for addresses. What they do not assert is what the table in docs/exchanges.md lists, no more.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ccxt
import pytest

from simulators.catalogue import EXCHANGES
from tests.clients.environments import source
from tests.clients.serving import ServedExchanges, serving

pytestmark = pytest.mark.soak

DOCUMENT = Path(__file__).parents[2] / "docs" / "exchanges.md"
REAL_BINANCE = "https://api.binance.com/api/v3"
NEEDED = {"loadMarkets", "fetchTicker", "fetchTrades", "fetchOrderBook", "fetchBalance", "fetchMyTrades"}
_SECONDS = 300
_ROW = re.compile(rf"^\| ({'|'.join(EXCHANGES)}) \| `(\w+)` \| (.+) \| (.+) \|$", re.MULTILINE)
_NOT_PASSED = re.compile(r"^\[TEST_(?:FAILURE|WARNING)\].*", re.MULTILINE)
_DONE = re.compile(r"^\[INFO\] TESTING DONE +\w+ (\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Suite:
    """ccxt's source, with the files of settings that its tests read."""

    exchanges: ServedExchanges
    folder: Path

    def run(self, exchange: str, *words: str) -> str:
        """Return what the tests print."""
        command = [sys.executable, str(self.folder / "python/ccxt/test/tests_init.py"), exchange, "--private", *words]
        # the tests refuse to run on an installed ccxt
        environment = {**self.exchanges.environment, "PYTHONPATH": str(self.folder / "python")}
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS, env=environment, cwd=self.folder, check=False
        )
        return done.stdout + done.stderr


@pytest.fixture(scope="module")
def suite(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Suite]:
    cache = request.config.cache
    assert cache is not None
    folder = tmp_path_factory.mktemp("ccxt") / "ccxt"
    shutil.copytree(source(cache, Path(sys.executable), f"ccxt=={ccxt.__version__}"), folder)
    with serving(tmp_path_factory.mktemp("exchanges")) as exchanges:
        write_settings(folder, exchanges.settings, DOCUMENT.read_text())
        yield Suite(exchanges, folder)


@pytest.mark.parametrize("words", [("--sync",), ()], ids=["sync", "async"])
@pytest.mark.parametrize("exchange", EXCHANGES)
def test_all_that_is_not_listed_passes(suite: Suite, exchange: str, words: tuple[str, ...]) -> None:
    said = suite.run(exchange, *words)
    assert _NOT_PASSED.findall(said) == [], said
    assert NEEDED - set(_DONE.findall(said)) == set(), said


def write_settings(folder: Path, settings: Mapping[str, dict[str, Any]], document: str) -> None:
    """Addresses and keys, and what is not asserted, where ccxt's tests look for them."""
    keys, skips = {name: dict(one) for name, one in settings.items()}, skipped(document)
    for name, methods in skips.items():
        if kinds := methods.pop("has", None):
            keys[name]["has"] = dict.fromkeys(kinds, False)
    # else ccxt asks for Binance's futures too
    keys["binance"]["options"] = {"fetchMarkets": {"types": ["spot"]}}
    # else ccxt asks an interface for balances that knows no holds
    keys["coinbase"]["options"] = {"fetchBalance": "v3PrivateGetBrokerageAccounts"}
    (folder / "keys.local.json").write_text(json.dumps(keys))
    (folder / "skip-tests.json").write_text(
        json.dumps({name: {"skipMethods": methods} for name, methods in skips.items()})
    )
    # ccxt asserts that nobody has changed this address
    for file in (folder / "python/ccxt/test").glob("tests_*sync.py"):
        file.write_text(file.read_text().replace(f"'{REAL_BINANCE}'", repr(keys["binance"]["urls"]["api"]["public"])))


def skipped(document: str) -> dict[str, dict[str, Any]]:
    """Exchange → method → reason, or property → reason, as the table lists them."""
    skips: dict[str, dict[str, Any]] = {}
    for exchange, method, what, reason in _ROW.findall(document):
        properties = re.findall(r"`(\w+)`", what)
        skips.setdefault(exchange, {})[method] = dict.fromkeys(properties, reason) if properties else reason
    return skips
