"""The rows of one step of an arbitrage, read and written within one transaction."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pymongo import InsertOne, UpdateOne

from market.money import ZERO
from market.prices.opportunities import Opportunity
from market.trade.decisions import Cause, step_by
from market.trade.inflight_orders import inflight_keys
from market.trade.leases import UNFENCED, Actor
from market.trade.reservation_state import (
    SIDES,
    BalanceRow,
    PairRow,
    ReservationState,
    fill_key,
    half_key,
    liquidity_key,
    pair_key,
)
from store.mongo.batched_reads import BatchedRead, read_batch
from store.mongo.inflight_claims import FLIGHT
from store.mongo.mongo_arbitrages import StoredArbitrage, steps_with
from store.mongo.risk_counters import counters_of, day_of
from store.server.documents import (
    ARBITRAGES,
    BALANCES,
    CLAIMS,
    FILLS,
    HEALTH,
    SESSION_BALANCES,
    SESSION_CLAIM,
    amount_of,
    amounts_document,
    arbitrage_document,
    date_of,
    fill_document,
    integer_of,
    stored_amount,
    terms_document,
    terms_of,
    text_or_none,
)
from store.server.mongo_client import Database, Document, Session

PAIR, LIQUIDITY, HALF = "pair|", "liquidity|", "half|"


@dataclass(frozen=True, slots=True)
class StoredRows:
    """The rows, and the arbitrage's own document where there is one."""

    rows: ReservationState
    stored: StoredArbitrage | None


async def read_rows(
    database: Database,
    session: Session,
    session_id: str,
    opportunity: Opportunity,
    stored: StoredArbitrage | None,
    fill_keys: Iterable[str] = (),
    by: Actor = UNFENCED,
) -> StoredRows:
    """All rows of `opportunity`; `fill_keys` are looked up in the ledger."""
    seen = await _find_rows(database, session, opportunity, tuple(fill_keys))
    claims = seen.claims
    counters = counters_of(claims.get(SESSION_CLAIM), session_id)
    pair = claims.get(PAIR + pair_key(opportunity), {})
    terms = None if stored is None else stored.document.get("terms")
    rows = ReservationState(
        now=counters.now,
        opportunity=opportunity,
        reservations_open=counters.reservations_open,
        open_arbitrages=counters.open_arbitrages,
        notional=counters.notional,
        day_net=counters.day_net,
        paused_until=seen.paused_until,
        by=by,
        arbitrage=None if stored is None else stored.arbitrage,
        terms=terms_of(terms) if isinstance(terms, dict) else None,
        pair=PairRow(text_or_none(pair.get("arbitrage_id")), integer_of(pair.get("reserved_at"))),
        balances=seen.balances,
        liquidity={
            key: amount_of(claims[LIQUIDITY + key]["used"]) if LIQUIDITY + key in claims else ZERO
            for key in (liquidity_key(opportunity, side) for side in SIDES)
        },
        awaiting_second_leg=_holders(claims, HALF, (half_key(opportunity, side) for side in SIDES)),
        in_flight=_holders(claims, FLIGHT, inflight_keys(opportunity)),
        known_fills=seen.known_fills,
    )
    return StoredRows(rows, stored)


def _holders(claims: Mapping[str, Document], kind: str, keys: Iterable[str]) -> dict[str, str | None]:
    """Key → the arbitrage that has it."""
    return {key: text_or_none(claims.get(kind + key, {}).get("arbitrage_id")) for key in keys}


async def write_rows(
    database: Database, session: Session, session_id: str, read: StoredRows, after: ReservationState, cause: Cause
) -> None:
    """What changed, and nothing else: rows that were only read do not meet other transactions."""
    before, stored = read.rows, read.stored
    if after is before or after.arbitrage is None:
        return
    if stored is None:
        own = {"session_id": session_id, "revision": 1, "at": after.now}
    else:
        own = {"session_id": stored.session_id, "revision": stored.revision + 1, "at": stored.created_at}
    document = arbitrage_document(after.arbitrage) | own
    document["steps"] = steps_with(stored, step_by(cause, before))
    if after.terms is not None:
        document["terms"] = terms_document(after.terms)
    await database[ARBITRAGES].replace_one({"_id": document["_id"]}, document, upsert=True, session=session)
    if balances := _changed_balances(before, after):
        await database[BALANCES].bulk_write(balances, session=session)
    if claims := _changed_claims(before, after):
        await database[CLAIMS].bulk_write(claims, session=session)
    if after.booked:
        session_of_fills = str(own["session_id"])
        if session_of_fills != session_id and await _is_since_opening(database, session, session_id, after):
            session_of_fills = session_id
        ledger = {"arbitrage_id": document["_id"], "session_id": session_of_fills}
        entries = [InsertOne(fill_document(fill) | ledger | {"_id": fill_key(fill)}) for fill in after.booked]
        await database[FILLS].bulk_write(entries, session=session)


