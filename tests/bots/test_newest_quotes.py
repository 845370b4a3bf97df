"""Looking at the end of the log now and then shows what following all of it would have shown."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from bots.decide.newest_quotes import MAX_ROWS, LatestQuote, MarketKey, NewestQuotes, fx_rate_of
from market.instruments.markets import FxRoute, Market
from market.prices.opportunities import FxRate
from market.prices.quotes import FeedMark, MarkKind, Quote
from streams.message_format import mark_row, quote_row
from streams.records import Record
from streams.topics import TICKS
from tests.market.samples import EUR_MARKET, USD_MARKET, levels

FX_MARKET = replace(USD_MARKET, exchange="fx", symbol="EUR/USD", base="EUR", quote_currency="USD", is_fx=True)
MARKETS = (USD_MARKET, EUR_MARKET, FX_MARKET)
KEYS = [(market.exchange, market.symbol) for market in MARKETS]
USD_KEY, EUR_KEY, FX_KEY = KEYS


@dataclass
class Log:
    """The topic, one partition a base as it might be, and how many rows were asked for."""

    rows: list[Record] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    time: int = 0

    async def newest(self, rows: int) -> list[Record]:
        self.asked.append(rows)
        partitions = {record.partition for record in self.rows}
        return [one for part in sorted(partitions) for one in self.partition(part)[-rows:]]

    def partition(self, number: int) -> list[Record]:
        return [record for record in self.rows if record.partition == number]

    def write(self, value: bytes, partition: int = 0) -> None:
        offset = len(self.partition(partition))
        self.rows.append(Record(TICKS, partition, offset, None, value, self.time))

    def repeat(self, rows: int, caught_up: int) -> None:
        """Let a mirror begin again `rows` before the end of each partition; it has written `caught_up` of them."""
        for partition in sorted({record.partition for record in self.rows}):
            for record in self.partition(partition)[-rows:][: max(caught_up, 1)]:
                self.write(record.value, partition)

    def quote(self, market: Market, partition: int = 0) -> Quote:
        self.time += 1
        place = (market.exchange, market.region, market.symbol, market.base, market.quote_currency)
        bids, asks = levels((str(self.time), "1")), levels((str(self.time + 2), "1"))
        made = Quote("fx" if market.is_fx else "quote", *place, bids, asks, None, self.time, self.time)
        self.write(quote_row(made), partition)
        return made

    def mark(self, kind: MarkKind, market: Market, partition: int = 0) -> None:
        self.time += 1
        place = (market.exchange, market.region, market.symbol, market.base, market.quote_currency)
        prefix: dict[MarkKind, MarkKind] = {"alive": "fx_alive", "withdrawn": "fx_withdrawn"}
        reported = prefix[kind] if market.is_fx else kind
        self.write(mark_row(FeedMark(reported, *place, self.time, self.time)), partition)


class Follower:
    """Reads every row, one after the other."""

    def __init__(self) -> None:
        self.latest: dict[MarketKey, tuple[Quote, int]] = {}

    def quote(self, market: Market, made: Quote) -> None:
        self.latest[market.exchange, market.symbol] = (made, made.received_time)

    def mark(self, kind: MarkKind, market: Market, time: int) -> None:
        key = (market.exchange, market.symbol)
        if kind == "withdrawn":
            self.latest.pop(key, None)
        elif key in self.latest:
            self.latest[key] = (self.latest[key][0], time)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["quote", "alive", "withdrawn"]), st.sampled_from(MARKETS)),
        st.just(("look", USD_MARKET)),
    ),
    max_size=80,
)


STEPS_OF_REGION = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["quote", "alive", "withdrawn"]), st.sampled_from(MARKETS)),
        st.tuples(st.just("repeat"), st.integers(1, 6)),
        st.just(("look", 0)),
    ),
    max_size=60,
)


@given(STEPS, st.integers(1, 4), st.booleans())
async def test_looks_show_what_a_follower_knows(
    steps: list[tuple[str, Market]], first_rows: int, two_partitions: bool
) -> None:
    log, follower = Log(), Follower()
    quotes = NewestQuotes(log, first_rows=first_rows)
    for what, market in [*steps, ("look", USD_MARKET)]:
        partition = MARKETS.index(market) % 2 if two_partitions else 0
        if what == "look":
            found = {key: (latest.quote, latest.verified_time) for key, latest in (await quotes.fetch(KEYS)).items()}
            assert found == follower.latest
        elif what == "quote":
            follower.quote(market, log.quote(market, partition))
        else:
            kind: MarkKind = "alive" if what == "alive" else "withdrawn"
            log.mark(kind, market, partition)
            follower.mark(kind, market, log.time)


@given(STEPS_OF_REGION, st.booleans())
async def test_rows_that_come_again_show_nothing_older(
    steps: list[tuple[str, Market | int]], two_partitions: bool
) -> None:
    """Whatever a mirror brings again, and before it has caught up."""
    log, follower = Log(), Follower()
    quotes = NewestQuotes(log, first_rows=1, region="us")
    for what, of in [*steps, ("look", 0)]:
        if what == "look":
            found = {key: (latest.quote, latest.verified_time) for key, latest in (await quotes.fetch(KEYS)).items()}
            assert found == follower.latest
        elif isinstance(of, int):
            log.repeat(of, of // 2)
        elif what == "quote":
            follower.quote(of, log.quote(of, MARKETS.index(of) % 2 if two_partitions else 0))
        else:
            kind: MarkKind = "alive" if what == "alive" else "withdrawn"
            log.mark(kind, of, MARKETS.index(of) % 2 if two_partitions else 0)
            follower.mark(kind, of, log.time)


async def test_a_repeat_is_known_by_what_was_found_before_it() -> None:
    log = Log()
    quotes = NewestQuotes(log, first_rows=1, region="us", rows_of_region=1)
    log.quote(USD_MARKET)
    newest = log.quote(USD_MARKET)
    assert (await quotes.fetch([USD_KEY]))[USD_KEY].quote == newest
    log.mark("alive", USD_MARKET)
    known = (await quotes.fetch([USD_KEY]))[USD_KEY]
    assert (known.quote, known.verified_time) == (newest, log.time)
    for caught_up in (1, 2):
        log.repeat(3, caught_up)
        assert (await quotes.fetch([USD_KEY]))[USD_KEY] == known
    log.mark("withdrawn", USD_MARKET)
    assert await quotes.fetch([USD_KEY]) == {}
    log.repeat(3, 1)
    assert await quotes.fetch([USD_KEY]) == {}


async def test_taken_as_it_came_an_old_quote_would_be_the_newest() -> None:
    log = Log()
    old, newest = log.quote(USD_MARKET), log.quote(USD_MARKET)
    log.repeat(2, 1)
    assert (await NewestQuotes(log).fetch([USD_KEY]))[USD_KEY].quote == old
    assert (await NewestQuotes(log, region="us").fetch([USD_KEY]))[USD_KEY].quote == newest


async def test_a_rate_is_found_behind_what_confirms_it_in_another_partition() -> None:
    """A rate stands in each partition, and of a busy one fewer seconds are read."""
    log = Log()
    rate = log.quote(FX_MARKET, 1)
    log.time -= 1
    log.quote(FX_MARKET, 0)
    for _ in range(3):
        log.mark("alive", FX_MARKET, 0)
        log.time -= 1
        log.mark("alive", FX_MARKET, 1)
    log.rows += [Record(TICKS, 0, n, None, b'{"kind":"probe"}', 0) for n in range(4, 2 * MAX_ROWS)]
    log.mark("alive", FX_MARKET, 0)
    assert (await NewestQuotes(log, region="us").fetch([FX_KEY]))[FX_KEY].quote == rate


async def test_few_rows_are_enough_where_quotes_come_often() -> None:
    log = Log()
    for _ in range(5_000):
        log.quote(USD_MARKET)
    assert (await NewestQuotes(log).fetch([USD_KEY]))[USD_KEY].offset == 4_999
    assert log.asked == [250]


async def test_a_quiet_market_is_sought_once() -> None:
    """What was found far back still holds if the next look goes on from there."""
    log = Log()
    quiet = log.quote(EUR_MARKET)
    for _ in range(1_000):
        log.quote(USD_MARKET)
    quotes = NewestQuotes(log)
    assert (await quotes.fetch([EUR_KEY]))[EUR_KEY] == LatestQuote(quiet, quiet.received_time, 0)
    assert log.asked == [250, 2_000]
    for _ in range(100):
        log.quote(USD_MARKET)
    log.mark("alive", EUR_MARKET)
    assert (await quotes.fetch([EUR_KEY]))[EUR_KEY] == LatestQuote(quiet, log.time, 0)
    assert log.asked == [250, 2_000, 250]


async def test_a_market_silent_for_too_long_has_no_quote() -> None:
    log = Log()
    log.quote(EUR_MARKET)
    log.rows += [replace(log.rows[0], offset=n, value=b'{"kind":"probe"}') for n in range(1, 2 * MAX_ROWS)]
    assert await NewestQuotes(log).fetch([EUR_KEY]) == {}
    assert max(log.asked) == MAX_ROWS


async def test_rows_of_no_schema_are_passed_over() -> None:
    log = Log()
    made = log.quote(USD_MARKET)
    rows: Sequence[bytes] = (
        b'"alpha" "BTC/USD"',
        b'{"exchange":"alpha","symbol":"BTC/USD","kind":"quote"}',
        b'{"exchange":"alpha","symbol":"BTC/USD","kind":"alive","received_time":"late"}',
        b'{"exchange":"alpha","symbol":"BTC/USD","kind":"settings"}',
        b'["alpha","BTC/USD"]',
    )
    for row in rows:
        log.write(row)
    assert await NewestQuotes(log).fetch([USD_KEY]) == {USD_KEY: LatestQuote(made, made.received_time, 0)}


def test_freshness_is_of_the_newest_word_of_the_feed() -> None:
    latest = LatestQuote(Log().quote(USD_MARKET), 1_000, 0)
    assert latest.is_fresh(3_000, 2_000)
    assert not latest.is_fresh(3_001, 2_000)


async def test_the_rate_of_an_fx_quote() -> None:
    log = Log(time=9)
    made = log.quote(FX_MARKET)
    latest = (await NewestQuotes(log).fetch([FX_KEY]))[FX_KEY]
    expected = FxRate("EUR", "EUR/USD", inverted=False, bid=Decimal(10), ask=Decimal(12), quote_id=made.quote_id)
    assert fx_rate_of(latest, FxRoute("EUR", "EUR/USD", inverted=False)) == expected
