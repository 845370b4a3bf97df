"""Compares the exchanges' orders and fills with the legs and the ledger. Pure."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from exchanges.ports.order_terms import whole_id
from launch.chaos.audit.records import AuditedAccount, Evidence, Violation
from launch.chaos.audit.replacements import RecordedLeg, replacements
from market.instruments.orders import Fill, Side
from market.time_units import MICROSECONDS
from simulators.matching.order_records import RejectedOrder, SimulatedFill, SimulatedOrder

MAX_TRAVEL = 20 * MICROSECONDS
"""No order travels longer: half of the highest injected latency, plus a margin for a busy machine."""


@dataclass(frozen=True, slots=True)
class PostedOrder:
    """An order that reached an exchange, accepted or rejected; `order_id` None if it was rejected."""

    order_id: str | None
    client_order_id: str | None
    symbol: str
    side: Side
    amount: Decimal
    price: Decimal | None
    at: int

    @property
    def description(self) -> str:
        return f"{self.side} {self.amount} {self.symbol} at {self.price}"


def order_violations(evidence: Evidence) -> Iterator[Violation]:
    """Return violations: each order belongs to one leg, each leg has at most one order, and each fill is in the ledger
    exactly once."""
    legs = _recorded_legs(evidence)
    for account in evidence.accounts.values():
        own = [filed for filed in legs if filed.leg.exchange == account.exchange]
        postings = _postings(account)
        owners = _owners(postings, own)
        yield from _posting_violations(account, postings, owners)
        orders = {posting.order_id: owner for posting, owner in zip(postings, owners, strict=True)}
        yield from _unbooked_orders(account, own)
        yield from replacements(account, orders, evidence.snapshot.trades)
        yield from _fill_violations(account, evidence, orders, own)
    yield from _foreign_fills(evidence, legs)


def owned_postings(evidence: Evidence) -> Iterator[tuple[PostedOrder, RecordedLeg]]:
    """Return each order that reached an exchange, with its leg; without those whose leg is unknown or uncertain."""
    for _, posting, owner in every_posting(evidence):
        if owner is not None:
            yield posting, owner


def every_posting(evidence: Evidence) -> Iterator[tuple[str, PostedOrder, RecordedLeg | None]]:
    """Return exchange, order, and its leg or None; without those whose leg is uncertain."""
    legs = _recorded_legs(evidence)
    for account in evidence.accounts.values():
        postings = _postings(account)
        owners = _owners(postings, [filed for filed in legs if filed.leg.exchange == account.exchange])
        for posting, owner in zip(postings, owners, strict=True):
            if owner is None or not _is_ambiguous(posting, owner):
                yield account.exchange, posting, owner


def _recorded_legs(evidence: Evidence) -> list[RecordedLeg]:
    return [RecordedLeg(trade.arbitrage_id, leg, leg.role) for trade in evidence.snapshot.trades for leg in trade.legs]


def _postings(account: AuditedAccount) -> list[PostedOrder]:
    taken = [_taken(order, account.came_at.get(order.order_id, order.placed_at)) for order in account.orders]
    postings = sorted([*taken, *(_rejected(order) for order in account.rejected)], key=lambda posting: posting.at)
    # by its form alone: an account's name need not be ccxt's of the exchange
    ours = (one.client_order_id and whole_id(one.client_order_id) for one in postings)
    return [replace(posting, client_order_id=each) for posting, each in zip(postings, ours, strict=True)]


def _taken(order: SimulatedOrder, came_at: int) -> PostedOrder:
    names = (order.order_id, order.client_order_id, order.symbol, order.side)
    return PostedOrder(*names, order.amount, order.price, came_at)


def _rejected(order: RejectedOrder) -> PostedOrder:
    asked = order.request
    return PostedOrder(None, asked.client_order_id, asked.symbol, asked.side, asked.amount, asked.price, order.at)


def _owners(postings: Sequence[PostedOrder], legs: Iterable[RecordedLeg]) -> list[RecordedLeg | None]:
    """Return the leg of each posted order: by client order id, by exchange order id or, without either, by
    similarity."""
    by_client_id = {filed.leg.client_order_id: filed for filed in legs}
    by_order_id = {filed.leg.exchange_order_id: filed for filed in legs if filed.leg.exchange_order_id}
    similar: dict[tuple[object, ...], list[RecordedLeg]] = {}
    for filed in legs:
        leg = filed.leg
        if "granted" in leg.times:
            similar.setdefault((leg.symbol, leg.side, leg.amount, leg.limit_price), []).append(filed)
    owners = [
        by_order_id.get(posting.order_id or "")
        if posting.client_order_id is None
        else by_client_id.get(posting.client_order_id)
        for posting in postings
    ]
    served = {owner for owner in owners if owner is not None}
    for number, posting in enumerate(postings):
        if owners[number] is None and posting.client_order_id is None:
            content = (posting.symbol, posting.side, posting.amount, posting.price)
            owners[number] = _closest(posting, similar.get(content, []), served)
            served |= {owner for owner in owners[number : number + 1] if owner is not None}
    return owners


def _closest(
    posting: PostedOrder, similar: Iterable[RecordedLeg], served: Collection[RecordedLeg]
) -> RecordedLeg | None:
    """Return a similar leg that was granted shortly before and has no order yet; else the nearest in time, which has
    one."""
    granted = [filed for filed in similar if 0 <= posting.at - filed.leg.times["granted"] <= MAX_TRAVEL]
    waiting = [filed for filed in granted if filed not in served]
    return min(waiting or similar, key=lambda filed: abs(filed.leg.times["granted"] - posting.at), default=None)


def _posting_violations(
    account: AuditedAccount, postings: Iterable[PostedOrder], owners: Iterable[RecordedLeg | None]
) -> Iterator[Violation]:
    came: dict[RecordedLeg, list[PostedOrder]] = {}
    for posting, owner in zip(postings, owners, strict=True):
        if owner is None:
            yield Violation("unknown_order", f"{account.exchange}: {posting.description} belongs to no leg")
        else:
            if not _is_ambiguous(posting, owner):
                came.setdefault(owner, []).append(posting)
            yield from _differences(posting, owner)
    for filed, own in came.items():
        if len(own) > 1:
            granted_at = filed.leg.times.get("granted", 0)
            after = [f"{one.order_id or 'rejected'} {(one.at - granted_at) / MICROSECONDS:.3f} s" for one in own]
            each = ", ".join(after)
            detail = f"{filed.name}: {len(own)} orders came to the exchange ({each} after its grant)"
            yield Violation("posted_twice", detail, filed.arbitrage_id)
    for order in account.orders:
        if order.state == "open":
            yield Violation("left_open", f"{account.exchange}: order {order.order_id} is still open")


def _is_ambiguous(posting: PostedOrder, owner: RecordedLeg) -> bool:
    """Return whether it was rejected, has no client order id, and no similar leg had just been granted: it may belong
    to any of them, and the nearest one has its own order."""
    has_an_id = posting.order_id is not None or posting.client_order_id is not None
    return not has_an_id and not 0 <= posting.at - owner.leg.times["granted"] <= MAX_TRAVEL


def _unbooked_orders(account: AuditedAccount, legs: Iterable[RecordedLeg]) -> Iterator[Violation]:
    """Return orders that the exchange has and no leg."""
    known = {filed.leg.exchange_order_id for filed in legs}
    for order in account.orders:
        if order.order_id not in known:
            what = f"{order.side} {order.amount} {order.symbol}, filled {order.filled}"
            yield Violation("order_unbooked", f"{account.exchange}: no leg has order {order.order_id} ({what})")


def _differences(posting: PostedOrder, owner: RecordedLeg) -> Iterator[Violation]:
    leg = owner.leg
    asked = (leg.symbol, leg.side, leg.amount, leg.limit_price)
    if (posting.symbol, posting.side, posting.amount, posting.price) != asked:
        yield Violation("order_differs", f"{owner.name}: the exchange got {posting.description}", owner.arbitrage_id)
    if "granted" not in leg.times:
        yield Violation("unknown_order", f"{owner.name}: posted before it was granted", owner.arbitrage_id)


def _fill_violations(
    account: AuditedAccount,
    evidence: Evidence,
    orders: Mapping[str | None, RecordedLeg | None],
    legs: Iterable[RecordedLeg],
) -> Iterator[Violation]:
    """Return violations: each fill of the exchange must be in the ledger, and on the leg whose order filled."""
    entries = [entry for entry in evidence.snapshot.ledger if entry.fill.exchange == account.exchange]
    in_ledger = Counter(entry.fill.fill_id for entry in entries)
    known = {entry.fill.fill_id: entry.fill for entry in entries}
    holders: dict[str, list[RecordedLeg]] = {}
    for filed in legs:
        for fill in filed.leg.fills:
            holders.setdefault(fill.fill_id, []).append(filed)
    for booked in account.fills:
        owner = orders.get(booked.order_id)
        identity = None if owner is None else owner.arbitrage_id
        name = f"{account.exchange} fill {booked.fill_id}"
        count, holding = in_ledger[booked.fill_id], holders.get(booked.fill_id, [])
        if count == 0 or not holding:
            yield Violation("fill_missing", f"{name}: {count} times in the ledger, {len(holding)} on legs", identity)
        elif count > 1 or len(holding) > 1:
            yield Violation("fill_twice", f"{name}: {count} times in the ledger, {len(holding)} on legs", identity)
        elif holding != [owner]:
            yield Violation("fill_misfiled", f"{name}: on the {holding[0].name}", holding[0].arbitrage_id)
        if count and not _is_same(booked, known[booked.fill_id]):
            yield Violation("fill_differs", f"{name}: the ledger has {known[booked.fill_id]}", identity)


def _is_same(booked: SimulatedFill, fill: Fill) -> bool:
    """Return whether they are equal to the last digit; times are left out, because their precision differs."""
    theirs = (booked.symbol, booked.side, booked.price, booked.amount, booked.cost, booked.fee, booked.fee_currency)
    return theirs == (fill.symbol, fill.side, fill.price, fill.amount, fill.cost, fill.fee, fill.fee_currency)


def _foreign_fills(evidence: Evidence, legs: Iterable[RecordedLeg]) -> Iterator[Violation]:
    """Return fills in the ledger or on a leg that the exchange does not know."""
    real = {(name, fill.fill_id) for name, account in evidence.accounts.items() for fill in account.fills}
    for entry in evidence.snapshot.ledger:
        if (entry.fill.exchange, entry.fill.fill_id) not in real:
            detail = f"{entry.fill.exchange} does not know fill {entry.fill.fill_id} of the ledger"
            yield Violation("fill_unknown", detail, entry.arbitrage_id)
    for filed in legs:
        for fill in filed.leg.fills:
            if (fill.exchange, fill.fill_id) not in real:
                detail = f"{fill.exchange} does not know fill {fill.fill_id} of the {filed.name}"
                yield Violation("fill_unknown", detail, filed.arbitrage_id)
