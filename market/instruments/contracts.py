"""What the amounts of a derivative count: contracts of so much base or quote currency, while spot counts base. Pure."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from market.money import EXACT, ZERO, BoundedDecimal, decimal_of

MarketKind = Literal["spot", "linear", "inverse", "other"]
"""By what a market is settled in: nothing of its own, its quote, its base, or else (quanto contracts, options)."""


@dataclass(frozen=True, slots=True)
class Contract:
    """`size`: what an amount of 1 stands for, in base currency (linear) or in quote currency (inverse)."""

    kind: Literal["linear", "inverse"]
    size: BoundedDecimal

    @property
    def counts_base(self) -> bool:
        """Amounts are base amounts as they stand."""
        return self.kind == "linear" and self.size == 1

    def base_amount(self, amount: Decimal, price: Decimal, step: Decimal) -> Decimal:
        """`amount` contracts at `price` in base currency, in whole steps and never more than they are worth.

        Raises ValueError for a price of 0 or less, and for numbers that no market has.
        """
        if price <= ZERO:
            raise ValueError(f"contracts have no worth at a price of {price}")
        try:
            worth = EXACT.multiply(amount, self.size)
            one_step = EXACT.multiply(price, step) if self.kind == "inverse" else step
            return EXACT.multiply(EXACT.divide_int(worth, one_step), step)
        except ArithmeticError:
            raise ValueError(f"not an amount of contracts: {amount} at {price}") from None


def kind_of(symbol: str) -> MarketKind:
    """By ccxt's symbol: BTC/USD, BTC/USDT:USDT, BTC/USD:BTC, and with a day of delivery BTC/USD:BTC-241227."""
    pair, _, settlement = symbol.partition(":")
    if not settlement:
        return "spot"
    base, _, quote = pair.partition("/")
    settled_in, *rest = settlement.split("-")
    if len(rest) > 1 or settled_in not in (base, quote):
        return "other"
    return "inverse" if settled_in == base else "linear"


def contract_name(coin: str, symbol: str) -> str:
    """Return what a contract on `coin` is called as an asset: with a day of delivery it is another one than without."""
    delivery = symbol.partition(":")[2].partition("-")[2]
    return f"{coin} contract {delivery}".rstrip()


_EXCHANGES = {
    "okx-swap": "okx",
    "okx-futures": "okx",
    "okex": "okx",
    "okex-swap": "okx",
    "okex-futures": "okx",
    "huobi": "htx",
    "huobi-dm": "htx",
    "huobi-dm-swap": "htx",
    "huobi-dm-linear-swap": "htx",
    "cryptofacilities": "krakenfutures",
    "binance-futures": "binanceusdm",
    "binance-delivery": "binancecoinm",
}
"""One exchange under its other names."""

_EVERY = "*"
_INVERSE: dict[str, dict[str, str]] = {
    # "contract size" of each exchange's own list of instruments: dollars a contract, by coin
    "binancecoinm": {"BTC": "100", _EVERY: "10"},
    "okx": {"BTC": "100", _EVERY: "10"},
    "htx": {"BTC": "100", _EVERY: "10"},
    "bitmex": {"BTC": "1"},
    "bybit": {_EVERY: "1"},
    "krakenfutures": {_EVERY: "1"},
    # Its contracts are 10 USD of BTC and 1 USD of ETH, but its books and trades give amounts in dollars
    # (docs.deribit.com: "for perpetual and inverse futures the amount is in USD units").
    "deribit": {_EVERY: "1"},
}
_LINEAR: dict[str, dict[str, str]] = {
    "binanceusdm": {_EVERY: "1"},
    "bybit": {_EVERY: "1"},
    "hyperliquid": {_EVERY: "1"},
    "okx": {"BTC": "0.01", "ETH": "0.1"},
    "htx": {"BTC": "0.001", "ETH": "0.01"},
    "bitmex": {"BTC": "0.000001"},
    "deribit": {_EVERY: "1"},
    "krakenfutures": {_EVERY: "1"},
}

ALONE = frozenset({"binanceusdm", "binancecoinm", "okex-swap", "okex-futures", "krakenfutures", "cryptofacilities"}) | {
    *("huobi-dm", "huobi-dm-swap", "huobi-dm-linear-swap", "okx-swap", "okx-futures", "binance-futures"),
    "binance-delivery",
}
"""Names under which nothing but contracts is traded."""


def known_contract(exchange: str, symbol: str) -> Contract | None:
    """Return the contract's terms; None for spot and for unknown contracts."""
    kind = kind_of(symbol)
    if kind not in ("linear", "inverse"):
        return None
    sizes = (_INVERSE if kind == "inverse" else _LINEAR).get(_EXCHANGES.get(exchange, exchange), {})
    size = sizes.get(symbol.partition("/")[0], sizes.get(_EVERY))
    return None if size is None else Contract("inverse" if kind == "inverse" else "linear", decimal_of(size))
