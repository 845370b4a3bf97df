"""The rows that the audit reads from a region's log: those with sequences, in the order of each partition."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from launch.chaos.audit.copied_logs import LoggedRow, RegionLog
from launch.chaos.audit.log_reader import logged_row, read_logs
from streams.records import Record
from streams.tick_writer import TickWriter
from streams.topic_admin import ensure_topics
from streams.topic_writer import TopicWriter
from streams.topics import QUOTES, REGION_TOPICS
from tests.service_process import ServiceProcess
from tests.services import embedded_kafka
from tests.streams.test_tick_writer import mark, quote


@pytest.mark.parametrize(
    ("value", "row"),
    [
        (b'{"kind":"quote","exchange":"kraken","symbol":"BTC/USD","sequence":7}', LoggedRow(2, "kraken", "BTC/USD", 7)),
        (b'{"kind":"settings","bases":["BTC"],"settings_version":1}', None),
        (b'{"kind":"probe","base":"BTC","marker_id":"one"}', None),
        (b'{"kind":"quote","exchange":"kraken","symbol":"BTC/USD","sequence":"7"}', None),
        (b"not JSON", None),
        (b"[]", None),
    ],
)
def test_a_row_counts_by_its_sequence(value: bytes, row: LoggedRow | None) -> None:
    assert logged_row(Record("ticks", 2, 11, None, value, 1_000)) == row


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[ServiceProcess]:
    """Yield a broker for this test alone: other tests use the same names of topics."""
    with embedded_kafka(tmp_path) as process:
        yield process


async def test_both_topics_of_a_region_are_read_from_their_beginning(broker: ServiceProcess) -> None:
    await ensure_topics(broker.address, 1, REGION_TOPICS)
    writer = TopicWriter(broker.address)
    own, mirrored = TickWriter(writer, ("BTC",), 1, (QUOTES,)), TickWriter(writer, ("BTC",), 1)
    own.quote(quote("quote", "bitstamp", "BTC/EUR", 3))
    mirrored.mark(mark("alive", "BTC/USD"))
    own.quote(quote("quote", "bitstamp", "BTC/EUR", 8))
    own.marker("probe", "BTC", "marker", 1)
    await writer.flush()
    await writer.close()
    logs = await read_logs({"eu": broker.address})
    written = [LoggedRow(0, "bitstamp", "BTC/EUR", sequence) for sequence in (3, 8)]
    assert logs == {"eu": RegionLog(written, [written[0], LoggedRow(0, "kraken", "BTC/USD", 5), written[1]])}
