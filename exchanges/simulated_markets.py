"""The simulated markets with each exchange's size rules and fees, and those that paper mode trades."""

from collections.abc import Collection
from dataclasses import replace
from decimal import Decimal

from exchanges.simulated_coins import listed_coins
from market.instruments.markets import FeeSide, Market
from market.money import decimal_of

_EIGHT_DIGITS = Decimal("0.00000001")
_BITCOIN = ("BTC",)


def paper_markets(bases: Collection[str] = _BITCOIN) -> tuple[Market, ...]:
    """Return the markets traded if no exchange is named, then the FX markets that convert euro and yen to dollars."""
    exchanges = tuple(taker_fees())
    traded = [market for name in exchanges for market in _traded_at(name, bases)]
    return (
        *traded,
        _market("kraken", "us", "EUR/USD", "0.00001", "0.5", "0.5", "quote", is_fx=True),
        _market("kraken", "us", "USD/JPY", "0.001", "5", "20", "quote", is_fx=True),
    )


def simulated_markets(bases: Collection[str] = _BITCOIN) -> tuple[Market, ...]:
    """Return the paper markets, those in USDT (which is not the dollar), and the FX market between both."""
    return (
        *paper_markets(bases),
        *_traded_at("binance", bases),
        _market("kraken", "us", "USDT/USD", "0.00001", "5", "0.5", "quote", is_fx=True),
    )


def further_markets(bases: Collection[str] = _BITCOIN) -> tuple[Market, ...]:
    """Return what the simulated exchanges list beside `simulated_markets`, for other people's clients: no session of
    ours subscribes to it."""
    bitcoin = _market("bitstamp", "eu", "BTC/USD", "1", "0.00000001", "10", "quote")
    return (bitcoin,) if bitcoin.base in bases else ()


def simulated_bases() -> tuple[str, ...]:
    """Return the assets that every simulated exchange lists."""
    return (*_BITCOIN, *(coin.base for coin in listed_coins()))


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


_BITCOIN_MARKETS: dict[str, tuple[str, str, str, str, str, FeeSide]] = {
    # region, symbol, tick size, smallest amount, smallest notional, currency of the fee
    "coinbaseexchange": ("us", "BTC/USD", "0.01", "0.000016", "1", "quote"),
    "bitstamp": ("eu", "BTC/EUR", "1", "0.00000001", "10", "quote"),
    "bitflyer": ("jp", "BTC/JPY", "1", "0.001", "0", "base"),
    "kraken": ("us", "BTC/USD", "0.1", "0.00005", "0.5", "quote"),
    "binance": ("sg", "BTC/USDT", "0.01", "0.00001", "5", "received"),
}
_LOT_STEPS = {"binance": Decimal("0.00001")}


def _traded_at(exchange: str, bases: Collection[str]) -> list[Market]:
    """In the order of the list, whatever the order of `bases`."""
    region, symbol, tick_size, minimum_amount, minimum_notional, fee_side = _BITCOIN_MARKETS[exchange]
    bitcoin = _market(exchange, region, symbol, tick_size, minimum_amount, minimum_notional, fee_side)
    bitcoin = replace(bitcoin, lot_step=_LOT_STEPS.get(exchange, _EIGHT_DIGITS))
    coins = [
        replace(
            bitcoin,
            symbol=f"{coin.base}/{bitcoin.quote_currency}",
            base=coin.base,
            tick_size=coin.tick_size(exchange),
            lot_step=coin.lot_step if exchange in _LOT_STEPS else _EIGHT_DIGITS,
            minimum_amount=coin.minimum_amount,
        )
        for coin in listed_coins()
    ]
    return [market for market in (bitcoin, *coins) if market.base in bases]


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
