"""What goes to which partition of the log."""

from decimal import Decimal
from typing import Literal

from market.decide.settings import Settings
from market.money import Amount, Price
from market.prices.quotes import FeedMark, Level, MarkKind, Quote
from streams.last_sequences import SETTINGS_ROWS, TAIL_ROWS, last_sequences, newest_settings_rows
from streams.message_format import row_of, settings_row
from streams.records import Newest, Record
from streams.tick_writer import TickWriter
from streams.topic_admin import ensure_topics
from streams.topic_reader import TopicReader
from streams.topic_writer import TopicWriter
from streams.topics import QUOTES, REGION_TOPICS, TICKS, bases_by_partition, partition_of
from tests.service_process import ServiceProcess

BASES = ("BTC", "ETH", "SOL", "XRP")
PARTITIONS = 3


def quote(kind: Literal["quote", "fx"], exchange: str, symbol: str, sequence: int) -> Quote:
    base, quote_currency = symbol.split("/")
    bid, ask = (Level(Price(Decimal(price)), Amount(Decimal(1))) for price in (99, 101))
    return Quote(kind, exchange, "eu", symbol, base, quote_currency, (bid,), (ask,), None, sequence, sequence)


def mark(kind: MarkKind, symbol: str) -> FeedMark:
    base, quote_currency = symbol.split("/")
    return FeedMark(kind, "kraken", "us", symbol, base, quote_currency, 5, 5)


async def written(broker: ServiceProcess, fill: Literal["base", "fx", "settings"]) -> list[Record]:
    await ensure_topics(broker.address, PARTITIONS)
    writer = TopicWriter(broker.address)
    log = TickWriter(writer, BASES, PARTITIONS)
    async with TopicReader(broker.address, (TICKS,), "latest") as reader:
        if fill == "base":
            for base in BASES:
                log.quote(quote("quote", "kraken", f"{base}/USD", 1))
                log.mark(mark("alive", f"{base}/USD"))
                log.mark(mark("withdrawn", f"{base}/USD"))
                log.marker("end", base, "marker", 7)
        elif fill == "fx":
            log.quote(quote("fx", "kraken", "EUR/USD", 1))
            log.mark(mark("fx_alive", "EUR/USD"))
            log.mark(mark("fx_withdrawn", "EUR/USD"))
        else:
            log.settings(Settings(enabled_exchanges=("kraken",), taker_fees={"kraken": Decimal("0.001")}), 9)
        await writer.close()
        return [record async for record in reader.records_to_end()]


async def test_rows_of_a_base_keep_their_order_in_its_partition(broker: ServiceProcess) -> None:
    records = await written(broker, "base")
    assert {(record.key, record.partition) for record in records} == {
        (base, partition_of(base, PARTITIONS)) for base in BASES
    }
    for base in BASES:
        kinds = [row_of(record.value)["kind"] for record in records if record.key == base]
        assert kinds == ["quote", "alive", "withdrawn", "end"]


async def test_fx_rows_go_once_to_every_partition_that_has_bases(broker: ServiceProcess) -> None:
    records = await written(broker, "fx")
    for partition, bases in bases_by_partition(BASES, PARTITIONS).items():
        rows = [row_of(record.value) for record in records if record.partition == partition]
        assert [row["kind"] for row in rows] == ["fx", "fx_alive", "fx_withdrawn"]
        assert all(row["bases"] == list(bases) for row in rows)
    assert {record.partition for record in records} == set(bases_by_partition(BASES, PARTITIONS))


async def test_settings_rows_go_once_to_every_partition_that_has_bases(broker: ServiceProcess) -> None:
    records = await written(broker, "settings")
    assert {record.partition: tuple(row_of(record.value)["bases"]) for record in records} == bases_by_partition(
        BASES, PARTITIONS
    )
    assert len(records) == len(bases_by_partition(BASES, PARTITIONS))


