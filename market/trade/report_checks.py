"""Checks of an exchange's report of an order against the order itself, before anything of it is booked. Pure.

What a report says that the order does not allow is booked by nobody: the leg ends as residual, the exchange is paused,
and reconciliation books the order once the balances agree with it.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType
from typing import Final, Literal

from market.decide.market_rules import market_in_force
from market.decide.settings import Settings
from market.instruments.markets import Market
from market.instruments.orders import Fill, OrderReport, Side, StatedOrder
from market.money import EXACT, ZERO, text_of, total
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Leg
from market.trade.fast_replace import replace
from market.trade.unwinding import Markets

Subject = Literal[
    "order_id",
    "client_id",
    "symbol",
    "side",
    "terms",
    "amount",
    "sum",
    "shrunk",
    "time",
    "overfilled",
    "steps",
    "price",
    "cost",
    "fee",
    "fee_currency",
]

IMPLAUSIBLE: Final = "implausible_report"
"""Reason of a residual arbitrage: the exchange's report of an order contradicts the order."""
HIGHEST_FEE = Decimal("0.02")
"""Share of the notional; or three times the account's taker fee, if that is more. Exchanges change fees meanwhile."""
FEE_MARGIN = 3
MOST_IMPROVEMENT = 2
"""A price better than the limit is no lie; one that is twice as good is not believed without the balances."""
ROUNDING = Decimal("0.01")
"""Share of the notional, or of the market's smallest order: exchanges book costs and fees rounded, to whole yen."""
MOST_OFF = 24 * 3_600 * MICROSECONDS
"""How far the time of a fill may be from the grant, by the exchange's clock; clocks are off by minutes."""
LONGEST_ID = 100
FEE_TOKENS = frozenset({"BNB", "KCS", "OKB", "GT", "HT", "BGB", "MX", "MNT", "CRO", "LEO", "WRX", "BMX", "XT"})
"""Exchanges' own tokens, which their accounts may pay fees in even if a market here trades them. What one is worth is
not known here."""
WHOLE_UNITS: Mapping[str, Decimal] = MappingProxyType(dict.fromkeys(("IDR", "JPY", "KRW"), Decimal(1)))
"""Currencies that exchanges book in whole units, so that the cost of a small fill may be 0."""

_ID = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class ReportDoubt:
    """What of a report contradicts its order; `text` says it in words."""

    subject: Subject
    text: str


@dataclass(frozen=True, slots=True)
class _Checked:
    """One report with what it is compared with; `seen` was reported as filled before."""

    leg: Leg
    report: OrderReport
    market: Market | None
    """By the rules in force."""
    steps: frozenset[Decimal]
    """Lot steps that a fill may be of: that in force, and that of the session's start, which older orders rest by."""
    taker_fee: Decimal
    tokens: Collection[str]
    """In which fees may be paid besides."""
    seen: Decimal
    on_exchange: Callable[[int], int]

    @property
    def stated(self) -> StatedOrder:
        return self.report.stated or StatedOrder()

    @property
    def slack(self) -> Decimal:
        """What rounding of a cost may come to, in quote currency."""
        unit = WHOLE_UNITS.get(self.leg.quote_currency, ZERO)
        if self.market is None:
            return unit
        smallest = max(self.market.minimum_notional, self.market.minimum_amount * self.leg.limit_price)
        return max(smallest, self.market.tick_size) * ROUNDING + unit


Check = Callable[[_Checked], str | None]


def _order_id(one: _Checked) -> str | None:
    name, known = one.report.exchange_order_id, one.leg.exchange_order_id
    if not _is_id(name):
        return f"its id {name[:LONGEST_ID]!r} is none"
    if known is not None and known != name:
        return f"it is order {name}, but {known} was acknowledged"
    others = one.stated.orders_of_fills - {name}
    return f"it has fills of order {', '.join(sorted(others))}" if others else None


def _client_id(one: _Checked) -> str | None:
    stated = one.stated.client_order_id
    return _contradiction("client order id", stated, one.leg.client_order_id)


def _symbol(one: _Checked) -> str | None:
    stated = [one.stated.symbol, *(fill.symbol for fill in one.report.fills)]
    exchanges = {fill.exchange for fill in one.report.fills} - {one.leg.exchange}
    if exchanges:
        return f"it has a fill of {', '.join(sorted(exchanges))}"
    return next((text for text in (_contradiction("symbol", name, one.leg.symbol) for name in stated) if text), None)


def _side(one: _Checked) -> str | None:
    stated: list[Side | None] = [one.stated.side, *(fill.side for fill in one.report.fills)]
    return next((text for text in (_contradiction("side", side, one.leg.side) for side in stated) if text), None)


