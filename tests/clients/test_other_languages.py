"""Clients in JavaScript and Go, and those that need another Python, trade with addresses and keys alone.

Each has accounts of its own: nonces of one unit of time lock out those of another.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.environments import environment, installed, python_of
from tests.clients.running import RUN_SECONDS, Account, assert_placed_and_cancelled, said
from tests.clients.serving import ServedExchanges, serving

pytestmark = pytest.mark.soak

SCRIPTS = Path(__file__).with_name("scripts")
CLIENTS = ("ccxt", "go_binance", "nautilus", "bitstampclient")
CCXT_JS, GO_BINANCE, NAUTILUS = "ccxt@4.5.84", "github.com/adshao/go-binance/v2@v2.8.7", "nautilus_trader==1.231.0"


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedExchanges]:
    with serving(tmp_path_factory.mktemp("many"), "--port-per-exchange", "--accounts", str(len(CLIENTS))) as exchanges:
        yield exchanges


@pytest.fixture
def account(many: ServedExchanges, request: pytest.FixtureRequest, tmp_path: Path) -> Account:
    """Return the one of the client whose name the test begins with."""
    number = 1 + next(place for place, name in enumerate(CLIENTS) if request.node.name.startswith(f"test_{name}"))
    accounts = {
        name: [settings, *settings.get("other_accounts", [])][number - 1] for name, settings in many.settings.items()
    }
    file = tmp_path / "account.json"
    file.write_text(json.dumps(accounts))
    return Account(file, many, number)


@pytest.mark.parametrize(
    ("exchange", "symbol"),
    [("binance", "BTC/USDT"), ("kraken", "BTC/USD"), ("bitstamp", "BTC/EUR"), ("coinbaseexchange", "BTC/USD")],
)
def test_ccxt_in_javascript(
    exchange: str, symbol: str, account: Account, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    cache = request.config.cache
    assert cache is not None
    modules = installed(cache, CCXT_JS, ["npm", "install", "--no-save", "--prefix", ".", CCXT_JS]) / "node_modules"
    command = ["node", str(SCRIPTS / "use_ccxt.js"), str(account.file), exchange, symbol]
    answer = said(command, {**os.environ, "NODE_PATH": str(modules)}, tmp_path)
    assert_placed_and_cancelled(answer, account.journal(exchange))
    assert answer["levels"]


def test_go_binance(account: Account, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    cache = request.config.cache
    assert cache is not None
    folder = installed(cache, GO_BINANCE, ["go", "mod", "init", "use"])
    shutil.copy(SCRIPTS / "go_binance" / "main.go", folder)
    # the client's source says what else it needs
    for words in (["get", GO_BINANCE], ["mod", "tidy"], ["build", "-o", "use", "."]):
        subprocess.run(["go", *words], cwd=folder, check=True, capture_output=True, timeout=RUN_SECONDS * 3)
    answer = said([str(folder / "use"), str(account.file)], os.environ, tmp_path)
    assert_placed_and_cancelled(answer, account.journal("binance"))
    assert answer["tickers"] == 1


def test_bitstampclient_signs_as_no_document_has_it(
    account: Account, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """In the form, with a nonce that grows: whether the real exchange still takes it is not known."""
    cache = request.config.cache
    assert cache is not None
    python = environment(cache, ["BitstampClient==2.2.10"])
    answer = said([str(python), str(SCRIPTS / "use_bitstampclient.py"), str(account.file)], os.environ, tmp_path)
    assert answer["levels"]
    assert "X-Auth header is required" in str(answer["refused"])


def test_nautilus_trades_on_binance(account: Account, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    cache = request.config.cache
    assert cache is not None
    python = environment(cache, [NAUTILUS], python_of("3.12"))
    command = [str(python), str(SCRIPTS / "use_nautilus.py"), str(account.file), "binance"]
    answer = said(command, os.environ, tmp_path)
    assert_placed_and_cancelled(answer, account.journal("binance"))
    assert answer["states"] == [
        "OrderInitialized",
        "OrderSubmitted",
        "OrderPendingCancel",
        "OrderAccepted",
        "OrderCanceled",
    ]


def test_nautilus_hears_kraken_and_would_trade_elsewhere(
    account: Account, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Whatever address it is given, its orders ask the real exchange for the socket's token: the fault is its own."""
    cache = request.config.cache
    assert cache is not None
    python = environment(cache, [NAUTILUS], python_of("3.12"))
    command = [str(python), str(SCRIPTS / "use_nautilus.py"), str(account.file), "kraken"]
    quotes = said(command, os.environ, tmp_path)["quotes"]
    assert isinstance(quotes, int)
    assert quotes >= 3
    done = subprocess.run(
        ["timeout", "40", *command, "orders"], capture_output=True, text=True, timeout=RUN_SECONDS, check=False
    )
    assert re.search(r"https://api\.kraken\.com/0/private/GetWebSocketsToken", done.stdout + done.stderr)
