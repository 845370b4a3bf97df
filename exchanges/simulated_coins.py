"""The coins that each simulated exchange lists beside bitcoin: a price to begin with, and steps like the real ones'.

Modelled on the exchanges' own market lists; prices are of no particular day. bitFlyer's real board has six of them.
"""

from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from market.money import decimal_of

START_DOLLARS = {"USD": 1.0, "EUR": 1.08, "JPY": 1 / 150, "USDT": 1.0}
"""What one unit of a quote currency is worth when the simulated exchanges start."""


@dataclass(frozen=True, slots=True)
class ListedCoin:
    """`price_decimals` by exchange, in the currency that it quotes there."""

    base: str
    dollars: float
    price_decimals: dict[str, int]
    lot_decimals: int
    """On Binance; the others take eight decimals."""
    minimum_amount: Decimal

    def tick_size(self, exchange: str) -> Decimal:
        return Decimal(1).scaleb(-self.price_decimals[exchange])

    @property
    def lot_step(self) -> Decimal:
        return Decimal(1).scaleb(-self.lot_decimals)


@cache
def listed_coins() -> tuple[ListedCoin, ...]:
    return tuple(_coin(*line.split()) for line in _LINES.strip().splitlines())


def amount_worth(dollars: float, price: float) -> Decimal:
    """Return a whole amount of about that worth, of two leading digits."""
    return decimal_of(f"{dollars / price:.1e}").quantize(Decimal(1))


def _coin(base: str, dollars: str, decimals: str, lot_decimals: str, minimum: str) -> ListedCoin:
    by_exchange = dict(zip(_EXCHANGES, map(int, decimals), strict=True))
    return ListedCoin(base, float(dollars), by_exchange, int(lot_decimals), decimal_of(minimum))


_EXCHANGES = ("coinbaseexchange", "bitstamp", "bitflyer", "kraken", "binance")
# Base, dollars, decimals of prices in USD, EUR, JPY, USD and USDT, decimals of Binance's amounts, smallest amount.
_LINES = """
ETH 3000 21022 4 0.001
SOL 150 22122 3 0.02
XRP 2 45355 1 2
ADA 0.6 45464 1 6
DOGE 0.2 55475 0 20
LTC 90 22122 3 0.05
LINK 15 33233 2 0.3
DOT 5 34344 2 1
AVAX 25 22122 2 0.2
BCH 450 22021 3 0.01
XLM 0.3 65465 0 15
UNI 8 34234 2 0.6
AAVE 200 22122 3 0.02
ATOM 6 34344 2 1
NEAR 4 34334 1 1.2
ETC 20 22122 2 0.25
FIL 5 34334 2 1
ALGO 0.25 45454 0 20
HBAR 0.2 55455 0 20
SUI 3 44344 1 1.5
GRT 0.15 45454 0 30
SAND 0.4 45454 0 12
MANA 0.4 45454 0 12
CRV 0.6 45454 1 8
COMP 50 22122 3 0.1
SNX 1.5 34343 1 3
YFI 6000 21002 5 0.001
SUSHI 1 45444 1 5
BAT 0.2 45454 1 25
ZRX 0.4 45454 0 12
ENJ 0.2 45454 1 25
CHZ 0.06 55565 0 80
LDO 1.5 34344 2 3
APE 1 45444 2 5
AXS 5 34333 2 1
GALA 0.03 55565 0 150
IMX 1 45444 1 5
INJ 20 23222 2 0.25
RENDER 6 34333 2 1
FET 1 45444 1 5
ARB 0.8 45454 1 6
OP 1.5 34343 2 3
APT 8 33233 2 0.6
SEI 0.3 45454 1 16
TIA 5 34344 2 1
STX 1.5 34344 1 3
ICP 10 33233 2 0.5
JASMY 0.02 65675 0 250
MASK 2 34233 1 2
"""
