"""Keys that may withdraw, and fees in a coin that nobody values, are refused before live trading starts."""

from pathlib import Path

import pytest

from exchanges.accounts.exchange_rules import exchange_rules
from exchanges.accounts.key_rights import refusal
from exchanges.ports.orders import KeyRights
from tests.exchanges.served import TRADED, served


@pytest.mark.parametrize(
    ("exchange", "said"),
    [
        ("binance", KeyRights(may_withdraw=True, is_bound=False, pays_in="BNB")),
        ("kraken", KeyRights(may_withdraw=True, is_bound=False)),
        ("bybit", KeyRights(may_withdraw=True, is_bound=False)),
        ("okx", KeyRights(may_withdraw=True, is_bound=False)),
        ("coinbase", KeyRights(may_withdraw=True)),
        ("bitflyer", KeyRights(may_withdraw=True)),
        ("bitstamp", KeyRights()),
        ("coinbaseexchange", KeyRights()),
    ],
)
async def test_rights_are_what_the_exchange_says(exchange: str, said: KeyRights, tmp_path: Path) -> None:
    market = next(market for market in TRADED if market.exchange == exchange)
    async with served(tmp_path, only=(exchange,)) as world:
        config = world.config(exchange)
        assert refusal(exchange, (await exchange_rules(config, [market])).rights) is None
        account = world.world.gateways[exchange].exchange
        account.funding.may_withdraw = account.pays_in_points = True
        rights = (await exchange_rules(config, [market])).rights
    assert rights == said


@pytest.mark.parametrize(
    ("rights", "sentence"),
    [
        (KeyRights(), None),
        (KeyRights(may_withdraw=False, is_bound=True), None),
        (KeyRights(may_withdraw=True), "the API key for kraken may withdraw: make one without that right"),
        (
            KeyRights(pays_in="BNB"),
            "takes this account's fees in BNB, which profit and the daily loss limit cannot value",
        ),
    ],
)
def test_a_refusal_is_one_sentence(rights: KeyRights, sentence: str | None) -> None:
    said = refusal("kraken", rights)
    assert (said is None) == (sentence is None)
    assert sentence is None or sentence in str(said)
