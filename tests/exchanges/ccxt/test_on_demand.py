"""A bot's ccxt loads only what it uses, and offers the same. In processes of their own: ccxt is imported once."""

import json
import subprocess
import sys

import pytest

EXCHANGES = ("binance", "bitflyer", "bitstamp", "bybit", "coinbase", "coinbaseexchange", "kraken", "okx")

SEEN = f"""
import json, sys
import ccxt, ccxt.async_support, ccxt.pro
from exchanges.requests.time_synced_signing import client_class

def named(one):
    return f"{{one.__module__}}.{{one.__qualname__}}"

def lineage(exchange):
    return [named(one) for one in client_class(exchange).__mro__]

print(json.dumps({{
    "classes": {{exchange: lineage(exchange) for exchange in {EXCHANGES!r}}},
    "sync": named(ccxt.kraken),
    "bases": [named(package.Exchange) for package in (ccxt, ccxt.async_support, ccxt.pro)],
    "errors": [named(error) for error in (ccxt.BaseError, ccxt.pro.InvalidNonce)],
    "mode": ccxt.TICK_SIZE,
    "unknown": [hasattr(ccxt.pro, "nowhere"), hasattr(ccxt, "nowhere")],
    "others": [name for name in ("gate", "kucoin") if f"ccxt.async_support.{{name}}" in sys.modules],
}}))
"""
GENERIC = """
import asyncio, sys
from exchanges.ccxt.client import ExchangeConfig
from exchanges.ccxt.book_stream import BookSource
from exchanges.accounts.exchange_account import open_account
from session.exchange_entries import ExchangeEntry

async def opened():
    config = ExchangeConfig("second", "public", None, None, listed_as=ExchangeEntry("gate", "generic"))
    await BookSource(config).close()
    await open_account(config, []).close()

asyncio.run(opened())
print(sorted(name for name in sys.modules if name.startswith("ccxt.pro.")))
"""
ON_DEMAND = "from exchanges.ccxt.on_demand import load_ccxt_on_demand\nload_ccxt_on_demand()\n"
REFUSED = """
from exchanges.errors import AccountRejectedError
from exchanges.requests.time_synced_signing import client_class
try:
    client_class("nowhere")
except AccountRejectedError as error:
    print(error)
"""


def said(*code: str) -> str:
    done = subprocess.run((sys.executable, "-c", "\n".join(code)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def whole() -> dict[str, object]:
    """Return what ccxt offers as it is."""
    seen: dict[str, object] = json.loads(said(SEEN))
    return seen


def test_it_offers_what_ccxt_offers_and_loads_no_other_exchange(whole: dict[str, object]) -> None:
    seen = json.loads(said(ON_DEMAND, SEEN))
    assert seen == whole | {"others": []}
    assert whole["others"] == ["gate", "kucoin"]
    assert seen["unknown"] == [False, False]


def test_an_exchange_that_ccxt_does_not_know_is_refused_as_before() -> None:
    assert said(ON_DEMAND, REFUSED) == said(REFUSED) == "ccxt has no exchange nowhere\n"


def test_it_changes_nothing_where_ccxt_is_there_already(whole: dict[str, object]) -> None:
    assert json.loads(said("import ccxt", ON_DEMAND, SEEN)) == whole


def test_a_generic_exchange_loads_no_other() -> None:
    assert said(ON_DEMAND, GENERIC) == "['ccxt.pro.gate']\n"
