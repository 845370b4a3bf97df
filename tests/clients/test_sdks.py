"""Libraries for one exchange each place and cancel an order; they are given addresses and keys, and nothing else."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from simulators.matching.exchange_journal import read_journal
from tests.clients.environments import environment
from tests.clients.serving import ServedExchanges

pytestmark = pytest.mark.soak

SCRIPTS = Path(__file__).with_name("scripts")
_SECONDS = 120


@dataclass(frozen=True)
class Sdk:
    """`account` as its journal is named, `words` for the script."""

    requirement: str
    script: str
    account: str
    words: tuple[str, ...] = ()


SDKS = [
    Sdk("krakenex==2.2.2", "use_krakenex.py", "kraken"),
    Sdk("python-kraken-sdk==3.5.1", "use_kraken_sdk.py", "kraken.account-2"),
    Sdk("binance-sdk-spot==13.3.0", "use_binance_sdk.py", "binance"),
    Sdk("binance-sdk-spot==13.3.0", "use_binance_sdk_socket.py", "binance", ("socket",)),
    Sdk("python-binance==1.0.37", "use_python_binance.py", "binance"),
    Sdk("pybotters==1.11.2", "use_pybotters.py", "binance", ("binance",)),
    Sdk("pybotters==1.11.2", "use_pybotters.py", "bitflyer", ("bitflyer",)),
    Sdk("pybitflyer==0.1.9", "use_pybitflyer.py", "bitflyer"),
    Sdk("coinbase-advanced-py==1.8.4", "use_coinbase_advanced.py", "coinbase"),
]


@pytest.mark.parametrize("sdk", SDKS, ids=lambda sdk: "-".join((sdk.requirement, *sdk.words)))
def test_an_sdk_places_and_cancels_an_order(sdk: Sdk, secured: ServedExchanges, request: pytest.FixtureRequest) -> None:
    cache = request.config.cache
    assert cache is not None
    python = environment(cache, [sdk.requirement])
    done = subprocess.run(
        [str(python), str(SCRIPTS / sdk.script), str(secured.file), *sdk.words],
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        env=secured.environment,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["placed"] in said["before"]
    assert said["placed"] not in said["after"]
    entries = read_journal(secured.journal(sdk.account))
    states = [order.state for entry in entries for order in entry.orders if order.order_id == said["placed"]]
    assert states == ["open", "cancelled"]
