"""The moving average strategy's rule, as the session has it and written down a second time."""

from decimal import Decimal
from fractions import Fraction
from functools import cache

from cep.apps.hosts.average_app import AverageApp, shipped_average_app
from market.money import total
from market.trade.moving_average import AverageCrossing, Close, MovingAverage, Sign


@cache
def app_rule() -> AverageApp:
    """One for all tests: it answers by its arguments alone."""
    return shipped_average_app()


def naive_rule(before: MovingAverage, close: Close) -> tuple[MovingAverage, AverageCrossing | None]:
    """Return the average of the last ten closes, in fractions; the product computed it so before it had an app."""
    closes = (*before.closes, close.price)[-10:]
    after = MovingAverage(closes, _sign(closes))
    if before.sign * after.sign >= 0:
        return after, None
    return after, AverageCrossing("BUY" if after.sign > 0 else "SELL", total(closes) / len(closes))


def _sign(closes: tuple[Decimal, ...]) -> Sign:
    difference = Fraction(closes[-1]) * len(closes) - sum(map(Fraction, closes), Fraction(0))
    return 0 if difference == 0 else 1 if difference > 0 else -1
