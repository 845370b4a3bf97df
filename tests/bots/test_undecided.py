"""What another process decides on is kept until it has looked at it, and no longer."""

from dataclasses import replace

from bots.undecided import MAX_UNDECIDED, UndecidedOpportunities
from market.prices.opportunities import Opportunity
from market.trade.leases import Lease, decision_right
from streams.records import Record
from streams.topics import OPPORTUNITIES
from tests.bots.opportunity_rows import opportunity_row
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, opportunity_of

SEEN = opportunity_of((USD_MARKET, levels(("100", "1"))), (EUR_MARKET, levels(("100", "1"))))
PARTITIONS = {"BTC": 0, "ETH": 1}


def undecided() -> UndecidedOpportunities:
    return UndecidedOpportunities(lambda one: PARTITIONS[one.base])


def found(number: int, base: str = "BTC") -> Opportunity:
    return replace(SEEN, opportunity_id=f"{base}-{number}", base=base, detected_time=number * 1_000)


def record(number: int, base: str = "BTC") -> Record:
    row = opportunity_row(found(number, base))
    return Record(OPPORTUNITIES, PARTITIONS[base], number, base, row, number * 1_000)


def lease(partition: int, until: int) -> Lease:
    return Lease(decision_right(partition), "another", 1, 0, str(until))


def test_what_was_looked_at_is_forgotten_by_its_partition() -> None:
    kept = undecided()
    for one in (record(1), record(2, "ETH"), found(3), record(4), found(5, "ETH")):
        kept.add(one)
    kept.forget([lease(0, 4_000), Lease("kraken", "a bot", 1, 0, "of the rate budget")])
    assert [one.opportunity_id for one in kept.read()] == ["ETH-2", "BTC-4", "ETH-5"]
    assert [one.opportunity_id for one in kept.take(1)] == ["ETH-2", "ETH-5"]
    assert [one.opportunity_id for one in kept.take(0)] == ["BTC-4"]
    assert len(kept) == 0


def test_while_nobody_looks_the_newest_are_kept() -> None:
    kept = undecided()
    for number in range(MAX_UNDECIDED + 10):
        kept.add(found(number))
        kept.forget([lease(0, 0), Lease(decision_right(1), "another", 1, 0)])
    assert len(kept) == MAX_UNDECIDED
    assert kept.read()[-1].detected_time == (MAX_UNDECIDED + 9) * 1_000


def test_it_stays_small_for_as_long_as_somebody_decides() -> None:
    kept, largest = undecided(), 0
    for number in range(5_000):
        kept.add(record(number))
        if number % 50 == 0:
            kept.forget([lease(0, (number - 20) * 1_000)])
        largest = max(largest, len(kept))
    assert largest <= 100


def test_malformed_ones_are_dropped() -> None:
    kept = undecided()
    kept.add(replace(record(1), value=b"{}"))
    kept.add(record(2))
    assert [one.opportunity_id for one in kept.read()] == ["BTC-2"]
    assert len(kept) == 1
