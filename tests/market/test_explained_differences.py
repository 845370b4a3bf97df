"""What of the open differences explained itself, and what is only out of sight."""

from dataclasses import replace

import pytest

from market.accounting.differences import StoredDifference
from market.accounting.explained_differences import no_longer_found
from market.accounting.reconciliation import BookState, ExchangeState, differences
from tests.market.test_reconciliation import FILL, ONE, leg, listed, ours, resting, search, theirs

DONE, NOT_LISTED, STRANGE = leg("done", "order-1", FILL), theirs(), theirs(listed())
ANOTHERS = listed(replace(FILL, symbol="ETH/USD"))
Round = tuple[BookState, ExchangeState]


@pytest.mark.parametrize(
    ("first", "later", "is_explained"),
    [
        ((ours(DONE), NOT_LISTED), (ours(DONE), theirs(listed())), True),
        ((ours(DONE), NOT_LISTED), (ours(DONE), NOT_LISTED), False),
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
