"""Contracts as exchanges state them, in the shapes that ccxt gives their lists of currencies."""

from dataclasses import replace

import pytest

from exchanges.accounts.stated_contracts import stated_contracts, stated_tokens
from market.instruments.token_contracts import Token
from tests.market.samples import USD_MARKET

LINK = "0x514910771AF9Ca656af840dff83E8264EcF986CA"


@pytest.mark.parametrize(
    ("currency", "contracts"),
    [
        (None, {}),
        ({}, {}),
        ({"networks": None}, {}),
        ({"networks": {"ERC20": None}}, {}),
        ({"networks": {"ERC20": {"info": {"contractAddress": LINK}}}}, {"ethereum": LINK}),
        ({"networks": {"ERC20": {"info": {"contract_address": LINK}}}}, {"ethereum": LINK}),
        ({"networks": {"ERC20": {"contract": LINK, "info": None}}}, {"ethereum": LINK}),
        ({"networks": {"ERC20": {"info": {"ctAddr": "F986CA"}}}}, {"ethereum": "F986CA"}),
        ({"networks": {"BTC": {"info": {"contractAddress": "0"}}}}, {}),
        ({"networks": {"BSC": {"info": {"contractAddress": ""}}, "SOL": {"info": []}}}, {}),
    ],
)
def test_of_one_currency(currency: object, contracts: dict[str, str]) -> None:
    assert stated_contracts(currency) == contracts


def test_base_and_quote_of_each_market_once_under_the_name_that_they_are_compared_by() -> None:
    market = replace(USD_MARKET, exchange="okx", symbol="LINK2/USD", base="LINK", quote_currency="USD")
    currencies = {"LINK2": {"networks": {"ERC20": {"info": {"contractAddress": LINK}}}}, "USD": {}}
    token = Token("LINK", "stated by okx", {"ethereum": LINK})
    assert stated_tokens([market, market], currencies) == (token,)
    assert stated_tokens([market], None) == ()
