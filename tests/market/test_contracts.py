from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.instruments.contracts import Contract, MarketKind, kind_of, known_contract

KINDS: dict[str, MarketKind] = {
    "BTC/USD": "spot",
    "BTC/USDT:USDT": "linear",
    "BTC/USD:BTC": "inverse",
    "BTC/USD:BTC-241227": "inverse",
    "ETH/USDT:USDT-241227": "linear",
    "ETH/USD:BTC": "other",
    "BTC/USD:BTC-241227-60000-C": "other",
}


@pytest.mark.parametrize(("symbol", "kind"), KINDS.items())
def test_what_a_market_is_settled_in_says_its_kind(symbol: str, kind: MarketKind) -> None:
    assert kind_of(symbol) == kind


KNOWN = {
    "binancecoinm BTC/USD:BTC": "inverse 100",
    "binancecoinm ETH/USD:ETH-241227": "inverse 10",
    "binanceusdm BTC/USDT:USDT": "linear 1",
    "bitmex BTC/USD:BTC": "inverse 1",
    "bybit ETH/USD:ETH": "inverse 1",
    "bybit BTC/USDT:USDT": "linear 1",
    "htx BTC/USD:BTC": "inverse 100",
    "huobi-dm-swap LTC/USD:LTC": "inverse 10",
    "okx BTC/USD:BTC": "inverse 100",
    "okex-swap BTC/USDT:USDT": "linear 0.01",
    "deribit BTC/USD:BTC": "inverse 1",
    "hyperliquid BTC/USDC:USDC": "linear 1",
    "okx DOGE/USDT:USDT": None,
    "bitmex ETH/USD:BTC": None,
    "kraken BTC/USD": None,
}


@pytest.mark.parametrize(("market", "reported"), KNOWN.items())
def test_known_contracts(market: str, reported: str | None) -> None:
    found = known_contract(*market.split())
    assert (None if found is None else f"{found.kind} {found.size}") == reported


NUMBERS = st.decimals(Decimal("0.00000001"), Decimal(10) ** 12, allow_nan=False, places=8)


@given(NUMBERS, NUMBERS, NUMBERS, st.sampled_from(["0.00000001", "0.001", "1"]))
def test_base_amounts_are_never_more_than_the_contracts_are_worth(
    amount: Decimal, price: Decimal, size: Decimal, step_text: str
) -> None:
    step = Decimal(step_text)
    worth = Fraction(amount) * Fraction(size)
    inverse = Fraction(Contract("inverse", size).base_amount(amount, price, step))
    assert inverse * Fraction(price) <= worth < (inverse + Fraction(step)) * Fraction(price)
    linear = Fraction(Contract("linear", size).base_amount(amount, price, step))
    assert linear <= worth < linear + Fraction(step)


@pytest.mark.parametrize(("amount", "price"), [("1", "0"), ("1", "-5"), ("1e999999", "1")])
def test_what_has_no_worth_is_no_amount(amount: str, price: str) -> None:
    with pytest.raises(ValueError, match=r"contracts"):
        Contract("inverse", Decimal(100)).base_amount(Decimal(amount), Decimal(price), Decimal("0.00000001"))
