"""Amounts of money in words, as the live panels write them: sign, separators, two digits."""

from decimal import ROUND_HALF_EVEN, Decimal

SIGNS = {"USD": "$", "EUR": "€", "JPY": "¥", "GBP": "£"}
MINUS = "−"
CENT = Decimal("0.01")
TINY = Decimal("0.00000001")


def money(amount: Decimal, currency: str) -> str:
    """Signed; what is no whole cent but not nothing keeps its digits, so that it does not look like nothing."""
    step = TINY if 0 < abs(amount) < CENT else CENT
    rounded = amount.quantize(step, ROUND_HALF_EVEN)
    text = f"{abs(rounded):,f}"
    sign = "" if rounded == 0 else MINUS if rounded < 0 else "+"
    return f"{sign}{SIGNS[currency]}{text}" if currency in SIGNS else f"{sign}{text} {currency}"


def percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


def tone(amount: Decimal) -> str:
    """`good`, `bad` or nothing: the colour that a sign has."""
    return "good" if amount > 0 else "bad" if amount < 0 else ""
