"""What a bot tells of how far it has read."""

from dataclasses import dataclass, field
from typing import cast

from bots.position_reporter import PositionReporter
from runtime.clock import wall_now
from store.mongo.consumer_positions import ConsumerPositions
from store.server.change_streams import ChangeStreamProgress
from streams.records import Position
from streams.topic_reader import TopicReader

SECOND = 1_000_000


@dataclass
class ReadSoFar:
    """The part of a reader that is asked."""

    next_offsets: dict[Position, int] = field(default_factory=lambda: {("opportunities", 0): 12, ("spreads", 0): 3})


def reporter(*progress: ChangeStreamProgress) -> PositionReporter:
    positions, reader = cast(ConsumerPositions, None), cast(TopicReader, ReadSoFar())
    return PositionReporter("kraken", positions, reader, progress, lambda: 0)


def test_it_reports_its_offsets_and_the_slowest_of_its_change_streams() -> None:
    now = wall_now()
    quick, slow = ChangeStreamProgress(caught_up_at=now), ChangeStreamProgress(caught_up_at=now - 30 * SECOND, lost=2)
    reach = reporter(quick, slow).position()
    assert (reach.part, reach.exchange, reach.lost_streams) == ("bot-kraken", "kraken", 2)
    assert reach.offsets == {"opportunities/0": 12, "spreads/0": 3}
    assert reach.change_lag is not None
    assert 30 * SECOND <= reach.change_lag < 60 * SECOND


def test_before_each_stream_has_answered_its_lag_is_not_known() -> None:
    assert reporter(ChangeStreamProgress(caught_up_at=wall_now()), ChangeStreamProgress()).position().change_lag is None
