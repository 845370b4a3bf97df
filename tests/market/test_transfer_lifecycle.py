"""A transfer's steps: a table of what is allowed, and by property that money is nowhere twice and never lost."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.accounting.rebalancing import Transfer
from market.accounting.transfer_lifecycle import (
    AMBIGUOUS,
    LATE,
    NO_ANSWER,
    NOT_FOUND,
    PROPOSAL_SECONDS,
    REJECTED,
    RETURNED,
    SETTLED,
    Deposit,
    MoneyTransfer,
    TransferStepError,
    Withdrawal,
    ambiguous,
    asked,
    booked_in,
    changes_between,
    confirmed,
    costs_of,
    dropped,
    not_found,
    overdue,
    positions,
    proposed,
    rejected,
    settled,
    with_deposit,
    with_withdrawal,
)
from market.accounting.transfer_matching import AmbiguousWithdrawalError, deposit_of, withdrawal_of
from market.accounting.transfer_planning import is_outdated
from market.money import ZERO
from market.time_units import MICROSECONDS

PLANNED = Transfer("BTC", "kraken", "binance", Decimal(2), Decimal("0.001"), Decimal(60), 600)
START = 1_000 * MICROSECONDS
LONG = START + 100_000 * MICROSECONDS
SOON = START + MICROSECONDS
PENDING = Withdrawal("W1", "BTC", Decimal(2), "pending", START)
DONE = replace(PENDING, state="done", network_id="tx1")
CREDITED = Deposit("D1", "BTC", Decimal("1.999"), "credited", "tx1")

PROPOSED = proposed(PLANNED, "session", START, "paper")
ASKED = asked(PROPOSED, 7, START)
SENT = with_withdrawal(ASKED, DONE, SOON, "session")
ARRIVED = with_deposit(SENT, CREDITED, SOON, "next")
NO_SUCH = not_found(ASKED, LONG)
DOUBTFUL, OVERDUE = ambiguous(ASKED, SOON), overdue(SENT, LONG)


def said(known: MoneyTransfer, left: str | None, arrived: str | None, at: int = LONG) -> MoneyTransfer:
    """Return what a person's word makes of it, in the books of `session`."""
    amounts = [None if text is None else Decimal(text) for text in (left, arrived)]
    return settled(known, amounts[0], amounts[1], at, lambda _: "session")


def test_a_transfer_from_its_proposal_to_its_arrival() -> None:
    assert (PROPOSED.state, ASKED.state, SENT.state, ARRIVED.state) == ("proposed", "asked", "sent", "arrived")
    assert ASKED.token == 7
    assert (SENT.withdrawal_id, SENT.network_id) == ("W1", "tx1")
    assert [one.arriving for one in (SENT, ARRIVED)] == [Decimal("1.999"), ZERO]
    assert changes_between(PROPOSED, ASKED) == [("kraken", "BTC", Decimal(-2), Decimal(2))]
    assert changes_between(ASKED, SENT) == [("kraken", "BTC", ZERO, Decimal(-2))]
    assert changes_between(SENT, ARRIVED) == [("binance", "BTC", Decimal("1.999"), ZERO)]
    assert booked_in([ARRIVED], "session") == {("kraken", "BTC"): Decimal(-2)}
    assert booked_in([ARRIVED], "next") == {("binance", "BTC"): Decimal("1.999")}
    assert ARRIVED.lost == Decimal("0.001")
    assert costs_of([ARRIVED, PROPOSED, NO_SUCH], "session") == Decimal(120)


