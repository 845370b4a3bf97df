"""P&L by exchange, asset, pair, day or strategy: sums of the exchanges' shares, exact to the last digit."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from market.money import ZERO, total
from market.trade.arbitrages import PROFIT_PARTS, Arbitrage, ProfitAndLoss, Strategy
from market.trade.cycle_trades import CycleTrade

GroupedBy = Literal["exchange", "asset", "pair", "day", "strategy"]

NOT_SPLIT = "not split"
"""Instead of an exchange: what earlier versions stored, without shares."""


@dataclass(frozen=True, slots=True)
class ProfitGroup:
    """The shares that one exchange had in one asset's arbitrages of one pair and strategy that ended on one day (UTC,
    YYYY-MM-DD); in one month (YYYY-MM) if only its sums are kept.

    An arbitrage with a share here counts in `involved`; it counts in `arbitrages` at one of its exchanges alone.
    """

    exchange: str
    asset: str
    day: str
    involved: int
    arbitrages: int
    profit: ProfitAndLoss
    pair: str = ""
    """As `pair_name` gives it."""
    strategy: Strategy = "arbitrage"


@dataclass(frozen=True, slots=True)
class ProfitLine:
    """All of one exchange, asset, pair, day or strategy; an arbitrage counts at each of its exchanges, else once."""

    name: str
    arbitrages: int
    profit: ProfitAndLoss


def profit_by(groups: Iterable[ProfitGroup], by: GroupedBy) -> list[ProfitLine]:
    """By name; of one currency."""
    lines: dict[str, ProfitLine] = {}
    for group in groups:
        name: str = getattr(group, by)
        count = group.involved if by == "exchange" else group.arbitrages
        known = lines.get(name)
        lines[name] = (
            ProfitLine(name, count, group.profit)
            if known is None
            else ProfitLine(name, known.arbitrages + count, added(known.profit, group.profit))
        )
    return [lines[name] for name in sorted(lines)]


def pair_name(buy_exchange: str, sell_exchange: str) -> str:
    """Where bought and where sold; one exchange alone where both are the same, as of a moving average's order."""
    return buy_exchange if buy_exchange == sell_exchange else f"{buy_exchange} → {sell_exchange}"


def added(one: ProfitAndLoss, other: ProfitAndLoss) -> ProfitAndLoss:
    """Return the sum of each part, of one currency."""
    others = other.parts
    return profit_from(one.currency, {part: amount + others[part] for part, amount in one.parts.items()})


def profit_of(trades: Iterable[Arbitrage | CycleTrade], currency: str) -> ProfitAndLoss:
    """Return the sum over all trades that have a profit, settled in `currency`."""
    profits = [one.profit.parts for one in trades if one.profit is not None]
    return profit_from(currency, {part: total(parts[part] for parts in profits) for part in PROFIT_PARTS})


def profit_from(currency: str, parts: Mapping[str, Decimal]) -> ProfitAndLoss:
    """`parts` by name; those that are missing are 0."""
    return ProfitAndLoss(
        currency,
        gross=parts.get("gross", ZERO),
        latency_decay=parts.get("latency_decay", ZERO),
        slippage=parts.get("slippage", ZERO),
        fees=parts.get("fees", ZERO),
        fx=parts.get("fx", ZERO),
        unwinding=parts.get("unwinding", ZERO),
        net=parts.get("net", ZERO),
    )
