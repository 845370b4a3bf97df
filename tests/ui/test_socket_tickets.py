from market.time_units import MICROSECONDS
from ui.auth.callers import Caller
from ui.auth.socket_tickets import MAX_TICKETS, TICKET_SECONDS, Purpose, Tickets

DESK = Caller("desk", "viewer", "key")
PURPOSES: tuple[tuple[Purpose, Purpose], ...] = (("live", "page"), ("page", "live"))


class Time:
    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


def test_a_ticket_is_good_once_and_says_who_asked_for_it() -> None:
    tickets = Tickets(Time())
    ticket = tickets.issue(DESK)
    assert len(ticket) >= 40
    assert (tickets.redeem(ticket), tickets.redeem(ticket)) == (DESK, None)
    assert tickets.redeem("") is None


def test_it_is_good_for_what_it_was_asked_for_alone() -> None:
    tickets = Tickets(Time())
    for purpose, other in PURPOSES:
        ticket = tickets.issue(DESK, purpose)
        assert (tickets.redeem(ticket, other), tickets.redeem(ticket, purpose)) == (None, None)
        assert tickets.redeem(tickets.issue(DESK, purpose), purpose) == DESK


def test_it_is_good_for_half_a_minute() -> None:
    time = Time()
    tickets = Tickets(time)
    early, late = tickets.issue(DESK), tickets.issue(DESK)
    time.now = TICKET_SECONDS * MICROSECONDS - 1
    assert tickets.redeem(early) == DESK
    time.now += 1
    assert tickets.redeem(late) is None


def test_memory_is_bounded_and_the_oldest_goes_first() -> None:
    tickets = Tickets(Time())
    first, second = tickets.issue(DESK), tickets.issue(DESK)
    for _ in range(MAX_TICKETS - 1):
        newest = tickets.issue(DESK)
    assert (tickets.redeem(first), tickets.redeem(second), tickets.redeem(newest)) == (None, DESK, DESK)