@pytest.mark.parametrize(
    ("after", "state", "reason"),
    [
        (lambda: rejected(ASKED, SOON), "failed", REJECTED),
        (lambda: not_found(ASKED, SOON), "asked", ""),
        (lambda: NO_SUCH, "failed", NOT_FOUND),
        (lambda: overdue(ASKED, SOON), "asked", ""),
        (lambda: overdue(ASKED, LONG), "unknown", NO_ANSWER),
        (lambda: overdue(SENT, SOON), "sent", ""),
        (lambda: overdue(SENT, LONG), "unknown", LATE),
        (lambda: with_deposit(overdue(SENT, LONG), CREDITED, LONG, "next"), "arrived", ""),
        (lambda: with_withdrawal(overdue(ASKED, LONG), PENDING, LONG, "next"), "sent", ""),
        (lambda: with_withdrawal(ASKED, replace(PENDING, state="failed"), SOON, "session"), "failed", REJECTED),
        (lambda: with_withdrawal(SENT, replace(DONE, state="failed"), SOON, "session"), "failed", RETURNED),
        # it counted as never made, and turned up
        (lambda: with_withdrawal(NO_SUCH, PENDING, LONG, "next"), "sent", ""),
        (lambda: with_withdrawal(NO_SUCH, replace(PENDING, state="failed"), LONG, "next"), "failed", NOT_FOUND),
        (lambda: with_deposit(SENT, replace(CREDITED, state="pending"), SOON, "next"), "sent", ""),
        (lambda: dropped(PROPOSED, "declined", SOON), "dropped", "declined"),
        (lambda: ambiguous(ASKED, SOON), "unknown", AMBIGUOUS),
        (lambda: ambiguous(ambiguous(ASKED, SOON), LONG), "unknown", AMBIGUOUS),
        (lambda: ambiguous(NO_SUCH, LONG), "failed", NOT_FOUND),
        (lambda: said(DOUBTFUL, None, None), "failed", SETTLED),
        (lambda: said(OVERDUE, None, None), "failed", RETURNED),
        (lambda: said(DOUBTFUL, "2", None), "sent", ""),
        (lambda: said(DOUBTFUL, "2", "1.999"), "arrived", ""),
        (lambda: said(OVERDUE, "2", "0"), "arrived", ""),
        (lambda: said(ASKED, "2", "1.999"), "arrived", ""),
    ],
)
def test_what_each_answer_makes_of_it(after: Callable[[], MoneyTransfer], state: str, reason: str) -> None:
    found = after()
    assert (found.state, found.reason) == (state, reason)


@pytest.mark.parametrize(
    "step",
    [
        lambda: asked(ASKED, 8, SOON),
        lambda: asked(proposed(PLANNED, "session", START), 7, SOON),
        lambda: asked(dropped(PROPOSED, "declined", SOON), 7, SOON),
        lambda: rejected(SENT, SOON),
        lambda: not_found(overdue(SENT, LONG), LONG),
        lambda: dropped(ASKED, "declined", SOON),
        lambda: confirmed(replace(ASKED, confirmed_by=""), "eve", SOON),
        lambda: said(ARRIVED, None, None),
        lambda: settled(ASKED, None, None, SOON, str),
        lambda: said(DOUBTFUL, None, "1"),
        lambda: said(DOUBTFUL, "1", "1.1"),
        lambda: said(DOUBTFUL, "0", None),
        lambda: said(OVERDUE, "1", "1"),
    ],
)
def test_a_withdrawal_cannot_be_allowed_twice_nor_what_left_be_forgotten(step: Callable[[], MoneyTransfer]) -> None:
    with pytest.raises(TransferStepError, match=r"transfer [0-9a-f]{32} "):
        step()


def test_what_left_is_what_the_exchange_lists_not_what_was_asked_for() -> None:
    answered = with_withdrawal(ASKED, PENDING, SOON, "session")
    listed = with_withdrawal(answered, replace(DONE, left=Decimal("2.001")), LONG, "next")
    assert listed.left == Decimal("2.001")
    assert changes_between(answered, listed) == [("kraken", "BTC", Decimal("-0.001"), ZERO)]
    assert booked_in([listed], "session") == {("kraken", "BTC"): Decimal("-2.001")}


def test_what_a_person_says_is_booked_where_it_happened() -> None:
    named = settled(DOUBTFUL, Decimal(2), Decimal("1.9"), LONG, {"kraken": "session", "binance": ""}.__getitem__)
    assert changes_between(DOUBTFUL, named) == [
        ("kraken", "BTC", ZERO, Decimal(-2)),
        ("binance", "BTC", Decimal("1.9"), ZERO),
    ]
    assert booked_in([named], "session") == {("kraken", "BTC"): Decimal(-2)}
    assert (named.lost, named.is_open) == (Decimal("0.1"), False)
    assert changes_between(DOUBTFUL, said(DOUBTFUL, None, None)) == [("kraken", "BTC", Decimal(2), Decimal(-2))]
    # it had left, and came back
    assert changes_between(OVERDUE, said(OVERDUE, None, None)) == [("kraken", "BTC", Decimal(2), ZERO)]
    assert booked_in([said(OVERDUE, None, None)], "session") == {}


