"""API keys out of the environment: a private key in one line has its line breaks again."""

import pytest

from exchanges.key_variables import environment_credentials

PEM = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----"


@pytest.mark.parametrize("written", [PEM, PEM.replace("\n", "\\n"), f"{PEM}\n", PEM.replace("\n", "\r\n")])
def test_a_private_key_may_stand_in_one_line(written: str) -> None:
    environment = {"ARBITRAGE_COINBASE_KEY": "organizations/1/apiKeys/2", "ARBITRAGE_COINBASE_SECRET": written}
    assert environment_credentials("coinbase", environment).secret == PEM


def test_another_secret_stays_as_it_is() -> None:
    environment = {"ARBITRAGE_KRAKEN_KEY": "key", "ARBITRAGE_KRAKEN_SECRET": "a\\nb"}
    assert environment_credentials("kraken", environment).secret == "a\\nb"
