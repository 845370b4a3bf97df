"""Shares and ratios for people."""

from decimal import Decimal

from backtest.performance import Ratio

CANNOT_TELL = "bars cannot tell"


def share_words(share: Decimal | None) -> str:
    """Percent: two decimals, more for what is less than a tenth of one; a true minus sign is left to pages."""
    if share is None:
        return "n/a: no capital"
    percent = share * 100
    return f"{percent:z,.2f} %" if abs(percent) >= Decimal("0.1") or percent == 0 else f"{percent:z.4f} %"


def ratio_words(ratio: Ratio) -> str:
    return f"n/a: {ratio.why}" if ratio.value is None else f"{ratio.value:z.2f}"
