"""XChange, from Java: it trades, or is shown to send what the exchange's documents do not have."""

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from tests.clients.environments import installed
from tests.clients.forwarding import forwarded
from tests.clients.running import RUN_SECONDS, assert_placed_and_cancelled, said
from tests.clients.serving import ServedExchanges

pytestmark = pytest.mark.soak

START_OF_2014, ONE_DAY = 1_388_534_400, 86_400
PROJECT = Path(__file__).with_name("scripts") / "xchange"
CLASSES = {
    name: f"org.knowm.xchange.{client.lower()}.{client}Exchange"
    for name, client in (
        ("kraken", "Kraken"),
        ("binance", "Binance"),
        ("bitstamp", "Bitstamp"),
        ("bitflyer", "Bitflyer"),
        ("coinbaseexchange", "CoinbasePro"),
    )
}
PAIRS = {
    "kraken": ("BTC", "USD"),
    "binance": ("BTC", "USDT"),
    "bitstamp": ("BTC", "EUR"),
    "bitflyer": ("BTC", "JPY"),
    "coinbaseexchange": ("BTC", "USD"),
}


@dataclass(frozen=True)
class Xchange:
    """The libraries and the program that uses them, against an account of each exchange."""

    classpath: str
    served: ServedExchanges

    def address(self, exchange: str) -> str:
        urls = self.served.settings[exchange]["urls"]["api"]
        return str(urls.get("public") or urls["rest"]).removesuffix("/api/v3").removesuffix("/api")

    def command(self, exchange: str, address: str = "", *, is_constructed: bool = False) -> list[str]:
        """Return the words that run it; `is_constructed`: the order comes from its constructor, not its builder."""
        settings: dict[str, Any] = self.served.settings[exchange]
        given = {"user": settings.get("uid"), "passphrase": settings.get("password")}
        given["constructed"] = "true" if is_constructed else None
        properties = [f"-D{name}={value}" for name, value in given.items() if value]
        words = [CLASSES[exchange], address or self.address(exchange), settings["apiKey"], settings["secret"]]
        return ["java", *properties, "-cp", self.classpath, "UseXchange", *words, *PAIRS[exchange]]


@pytest.fixture(scope="module")
def xchange(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, on_own_ports: ServedExchanges
) -> Xchange:
    cache = request.config.cache
    assert cache is not None
    pom = PROJECT / "pom.xml"
    copy = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", "-DoutputDirectory={folder}/lib"]
    libraries = installed(cache, pom.read_text(), copy) / "lib"
    classes = tmp_path_factory.mktemp("classes")
    source = PROJECT / "src" / "main" / "java" / "UseXchange.java"
    subprocess.run(["javac", "-cp", f"{libraries}/*", "-d", str(classes), str(source)], check=True)
    return Xchange(f"{libraries}/*:{classes}", on_own_ports)


def refusal(command: list[str]) -> str:
    """Return what it prints to the error stream as it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS, check=False)
    assert done.returncode != 0, done.stdout
    return done.stderr


@pytest.mark.parametrize("exchange", ["kraken", "binance", "coinbaseexchange"])
def test_it_places_and_cancels_an_order(exchange: str, xchange: Xchange, tmp_path: Path) -> None:
    answer = said(xchange.command(exchange), os.environ, tmp_path)
    assert_placed_and_cancelled(answer, xchange.served.journal(exchange))


def test_bitstamp_requests_are_signed_for_the_real_host_only(xchange: Xchange, tmp_path: Path) -> None:
    """Whatever address it is given. Behind a proxy that names the real host it trades: nothing else is wrong."""
    assert "Invalid signature" in refusal(xchange.command("bitstamp"))
    with forwarded(xchange.address("bitstamp"), host="www.bitstamp.net") as (address, _):
        answer = said(xchange.command("bitstamp", address), os.environ, tmp_path)
    assert_placed_and_cancelled(answer, xchange.served.journal("bitstamp"))


def test_coinbase_refuses_the_number_that_a_constructed_order_has(xchange: Xchange) -> None:
    """A constructor draws a number for the order, sent as `client_oid`, which must be a UUID
    (https://docs.cdp.coinbase.com/api-reference/exchange-api/rest-api/orders/create-new-order)."""
    with forwarded(xchange.address("coinbaseexchange")) as (address, exchanged):
        assert "Invalid client_oid" in refusal(xchange.command("coinbaseexchange", address, is_constructed=True))
    [order] = [json.loads(one.body) for one in exchanged if (one.method, one.path) == ("POST", "/orders")]
    assert re.fullmatch(r"[0-9]+", order["client_oid"])


def test_bitflyer_time_stamps_are_no_unix_times(xchange: Xchange) -> None:
    """They count quarter-seconds since 2014; documented is the Unix time (https://lightning.bitflyer.com/docs)."""
    with forwarded(xchange.address("bitflyer")) as (address, exchanged):
        assert "Timestamp is out of range" in refusal(xchange.command("bitflyer", address))
    [stamp] = [int(one.headers["access-timestamp"]) for one in exchanged if "access-timestamp" in one.headers]
    now = wall_now() // MICROSECONDS
    assert abs(START_OF_2014 + stamp / 4 - now) < ONE_DAY
    assert abs(stamp - now) > 365 * ONE_DAY
