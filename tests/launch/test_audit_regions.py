"""The audit's checks of regions: no finding if nothing is wrong, and each fault by its name."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launch.chaos.audit.copied_logs import LoggedRow, RegionLog
from launch.chaos.audit.partitions import SKEW_TOLERANCE, RegionEvidence, Spell, region_violations
from launch.chaos.audit.records import RegionViolationKind, Stopped
from market.money import Amount
from market.trade.arbitrages import Arbitrage
from market.trade.decision_record import step_of
from market.trade.leases import UNFENCED, Actor
from market.trade.reservations import SEND_WITHIN
from store.memory.store import MemoryTradeStore
from store.queries.member_books import BookCopy
from store.queries.store_snapshot import TakenStep
from tests.launch.audited_world import NOON, World, clean_world
from tests.market.samples import EUR_RATE
from tests.store.reservation_requests import open_books, request

SECOND = 1_000_000
GRANTED = TakenStep("opportunity-1", 1, Actor("decider", "decision|0", 1), NOON)
BOOKS = {"arbitrages": BookCopy(1, "a" * 64), "balances": BookCopy(4, "b" * 64), "fills": BookCopy(2, "c" * 64)}
US_ROWS = tuple(LoggedRow(0, "alpha", "BTC/USD", sequence) for sequence in (5, 9, 10))
EU_ROWS = tuple(LoggedRow(0, "beta", "BTC/EUR", sequence) for sequence in (4, 6))


def evidence_of_world(world: World) -> RegionEvidence:
    granted = world.with_snapshot(steps=(GRANTED,))
    logs = {
        "us": RegionLog(US_ROWS, (*US_ROWS[:2], *EU_ROWS, US_ROWS[2])),
        # the mirror was killed, and repeats
        "eu": RegionLog(EU_ROWS, (*US_ROWS[:2], EU_ROWS[0], *US_ROWS, EU_ROWS[1])),
    }
    return RegionEvidence(granted.evidence, {"us": BOOKS, "eu": BOOKS, "jp": BOOKS}, logs)


def clean() -> RegionEvidence:
    return evidence_of_world(clean_world())


def kinds(evidence: RegionEvidence) -> set[str]:
    return {violation.kind for violation in region_violations(evidence)}


def with_another(**changes: object) -> RegionEvidence:
    """Return a second arbitrage, whose orders nobody posted, which differs from the first by its id and `changes`."""
    world = clean_world()
    return evidence_of_world(world.with_snapshot(arbitrages=(world.arbitrage, another(world.arbitrage, **changes))))


def another(first: Arbitrage, **changes: object) -> Arbitrage:
    legs = tuple(replace(leg, client_order_id=f"again-{leg.role}", exchange_order_id=None) for leg in first.legs)
    changed: Arbitrage = replace(first, arbitrage_id="opportunity-2", legs=legs, **changes)  # type: ignore[arg-type]  # fields by their names
    return changed


def other_fx() -> RegionEvidence:
    """Return another opportunity by another rate, on what the first has left."""
    seen = clean_world().arbitrage.opportunity
    return with_another(opportunity=replace(seen, fx=(replace(EUR_RATE, quote_id="fx:EUR/USD:2"),)))


def overdrawn() -> RegionEvidence:
    """Return arbitrages that each take 1.5 of the 2 that the quotes show; their other quotes differ."""
    world = clean_world()
    legs = tuple(replace(leg, amount=Amount(Decimal("1.5"))) for leg in world.arbitrage.legs)
    seen = world.arbitrage.opportunity
    other = replace(seen, sell=replace(seen.sell, quote_id="beta:BTC/EUR:2"))
    first = replace(world.arbitrage, legs=legs)
    return evidence_of_world(world.with_snapshot(arbitrages=(first, another(first, opportunity=other))))


def with_orders_at(at: int, world: World | None = None) -> RegionEvidence:
    """Return a world in which the order on alpha, in us, came at `at`; us was cut off from NOON + 1 s to NOON +
    20 s."""
    changed = (world or clean_world()).with_account("alpha", came_at={"order-buy": at})
    return replace(evidence_of_world(changed), cuts=(Spell("us", NOON + SECOND, NOON + 20 * SECOND),))


def nobodys_order() -> RegionEvidence:
    """Return an order by a build that reads grants before a majority has them: its leg is not in the store that won."""
    world = clean_world()
    (order,) = world.accounts["alpha"].orders
    rolled_back = replace(order, order_id="rolled-back", client_order_id="of a lost grant")
    return evidence_of_world(world.with_account("alpha", orders=(order, rolled_back)))


def without_grant() -> RegionEvidence:
    return evidence_of_world(clean_world().with_leg("buy", times={"reserved": NOON, "done": NOON + 30}))


def before_its_grant() -> RegionEvidence:
    came_at = NOON - SKEW_TOLERANCE - 1
    return evidence_of_world(clean_world().with_account("alpha", came_at={"order-buy": came_at}))


def without_step() -> RegionEvidence:
    evidence = clean()
    elsewhere = replace(GRANTED, at=NOON + 1)
    snapshot = replace(evidence.records.snapshot, steps=(elsewhere,))
    return replace(evidence, records=replace(evidence.records, snapshot=snapshot))


def with_copy(region: str, **changes: BookCopy) -> RegionEvidence:
    evidence = clean()
    return replace(evidence, copies={**evidence.copies, region: {**BOOKS, **changes}})


def with_log(region: str, *ticks: LoggedRow) -> RegionEvidence:
    evidence = clean()
    return replace(evidence, logs={**evidence.logs, region: replace(evidence.logs[region], ticks=ticks)})


def overtaken() -> RegionEvidence:
    """Return a row that came after a later one, hidden behind a repeat of one before both: readers pass over it."""
    first, last = EU_ROWS
    between = first._replace(sequence=5)
    eu = RegionLog((first, between, last), (*US_ROWS, first, between, last))
    us = RegionLog(US_ROWS, (*US_ROWS, first, last, first, between))
    return replace(clean(), logs={"us": us, "eu": eu})


RAN_OUT = NOON + SEND_WITHIN + SKEW_TOLERANCE

CASES: tuple[tuple[RegionViolationKind, Callable[[], RegionEvidence]], ...] = (
    ("traded_twice", with_another),
    ("liquidity_overdrawn", overdrawn),
    ("not_granted", nobodys_order),
    ("not_granted", without_grant),
    ("not_granted", before_its_grant),
    ("not_granted", without_step),
    ("order_while_cut", lambda: with_orders_at(RAN_OUT + 1)),
    ("books_differ", lambda: with_copy("jp", balances=BookCopy(4, "d" * 64))),
    ("books_differ", lambda: with_copy("jp", fills=BookCopy(1, "c" * 64))),
    ("books_differ", lambda: replace(clean(), copies={"us": BOOKS, "eu": BOOKS, "jp": {}})),
    ("tick_missing", lambda: with_log("eu", US_ROWS[0], US_ROWS[2], *EU_ROWS)),
    ("tick_missing", lambda: with_log("us", *US_ROWS)),
    ("tick_unknown", lambda: with_log("us", *US_ROWS, EU_ROWS[0], EU_ROWS[0]._replace(sequence=5), EU_ROWS[1])),
    ("tick_unknown", lambda: with_log("us", *US_ROWS, *EU_ROWS, LoggedRow(0, "gamma", "BTC/JPY", 1))),
    ("tick_disordered", lambda: with_log("us", *US_ROWS, EU_ROWS[1], EU_ROWS[0])),
    ("tick_disordered", overtaken),
    # what a region writes itself, it writes once
    ("tick_disordered", lambda: with_log("us", *US_ROWS, US_ROWS[2], *EU_ROWS)),
)


def test_nothing_is_wrong_where_nothing_is() -> None:
    assert region_violations(clean()) == []


@pytest.mark.parametrize(("kind", "lie"), CASES, ids=[f"{kind}-{number}" for number, (kind, _) in enumerate(CASES)])
def test_each_lie_is_found_by_its_name_alone(kind: str, lie: Callable[[], RegionEvidence]) -> None:
    assert kinds(lie()) == {kind}


def test_every_kind_can_be_found_and_is_explained() -> None:
    every = get_args(RegionViolationKind)
    assert {kind for kind, _ in CASES} == set(every)
    text = (Path(__file__).parents[2] / "docs" / "chaos.md").read_text()
    assert [kind for kind in every if f"| `{kind}` |" not in text] == []


def test_the_same_quotes_at_another_rate_are_another_opportunity() -> None:
    assert region_violations(other_fx()) == []


def test_orders_of_a_strategy_on_one_exchange_follow_from_closes_and_not_from_quotes() -> None:
    assert "traded_twice" not in kinds(with_another(strategy="ma"))


def test_rows_that_came_after_the_quotes_were_read_are_not_unknown() -> None:
    newer = EU_ROWS[0]._replace(sequence=7)
    assert region_violations(with_log("us", *US_ROWS, *EU_ROWS, newer)) == []


@pytest.mark.parametrize(
    ("at", "cut", "is_found"),
    [
        (RAN_OUT, Spell("us", NOON), False),
        (RAN_OUT + 1, Spell("us", NOON), True),
        # healed a moment before
        (RAN_OUT + 1, Spell("us", NOON, RAN_OUT), False),
        # cut a moment later
        (RAN_OUT + 1, Spell("us", RAN_OUT + 2), False),
        # another region's
        (RAN_OUT + 1, Spell("eu", NOON), False),
        # cut before it was granted: it cannot be known by whom
        (RAN_OUT - SECOND + 1, Spell("us", NOON - SECOND), True),
        (RAN_OUT - SECOND, Spell("us", NOON - SECOND), False),
    ],
)
def test_a_region_that_is_cut_off_sends_nothing_once_its_grants_ran_out(at: int, cut: Spell, is_found: bool) -> None:
    evidence = replace(with_orders_at(at), cuts=(cut,))
    assert kinds(evidence) == ({"order_while_cut"} if is_found else set())


@pytest.mark.parametrize(
    ("stops", "slow", "is_excused"),
    [
        ((Stopped("alpha", NOON, NOON + SEND_WITHIN),), (), True),
        ((Stopped("alpha", NOON, NOON + SEND_WITHIN - 1),), (), False),
        ((Stopped("beta", NOON, None),), (), False),
        ((), (Spell("alpha", NOON, RAN_OUT + 1),), True),
        ((), (Spell("alpha", NOON, RAN_OUT),), False),
        ((), (Spell("beta", NOON),), False),
    ],
)
def test_a_bot_that_stood_still_and_a_slow_exchange_excuse_it(
    stops: tuple[Stopped, ...], slow: tuple[Spell, ...], is_excused: bool
) -> None:
    evidence = with_orders_at(RAN_OUT + 1, replace(clean_world(), stops=stops))
    assert kinds(replace(evidence, slow=slow)) == (set() if is_excused else {"order_while_cut"})


async def test_a_grant_has_the_time_of_the_step_that_made_it() -> None:
    """`not_granted` relies on this."""
    store = MemoryTradeStore()
    store.are_steps_recorded = True
    await open_books(store)
    reserved = await store.reserve(request(), UNFENCED)
    assert reserved.arbitrage is not None
    (text,) = store.steps[reserved.arbitrage.arbitrage_id]
    assert {leg.times["granted"] for leg in reserved.arbitrage.legs} == {step_of(text).read.now}


@st.composite
def mirrored_logs(draw: st.DrawFn) -> dict[str, RegionLog]:
    """Draw two regions' rows; in us, those of eu between its own, with repeats of the newest ones, as after a kill."""
    own = sorted(draw(st.sets(st.integers(1, 60), max_size=12)))
    others = sorted(draw(st.sets(st.integers(1, 60), min_size=2, max_size=12)))
    written = [LoggedRow(0, "alpha", "BTC/USD", sequence) for sequence in own]
    copied = [LoggedRow(0, "beta", "BTC/EUR", sequence) for sequence in others]
    rewinds = draw(st.lists(st.tuples(st.integers(1, len(copied)), st.integers(1, 5)), max_size=4))
    arriving = list(copied)
    for upto, rows in sorted(rewinds, reverse=True):
        arriving[upto:upto] = copied[max(0, upto - rows) : upto]
    merged = written.copy()
    at = 0
    for row in arriving:
        at = draw(st.integers(at, len(merged)))
        merged.insert(at, row)
        at += 1
    return {"us": RegionLog(written, merged), "eu": RegionLog(copied, [*copied, *written])}


@given(mirrored_logs())
def test_a_mirror_that_repeats_is_no_violation(logs: dict[str, RegionLog]) -> None:
    assert region_violations(replace(clean(), logs=logs)) == []


@given(mirrored_logs(), st.data())
def test_a_row_that_no_copy_has_is_missed_and_one_that_nobody_wrote_is_found(
    logs: dict[str, RegionLog], data: st.DataObject
) -> None:
    log, written = logs["us"], logs["eu"].quotes
    lost = data.draw(st.sampled_from(written))
    without = replace(log, ticks=[row for row in log.ticks if row != lost])
    assert kinds(replace(clean(), logs={**logs, "us": without})) == {"tick_missing"}
    unwritten = {**logs, "eu": RegionLog([row for row in written if row != lost], logs["eu"].ticks)}
    is_newest = lost == written[-1]
    assert kinds(replace(clean(), logs=unwritten)) == (set() if is_newest else {"tick_unknown"})
