"""The simulated markets with each exchange's size rules and fees, and those that paper mode trades."""

from dataclasses import replace
from decimal import Decimal

from market.instruments.markets import FeeSide, Market
from market.money import decimal_of

_EIGHT_DIGITS = Decimal("0.00000001")


def paper_markets() -> tuple[Market, ...]:
    """The markets traded in paper mode, then the FX markets that convert euro and yen to dollars."""
    return (
        _market("coinbaseexchange", "us", "BTC/USD", "0.01", "0.000016", "1", "quote"),
        _market("bitstamp", "eu", "BTC/EUR", "1", "0.00000001", "10", "quote"),
        _market("bitflyer", "jp", "BTC/JPY", "1", "0.001", "0", "base"),
        _market("kraken", "us", "BTC/USD", "0.1", "0.00005", "0.5", "quote"),
        _market("kraken", "us", "EUR/USD", "0.00001", "0.5", "0.5", "quote", is_fx=True),
        _market("kraken", "us", "USD/JPY", "0.001", "5", "20", "quote", is_fx=True),
    )


def simulated_markets() -> tuple[Market, ...]:
    """The paper markets, a market in USDT (which is not the dollar), and the FX market between both."""
    return (
        *paper_markets(),
        replace(_market("binance", "sg", "BTC/USDT", "0.01", "0.00001", "5", "received"), lot_step=Decimal("0.00001")),
        _market("kraken", "us", "USDT/USD", "0.00001", "5", "0.5", "quote", is_fx=True),
    )


def taker_fees() -> dict[str, Decimal]:
    """Taker fee by exchange, a fraction of the notional, for the default settings."""
    return {
        "coinbaseexchange": Decimal("0.0010"),
        "bitstamp": Decimal("0.0012"),
        "bitflyer": Decimal("0.0010"),
        "kraken": Decimal("0.0010"),
    }


def simulated_taker_fees() -> dict[str, Decimal]:
    """Taker fees of all simulated exchanges."""
    return {**taker_fees(), "binance": Decimal("0.0010")}


def _market(
    exchange: str,
    region: str,
    symbol: str,
    tick_size: str,
    minimum_amount: str,
    minimum_notional: str,
    fee_side: FeeSide,
    *,
    is_fx: bool = False,
) -> Market:
    base, quote_currency = symbol.split("/")
    return Market(
        exchange=exchange,
        region=region,
        symbol=symbol,
        base=base,
        quote_currency=quote_currency,
        tick_size=decimal_of(tick_size),
        lot_step=_EIGHT_DIGITS,
        minimum_amount=decimal_of(minimum_amount),
        minimum_notional=decimal_of(minimum_notional),
        fee_side=fee_side,
        is_fx=is_fx,
    )