def _terms(one: _Checked) -> str | None:
    amount, price = one.stated.amount, one.stated.price
    if amount is not None and amount != one.leg.amount:
        return f"its amount is {text_of(amount)}, ordered were {text_of(one.leg.amount)}"
    if price is not None and price != one.leg.limit_price:
        return f"its limit is {text_of(price)}, not {text_of(one.leg.limit_price)}"
    return None


def _amount(one: _Checked) -> str | None:
    if one.report.filled < 0:
        return f"{text_of(one.report.filled)} is filled"
    return _first(one, lambda fill: f"its amount is {text_of(fill.amount)}" if fill.amount <= 0 else None)


def _sum(one: _Checked) -> str | None:
    listed = listed_amount(one.report.fills)
    if listed == one.report.filled:
        return None
    return f"{text_of(one.report.filled)} is filled, but its fills sum to {text_of(listed)}"


def _shrunk(one: _Checked) -> str | None:
    if one.report.filled >= one.seen:
        return None
    return f"{text_of(one.report.filled)} is filled, after {text_of(one.seen)}"


def _time(one: _Checked) -> str | None:
    if "granted" not in one.leg.times:
        return None
    granted = one.on_exchange(one.leg.times["granted"])
    return _first(one, lambda fill: "its time is days off" if abs(fill.filled_at - granted) > MOST_OFF else None)


def _overfilled(one: _Checked) -> str | None:
    most = max(listed_amount(one.report.fills), one.report.filled)
    return f"{text_of(most)} of {text_of(one.leg.amount)} is filled" if most > one.leg.amount else None


def _steps(one: _Checked) -> str | None:
    """No doubt if the order itself is of none of the steps: they have changed since."""
    if not _is_of_a_step(one.leg.amount, one.steps):
        return None
    return _first(one, lambda fill: _off_steps(fill, one.steps))


def _off_steps(fill: Fill, steps: Collection[Decimal]) -> str | None:
    if _is_of_a_step(fill.amount, steps):
        return None
    known = " or ".join(text_of(step) for step in sorted(steps))
    return f"its amount {text_of(fill.amount)} is not a whole number of steps of {known}"


def _is_of_a_step(amount: Decimal, steps: Collection[Decimal]) -> bool:
    return not steps or any(EXACT.remainder(amount, step) == 0 for step in steps)


def _price(one: _Checked) -> str | None:
    average = one.stated.average
    if average is not None and one.report.filled > 0 and (text := _price_fault(average, one.leg)):
        return f"its average {text}"
    return _first(one, lambda fill: _price_fault(fill.price, one.leg))


def _price_fault(price: Decimal, leg: Leg) -> str | None:
    limit = leg.limit_price
    if price <= 0:
        return f"price {text_of(price)} is not above 0"
    is_beyond = price > limit if leg.side == "buy" else price < limit
    is_far = price * MOST_IMPROVEMENT < limit if leg.side == "buy" else price > limit * MOST_IMPROVEMENT
    text = f"price {text_of(price)} of a {leg.side} with the limit {text_of(limit)}"
    return f"{text} is beyond it" if is_beyond else f"{text} is too good to be true" if is_far else None


def _cost(one: _Checked) -> str | None:
    return _first(one, lambda fill: _cost_fault(fill, one.slack))


def _cost_fault(fill: Fill, slack: Decimal) -> str | None:
    product = fill.price * fill.amount
    is_near = fill.cost * product >= 0 and abs(fill.cost - product) <= abs(product) * ROUNDING + slack
    return None if is_near else f"its cost is {text_of(fill.cost)}, its price times its amount {text_of(product)}"


def _fee(one: _Checked) -> str | None:
    return _first(one, lambda fill: _fee_fault(fill, one))


def _fee_fault(fill: Fill, one: _Checked) -> str | None:
    """Refuse a negative fee of a taker: no schedule of a session's settings has such a rate. A backtest's may."""
    if fill.fee < 0 <= one.taker_fee:
        return f"its fee is {text_of(fill.fee)} {fill.fee_currency}"
    highest = max(HIGHEST_FEE, FEE_MARGIN * one.taker_fee)
    if fill.fee_currency == one.leg.base:
        is_high = fill.fee > fill.amount * highest + one.slack / one.leg.limit_price
    else:
        is_high = fill.fee_currency == one.leg.quote_currency and fill.fee > fill.cost * highest + one.slack
    text = f"its fee of {text_of(fill.fee)} {fill.fee_currency} is more than {text_of(highest)} of it"
    return text if is_high else None


def _fee_currency(one: _Checked) -> str | None:
    known = {one.leg.base, one.leg.quote_currency, *one.tokens}
    return _first(one, lambda fill: None if fill.fee_currency in known else f"its fee is in {fill.fee_currency[:20]!r}")


