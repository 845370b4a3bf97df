"""freqtrade trades live from its released package; its configuration has the exchange's addresses and keys."""

import json
import subprocess
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from simulators.matching.exchange_journal import read_journal
from tests.clients.environments import environment
from tests.clients.serving import ServedExchanges

pytestmark = pytest.mark.soak

REQUIREMENTS = ("freqtrade==2026.9", "ccxt==4.5.90")
STRATEGIES = Path(__file__).with_name("scripts") / "strategies"
STAKE = 1_000
_SECONDS = 300
"""A candle must have ended before it buys, and each of its rounds takes seconds."""
_INTERRUPTED = 130


@pytest.mark.parametrize(("exchange", "pair"), [("binance", "BTC/USDT"), ("kraken", "BTC/USD")])
def test_it_buys_and_sells(
    exchange: str, pair: str, served: ServedExchanges, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    cache = request.config.cache
    assert cache is not None
    python = environment(cache, REQUIREMENTS)
    config = tmp_path / "config.json"
    config.write_text(json.dumps(configuration(served.settings[exchange], pair)))
    command = [str(python), "-m", "freqtrade", "trade", "--strategy", "BuyThenSell"]
    places = ["--config", config, "--userdir", tmp_path, "--strategy-path", STRATEGIES]
    done = subprocess.run(
        [*command, *map(str, places), "--db-url", f"sqlite:///{tmp_path}/trades.sqlite"],
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        env=served.environment,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == _INTERRUPTED, done.stdout + done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert [one["side"] for one in said["orders"]] == ["buy", "stoploss", "sell"]
    journal = journalled(served.journal(exchange))
    assert journal.keys() == {one["id"] for one in said["orders"]}
    for one in said["orders"]:
        # an average has more digits there
        assert (one["filled"], one["price"]) == pytest.approx(journal[one["id"]], rel=1e-8)


def configuration(settings: dict[str, Any], pair: str) -> dict[str, Any]:
    """Return what freqtrade cannot be without, and the exchange's addresses and keys."""
    # a market order is priced at the other side
    pricing = {"price_side": "other", "use_order_book": True, "order_book_top": 1}
    return {
        "dry_run": False,
        "initial_state": "running",
        "max_open_trades": 1,
        "stake_currency": pair.partition("/")[2],
        "stake_amount": STAKE,
        "entry_pricing": pricing,
        "exit_pricing": pricing,
        "pairlists": [{"method": "StaticPairList"}],
        "exchange": {
            "name": settings["id"],
            "key": settings["apiKey"],
            "secret": settings["secret"],
            "ccxt_config": {"urls": settings["urls"]},
            "pair_whitelist": [pair],
        },
    }


def journalled(journal: Path) -> dict[str, tuple[float, float]]:
    """Order → amount and average price of its fills; of an order without fills, its limit."""
    filled: dict[str, tuple[Decimal, Decimal]] = {}
    for entry in read_journal(journal):
        for order in entry.orders:
            filled.setdefault(order.order_id, (Decimal(0), order.price or Decimal(0)))
        for fill in entry.fills:
            amount, price = filled[fill.order_id]
            bought = amount + fill.amount
            filled[fill.order_id] = bought, (amount * price + fill.amount * fill.price) / bought
    return {name: (float(amount), float(price)) for name, (amount, price) in filled.items()}