def test_a_proposal_that_nobody_confirms_is_outdated_after_an_hour() -> None:
    waiting = proposed(PLANNED, "session", START)
    late = START + PROPOSAL_SECONDS * MICROSECONDS
    assert not is_outdated(waiting, late - 1)
    assert is_outdated(waiting, late)
    assert not is_outdated(confirmed(waiting, "ann", late), late)
    assert confirmed(confirmed(waiting, "ann", SOON), "bob", late).confirmed_by == "ann"


@pytest.mark.parametrize(
    ("listed", "found"),
    [
        ([PENDING], PENDING),
        ([replace(PENDING, withdrawal_id="other")], None),
        ([replace(PENDING, asked_at=0)], None),
        ([replace(PENDING, left=Decimal(1))], None),
        ([replace(PENDING, currency="ETH")], None),
        ([replace(PENDING, client_id="another's")], None),
        ([replace(PENDING, client_id=ASKED.transfer_id), replace(PENDING, client_id="another's")], "ours"),
    ],
)
def test_a_withdrawal_is_known_by_our_id_or_by_what_only_it_can_be(
    listed: list[Withdrawal], found: Withdrawal | str | None
) -> None:
    wanted = listed[0] if found == "ours" else found
    assert withdrawal_of(ASKED, listed, of_others=("other",)) == wanted


def test_two_that_may_be_it_are_for_a_person() -> None:
    with pytest.raises(AmbiguousWithdrawalError, match="kraken has 2 withdrawals"):
        withdrawal_of(ASKED, [PENDING, replace(PENDING, withdrawal_id="W2")])


def test_a_deposit_is_known_by_the_networks_id() -> None:
    assert deposit_of(SENT, [replace(CREDITED, network_id="tx0"), CREDITED]) == CREDITED
    assert deposit_of(SENT, [replace(CREDITED, currency="ETH")]) is None
    assert deposit_of(with_withdrawal(ASKED, PENDING, SOON, ""), [replace(CREDITED, network_id=None)]) is None


WITHDRAWALS = st.builds(
    Withdrawal,
    withdrawal_id=st.just("W1"),
    currency=st.just("BTC"),
    left=st.sampled_from([Decimal(2), Decimal("2.001")]),
    state=st.sampled_from(["pending", "done", "failed"]),
    asked_at=st.just(START),
    network_id=st.sampled_from([None, "tx1"]),
)
DEPOSITS = st.builds(
    Deposit,
    deposit_id=st.just("D1"),
    currency=st.just("BTC"),
    amount=st.sampled_from([Decimal("1.999"), Decimal("1.9")]),
    state=st.sampled_from(["pending", "credited", "failed"]),
    network_id=st.just("tx1"),
)
WORDS: dict[str, tuple[str | None, str | None]] = {
    "it never left": (None, None),
    "it left": ("2", None),
    "it arrived": ("2", "1.9"),
}
NEWS = st.lists(
    st.one_of(WITHDRAWALS, DEPOSITS, st.sampled_from(["not found", "overdue", "rejected", *WORDS])), max_size=8
)


def told(known: MoneyTransfer, news: Withdrawal | Deposit | str, at: int) -> MoneyTransfer:
    if isinstance(news, Withdrawal):
        return with_withdrawal(known, news, at, "session")
    if isinstance(news, Deposit):
        return with_deposit(known, news, at, "session")
    if news in WORDS:
        # only of what is unknown by then
        return said(known, *WORDS[news], at) if overdue(known, at).state == "unknown" else known
    if news == "overdue":
        return overdue(known, at)
    if known.left is not None or known.state not in ("asked", "unknown"):
        return known
    return {"not found": not_found, "rejected": rejected}[news](known, at)


@given(news=NEWS, gaps=st.lists(st.sampled_from([0, 1, 100, 5_000]), min_size=8, max_size=8))
def test_in_every_order_of_answers_money_is_in_one_place(
    news: list[Withdrawal | Deposit | str], gaps: list[int]
) -> None:
    known, at, moved = ASKED, START, dict[str, Decimal]()
    for one, gap in zip(news, gaps, strict=False):
        at += gap * MICROSECONDS
        after = told(known, one, at)
        for exchange, _, free, held in changes_between(known, after):
            moved[exchange] = moved.get(exchange, ZERO) + free + held
        known = after
        books = sum((free + held for free, held in positions(known).values()), ZERO)
        assert books + known.arriving + known.lost == 0
        # what steps moved, the session's ledger and the rows say the same
        assert sum(moved.values(), ZERO) == books
        assert sum(booked_in([known], "session").values(), ZERO) == books
        assert (known.state in ("arrived", "failed", "dropped")) == (not known.is_open)