CHECKS: Mapping[Subject, Check] = MappingProxyType(
    {
        "order_id": _order_id,
        "client_id": _client_id,
        "symbol": _symbol,
        "side": _side,
        "terms": _terms,
        "amount": _amount,
        "sum": _sum,
        "shrunk": _shrunk,
        "time": _time,
        "overfilled": _overfilled,
        "steps": _steps,
        "price": _price,
        "cost": _cost,
        "fee": _fee,
        "fee_currency": _fee_currency,
    }
)
"""By what they look at, in this order; the first that objects counts."""
SETTLED_BY_BALANCES: frozenset[Subject] = frozenset({"overfilled", "price", "fee", "fee_currency"})
"""An exchange that did move exactly that is believed; the books take any such fill. The others are never booked: they
may be of another order, the books have no place for them, or no balance shows them: a price that contradicts its cost,
or an amount off the step by less than what balances round."""


def _none_held(_exchange: str) -> Collection[str]:
    """Default without balances."""
    return ()


def _as_it_is(time: int) -> int:
    """Default if the exchange's clock is this world's."""
    return time


@dataclass(frozen=True, slots=True)
class ReportRules:
    """What reports are checked by. A market that is not among `markets` is not checked for steps."""

    markets: Markets = field(default_factory=dict)
    """As the session began."""
    settings: Callable[[], Settings] | None = None
    """Those in force: the rules of markets and the taker fees."""
    held: Callable[[str], Collection[str]] = _none_held
    """Exchange → currencies that the account has there."""
    on_exchange: Callable[[int], int] = _as_it_is
    """A time of the store's clock by the clock that stamps fills: in a replay, that of the recording."""
    checks: Mapping[Subject, Check] = field(default_factory=lambda: CHECKS)

    def doubt(self, leg: Leg, report: OrderReport, seen: Decimal = ZERO) -> ReportDoubt | None:
        """Return what of a final report contradicts the order of `leg`; None if it may be booked.

        `seen`: what an earlier report of the same order said was filled.
        """
        if not report.is_posted or not (report.exchange_order_id or report.filled or report.fills):
            # made here: the exchange never had the order
            return None
        checked = self._checked(leg, report, max(seen, leg.filled))
        for subject, check in self.checks.items():
            text = check(checked)
            if text is not None:
                return ReportDoubt(subject, text)
        return None

    def doubt_beside_balances(self, leg: Leg, report: OrderReport) -> ReportDoubt | None:
        """Return the same without what the balances can settle, and without the id of the acknowledgement."""
        checks = {name: check for name, check in self.checks.items() if name not in SETTLED_BY_BALANCES}
        return replace(self, checks=checks).doubt(_unacknowledged(leg), report)

    def _checked(self, leg: Leg, report: OrderReport, seen: Decimal) -> _Checked:
        settings = None if self.settings is None else self.settings()
        began = self.markets.get((leg.exchange, leg.symbol))
        market = began if began is None or settings is None else market_in_force(began, settings)
        return _Checked(
            leg=leg,
            report=report,
            market=market,
            steps=frozenset(one.lot_step for one in (began, market) if one is not None and one.lot_step > 0),
            taker_fee=ZERO if settings is None else settings.taker_fees.get(leg.exchange, ZERO),
            tokens=FEE_TOKENS | self._untraded(leg.exchange),
            seen=seen,
            on_exchange=self.on_exchange,
        )

    def _untraded(self, exchange: str) -> frozenset[str]:
        """Return what the account holds and no market here trades: an exchange may take its fees of that."""
        held = frozenset(self.held(exchange))
        if not held:
            return held
        return held - {name for one in self.markets.values() for name in (one.base, one.quote_currency)}


def _unacknowledged(leg: Leg) -> Leg:
    """Ask again, since the acknowledgement may have been the lie."""
    return replace(leg, exchange_order_id=None)


def _is_id(text: str) -> bool:
    return len(text) <= LONGEST_ID and _ID.fullmatch(text) is not None


def _contradiction(what: str, stated: str | None, ours: str) -> str | None:
    return None if stated is None or stated == ours else f"its {what} is {stated[:LONGEST_ID]}, not {ours}"


def listed_amount(fills: Iterable[Fill]) -> Decimal:
    """Return the sum in the order's coin, with one of each fill: an exchange may list it twice."""
    return total({fill.fill_id: fill.amount for fill in fills}.values())


def _first(one: _Checked, fault: Callable[[Fill], str | None]) -> str | None:
    """Return the first fault of a fill, with its id."""
    for fill in one.report.fills:
        text = fault(fill)
        if text is not None:
            return f"fill {fill.fill_id[:LONGEST_ID]}: {text}"
    return None
