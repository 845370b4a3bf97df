"""One transaction on MongoDB over the rows of an arbitrage: what changed is written, and nothing else, so that rows
that were only read do not meet other transactions."""

from collections.abc import Iterable, Mapping, Sequence

from pymongo import DeleteMany, InsertOne, UpdateOne

from market.decide.settings import Settings
from market.instruments.orders import Fill
from market.money import ZERO
from market.prices.opportunities import Opportunity
from market.trade.arbitrages import Arbitrage, Leg
from market.trade.cycle_reservations import CycleRows
from market.trade.decision_record import StepRequest, step_by, step_text
from market.trade.grants import new_grants
from market.trade.inflight_orders import inflight_keys
from market.trade.leases import Actor, Lease
from market.trade.moving_average import changed_order
from market.trade.order_results import OrderResult
from market.trade.reservation_state import (
    SIDES,
    BalanceRow,
    PairRow,
    ReservationState,
    TradeRows,
    fill_key,
    liquidity_key,
    pair_key,
)
from store.mongo.batched_reads import BatchedRead, read_batch
from store.mongo.risk_counters import counters_of, day_of
from store.preconditions import check_lease
from store.server.client import Document
from store.server.documents import (
    ARBITRAGES,
    AVERAGE_TRADES,
    BALANCES,
    CLAIMS,
    FILLS,
    HEALTH,
    LEASES,
    ORDER_RESULTS,
    SESSION_BALANCES,
    SESSION_CLAIM,
    SETTINGS,
    SETTINGS_ID,
    STEPS,
    amount_of,
    amounts_document,
    arbitrage_document,
    arbitrage_of,
    average_order_document,
    balance_of,
    date_of,
    fill_document,
    integer_of,
    lease_of,
    order_result_of,
    settings_of,
    step_document,
    stored_amount,
    text_or_none,
)
from store.server.field_updates import field_update
from store.server.transactions import Transaction, Write

PAIR, LIQUIDITY, FLIGHT = "pair|", "liquidity|", "flight|"
"""Prefixes of the claims."""


class MongoUnitOfWork:
    """`store.unit_of_work.UnitOfWork` in one transaction."""

    def __init__(self, transaction: Transaction, session_id: str) -> None:
        self._transaction = transaction
        self._session_id = session_id
        self._settings: Settings | None = None
        self._stored: Document | None = None
        """The arbitrage's document, with what the store adds to it."""
        self._leases: dict[str, Lease] | None = None
        self._is_begun = False
        self._begun: ReservationState | None = None
        self._results: list[Document] = []

    def begin(self, arbitrage_id: str, by: Actor) -> ReservationState | None:
        reads = [BatchedRead(ORDER_RESULTS, {"arbitrage_id": arbitrage_id}), *first_reads(ARBITRAGES, arbitrage_id, by)]
        now, (self._results, *found) = read_batch(self._transaction, reads)
        self._begin_with(now, found, by)
        return self._begun

    def results(self, arbitrage_id: str) -> list[OrderResult]:
        return results_in(self._results, arbitrage_id)

    def rows(self, opportunity: Opportunity, by: Actor, fill_keys: Iterable[str] = ()) -> ReservationState:
        first = [] if self._is_begun else first_reads(ARBITRAGES, opportunity.opportunity_id, by)
        now, found = read_batch(self._transaction, [*first, *_row_reads(opportunity, fill_keys)])
        if first:
            self._begin_with(now, found[: len(first)], by)
        claimed, balances, health, fills = found[len(first) :]
        claims = {str(document["_id"]): document for document in claimed}
        counters = counters_of(claims.get(SESSION_CLAIM), now, self._session_id)
        pair = claims.get(PAIR + pair_key(opportunity), {})
        begun = self._begun
        return ReservationState(
            now=now,
            by=by,
            opportunity=opportunity,
            settings=self._settings,
            reservations_open=counters.reservations_open,
            open_arbitrages=counters.open_arbitrages,
            notional=counters.notional,
            day_net=counters.day_net,
            paused_until={str(document["_id"]): integer_of(document["paused_until"]) for document in health},
            unexplained=tuple(str(document["_id"]) for document in health if document.get("unexplained_since")),
            arbitrage=None if begun is None else begun.arbitrage,
            is_of_earlier=self._stored is not None and self._stored["session_id"] != self._session_id,
            leases=self._leases,
            pair=PairRow(text_or_none(pair.get("arbitrage_id")), integer_of(pair.get("reserved_at"))),
            balances={(row.exchange, row.currency): row for row in map(balance_of, balances)},
            liquidity={
                key: amount_of(claims[LIQUIDITY + key]["used"]) if LIQUIDITY + key in claims else ZERO
                for key in (liquidity_key(opportunity, side) for side in SIDES)
            },
            in_flight=holders(claims, FLIGHT, inflight_keys(opportunity)),
            known_fills=frozenset(str(document["_id"]) for document in fills),
        )

    def write(self, before: ReservationState, after: ReservationState, request: StepRequest) -> None:
        if request.results:
            self._transaction.write(ORDER_RESULTS, [removal_of(request.results)])
        if after is before or after.arbitrage is None:
            return
        document = arbitrage_document(after.arbitrage) | own_fields(self._stored, self._session_id, after.now)
        self._transaction.write(ARBITRAGES, [written(self._stored, document)])
        text, grants = step_text(step_by(request, before)), new_grants(before.arbitrage, after.arbitrage)
        step = step_document(document["_id"], integer_of(document["revision"]), text, grants)
        self._transaction.write(STEPS, [InsertOne(step)])
        self._transaction.write(BALANCES, changed_balances(before, after))
        pairs = PAIR + pair_key(after.opportunity), before.pair, after.pair
        self._transaction.write(CLAIMS, changed_claims(before, after, *pairs))
        entries = ledger_entries(self._transaction, self._session_id, document, after, after.arbitrage.legs)
        self._transaction.write(FILLS, entries)
        self._transaction.write(AVERAGE_TRADES, _changed_signal(before.arbitrage, after.arbitrage))

    def _begin_with(self, now: int, found: Sequence[list[Document]], by: Actor) -> None:
        """`found`: what `first_reads` found."""
        arbitrages, settings, *leases = found
        if by.exchange is not None:
            self._leases = {lease.exchange: lease for lease in map(lease_of, leases[0])}
            check_lease(self._leases.get(by.exchange), by)
        in_force = only(settings)
        self._is_begun, self._stored = True, only(arbitrages)
        self._settings = None if in_force is None else settings_of(in_force)
        if self._stored is not None:
            arbitrage = arbitrage_of(self._stored)
            self._begun = ReservationState(now, by, arbitrage.opportunity, self._settings, arbitrage=arbitrage)


