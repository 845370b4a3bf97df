"""When the next message leaves: a table, and for any course of events never too many a minute."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notices.batching import MAX_IN_ONE, MINUTE, batch_name, next_batch
from store.operations.notices import QueuedNotice
from store.records.notice import Notice
from tests.notices.samples import AT, alarm, trade, webhook

SECOND = 1_000_000


def waiting(*notices: Notice, at: int = AT, batch: str | None = None) -> list[QueuedNotice]:
    return [QueuedNotice(notice, at, batch) for notice in notices]


def test_nothing_waits() -> None:
    assert next_batch([], [], webhook(), AT).batch == ()


def test_a_trade_waits_for_others() -> None:
    plan = next_batch(waiting(trade(1), trade(2)), [], webhook(batch_seconds=10), AT)
    assert (len(plan.batch), plan.at) == (2, AT + 10 * SECOND)


def test_an_alarm_leaves_at_once_and_alone_from_the_trades() -> None:
    plan = next_batch(waiting(trade(1), alarm(1), trade(2)), [], webhook(), AT)
    assert ([row.notice.notice_id for row in plan.batch], plan.at) == (["alarm:1"], AT)


def test_what_was_begun_goes_first_as_it_was() -> None:
    begun = [*waiting(trade(1), trade(2), batch="gathered:x"), *waiting(alarm(1), trade(3))]
    plan = next_batch(begun, [], webhook(), AT)
    assert [row.notice.notice_id for row in plan.batch] == ["trade:1", "trade:2"]
    assert batch_name(plan.batch) == "gathered:x"


def test_alarms_of_one_moment_are_one_message_of_a_bounded_size() -> None:
    plan = next_batch(waiting(*(alarm(number) for number in range(200))), [], webhook(), AT)
    assert len(plan.batch) == MAX_IN_ONE


def test_trades_leave_room_for_alarms() -> None:
    sent = [AT - number for number in range(15, 0, -1)]
    destination = webhook(per_minute=20, batch_seconds=0)
    assert next_batch(waiting(trade(1)), sent, destination, AT).at == sent[0] + MINUTE
    assert next_batch(waiting(alarm(1)), sent, destination, AT).at == AT


def test_names_are_the_same_for_the_same_notices() -> None:
    one, two = waiting(trade(1)), waiting(trade(1), trade(2))
    assert batch_name(one) == "trade:1"
    assert batch_name(two) == batch_name(waiting(trade(1), trade(2), at=AT + 5)) != batch_name(two[::-1])


@pytest.mark.parametrize("per_minute", [1, 2, 3, 20, 60])
@given(st.lists(st.tuples(st.integers(0, 5 * SECOND), st.booleans()), max_size=120))
def test_never_more_than_so_many_a_minute(per_minute: int, events: list[tuple[int, bool]]) -> None:
    """Each event: so much later, an alarm or a trade. Whatever is planned is sent at its time."""
    destination = webhook(per_minute=per_minute, batch_seconds=1)
    now, sent = AT, list[int]()
    queue: list[QueuedNotice] = []
    for number, (later, is_alarm) in enumerate(events):
        now += later
        queue.append(QueuedNotice(alarm(number) if is_alarm else trade(number), now))
        while (plan := next_batch(queue, sent, destination, now)).batch and plan.at <= now:
            sent.append(now)
            queue = [row for row in queue if row not in plan.batch]
    for at in sent:
        assert sum(at - MINUTE < other <= at for other in sent) <= per_minute
    while (plan := next_batch(queue, sent, destination, now)).batch:
        now = max(now, plan.at)
        sent.append(now)
        queue = [row for row in queue if row not in plan.batch]
    assert queue == [], "in the end everything leaves"
