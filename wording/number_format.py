"""Number formats for people: the only place that rounds. Programs get exact digits.

Money has the digits of its currency, an amount of base those of the market's lot, a price those of the market's tick.
What is shown as nothing has no sign; a number never has more digits than its step, and always all of them, so that a
column of them stands right.
"""

from decimal import MAX_EMAX, MIN_EMIN, ROUND_DOWN, ROUND_HALF_EVEN, Context, Decimal

from market.money import decimal_of, decimal_of_double, decimal_of_whole

MINUS = "−"
UNKNOWN = "–"
"""Shown for an unknown or missing value, never 0."""
SIGNS = {"USD": "$", "EUR": "€", "JPY": "¥", "GBP": "£"}
MONEY_STEPS = {"JPY": Decimal(1)}
"""ISO 4217: the yen has no smaller unit."""
CENT = Decimal("0.01")
TENTH = Decimal("0.1")
ONE = Decimal(1)
_WIDE = Context(prec=200, Emax=MAX_EMAX, Emin=MIN_EMIN)

Number = Decimal | float | str


def rounded(value: Number, step: Decimal, *, is_cut: bool = False) -> Decimal:
    """Return the nearest whole number of steps, of two equally near the even one; cut: the nearest that is not larger
    in size.

    Raises ValueError for what is no finite number.
    """
    steps = _WIDE.divide(_known(value), step)
    whole = steps.to_integral_value(ROUND_DOWN if is_cut else ROUND_HALF_EVEN, _WIDE)
    return _WIDE.multiply(whole, step)


def _known(value: Number) -> Decimal:
    """Decimals are our own, with as many digits as a sum of them has."""
    if isinstance(value, Decimal) and value.is_finite():
        return value
    return decimal_of_double(value) if isinstance(value, float) else decimal_of(value)


def number(value: Number, step: Decimal, *, is_cut: bool = False) -> str:
    """`−1,234.50`: as many digits as `step` has."""
    found = rounded(value, step, is_cut=is_cut)
    text = f"{abs(found):,.{_digits(step)}f}"
    return f"{MINUS}{text}" if found < 0 else text


def signed(value: Number, step: Decimal) -> str:
    """`+3.50`, `−3.50`; nothing has no sign."""
    text = number(value, step)
    return f"+{text}" if rounded(value, step) > 0 else text


def money(amount: Number, currency: str) -> str:
    """`+$12.30`, `−¥1,200`, `+0.50 CHF`: what was won or lost."""
    return _in_currency(signed(amount, money_step(currency)), currency)


def worth(amount: Number, currency: str) -> str:
    """`$12.30`: a sum that is neither won nor lost."""
    return _in_currency(number(amount, money_step(currency)), currency)


def money_step(currency: str) -> Decimal:
    return MONEY_STEPS.get(currency, CENT)


def price(value: Number, tick: Decimal, currency: str) -> str:
    """`$65,000.10`, `9,700,000 CHF`."""
    return _in_currency(number(value, tick), currency)


def amount(value: Number, lot: Decimal) -> str:
    """Return an amount of base, rounded down: never more than there is."""
    return number(value, lot, is_cut=True)


def bps(value: Number) -> str:
    return signed(value, TENTH)


def fee_bps(rate: Decimal) -> str:
    """`10 bps`, `7.5 bps` of a fraction: fees have few digits, and all of them count."""
    return f"{(rate * 10_000).normalize():f} bps"


def percent(share: float | None) -> str:
    return UNKNOWN if share is None else f"{number(share * 100, TENTH)}%"


def duration(seconds: float | None) -> str:
    """In short: 0.4 ms, 12 ms, 3.4 s, 5 min, 2.1 h. Negative values count as 0, since clocks differ."""
    if seconds is None:
        return UNKNOWN
    seconds = max(0.0, seconds)
    if seconds < 0.9995:
        milliseconds = seconds * 1_000
        return f"{number(milliseconds, TENTH if 0.05 <= milliseconds < 9.95 else ONE)} ms"
    if seconds < 119.95:
        return f"{number(seconds, TENTH)} s"
    return f"{number(seconds / 60, ONE)} min" if seconds < 7_170 else f"{number(seconds / 3_600, TENTH)} h"


def offset_ms(microseconds: int | None) -> str:
    """How far a clock is ahead (+) or behind."""
    return UNKNOWN if microseconds is None else f"{signed(decimal_of_whole(microseconds) / 1_000, ONE)} ms"


def count_text(count: int, singular: str, plural: str | None = None) -> str:
    """`1 time`, `1,200 times`."""
    return f"{count:,} {singular if count == 1 else plural or f'{singular}s'}"


def tone(amount: Number, currency: str = "") -> str:
    """`good`, `bad` or nothing: the colour of a sum of money as it is shown."""
    found = rounded(amount, money_step(currency))
    return "good" if found > 0 else "bad" if found < 0 else ""


def _in_currency(text: str, currency: str) -> str:
    if currency not in SIGNS:
        return f"{text} {currency}"
    sign, digits = (text[0], text[1:]) if text[0] in f"+{MINUS}" else ("", text)
    return f"{sign}{SIGNS[currency]}{digits}"


def _digits(step: Decimal) -> int:
    exponent = step.normalize(_WIDE).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0
