"""Which hosts are taken for this machine."""

import pytest

from runtime.loopback import is_loopback, is_near


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.9.10", "::1"])
def test_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["127.evil.example", "127.", "127.1", "localhost.example", "0.0.0.0", "::", "::ffff:192.0.2.7", ""]
)
def test_what_may_be_another_machine(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("localhost", True),
        ("::1", True),
        ("198.18.0.1", True),
        ("10.1.2.3", True),
        ("93.184.215.14", False),
        ("ws.kraken.com", False),
        ("", False),
    ],
)
def test_no_proxy_leads_to_this_machine_nor_to_a_number_of_a_private_network(host: str, expected: bool) -> None:
    assert is_near(host) is expected
