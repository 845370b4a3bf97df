"""An exchange that does what is asked of it and no more, and misbehaves in every way that exchanges do.

Its own records are the truth that a history is judged by.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import ClassVar, Literal

from exchanges.errors import AccountRejectedError, OrderRejectedError, OutcomeUnknownError
from exchanges.ports.orders import FILLS_MARGIN, SEARCH_MARGIN
from market.instruments.fees import charged, fee_currency
from market.instruments.markets import Market
from market.instruments.orders import AccountFill, Fill, LimitOrder, OpenOrder, OrderReport, Side
from market.money import ZERO, Amount, Price, floor_to_step, total
from market.time_units import MICROSECONDS
from market.trade.inflight_orders import WITHOUT_CLIENT_IDS
from market.trade.leases import Actor
from tests.bots.histories.stepped_loop import Time

FEE_RATE = Decimal("0.001")
FEE_STEP = Decimal("0.00000001")
BETTER: Mapping[Side, Decimal] = {"buy": Decimal("0.9"), "sell": Decimal("1.1")}


Lie = Literal["double", "half", "better"]
"""What its first reports of an order say that is not true, and that the order allows: twice as much as filled, half as
much, or at a better price with its cost. The list of fills is true."""
LIES_FOR = MICROSECONDS
"""So long after it came to know the order."""


@dataclass(frozen=True, slots=True)
class Treatment:
    """What becomes of one order. Times are microseconds from when it was posted."""

    outcome: Literal["taken", "rejected", "lost", "account_rejected"] = "taken"
    share: Decimal = Decimal(1)
    """How much of it fills."""
    acknowledged: bool = True
    arrives_after: int = 0
    """It lies in the network for so long; its acknowledgement is lost then."""
    shown_after: int = 0
    """For so long after it arrived look-ups deny it, as those of a stale replica do."""
    ends_after: int = 0
    """For so long after it arrived its report is not final and lacks the last fill."""
    fills_listed: int = 1
    """How often each fill is in the report."""
    lie: Lie | None = None


PLAIN = Treatment()


@dataclass(frozen=True, slots=True)
class Post:
    """One order on its way to the exchange, whatever becomes of it there."""

    client_order_id: str
    by: Actor
    at: int


@dataclass(frozen=True, slots=True)
class TakenOrder:
    """One order in the exchange's books."""

    order: LimitOrder
    exchange_order_id: str
    placed_at: int
    shown_at: int
    ends_at: int
    fills: tuple[Fill, ...]
    fills_listed: int
    lie: Lie | None


