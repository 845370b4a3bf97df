"""Figures as text: money, amounts, shares, ratios and moments. The page has true minus signs, the terminal hyphens."""

from datetime import UTC, datetime
from decimal import Decimal

from backtest.result.performance import Ratio
from market.money import text_of
from market.time_units import MICROSECONDS

CANNOT_TELL = "unknown from bars"
MIN_PERCENT = Decimal("0.0001")
MAX_DIGITS = 8
"""Decimal places of an amount."""


def share_words(share: Decimal | None) -> str:
    """Return percent: two decimals, four for less than a tenth of a percent."""
    if share is None:
        return "n/a: no capital"
    percent = share * 100
    if 0 < abs(percent) < MIN_PERCENT:
        return f"{'above -' if percent < 0 else 'below '}{MIN_PERCENT} %"
    return f"{percent:z,.2f} %" if abs(percent) >= Decimal("0.1") or percent == 0 else f"{percent:z.4f} %"


def ratio_words(ratio: Ratio) -> str:
    return f"n/a: {ratio.reason}" if ratio.value is None else f"{ratio.value:z.2f}"


def with_minus(text: str) -> str:
    """Return `text` with true minus signs."""
    return text.replace("-", "−")


def money(amount: Decimal) -> str:
    """Return the amount to the cent, with a true minus sign; less than half a cent has none."""
    return with_minus(f"{amount:z,.2f}")


def amount(number: Decimal) -> str:
    """Return an amount of an asset or currency: at most 8 decimal places, with a true minus sign."""
    return with_minus(f"{number:z,.{places(number)}f}")


def places(number: Decimal) -> int:
    """Return its decimal places without trailing zeros, at most 8."""
    return min(len(text_of(number).partition(".")[2]), MAX_DIGITS)


def moment(time: int | None) -> str:
    """Return `time`, microseconds UTC, to the second."""
    return "–" if time is None else f"{datetime.fromtimestamp(time / MICROSECONDS, UTC):%Y-%m-%d %H:%M:%S}"
