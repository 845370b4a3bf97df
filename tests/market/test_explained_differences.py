"""What of the open differences explained itself, and what is only out of sight."""

from dataclasses import replace
from decimal import Decimal

import pytest

from market.accounting.compared_books import BookState, ExchangeState
from market.accounting.differences import StoredDifference
from market.accounting.explained_differences import no_longer_found
from market.accounting.reconciliation import differences
from market.money import Amount
from market.trade.reservation_state import BalanceRow
from tests.market.test_reconciliation import FILL, ONE, leg, listed, ours, resting, search, theirs

DONE, NOT_LISTED, STRANGE = leg("done", "order-1", FILL), theirs(), theirs(listed())
ANOTHERS = listed(replace(FILL, symbol="ETH/USD"))
DOUBLE = replace(FILL, amount=Amount(2 * ONE), cost=2 * FILL.cost)
ROWS = tuple(BalanceRow("alpha", name, Decimal(free), Decimal(0)) for name, free in (("USD", 800), ("BTC", 2)))
HALF = replace(theirs(), balances={"USD": Decimal(900), "BTC": ONE})
HALF_LISTED = replace(HALF, fills=(listed(),))
Round = tuple[BookState, ExchangeState]


@pytest.mark.parametrize(
    ("first", "later", "is_explained"),
    [
        ((ours(DONE), NOT_LISTED), (ours(DONE), theirs(listed())), True),
        ((ours(DONE), NOT_LISTED), (ours(DONE), NOT_LISTED), False),
        # taken out of the books
        ((ours(DONE), NOT_LISTED), (ours(leg("done", "order-1")), NOT_LISTED), True),
        # an id of another market
        ((ours(DONE), NOT_LISTED), (ours(DONE), theirs(ANOTHERS)), False),
        # too old to be compared
        ((ours(DONE), NOT_LISTED), (ours(), theirs(fills_since=500)), False),
        ((ours(DONE), theirs(listed(replace(FILL, fee=ONE)))), (ours(DONE), theirs(listed())), True),
        ((ours(DONE), theirs(listed(replace(FILL, fee=ONE)))), (ours(DONE), NOT_LISTED), False),
        ((ours(DONE), theirs(listed(), orders=(resting(),))), (ours(DONE), theirs(listed())), True),
        ((ours(), theirs(orders=(resting(),))), (ours(), theirs()), True),
        ((ours(), theirs(orders=(resting(),))), (ours(leg("granted", "order-1")), theirs(orders=(resting(),))), True),
        # it may be of the leg in flight, and may be a stranger's as well
        ((ours(), theirs(orders=(resting(),))), (ours(leg("granted", None)), theirs(orders=(resting(),))), False),
        ((ours(), STRANGE), (ours(DONE), STRANGE), True),
        ((ours(), STRANGE), (ours(DONE), theirs()), True),
        ((ours(), STRANGE), (ours(), theirs(fills_since=500)), False),
        ((ours(), STRANGE), (ours(leg("granted", None)), STRANGE), False),
        # what explains it is about to be booked
        ((ours(rows=ROWS), HALF), (ours(leg("done", "order-1", DOUBLE), rows=ROWS), HALF_LISTED), False),
        ((ours(DONE), theirs(listed(DOUBLE))), (ours(DONE), theirs(listed(DOUBLE), usd="800")), False),
        ((ours(), theirs(usd="800")), (ours(), theirs()), True),
        ((ours(), theirs(usd="800")), (ours(), theirs(usd="800")), False),
        ((ours(), theirs(usd="800")), (ours(), theirs(usd="700")), False),
        ((ours(), theirs(usd="800")), (ours(rows=None), theirs()), False),
        (
            (ours(), theirs(usd="800")),
            (ours(leg("not_sent", None)), theirs(searches=(search(None, is_ambiguous=True),))),
            False,
        ),
    ],
)
def test_only_what_was_looked_for_and_is_gone_is_explained(first: Round, later: Round, is_explained: bool) -> None:
    known = [
        StoredDifference(one.difference_id, one.kind, one.exchange, one.subject, one.ours, one.theirs, "reported", 1)
        for one in differences(*first)
        if one.kind != "order_found"
    ]
    assert known
    assert no_longer_found(known, differences(*later), *later) == (known if is_explained else [])
