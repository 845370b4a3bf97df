"""Clients in JavaScript, Go and Java, and those that need another Python, trade with addresses and keys alone.

Each has accounts of its own: nonces of one unit of time lock out those of another.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from simulators.matching.exchange_journal import read_journal
from simulators.web.account_keys import account_names
from tests.clients.environments import environment, installed, python_of
from tests.clients.serving import ServedExchanges, serving

pytestmark = pytest.mark.soak

SCRIPTS = Path(__file__).with_name("scripts")
_SECONDS = 180
CLIENTS = ("ccxt", "go_binance", "xchange", "nautilus", "bitstampclient")
CCXT_JS, GO_BINANCE, NAUTILUS = "ccxt@4.5.84", "github.com/adshao/go-binance/v2@v2.8.7", "nautilus_trader==1.231.0"


@dataclass(frozen=True)
class Account:
    """One account of each exchange; `file` has its settings as if there were no others."""

    file: Path
    served: ServedExchanges
    number: int

    def journal(self, exchange: str) -> Path:
        return self.served.journal(account_names(exchange, self.number)[-1])


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


def said(command: list[str], env: Mapping[str, str], folder: Path) -> dict[str, object]:
    """Return the last line of what it prints, as JSON."""
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=_SECONDS, env=dict(env), cwd=folder, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    answer: dict[str, object] = json.loads(lines[-1])
    return answer


def assert_placed_and_cancelled(answer: Mapping[str, object], journal: Path) -> None:
    assert answer["before"] == [answer["placed"]]
    assert answer["after"] == []
    entries = read_journal(journal)
    states = [order.state for entry in entries for order in entry.orders if order.order_id == answer["placed"]]
    assert states == ["open", "cancelled"]


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
        subprocess.run(["go", *words], cwd=folder, check=True, capture_output=True, timeout=_SECONDS * 3)
    answer = said([str(folder / "use"), str(account.file)], os.environ, tmp_path)
    assert_placed_and_cancelled(answer, account.journal("binance"))
    assert answer["tickers"] == 1


@pytest.mark.parametrize(("exchange", "pair"), [("kraken", ("BTC", "USD")), ("binance", ("BTC", "USDT"))])
def test_xchange(
    exchange: str, pair: tuple[str, str], account: Account, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    cache = request.config.cache
    assert cache is not None
    project = SCRIPTS / "xchange"
    copy = ["mvn", "-q", "-B", "-f", str(project / "pom.xml"), "dependency:copy-dependencies"]
    libraries = installed(cache, "xchange 5.2.2", [*copy, "-DoutputDirectory={folder}/lib"]) / "lib"
    source = project / "src" / "main" / "java" / "UseXchange.java"
    subprocess.run(["javac", "-cp", f"{libraries}/*", "-d", str(tmp_path), str(source)], check=True)
    settings = json.loads(account.file.read_text())[exchange]
    url = settings["urls"]["api"]["public"].removesuffix("/api/v3")
    name = f"org.knowm.xchange.{exchange}.{exchange.capitalize()}Exchange"
    words = [name, url, settings["apiKey"], settings["secret"], *pair]
    answer = said(["java", "-cp", f"{libraries}/*:{tmp_path}", "UseXchange", *words], os.environ, tmp_path)
    assert_placed_and_cancelled(answer, account.journal(exchange))


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
        ["timeout", "40", *command, "orders"], capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    assert re.search(r"https://api\.kraken\.com/0/private/GetWebSocketsToken", done.stdout + done.stderr)
