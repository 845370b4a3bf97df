"""The coins that each simulated exchange lists beside bitcoin, with a price to begin with.

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
    """Its decimals at an exchange are in that exchange's `facts`."""

    base: str
    dollars: float
    minimum_amount: Decimal


@cache
def listed_coins() -> tuple[ListedCoin, ...]:
    return tuple(_coin(*line.split()) for line in _LINES.strip().splitlines())


def amount_worth(dollars: float, price: float) -> Decimal:
    """Return a whole amount of about that worth, of two leading digits."""
    return decimal_of(f"{dollars / price:.1e}").quantize(Decimal(1))


def _coin(base: str, dollars: str, minimum: str) -> ListedCoin:
    return ListedCoin(base, float(dollars), decimal_of(minimum))


# Base, dollars, smallest amount.
_LINES = """
ETH 3000 0.001
SOL 150 0.02
XRP 2 2
ADA 0.6 6
DOGE 0.2 20
LTC 90 0.05
LINK 15 0.3
DOT 5 1
AVAX 25 0.2
BCH 450 0.01
XLM 0.3 15
UNI 8 0.6
AAVE 200 0.02
ATOM 6 1
NEAR 4 1.2
ETC 20 0.25
FIL 5 1
ALGO 0.25 20
HBAR 0.2 20
SUI 3 1.5
GRT 0.15 30
SAND 0.4 12
MANA 0.4 12
CRV 0.6 8
COMP 50 0.1
SNX 1.5 3
YFI 6000 0.001
SUSHI 1 5
BAT 0.2 25
ZRX 0.4 12
ENJ 0.2 25
CHZ 0.06 80
LDO 1.5 3
APE 1 5
AXS 5 1
GALA 0.03 150
IMX 1 5
INJ 20 0.25
RENDER 6 1
FET 1 5
ARB 0.8 6
OP 1.5 3
APT 8 0.6
SEI 0.3 16
TIA 5 1
STX 1.5 3
ICP 10 0.5
JASMY 0.02 250
MASK 2 2
"""
