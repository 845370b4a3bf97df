"""Return on capital, ratios, turnover and marked inventory of a backtest. Money is exact and rounded once, to 8 digits;
ratios of returns are doubles, since roots are taken. docs/backtest.md has every formula with its source.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from itertools import pairwise
from math import sqrt
from operator import itemgetter
from statistics import fmean, pstdev, stdev
from typing import NamedTuple

from backtest.result.asset_marks import MIN_INTERVALS, Marks
from backtest.result.trading_outcome import TradingOutcome
from market.accounting.equity_curve import drawdown_of
from market.accounting.transfer_lifecycle import MoneyTransfer
from market.instruments.orders import Fill, changes_of
from market.money import EXACT, ZERO
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage
from market.trade.cycle_profit import turnover_of
from market.trade.cycle_trades import CycleTrade
from market.trade.profit import decimal_part
from market.trade.unwinding import Markets

YEAR_SECONDS = 365 * 86_400
"""These markets close on no day."""
DIGITS = Decimal("0.00000001")
ROUNDING = Context(prec=200)
SHARE_DIGITS = Decimal("0.0000000001")
UNITS = {86_400: "day", 3_600: "hour", 60: "minute"}

Holdings = dict[str, Decimal]


@dataclass(frozen=True, slots=True)
class Ratio:
    """`value`, or the reason why there is none."""

    value: float | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ReturnMoments:
    """What says how sure a Sharpe ratio is; all of one interval, not of a year."""

    returns: int
    sharpe: float
    skewness: float
    kurtosis: float
    """3 of a normal distribution."""


class MarkedPoint(NamedTuple):
    """`gain` at `time`, microseconds UTC: see `MarkedInventory`."""

    time: int
    gain: Decimal


@dataclass(frozen=True, slots=True)
class MarkedInventory:
    """All that lies on the exchanges, valued at the marks of one moment, in the settlement currency.

    `gain` = what is held at the end, less what was held at the opening, both at the closing marks: what trading made of
    it, including residual base at today's price. What the opening inventory gained or lost by itself is not in it,
    because the strategy did not earn it: that is `held - opening`.
    """

    opening: Decimal
    """At the opening marks: the capital."""
    closing: Decimal
    held: Decimal
    """The opening inventory at the closing marks: the value without trading."""
    gain: Decimal
    drawdown: Decimal
    """The maximum drawdown of the gain, over the sampled moments."""
    points: tuple[MarkedPoint, ...]
    unmarked: tuple[str, ...] = ()
    """Assets that no market has a price of; they count as zero."""


@dataclass(frozen=True, slots=True)
class Performance:
    """`capital`: the opening balances at the opening marks. Shares are fractions of it; None if there is none."""

    capital: Decimal
    return_on_capital: Decimal | None
    """Net profit of the trades that ended, over capital; neither compounded nor annualised."""
    turnover: Decimal
    """The notional of all fills, bought and sold, at the FX mid that each decision saw."""
    turnover_of_capital: Decimal | None
    sharpe: Ratio
    sortino: Ratio
    interval_seconds: int | None
    """Time between two samples of the marked gain."""
    returns: int
    """The number of returns, one per whole interval."""
    marked: MarkedInventory
    moments: ReturnMoments | None
    """None where there is no Sharpe ratio."""

    @property
    def definition(self) -> str:
        """Return the definition of the ratios, printed beside them."""
        if self.interval_seconds is None:
            return f"of returns over {MIN_INTERVALS} whole minutes or more, which this recording does not hold"
        unit, yearly = UNITS[self.interval_seconds], YEAR_SECONDS // self.interval_seconds
        return (
            f"of {self.returns} returns, one each {unit}: change of the marked gain over capital; mean over standard "
            f"deviation (Sharpe; n - 1) or over downside deviation below 0 (Sortino; n), times the root of {yearly:,} "
            f"{unit}s a year; the risk-free rate is 0"
        )


def performance_of(outcome: TradingOutcome, marks: Marks, markets: Markets) -> Performance:
    """Return the performance over the whole recording that `marks` were read from."""
    marked = marked_inventory(outcome, marks, markets)
    capital, turned = marked.opening, rounded(turnover(outcome.all_trades))
    returns = returns_of(marked.points, capital) if marks.interval is not None else []
    seconds = None if marks.interval is None else marks.interval // MICROSECONDS
    yearly = 0 if seconds is None else YEAR_SECONDS // seconds
    return Performance(
        capital=capital,
        return_on_capital=share_of(outcome.profit.net, capital),
        turnover=turned,
        turnover_of_capital=share_of(turned, capital),
        sharpe=sharpe_ratio(returns, yearly),
        sortino=sortino_ratio(returns, yearly),
        interval_seconds=seconds,
        returns=len(returns),
        marked=marked,
        moments=moments_of(returns),
    )


def marked_inventory(outcome: TradingOutcome, marks: Marks, markets: Markets) -> MarkedInventory:
    opening, closing = _summed(outcome.before.values()), _summed(outcome.after.values())
    changes = sorted((*_changes(outcome.fills, markets), *_fees(outcome.transfers)), key=itemgetter(0))
    last = {name: worth[-1] for name, worth in marks.worth.items()}
    points = tuple(_points(changes, marks))
    names = sorted({*opening, *closing})
    return MarkedInventory(
        opening=rounded(_valued(opening, marks.opening)),
        closing=rounded(_valued(closing, last)),
        held=rounded(_valued(opening, last)),
        gain=points[-1].gain,
        drawdown=drawdown_of(points).depth,
        points=points,
        unmarked=tuple(name for name in names if name not in marks.worth),
    )


def turnover(trades: Iterable[Arbitrage | CycleTrade]) -> Decimal:
    """Return the sum of each fill's cost in the settlement currency; what no rate converts counts as it is."""
    turned = ZERO
    for one in trades:
        if isinstance(one, CycleTrade):
            turned += decimal_part(turnover_of(one))
            continue
        for leg in one.legs:
            rate = one.opportunity.rate(leg.quote_currency)
            turned += leg.cost if rate is None else rate.at_mid(leg.cost)
    return turned


