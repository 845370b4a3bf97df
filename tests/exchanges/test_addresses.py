"""No client of a simulated exchange reaches a real one, and the other way round."""

import pytest

from exchanges.addresses import Place, address_fault, every_address, simulated_addresses
from exchanges.catalogue import EXCHANGES


@pytest.mark.parametrize(
    ("place", "address", "fault"),
    [
        ("simulated", "http://127.0.0.1:9000/kraken", None),
        ("simulated", "ws://localhost:9000/ws", None),
        ("simulated", "http://[::1]:9000", None),
        ("simulated", "http://127.8.7.6", None),
        ("simulated", "http://exchanges:8100/kraken", None),
        ("simulated", "ws://exchanges.arbitrage.svc.cluster.local:8100/kraken/ws", None),
        ("simulated", "http://10.96.0.7:8100", None),
        ("simulated", "http://[fd00::7]:8100", None),
        ("simulated", "https://exchanges:8100", "not on loopback"),
        ("simulated", "http://api.kraken.com", "not on loopback"),
        ("simulated", "http://134744072", "not on loopback"),
        ("simulated", "http://8.8.8.8", "not on loopback"),
        ("simulated", "http://[::ffff:8.8.8.8]", "not on loopback"),
        ("simulated", "http://kraken.local.com", "not on loopback"),
        ("simulated", "https://api.kraken.com", "not on loopback"),
        ("simulated", "http://localhost.evil.example", "not on loopback"),
        ("simulated", "http://127.0.0.1@api.kraken.com", "not on loopback"),
        ("simulated", "", "not on loopback"),
        ("simulated", "kraken", "not on loopback"),
        ("live", "https://api.kraken.com", None),
        ("live", "wss://ws.kraken.com/v2", None),
        ("live", "http://api.kraken.com", "not encrypted"),
        ("live", "ws://ws.kraken.com", "not encrypted"),
        ("live", "https://", "not encrypted"),
        ("live", "https://localhost", "on loopback"),
        ("live", "https://kraken.localhost:1", "on loopback"),
        ("live", "wss://127.9.9.9:443/ws", "on loopback"),
        ("live", "https://[::1]", "on loopback"),
        ("live", "https://[::ffff:127.0.0.1]", "on loopback"),
        ("live", "https://0.0.0.0", "on loopback"),
        ("sandbox", "https://127.0.0.1", "on loopback"),
        ("sandbox", "https://testnet.binance.vision/api/v3", None),
    ],
)
def test_what_may_be_sent_where(place: Place, address: str, fault: str | None) -> None:
    found = address_fault(place, address)
    assert (found is None) is (fault is None)
    assert (fault or "") in (found or "")


@pytest.mark.parametrize("exchange", EXCHANGES)
def test_every_simulated_address_is_below_the_root(exchange: str) -> None:
    addresses = list(every_address(simulated_addresses(exchange, f"http://127.0.0.1:9000/{exchange}/")))
    assert addresses
    for address in addresses:
        assert address.split("://")[1].startswith(f"127.0.0.1:9000/{exchange}")
        assert address_fault("simulated", address) is None


def test_lists_and_nested_mappings_are_looked_through() -> None:
    tree = {"a": ["x", {"b": ("y", None)}], "c": "z", "d": 1}
    assert list(every_address(tree)) == ["x", "y", "z"]