async def test_in_a_region_other_regions_are_offered_what_feeds_wrote_and_nothing_else(broker: ServiceProcess) -> None:
    await ensure_topics(broker.address, PARTITIONS, REGION_TOPICS)
    writer = TopicWriter(broker.address)
    log = TickWriter(writer, BASES, PARTITIONS, (QUOTES,))
    async with TopicReader(broker.address, (TICKS, QUOTES), "latest") as reader:
        for base in BASES:
            log.quote(quote("quote", "kraken", f"{base}/USD", 1))
            log.mark(mark("alive", f"{base}/USD"))
        log.quote(quote("fx", "kraken", "EUR/USD", 1))
        log.mark(mark("fx_alive", "EUR/USD"))
        log.marker("end", "BTC", "marker", 7)
        log.settings(Settings(enabled_exchanges=("kraken",), taker_fees={"kraken": Decimal("0.001")}), 9)
        await writer.close()
        records = [record async for record in reader.records_to_end()]
    assert _by_partition(records, QUOTES) == {
        partition: [row for row in rows if b'"settings"' not in row and b'"end"' not in row]
        for partition, rows in _by_partition(records, TICKS).items()
    }
    assert len([record for record in records if record.topic == QUOTES]) == 2 * len(BASES) + 2 * len(
        bases_by_partition(BASES, PARTITIONS)
    )


def _by_partition(records: list[Record], topic: str) -> dict[int, list[bytes]]:
    rows: dict[int, list[bytes]] = {}
    for record in records:
        if record.topic == topic:
            rows.setdefault(record.partition, []).append(record.value)
    return rows


async def test_last_sequences_are_of_one_exchange_and_all_its_symbols(broker: ServiceProcess) -> None:
    await ensure_topics(broker.address, PARTITIONS)
    writer = TopicWriter(broker.address)
    log = TickWriter(writer, BASES, PARTITIONS)
    for sequence in (10, 30, 20):
        log.quote(quote("quote", "bitstamp", "BTC/EUR", sequence))
        log.quote(quote("quote", "bitflyer", "BTC/JPY", sequence + 5))
        log.quote(quote("fx", "bitstamp", "EUR/USD", sequence + 7))
    writer.write(TICKS, b"not JSON", None, 0)
    log.marker("probe", "BTC", "marker", 1)
    await writer.flush()
    await writer.close()
    assert await last_sequences(broker.address, "bitstamp") == {"BTC/EUR": 30, "EUR/USD": 37}
    assert await last_sequences(broker.address, "bitflyer") == {"BTC/JPY": 35}
    assert await last_sequences(broker.address, "nobody") == {}


async def test_last_sequences_reads_no_more_than_the_tail(broker: ServiceProcess) -> None:
    await ensure_topics(broker.address, PARTITIONS)
    writer = TopicWriter(broker.address)
    log = TickWriter(writer, BASES, PARTITIONS)
    log.quote(quote("quote", "quiet", "BTC/USD", 1))
    for sequence in range(TAIL_ROWS):
        log.quote(quote("quote", "busy", "BTC/USD", sequence))
    await writer.flush()
    await writer.close()
    assert await last_sequences(broker.address, "quiet") == {}
    assert await last_sequences(broker.address, "busy") == {"BTC/USD": TAIL_ROWS - 1}
    async with TopicReader(broker.address, (TICKS,), Newest(0)) as reader:
        assert [record async for record in reader.records_to_end()] == []


async def test_the_newest_settings_of_every_partition_are_found_behind_many_rows(broker: ServiceProcess) -> None:
    await ensure_topics(broker.address, PARTITIONS)
    writer = TopicWriter(broker.address)
    log = TickWriter(writer, BASES, PARTITIONS)
    stated = Settings(enabled_exchanges=("kraken",), taker_fees={"kraken": Decimal("0.001")})
    log.settings(stated.model_copy(update={"version": 7}), 9)
    for sequence in range(SETTINGS_ROWS[0]):
        log.quote(quote("quote", "kraken", "BTC/USD", sequence))
    # a writer that was killed before it wrote to the others
    behind = partition_of("BTC", PARTITIONS)
    ahead = next(partition for partition in bases_by_partition(BASES, PARTITIONS) if partition != behind)
    writer.write(TICKS, settings_row(stated.model_copy(update={"version": 8}), 9, BASES), "settings", ahead)
    await writer.flush()
    await writer.close()
    rows = await newest_settings_rows(broker.address)
    newest = {record.partition: row_of(record.value)["settings_version"] for record in rows}
    assert newest == dict.fromkeys(bases_by_partition(BASES, PARTITIONS), 7) | {ahead: 8}