def returns_of(points: Sequence[MarkedPoint], capital: Decimal) -> list[float]:
    """Return one return per whole interval, over capital; the last point ends a part of one."""
    if capital <= 0:
        return []
    whole = [point.gain for point in points[:-1]]
    return [float((after - before) / capital) for before, after in pairwise(whole)]


def sharpe_ratio(returns: Sequence[float], yearly: int) -> Ratio:
    """Return mean / standard deviation (n - 1) × √intervals a year (Sharpe 1994, at a risk-free rate of 0)."""
    too_few = _too_few(returns)
    if too_few is not None:
        return Ratio(None, too_few)
    deviation = stdev(returns)
    if deviation == 0:
        return Ratio(None, "the returns do not vary")
    return Ratio(fmean(returns) / deviation * sqrt(yearly))


def moments_of(returns: Sequence[float]) -> ReturnMoments | None:
    """Return them; skewness and kurtosis with the deviation over all n."""
    if _too_few(returns) is not None or stdev(returns) == 0:
        return None
    mean, deviation = fmean(returns), pstdev(returns)
    third, fourth = (fmean(((one - mean) / deviation) ** power for one in returns) for power in (3, 4))
    return ReturnMoments(len(returns), mean / stdev(returns), third, fourth)


def sortino_ratio(returns: Sequence[float], yearly: int) -> Ratio:
    """Return mean / √(mean of squared returns below 0, over all n) × √intervals a year (Sortino and Price 1994, target
    0)."""
    too_few = _too_few(returns)
    if too_few is not None:
        return Ratio(None, too_few)
    downside = sqrt(fmean(min(one, 0.0) ** 2 for one in returns))
    if downside == 0:
        return Ratio(None, "no interval lost anything")
    return Ratio(fmean(returns) / downside * sqrt(yearly))


def share_of(amount: Decimal, whole: Decimal) -> Decimal | None:
    """Return the share to 10 digits; None if `whole` is nothing."""
    return (amount / whole).quantize(SHARE_DIGITS) if whole > 0 else None


def rounded(amount: Decimal) -> Decimal:
    """Round half to even, to 8 digits."""
    return amount.quantize(DIGITS, context=ROUNDING)


def _too_few(returns: Sequence[float]) -> str | None:
    if len(returns) >= MIN_INTERVALS:
        return None
    return f"at least {MIN_INTERVALS} returns are needed, and there are {len(returns)}; test a longer span"


def _summed(balances: Iterable[Holdings]) -> Holdings:
    """Return the sums over all exchanges."""
    sums: Holdings = {}
    for amounts in balances:
        for currency, amount in amounts.items():
            sums[currency] = sums.get(currency, ZERO) + amount
    return sums


def _valued(holdings: Holdings, worth: Mapping[str, Decimal | None]) -> Decimal:
    value = ZERO
    for name, amount in holdings.items():
        value = EXACT.add(value, EXACT.multiply(amount, worth.get(name) or ZERO))
    return value


def _changes(fills: Iterable[Fill], markets: Markets) -> Iterable[tuple[int, str, Decimal]]:
    """Return (when, currency, how much more of it), by time."""
    for fill in sorted(fills, key=lambda one: one.filled_at):
        market = markets[fill.exchange, fill.symbol]
        for currency, change in changes_of(fill, market.base, market.quote_currency):
            yield fill.filled_at, currency, change


def _fees(transfers: Iterable[MoneyTransfer]) -> Iterable[tuple[int, str, Decimal]]:
    """Return what transfers cost, in their own currency."""
    return ((one.times["arrived"], one.currency, -one.lost) for one in transfers if one.lost)


def _points(changes: Sequence[tuple[int, str, Decimal]], marks: Marks) -> Iterable[MarkedPoint]:
    """Return at each moment what was gained by then; fills after the last row count to it."""
    gained: Holdings = {}
    done, last = 0, len(marks.times) - 1
    for number, time in enumerate(marks.times):
        while done < len(changes) and (number == last or changes[done][0] <= time):
            _, currency, change = changes[done]
            gained[currency] = EXACT.add(gained.get(currency, ZERO), change)
            done += 1
        worth = {name: marks.worth[name][number] for name in gained if name in marks.worth}
        yield MarkedPoint(time, rounded(_valued(gained, worth)))
