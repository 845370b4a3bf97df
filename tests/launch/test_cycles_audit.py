"""The audit of trades on cycles finds nothing if nothing is wrong, and each fault by its name."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

import pytest

from launch.chaos.audit.books import evidence_of, violations_of
from launch.chaos.audit.records import AuditedAccount, Violation
from market.money import Amount
from market.trade.arbitrages import Leg
from market.trade.cycle_reservations import liquidity_keys
from market.trade.cycle_trades import CycleTrade
from simulators.matching.order_records import SimulatedOrder
from store.mongo.store import open_store
from store.queries.store_snapshot import LedgerEntry, StoreSnapshot, read_snapshot
from tests.launch.audited_world import booked_fill
from tests.market.cycle_samples import NOW, triangle
from tests.market.test_cycle_lifecycle import begun, filled, trade_of
from tests.store.reservation_requests import ready_bot
from tests.store.test_port_cycles import ID, booked, known, open_books, request, reserved
from tests.ui.session_database import session_database

PLENTY = {("alpha", "USD"): Decimal(100_000), ("alpha", "BTC"): Decimal(10), ("alpha", "ETH"): Decimal(100)}
USD_ALONE = {("alpha", "USD"): Decimal(100_000)}


@dataclass(frozen=True)
class Books:
    """What alpha has recorded, and the store."""

    account: AuditedAccount
    snapshot: StoreSnapshot

    @property
    def trade(self) -> CycleTrade:
        [only] = self.snapshot.cycles
        return only

    def violations(self) -> list[Violation]:
        markets = [leg.market for leg in self.trade.cycle.legs]
        return violations_of(evidence_of([self.account], self.snapshot, markets))

    def with_trade(self, trade: CycleTrade) -> "Books":
        return replace(self, snapshot=replace(self.snapshot, cycles=(trade,)))

    def with_leg(self, number: int, **changes: object) -> "Books":
        order = self.trade.orders[number - 1]
        changed = replace(order, leg=replace(order.leg, **changes))  # type: ignore[arg-type] # fields by their names
        orders = (*self.trade.orders[: number - 1], changed, *self.trade.orders[number:])
        return self.with_trade(replace(self.trade, orders=orders))


def closed(balances: dict[tuple[str, str], Decimal] = PLENTY, last: str = "1") -> Books:
    """Return the books of a triangle at alpha; `last`: the share of its last leg that filled."""
    case = triangle(balances, single_leg_policy="reverse")
    rows = filled(filled(filled(begun(case), "leg1"), "leg2"), "leg3", last)
    for order in trade_of(rows).orders[3:]:
        rows = filled(rows, order.name)
    trade = trade_of(rows)
    assert not trade.is_open
    opening = {currency: amount for (_, currency), amount in balances.items()}
    after = {row.currency: row.free + row.held for row in rows.balances.values()}
    fills = [(order, fill) for order in trade.orders for fill in order.fills]
    snapshot = StoreSnapshot(
        cycles=(trade,),
        used_by_cycles={trade.trade_id: liquidity_keys(case.request)},
        ledger=tuple(LedgerEntry(trade.trade_id, fill) for _, fill in fills),
        balances=tuple(rows.balances.values()),
        before={"alpha": opening},
        after={"alpha": after},
        pairs={f"cycle|{trade.cycle.cycle_id}": rows.on_cycle.arbitrage_id},
        open_arbitrages=rows.open_arbitrages,
        notional=rows.notional,
        liquidity=rows.liquidity,
        day_net=("1970-01-01", rows.day_net),
    )
    orders = tuple(order_of(order.leg) for order in trade.orders)
    kept = tuple(booked_fill(fill, order.leg.exchange_order_id or "") for order, fill in fills)
    return Books(AuditedAccount("alpha", opening, orders, kept), snapshot)


def order_of(leg: Leg) -> SimulatedOrder:
    return SimulatedOrder(
        order_id=leg.exchange_order_id or "",
        number=1,
        client_order_id=leg.client_order_id,
        symbol=leg.symbol,
        side=leg.side,
        amount=leg.amount,
        price=leg.limit_price,
        immediate=True,
        placed_at=NOW,
        state="done",
        filled=Amount(leg.filled),
        ended_at=NOW,
    )


@pytest.mark.parametrize("books", [closed(), closed(USD_ALONE), closed(last="0.5")], ids=["all go", "wait", "unwound"])
def test_nothing_is_wrong_where_nothing_is(books: Books) -> None:
    assert books.violations() == []


def posted_again(books: Books) -> Books:
    again = replace(books.account.orders[1], order_id="again", filled=Amount(Decimal(0)), state="cancelled")
    return replace(books, account=replace(books.account, orders=(*books.account.orders, again)))


def without_its_last_leg(books: Books) -> Books:
    return books.with_trade(replace(books.trade, orders=books.trade.orders[:-1]))


def sold_too_little(books: Books) -> Books:
    [fill] = books.trade.orders[2].fills
    return books.with_leg(3, fills=(replace(fill, amount=Amount(fill.amount / 2)),))


Tampering = Callable[[Books], Books]
CASES: tuple[tuple[str, Tampering], ...] = (
    ("posted_twice", posted_again),
    ("illegal_history", without_its_last_leg),
    ("illegal_history", lambda books: books.with_leg(2, state="granted")),
    ("single_leg_undecided", sold_too_little),
    ("single_leg_undecided", lambda books: books.with_trade(replace(books.trade, state="residual"))),
    ("fill_missing", lambda books: books.with_leg(3, fills=())),
    ("left_open", lambda books: books.with_trade(replace(books.trade, state="single_leg"))),
    ("left_open", lambda books: books.with_leg(1, held=Decimal(1))),
    (
        "reservation_left",
        lambda books: replace(books, snapshot=replace(books.snapshot, pairs={"cycle|one": "found"})),
    ),
    (
        "liquidity_differs",
        lambda books: replace(books, snapshot=replace(books.snapshot, liquidity={"q|buy": Decimal(1)})),
    ),
    ("day_net_differs", lambda books: books.with_trade(replace(books.trade, profit=None))),
)


@pytest.mark.parametrize(("kind", "tamper"), CASES, ids=[f"{kind}-{number}" for number, (kind, _) in enumerate(CASES)])
def test_each_fault_is_found_by_its_name(kind: str, tamper: Tampering) -> None:
    assert kind in {violation.kind for violation in tamper(closed()).violations()}


def test_a_leg_that_did_not_wait_for_its_proceeds_is_found() -> None:
    books = closed(USD_ALONE)
    early = books.with_leg(2, times={**books.trade.legs[1].times, "granted": NOW - 1})
    assert [(one.kind, one.detail) for one in early.violations() if one.kind == "illegal_history"] == [
        ("illegal_history", "its leg 2 was granted before what it waits for had ended")
    ]


async def test_a_snapshot_has_trades_on_cycles_and_what_they_used(tmp_path: Path, mongodb_uri: str) -> None:
    async with session_database(tmp_path, mongodb_uri) as session, await open_store(session) as store:
        await open_books(store)
        await ready_bot(store, "alpha")
        by = await ready_bot(store, "decider")
        await reserved(store, by)
        for name in ("leg1", "leg2", "leg3"):
            await booked(store, name, by=by)
        snapshot = await read_snapshot(session)
        trade = await known(store)
    assert list(snapshot.trades) == [trade]
    assert snapshot.used_by_cycles == {ID: liquidity_keys(request())}
    assert snapshot.pairs == {f"cycle|{trade.cycle.cycle_id}": None}
    assert {(step.arbitrage_id, step.by) for step in snapshot.steps} == {(ID, by)}
    found = violations_of(evidence_of([], snapshot, [leg.market for leg in trade.cycle.legs]))
    # no exchange was there to know its fills
    assert {one.kind for one in found} == {"fill_unknown"}
