"""Money, times and names in a line for people. Programs get exact facts."""

from datetime import UTC, datetime
from decimal import Decimal

from market.money import text_of
from market.time_units import MICROSECONDS
from session.session import Mode
from wording.number_format import MINUS, TENTH, money_step, number, rounded, signed

_BADGES: dict[Mode, str] = {
    "paper": "PAPER",
    "public": "PAPER",
    "replay": "REPLAY",
    "sandbox": "SANDBOX",
    "live": "LIVE",
}


def badge(mode: Mode) -> str:
    """Return the badge in front of every message."""
    return _BADGES[mode]


def signed_money(amount: Decimal, currency: str) -> str:
    """Return money such as `+3.21 USD`, always with a sign; below a cent with two significant digits."""
    if amount == 0:
        return f"0.00 {currency}"
    step = money_step(currency)
    if rounded(amount, step) == 0:
        step = Decimal(1).scaleb(amount.adjusted() - 1)
    return f"{_plain_minus(signed(amount, step))} {currency}"


def signed_bps(bps: Decimal) -> str:
    return f"{_plain_minus(number(bps, TENTH))} bps"


def _plain_minus(figure: str) -> str:
    """Return the figure with a plain minus: not every destination can show another."""
    return figure.replace(MINUS, "-")


def exact(amount: Decimal) -> str:
    return text_of(amount)


def clock_time(microseconds: int) -> str:
    """Return the time, such as `14:03:05 UTC`."""
    return datetime.fromtimestamp(microseconds // MICROSECONDS, UTC).strftime("%H:%M:%S UTC")


def date_and_time(microseconds: int) -> str:
    return datetime.fromtimestamp(microseconds // MICROSECONDS, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def plural(count: int, singular: str, plural: str | None = None) -> str:
    """Return a count with its noun, such as `1 trade` or `12 trades`."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"
