"""Shares and ratios for people."""

from decimal import Decimal

from backtest.result.performance import Ratio

CANNOT_TELL = "unknown from bars"
MIN_PERCENT = Decimal("0.0001")


def share_words(share: Decimal | None) -> str:
    """Percent: two decimals, more for what is less than a tenth of one; a true minus sign is left to pages."""
    if share is None:
        return "n/a: no capital"
    percent = share * 100
    if 0 < abs(percent) < MIN_PERCENT:
        return f"{'above -' if percent < 0 else 'below '}{MIN_PERCENT} %"
    return f"{percent:z,.2f} %" if abs(percent) >= Decimal("0.1") or percent == 0 else f"{percent:z.4f} %"


def ratio_words(ratio: Ratio) -> str:
    return f"n/a: {ratio.why}" if ratio.value is None else f"{ratio.value:z.2f}"