def results_in(documents: Iterable[Document], trade_id: str) -> list[OrderResult]:
    """Return those of the trade, as they were reported."""
    in_order = sorted(documents, key=lambda document: (integer_of(document["at"]), str(document["_id"])))
    return [order_result_of(document) for document in in_order if document["arbitrage_id"] == trade_id]


def removal_of(booked: Iterable[OrderResult]) -> DeleteMany:
    return DeleteMany({"_id": {"$in": [result.result_id for result in booked]}})


def written(stored: Document | None, document: Document) -> Write:
    """Return what writes a trade; of one that is stored already only what changed."""
    if stored is None:
        return InsertOne(document)
    return UpdateOne({"_id": document["_id"]}, field_update(stored, document))


def own_fields(stored: Document | None, session_id: str, now: int) -> Document:
    """Return what the store adds to a trade's document. The session that it began in stays: its fills belong there."""
    known = stored or {"session_id": session_id, "at": now}
    revision = integer_of(known.get("revision", 0)) + 1
    return {"session_id": known["session_id"], "at": known["at"], "revision": revision}


def ledger_entries(
    transaction: Transaction, session_id: str, document: Document, after: TradeRows, legs: Iterable[Leg]
) -> list[Write]:
    """Return what a step changes in the ledger; `document` is that of the trade of `legs`."""
    booked, unbooked = ({fill_key(fill) for fill in fills} for fills in (after.booked, after.unbooked))
    gone = sorted(unbooked - booked)
    entries: list[Write] = [DeleteMany({"_id": {"$in": gone}})] if gone else []
    for leg in legs:
        fills = [fill for fill in leg.fills if fill_key(fill) in booked]
        if fills:
            own = _session_of(transaction, session_id, document, leg)
            ledger = {"arbitrage_id": document["_id"], "session_id": own}
            entries += [_entry(fill, ledger, is_new=fill_key(fill) not in unbooked) for fill in fills]
    return entries


def _session_of(transaction: Transaction, session_id: str, document: Document, leg: Leg) -> str:
    """Return the session that the trade began in; but this one for a leg that was granted after it took its exchange's
    opening balances: a trade of an earlier session that continues only now moves balances of this one."""
    began_in = str(document["session_id"])
    if began_in == session_id:
        return began_in
    key: Document = {"_id": f"{session_id}|{leg.exchange}"}
    opening = transaction.find_one(SESSION_BALANCES, key, {"before_at": 1})
    opened_at = None if opening is None else opening.get("before_at")
    is_since = isinstance(opened_at, int) and leg.times.get("granted", 0) >= opened_at
    return session_id if is_since else began_in


def _entry(fill: Fill, ledger: Document, *, is_new: bool) -> InsertOne[Document] | UpdateOne:
    """Return what writes a fill; one that is there already stays in the session that has it."""
    if is_new:
        return InsertOne(fill_document(fill) | ledger | {"_id": fill_key(fill)})
    return UpdateOne({"_id": fill_key(fill)}, {"$set": fill_document(fill)})


