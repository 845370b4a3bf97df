"""One transaction on MongoDB over the rows of a cycle's trade, as `unit_of_work` over those of an arbitrage: what
changed is written, and nothing else."""

from collections.abc import Iterable

from pymongo import InsertOne

from market.decide.settings import Settings
from market.instruments.cycles import Cycle
from market.money import ZERO
from market.trade.cycle_reservations import CycleRows
from market.trade.cycle_trades import CycleTrade
from market.trade.grants import new_grants
from market.trade.leases import Actor, Lease
from market.trade.order_results import OrderResult
from market.trade.reservation_state import PairRow
from store.mongo.batched_reads import BatchedRead, read_batch
from store.mongo.risk_counters import counters_of
from store.mongo.unit_of_work import (
    FLIGHT,
    LIQUIDITY,
    changed_balances,
    changed_claims,
    first_reads,
    holders,
    ledger_entries,
    only,
    own_fields,
    removal_of,
    results_in,
    row_reads,
    written,
)
from store.preconditions import check_lease, in_force
from store.records.cycle_step import CycleStepRequest, cycle_inflight_keys, cycle_step_text
from store.server.client import Document
from store.server.documents import (
    BALANCES,
    CLAIMS,
    CYCLE_TRADES,
    FILLS,
    ORDER_RESULTS,
    SESSION_CLAIM,
    STEPS,
    amount_of,
    balance_of,
    cycle_trade_document,
    cycle_trade_of,
    integer_of,
    lease_of,
    settings_of,
    step_document,
    text_or_none,
)
from store.server.transactions import Transaction

CYCLE = "cycle|"
"""Prefix of the claim on a cycle, of which one trade is open at a time."""


class MongoCycleUnit:
    """`store.cycle_steps.CycleUnit` in one transaction."""

    def __init__(self, transaction: Transaction, session_id: str) -> None:
        self._transaction = transaction
        self._session_id = session_id
        self._settings: Settings | None = None
        self._stored: Document | None = None
        """The trade's document, with what the store adds to it."""
        self._leases: dict[str, Lease] | None = None
        self._is_begun = False
        self._results: list[Document] = []

    def begin_cycle(self, trade_id: str, by: Actor) -> CycleTrade | None:
        reads = [BatchedRead(ORDER_RESULTS, {"arbitrage_id": trade_id}), *first_reads(CYCLE_TRADES, trade_id, by)]
        _, (self._results, *found) = read_batch(self._transaction, reads)
        self._begin_with(found, by)
        return None if self._stored is None else cycle_trade_of(self._stored)

    def results(self, trade_id: str) -> list[OrderResult]:
        return results_in(self._results, trade_id)

    def cycle_rows(
        self, trade_id: str, cycle: Cycle, by: Actor, used: Iterable[str] = (), fill_keys: Iterable[str] = ()
    ) -> CycleRows:
        used = tuple(used)
        first = [] if self._is_begun else first_reads(CYCLE_TRADES, trade_id, by)
        now, found = read_batch(self._transaction, [*first, *_row_reads(cycle, used, fill_keys)])
        if first:
            self._begin_with(found[: len(first)], by)
        claimed, balances, health, fills = found[len(first) :]
        claims = {str(document["_id"]): document for document in claimed}
        counters = counters_of(claims.get(SESSION_CLAIM), now, self._session_id)
        on_cycle = claims.get(CYCLE + cycle.cycle_id, {})
        return CycleRows(
            now=now,
            settings=in_force(self._settings),
            balances={(row.exchange, row.currency): row for row in map(balance_of, balances)},
            trade=None if self._stored is None else cycle_trade_of(self._stored),
            on_cycle=PairRow(text_or_none(on_cycle.get("arbitrage_id")), integer_of(on_cycle.get("reserved_at"))),
            reservations_open=counters.reservations_open,
            open_arbitrages=counters.open_arbitrages,
            notional=counters.notional,
            day_net=counters.day_net,
            paused_until={str(document["_id"]): integer_of(document["paused_until"]) for document in health},
            unexplained=tuple(str(document["_id"]) for document in health if document.get("unexplained_since")),
            liquidity={
                key: amount_of(claims[LIQUIDITY + key]["used"]) if LIQUIDITY + key in claims else ZERO for key in used
            },
            by=by,
            is_of_earlier=self._stored is not None and self._stored["session_id"] != self._session_id,
            leases=self._leases,
            in_flight=holders(claims, FLIGHT, cycle_inflight_keys(cycle)),
            known_fills=frozenset(str(document["_id"]) for document in fills),
        )

    def write_cycle(self, before: CycleRows, after: CycleRows, request: CycleStepRequest) -> None:
        if request.results:
            self._transaction.write(ORDER_RESULTS, [removal_of(request.results)])
        trade = after.trade
        if after is before or trade is None:
            return
        document = cycle_trade_document(trade) | own_fields(self._stored, self._session_id, after.now)
        self._transaction.write(CYCLE_TRADES, [written(self._stored, document)])
        text, grants = cycle_step_text(request, before, trade.cycle), new_grants(before.trade, trade)
        step = step_document(document["_id"], integer_of(document["revision"]), text, grants)
        self._transaction.write(STEPS, [InsertOne(step)])
        self._transaction.write(BALANCES, changed_balances(before, after))
        place = CYCLE + trade.cycle.cycle_id, before.on_cycle, after.on_cycle
        self._transaction.write(CLAIMS, changed_claims(before, after, *place))
        self._transaction.write(FILLS, ledger_entries(self._transaction, self._session_id, document, after, trade.legs))

    def _begin_with(self, found: list[list[Document]], by: Actor) -> None:
        """`found`: what `first_reads` found."""
        trades, settings, *leases = found
        if by.exchange is not None:
            self._leases = {lease.exchange: lease for lease in map(lease_of, leases[0])}
            check_lease(self._leases.get(by.exchange), by)
        known = only(settings)
        self._is_begun, self._stored = True, only(trades)
        self._settings = None if known is None else settings_of(known)


def _row_reads(cycle: Cycle, used: Iterable[str], fill_keys: Iterable[str]) -> list[BatchedRead]:
    keys = [CYCLE + cycle.cycle_id, *(FLIGHT + key for key in cycle_inflight_keys(cycle))]
    return row_reads([*keys, *(LIQUIDITY + key for key in used)], cycle.exchanges, fill_keys)
