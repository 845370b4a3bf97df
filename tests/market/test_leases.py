"""Leases: at most one holder at a time, and a token that nobody had before."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.time_units import MICROSECONDS
from market.trade.leases import (
    LEASE_SECONDS,
    UNFENCED,
    Lease,
    Veto,
    acquired,
    block_of,
    is_fenced_out,
    released,
    renewed,
)

LENGTH = int(LEASE_SECONDS * MICROSECONDS)
HOLDERS = ("one", "two", "three")

Event = tuple[str, str, int]
"""What, by whom, how much later."""


def test_a_lease_that_still_runs_is_given_to_nobody_else() -> None:
    lease = Lease("alpha", "one", 3, LENGTH)
    assert acquired(lease, "alpha", "two", LENGTH - 1) is None
    assert acquired(lease, "alpha", "two", LENGTH) == Lease("alpha", "two", 4, 2 * LENGTH)
    assert acquired(lease, "alpha", "one", 1) == Lease("alpha", "one", 4, LENGTH + 1)


def test_one_that_ran_out_is_renewed_unless_somebody_came_after() -> None:
    lease = Lease("alpha", "one", 3, LENGTH)
    assert renewed(lease, lease, 5 * LENGTH) == Lease("alpha", "one", 3, 6 * LENGTH)
    assert renewed(Lease("alpha", "two", 4, 9 * LENGTH), lease, LENGTH) is None
    assert renewed(None, lease, LENGTH) is None


def test_a_servers_clock_that_is_set_back_makes_nothing_older_than_it_was() -> None:
    lease = Lease("alpha", "one", 3, LENGTH, "some", 9 * LENGTH)
    following = acquired(lease, "alpha", "two", 2 * LENGTH)
    assert following is not None
    assert (following.used, following.used_ago) == ("some", 0)


VETOES: list[Veto | None] = [None, "no_bot", "bot_draining", "account_rejected"]


@pytest.mark.parametrize("veto", VETOES)
def test_whoever_begins_takes_no_leg_before_it_says_so_whatever_the_last_one_said(veto: Veto | None) -> None:
    lease = Lease("alpha", "one", 3, LENGTH, veto=veto)
    taken = [
        acquired(None, "alpha", "one", 0),
        acquired(lease, "alpha", "one", 1),
        acquired(lease, "alpha", "two", LENGTH),
    ]
    assert [None if one is None else one.veto for one in taken] == ["no_bot"] * 3


@pytest.mark.parametrize("veto", VETOES)
def test_a_veto_outlasts_renewal_and_release(veto: Veto | None) -> None:
    current = Lease("alpha", "one", 3, LENGTH, veto=veto)
    # the holder's own copy is as old as its acquisition
    known = Lease("alpha", "one", 3, LENGTH)
    again, freed = renewed(current, known, LENGTH // 2, "some"), released(current, known, LENGTH // 2)
    assert again is not None
    assert freed is not None
    assert (again.veto, freed.veto) == (veto, veto)


@pytest.mark.parametrize(
    ("lease", "block"),
    [
        (None, "no_bot"),
        (Lease("alpha", "one", 3, LENGTH + 1, veto=None), None),
        (Lease("alpha", "one", 3, LENGTH, veto=None), "no_bot"),
        (Lease("alpha", "one", 3, LENGTH, veto="bot_draining"), "no_bot"),
        (Lease("alpha", "one", 3, LENGTH + 1), "no_bot"),
        (Lease("alpha", "one", 3, LENGTH + 1, veto="bot_draining"), "bot_draining"),
        (Lease("alpha", "one", 3, LENGTH + 1, veto="account_rejected"), "account_rejected"),
    ],
    ids=["none ever", "ready", "ran out", "ran out draining", "not ready yet", "draining", "rejected"],
)
def test_what_keeps_legs_from_an_exchange(lease: Lease | None, block: str | None) -> None:
    assert block_of(lease, LENGTH) == block


def test_tools_without_a_lease_are_never_fenced_out() -> None:
    assert not is_fenced_out(Lease("alpha", "one", 3, LENGTH), UNFENCED)
    assert is_fenced_out(None, Lease("alpha", "one", 3, LENGTH).actor)


@given(
    st.lists(st.tuples(st.sampled_from(("acquire", "renew", "release")), st.sampled_from(HOLDERS), st.integers(0, 9)))
)
def test_no_token_is_given_out_twice_and_only_the_last_holder_may_act(events: list[Event]) -> None:
    current: Lease | None = None
    held: dict[str, Lease] = {}
    tokens: list[int] = []
    now = 0
    for what, holder, later in events:
        now += later * LENGTH // 4
        own = held.get(holder)
        if what == "acquire":
            given_out = acquired(current, "alpha", holder, now)
            if given_out is not None:
                tokens.append(given_out.token)
                held[holder] = current = given_out
        elif own is not None:
            after = renewed(current, own, now) if what == "renew" else released(current, own, now)
            current = current if after is None else after
        allowed = [name for name, lease in held.items() if not is_fenced_out(current, lease.actor)]
        assert len(allowed) <= 1
        assert not allowed or current is None or allowed == [current.holder]
    assert tokens == sorted(set(tokens))