def first_reads(collection: str, trade_id: str, by: Actor) -> list[BatchedRead]:
    """Return the trade, the settings, and all leases if the actor has one: they are few."""
    reads = [BatchedRead(collection, {"_id": trade_id}), BatchedRead(SETTINGS, {"_id": SETTINGS_ID})]
    return reads if by.exchange is None else [*reads, BatchedRead(LEASES, {}, without="used")]


def _row_reads(opportunity: Opportunity, fill_keys: Iterable[str]) -> list[BatchedRead]:
    keys = [PAIR + pair_key(opportunity), *(FLIGHT + key for key in inflight_keys(opportunity))]
    for side in SIDES:
        keys.append(LIQUIDITY + liquidity_key(opportunity, side))
    return row_reads(keys, (opportunity.buy.exchange, opportunity.sell.exchange), fill_keys)


def row_reads(claims: Iterable[str], exchanges: Iterable[str], fill_keys: Iterable[str]) -> list[BatchedRead]:
    """Return these claims and the session's; balances and health of these exchanges; fills."""
    there = {"$in": list(exchanges)}
    return [
        BatchedRead(CLAIMS, {"_id": {"$in": [SESSION_CLAIM, *claims]}}),
        BatchedRead(BALANCES, {"exchange": there}),
        BatchedRead(HEALTH, {"_id": there}),
        BatchedRead(FILLS, {"_id": {"$in": list(fill_keys)}}),
    ]


def balance_update(row: BalanceRow) -> UpdateOne:
    names_of_amounts = ("free", "held", "unexplained", "doubted", "settled")
    amounts = {name: stored_amount(getattr(row, name)) for name in names_of_amounts}
    names = {"exchange": row.exchange, "currency": row.currency}
    times = {"opened_at": row.opened_at, "settled_at": row.settled_at}
    return UpdateOne({"_id": f"{row.exchange}|{row.currency}"}, {"$set": amounts | names | times}, upsert=True)


def holders(claims: Mapping[str, Document], kind: str, keys: Iterable[str]) -> dict[str, str | None]:
    """Key → the arbitrage that has it."""
    return {key: text_or_none(claims.get(kind + key, {}).get("arbitrage_id")) for key in keys}


def only(documents: list[Document]) -> Document | None:
    return documents[0] if documents else None


def changed_balances(before: TradeRows, after: TradeRows) -> list[UpdateOne]:
    return [balance_update(row) for key, row in after.balances.items() if before.balances.get(key) != row]


def _changed_signal(before: Arbitrage | None, after: Arbitrage) -> list[UpdateOne]:
    """Return what the row of the moving average's signal says of its order from now on, also after a late or restated
    fill."""
    order = changed_order(before, after)
    if order is None:
        return []
    wanted: Document = {"_id": after.arbitrage_id, "order": {"$ne": None}}
    return [UpdateOne(wanted, {"$set": {"order": average_order_document(order)}})]


def changed_claims(
    before: ReservationState | CycleRows,
    after: ReservationState | CycleRows,
    place: str,
    pair_before: PairRow,
    pair: PairRow,
) -> list[UpdateOne]:
    """Return what changes on the claims; `pair` is what is open at that `place`, a pair of exchanges or a cycle."""
    changes: list[tuple[str, Document]] = []
    counter = _changed_counter(before, after)
    if counter:
        changes.append((SESSION_CLAIM, counter))
    if pair != pair_before:
        changes.append((place, {"arbitrage_id": pair.arbitrage_id, "reserved_at": pair.reserved_at}))
    for key, used in after.liquidity.items():
        if used != before.liquidity.get(key):
            changes.append((LIQUIDITY + key, {"used": stored_amount(used), "used_at": date_of(after.now)}))
    for key, owner in after.in_flight.items():
        if owner != before.in_flight.get(key):
            changes.append((FLIGHT + key, {"arbitrage_id": owner}))
    return [UpdateOne({"_id": key}, {"$set": values}, upsert=True) for key, values in changes]


def _changed_counter(before: ReservationState | CycleRows, after: ReservationState | CycleRows) -> Document:
    """Return what is counted over all arbitrages."""
    counter: Document = {}
    if after.open_arbitrages != before.open_arbitrages:
        counter["open_arbitrages"] = after.open_arbitrages
    if after.notional != before.notional:
        # a sum that is back at nothing is left out, so that the exchanges of old sessions do not pile up
        counter["notional"] = amounts_document({key: sum_ for key, sum_ in after.notional.items() if sum_ != 0})
    if after.day_net != before.day_net:
        counter |= {"day": day_of(after.now), "day_net": stored_amount(after.day_net)}
    return counter