@dataclass
class ExchangeModel:
    """One exchange with our one account on it."""

    markets: tuple[Market, ...]
    """The first is that of the pair."""
    time: Time
    balances: dict[str, Decimal]
    treatments: list[Treatment] = field(default_factory=list)
    """Treatments of the next orders, in their order; later orders are plain."""
    has_lied: bool = False
    """Its balances had an order in them that it did not show, or not all of, or otherwise."""
    ahead: int = 0
    """How far its clock, by which it dates orders and fills, is off; nobody measures it here. Microseconds."""
    margin: ClassVar[int] = SEARCH_MARGIN
    posts: Counter[str] = field(default_factory=Counter)
    """Our id of an order → how often anybody sent it off."""
    posted: list[Post] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)
    """Our ids of orders that came with a key that the exchange did not take."""
    denials: dict[str, list[int]] = field(default_factory=dict)
    """Our id of an order → when it said that it knows none such."""
    under_way: list[tuple[int, LimitOrder, Treatment]] = field(default_factory=list)
    """(when it arrives, order, treatment)."""
    taken: list[TakenOrder] = field(default_factory=list)
    _count: int = 0
    _fill_count: int = 0

    @property
    def name(self) -> str:
        return self.markets[0].exchange

    @property
    def has_client_ids(self) -> bool:
        """Else it finds an order only by what it says and when it was sent."""
        return self.name not in WITHOUT_CLIENT_IDS

    @property
    def fills(self) -> tuple[Fill, ...]:
        """All that it ever executed for us."""
        return tuple(fill for one in self.taken for fill in one.fills)

    def fills_of_like_orders(self) -> list[Fill]:
        """Return the fills of orders whose content is equal to another's."""
        said = Counter(_content(one.order) for one in self.taken)
        return [fill for one in self.taken if said[_content(one.order)] > 1 for fill in one.fills]

    def post(self, order: LimitOrder, by: Actor) -> OrderReport:
        """Raise what an account's `place` raises."""
        self.posts[order.client_order_id] += 1
        self.posted.append(Post(order.client_order_id, by, self.time.now()))
        treatment = self.treatments.pop(0) if self.treatments else PLAIN
        if treatment.outcome == "lost":
            raise OutcomeUnknownError("lost on the way")
        if treatment.outcome == "rejected":
            raise OrderRejectedError("not today")
        if treatment.outcome == "account_rejected":
            self.refused.add(order.client_order_id)
            raise AccountRejectedError("bad key")
        if treatment.arrives_after > 0:
            self.under_way.append((self.time.now() + treatment.arrives_after, order, treatment))
            raise OutcomeUnknownError("timed out")
        taken = self._take(order, treatment)
        if not treatment.acknowledged:
            raise OutcomeUnknownError("answer lost")
        return self._report(taken)

    def look_up(self, order: LimitOrder, others: Collection[str]) -> OrderReport | None:
        """Raise OutcomeUnknownError if more than one order may be it."""
        shown = [one for one in self._shown() if self._fits(one, order) and one.exchange_order_id not in others]
        if len(shown) > 1:
            raise OutcomeUnknownError(f"{len(shown)} orders fit {order.client_order_id}")
        if shown:
            return self._report(shown[0])
        self.denials.setdefault(order.client_order_id, []).append(self.time.now())
        return None

    def open_orders(self) -> list[OpenOrder]:
        resting = [one for one in self._shown() if one.ends_at > self.time.now()]
        return [
            OpenOrder(
                exchange=self.name,
                symbol=one.order.symbol,
                exchange_order_id=one.exchange_order_id,
                client_order_id=self._reported_id(one),
                side=one.order.side,
                amount=one.order.amount,
                price=one.order.price,
                placed_at=one.placed_at,
            )
            for one in resting
        ]

    def fills_since(self, since: int) -> list[AccountFill]:
        """From so much before the whole second of `since` on as accounts do."""
        first = (since - FILLS_MARGIN) // MICROSECONDS * MICROSECONDS
        return [
            AccountFill(fill, one.exchange_order_id, self._reported_id(one))
            for one in self._shown()
            for fill in self._executed_of(one)
            if fill.filled_at >= first
        ]

    def let_arrive(self, everything: bool = False) -> None:
        """Let orders arrive that were under way and are due by now."""
        due = [one for one in self.under_way if everything or one[0] <= self.time.now()]
        self.under_way = [one for one in self.under_way if one not in due]
        for _, order, treatment in due:
            self._take(order, treatment)

    def next_arrival(self) -> int | None:
        return min((at for at, _, _ in self.under_way), default=None)

    def show_everything(self) -> None:
        """No stale replica any more and no lie, and every order has ended."""
        self.treatments.clear()
        self.let_arrive(everything=True)
        self.taken = [replace(one, shown_at=0, ends_at=0, lie=None) for one in self.taken]

    def _take(self, order: LimitOrder, treatment: Treatment) -> TakenOrder:
        self._count += 1
        self.has_lied |= treatment.shown_after > 0 or treatment.ends_after > 0 or treatment.lie is not None
        now = self.time.now()
        taken = TakenOrder(
            order=order,
            exchange_order_id=f"{self.name}-{self._count}",
            placed_at=now + self.ahead,
            shown_at=now + treatment.shown_after,
            ends_at=now + treatment.ends_after,
            fills=self._executed(order, treatment.share),
            fills_listed=treatment.fills_listed,
            lie=treatment.lie,
        )
        self.taken.append(taken)
        return taken

    def _executed(self, order: LimitOrder, share: Decimal) -> tuple[Fill, ...]:
        """Two executions if the amount allows it, as far as the balance bears them."""
        lot = self._market(order.symbol).lot_step
        filled = floor_to_step(order.amount * share, lot)
        first = floor_to_step(filled / 3, lot)
        amounts = [amount for amount in (first, filled - first) if amount > 0]
        return tuple(fill for amount in amounts if (fill := self._fill(order, amount)) is not None)

    def _fill(self, order: LimitOrder, amount: Decimal) -> Fill | None:
        market, cost = self._market(order.symbol), order.price * amount
        fee = (charged(market, order.side, cost, amount) * FEE_RATE).quantize(FEE_STEP)
        sign = 1 if order.side == "buy" else -1
        after = dict(self.balances)
        for currency, change in (
            (market.base, sign * amount),
            (market.quote_currency, -sign * cost),
            (fee_currency(market, order.side), -fee),
        ):
            after[currency] = after.get(currency, ZERO) + change
        if min(after.values()) < 0:
            return None
        self.balances = after
        self._fill_count += 1
        return Fill(
            fill_id=f"{self.name}-fill-{self._fill_count}",
            exchange=self.name,
            symbol=order.symbol,
            side=order.side,
            price=order.price,
            amount=Amount(amount),
            cost=cost,
            fee=fee,
            fee_currency=fee_currency(market, order.side),
            filled_at=self.time.now() + self.ahead,
        )

    def _market(self, symbol: str) -> Market:
        return next(one for one in self.markets if one.symbol == symbol)

    def _fits(self, taken: TakenOrder, order: LimitOrder) -> bool:
        one = taken.order
        if self.has_client_ids:
            return one.client_order_id == order.client_order_id
        return taken.placed_at >= order.intended_at - self.margin and _content(one) == _content(order)

    def _shown(self) -> list[TakenOrder]:
        return [one for one in self.taken if one.shown_at <= self.time.now()]

    def _reported_id(self, taken: TakenOrder) -> str | None:
        return taken.order.client_order_id if self.has_client_ids else None

    def _executed_of(self, taken: TakenOrder) -> tuple[Fill, ...]:
        """Those that it tells by now."""
        return taken.fills if taken.ends_at <= self.time.now() else taken.fills[:-1]

    def _report(self, taken: TakenOrder) -> OrderReport:
        is_final = taken.ends_at <= self.time.now()
        is_lying = self.time.now() + self.ahead < taken.placed_at + LIES_FOR
        fills = self._told(taken, self._executed_of(taken)) if is_lying else self._executed_of(taken)
        listed = tuple(fill for fill in fills for _ in range(taken.fills_listed))
        return OrderReport(taken.exchange_order_id, is_final, Amount(total(fill.amount for fill in fills)), listed)

    def _told(self, taken: TakenOrder, fills: tuple[Fill, ...]) -> tuple[Fill, ...]:
        """As its reports say; a lie that the order does not allow is another one's business."""
        lot = self._market(taken.order.symbol).lot_step
        told = tuple(_false(fill, taken.lie, lot) for fill in fills)
        return told if total(fill.amount for fill in told) <= taken.order.amount else fills


def _false(fill: Fill, lie: Lie | None, lot: Decimal) -> Fill:
    amount, price = fill.amount, fill.price
    if lie == "double":
        amount = Amount(2 * amount)
    elif lie == "half":
        amount = Amount(max(lot, floor_to_step(amount / 2, lot)))
    elif lie == "better":
        price = Price(price * BETTER[fill.side])
    return replace(fill, amount=amount, price=price, cost=price * amount)


def _content(order: LimitOrder) -> tuple[str, str, Decimal, Decimal]:
    """All that such an exchange knows an order by, beside its time."""
    return order.symbol, order.side, order.price, order.amount