async def _is_since_opening(database: Database, session: Session, session_id: str, after: ReservationState) -> bool:
    """Whether the fills are of a leg that was sent after this session took its exchange's opening balances: an
    arbitrage of an earlier session that continues only now moves balances of this one."""
    booked = {fill_key(fill) for fill in after.booked}
    legs = () if after.arbitrage is None else after.arbitrage.legs
    leg = next(leg for leg in legs if any(fill_key(fill) in booked for fill in leg.fills))
    key = f"{session_id}|{leg.exchange}"
    opening = await database[SESSION_BALANCES].find_one({"_id": key}, {"before_at": 1}, session=session)
    opened_at = None if opening is None else opening.get("before_at")
    return isinstance(opened_at, int) and leg.times.get("sending", 0) >= opened_at


def balance_of(document: Document) -> BalanceRow:
    return BalanceRow(
        str(document["exchange"]),
        str(document["currency"]),
        amount_of(document["free"]),
        amount_of(document["held"]),
    )


def balance_update(row: BalanceRow) -> UpdateOne:
    amounts = {"free": stored_amount(row.free), "held": stored_amount(row.held)}
    names = {"exchange": row.exchange, "currency": row.currency}
    return UpdateOne({"_id": f"{row.exchange}|{row.currency}"}, {"$set": amounts | names}, upsert=True)


@dataclass(frozen=True, slots=True)
class _FoundRows:
    claims: Mapping[str, Document]
    balances: Mapping[tuple[str, str], BalanceRow]
    paused_until: Mapping[str, int]
    known_fills: frozenset[str]


async def _find_rows(
    database: Database, session: Session, opportunity: Opportunity, fill_keys: tuple[str, ...]
) -> _FoundRows:
    keys = [SESSION_CLAIM, PAIR + pair_key(opportunity), *(FLIGHT + key for key in inflight_keys(opportunity))]
    for side in SIDES:
        keys += [LIQUIDITY + liquidity_key(opportunity, side), HALF + half_key(opportunity, side)]
    exchanges = [opportunity.buy.exchange, opportunity.sell.exchange]
    claims, balances, health, fills = await read_batch(
        database,
        session,
        (
            BatchedRead(CLAIMS, {"_id": {"$in": keys}}, {"now": "$$NOW"}),
            BatchedRead(BALANCES, {"exchange": {"$in": exchanges}}),
            BatchedRead(HEALTH, {"_id": {"$in": exchanges}}),
            BatchedRead(FILLS, {"_id": {"$in": list(fill_keys)}}),
        ),
    )
    rows = [balance_of(document) for document in balances]
    return _FoundRows(
        claims={str(document["_id"]): document for document in claims},
        balances={(row.exchange, row.currency): row for row in rows},
        paused_until={str(document["_id"]): integer_of(document["paused_until"]) for document in health},
        known_fills=frozenset(str(document["_id"]) for document in fills),
    )


def _changed_balances(before: ReservationState, after: ReservationState) -> list[UpdateOne]:
    return [balance_update(row) for key, row in after.balances.items() if before.balances.get(key) != row]


def _changed_claims(before: ReservationState, after: ReservationState) -> list[UpdateOne]:
    changes: list[tuple[str, Document]] = []
    counter = _changed_counter(before, after)
    if counter:
        changes.append((SESSION_CLAIM, counter))
    if after.pair != before.pair:
        pair: Document = {"arbitrage_id": after.pair.arbitrage_id, "reserved_at": after.pair.reserved_at}
        changes.append((PAIR + pair_key(after.opportunity), pair))
    for key, used in after.liquidity.items():
        if used != before.liquidity.get(key):
            changes.append((LIQUIDITY + key, {"used": stored_amount(used), "used_at": date_of(after.now)}))
    for prefix, now, then in (
        (HALF, after.awaiting_second_leg, before.awaiting_second_leg),
        (FLIGHT, after.in_flight, before.in_flight),
    ):
        changes += [(prefix + key, {"arbitrage_id": owner}) for key, owner in now.items() if owner != then.get(key)]
    return [UpdateOne({"_id": key}, {"$set": values}, upsert=True) for key, values in changes]


def _changed_counter(before: ReservationState, after: ReservationState) -> Document:
    """What is counted over all arbitrages."""
    counter: Document = {}
    if after.open_arbitrages != before.open_arbitrages:
        counter["open_arbitrages"] = after.open_arbitrages
    if after.notional != before.notional:
        # a sum that is back at nothing is left out, so that the exchanges of old sessions do not pile up
        counter["notional"] = amounts_document({key: sum_ for key, sum_ in after.notional.items() if sum_ != 0})
    if after.day_net != before.day_net:
        counter |= {"day": day_of(after.now), "day_net": stored_amount(after.day_net)}
    return counter
