"""Two coins with one ticker differ if their contracts on one network do."""

import pytest

from exchanges.listed_codes import listed_codes
from exchanges.simulated_markets import simulated_markets
from market.instruments.assets import SessionCodes, known_tokens
from market.instruments.token_contracts import Contracts, Token, contract_fault, is_address, network_name

LINK = "0x514910771AF9Ca656af840dff83E8264EcF986CA"
OTHER = "0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984"


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        ({}, {}, False),
        ({"ethereum": LINK}, {}, False),
        ({"ethereum": LINK}, {"solana": "So11111111111111111111111111111111111111112"}, False),
        ({"ethereum": LINK}, {"ethereum": LINK.lower()}, False),
        ({"ethereum": LINK}, {"ethereum": OTHER}, True),
        ({"ethereum": LINK}, {"ethereum": "F986CA"}, False),
        ({"ethereum": LINK}, {"ethereum": "f986ca"}, False),
        ({"ethereum": LINK}, {"ethereum": "F986CB"}, True),
        # solana's addresses differ by the size of a letter
        ({"solana": "EPikAbcdefgh"}, {"solana": "EPikabcdefgh"}, True),
        # one contract in common: the other one is a bridged form
        ({"ethereum": LINK, "bnb chain": OTHER}, {"ethereum": LINK, "bnb chain": LINK}, False),
    ],
)
def test_which_tokens_differ(one: Contracts, other: Contracts, differ: bool) -> None:
    tokens = [Token("XYZ", "stated by okx", one), Token("XYZ", "stated by bybit", other)]
    assert (contract_fault(tokens) is not None) is differ
    assert (contract_fault(reversed(tokens)) is not None) is differ
    assert contract_fault([tokens[0], Token("ABC", "stated by bybit", other)]) is None


def test_the_sentence_names_both() -> None:
    tokens = [Token("XYZ", "stated by okx", {"ethereum": LINK}), Token("XYZ", "stated by bybit", {"ethereum": OTHER})]
    assert contract_fault(tokens) == (
        f"XYZ is not compared: its contract on ethereum is {LINK} (stated by okx), but {OTHER} (stated by bybit); "
        "these are two coins"
    )


@pytest.mark.parametrize(
    ("text", "can_be"), [("0", False), ("0x0000000000000000000000000000000000000000", False), (LINK, True), ("", False)]
)
def test_what_can_be_an_address(text: str, can_be: bool) -> None:
    assert is_address(text) is can_be


@pytest.mark.parametrize(("code", "name"), [("ERC20", "ethereum"), ("BSC", "bnb chain"), ("XYZ", "xyz")])
def test_names_of_networks(code: str, name: str) -> None:
    assert network_name(code) == name


def test_our_list_contradicts_itself_nowhere() -> None:
    markets = [one for one in simulated_markets(("LINK", "UNI", "AAVE", "FET")) if not one.is_fx]
    tokens = [token for one in markets for token in known_tokens(listed_codes(), one, SessionCodes())]
    assert {token.name for token in tokens if token.contracts} >= {"LINK", "UNI", "AAVE", "FET", "USDT"}
    assert contract_fault(tokens) is None
