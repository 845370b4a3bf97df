"""Which hosts are taken for this machine."""

import pytest

from session.loopback import is_loopback


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.9.10", "::1"])
def test_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["127.evil.example", "127.", "127.1", "localhost.example", "0.0.0.0", "::", "::ffff:192.0.2.7", ""]
)
def test_what_may_be_another_machine(host: str) -> None:
    assert not is_loopback(host)
