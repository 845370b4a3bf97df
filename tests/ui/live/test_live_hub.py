"""The hub on its own (nothing of it runs), then following a real store."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import orjson
import pytest

from market.prices.episodes import EXPIRED
from market.prices.feed_state import FeedState
from market.prices.opportunities import Opportunity
from market.prices.quotes import FeedMark, Quote
from market.trade.arbitrages import Arbitrage
from market.trade.reservation_state import BalanceRow
from runtime.clock import SystemClock, wall_now
from session.session import Placement, Session
from store.mongo.store import MongoTradeStore
from store.queries.trade_reader import TradeReader, open_reader
from store.server.client import connect
from streams.message_format import opportunity_of, row_of
from streams.query_progress import QueryProgress, progress_row
from streams.records import Record
from streams.topics import HEALTH, OPPORTUNITIES
from tests.bots.opportunity_rows import opportunity_row
from tests.market.samples import EUR_MARKET, USD_MARKET
from tests.store.reservation_requests import episode_of, filled, opportunity
from tests.store.test_opportunity_pages import rejection
from tests.ui.samples import MARKETS, NOWHERE, SETTINGS, START, arbitrage, mark, quote, record, session_of
from tests.ui.trading import traded
from tests.ui.waiting import until
from ui.stream.live_clients import QUEUED_MESSAGES, LiveClient
from ui.stream.live_hub import ROWS_AT_ONCE, LiveHub

Message = dict[str, object]


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[LiveHub]:
    """Its store is never asked."""
    reader = TradeReader(connect(f"mongodb://{NOWHERE}"), "unused")
    yield LiveHub(session_of(tmp_path), reader)
    await reader.close()


async def started(client: LiveClient) -> LiveClient:
    """Past its first snapshot."""
    assert client.needs_snapshot
    client.begin()
    return client


def heard(client: LiveClient) -> list[Message]:
    """All that waits in the client's queue."""
    return [orjson.loads(client.take().text) for _ in range(client.waiting)]


async def test_a_thousand_quotes_make_one_pulse(hub: LiveHub) -> None:
    async with hub.broadcaster.client() as client:
        await started(client)
        hub.apply_records([record(quote(USD_MARKET, "100", "102", sequence=n), n) for n in range(1_000)])
        hub.pulse()
        (pulse,) = heard(client)
        assert pulse["type"] == "pulse"
        assert pulse["points"] == {"alpha BTC/USD": [1_700_000_000.0, 101.0, 101.0]}


async def test_other_work_goes_on_between_the_rows_of_a_batch(hub: LiveHub) -> None:
    """As a trade's changes do, each of which takes a round of the loop."""
    rounds = 0

    async def count_rounds() -> None:
        nonlocal rounds
        while True:
            rounds += 1
            await SystemClock().sleep(0)

    counting = asyncio.create_task(count_rounds())
    batch = [record(quote(USD_MARKET, "100", "102", sequence=n), n) for n in range(10 * ROWS_AT_ONCE)]
    await hub.apply_in_rounds(batch)
    counting.cancel()
    assert rounds >= 9
    assert hub.live_state.snapshot().tops[0].sequence == len(batch) - 1


async def test_rows_that_a_mirror_brings_again_change_nothing_in_a_region(hub: LiveHub, tmp_path: Path) -> None:
    values: list[Quote | FeedMark] = [
        quote(USD_MARKET, "100", "102", 1),
        mark("withdrawn", USD_MARKET, 2),
        quote(USD_MARKET, "110", "112", 3),
        mark("withdrawn", USD_MARKET, 2),
    ]
    records = [record(value, number) for number, value in enumerate(values)]
    reader = TradeReader(connect(f"mongodb://{NOWHERE}"), "unused")
    of_region = LiveHub(replace(session_of(tmp_path), place=Placement("us", ("us", "eu"))), reader)
    for one in (of_region, hub):
        one.apply_records(records)
    (shown,), (taken_as_it_came,) = of_region.live_state.snapshot().tops, hub.live_state.snapshot().tops
    assert (shown.bid, shown.is_withdrawn) == (Decimal(110), False)
    assert taken_as_it_came.is_withdrawn
    await reader.close()


async def test_each_client_gets_the_markets_of_its_asset_and_every_asset_in_the_matrix(tmp_path: Path) -> None:
    reader = TradeReader(connect(f"mongodb://{NOWHERE}"), "unused")
    ether = replace(USD_MARKET, symbol="ETH/USD", base="ETH")
    hub = LiveHub(replace(session_of(tmp_path), markets=(*MARKETS, ether)), reader)
    hub.apply_settings(SETTINGS)
    clients = hub.broadcaster
    async with clients.client(base="") as first, clients.client(base="ETH") as other, clients.client() as program:
        for client in (first, other, program):
            await started(client)
        hub.apply_records([record(quote(market, "100", "102", wall_now())) for market in (USD_MARKET, ether)])
        hub.apply_records([Record(OPPORTUNITIES, 0, 0, "BTC", opportunity_row(opportunity()), wall_now())])
        hub.pulse()
        pulses = [heard(client) for client in (first, other, program)]
        shown = [sorted(pulse["points"]) for pulse, _ in pulses]  # type: ignore[call-overload]  # an object of JSON
        assert shown == [["alpha BTC/USD"], ["alpha ETH/USD"], ["alpha BTC/USD", "alpha ETH/USD"]]
        assert [len(pulse["opportunities"]) for pulse, _ in pulses] == [1, 1, 1]  # type: ignore[arg-type]  # as above
        for _, matrix in pulses:
            assert (matrix["type"], [row["base"] for row in matrix["assets"]]) == ("assets", ["BTC", "ETH"])  # type: ignore[attr-defined]  # as above
    await reader.close()


async def test_a_program_that_wants_trades_alone_gets_no_prices(hub: LiveHub) -> None:
    async with hub.broadcaster.client(trades_alone=True) as client:
        await started(client)
        hub.apply_settings(SETTINGS)
        hub.apply_records([record(quote(USD_MARKET, "100", "102"))])
        hub.pulse()
        hub.apply_arbitrage_change(arbitrage())
        assert [message["type"] for message in heard(client)] == ["trade"]


async def test_the_matrix_reports_only_what_changed(hub: LiveHub) -> None:
    hub.apply_settings(SETTINGS)
    async with hub.broadcaster.client(base="BTC") as client:
        await started(client)
        now = wall_now()
        for bid in ("100", "100", "101"):
            hub.apply_records([record(quote(USD_MARKET, bid, "102", now, sequence=1 if bid == "100" else 2))])
            hub.broadcaster.publish_assets()
        reported = [message["assets"] for message in heard(client)]
        assert [[row["prices"][0]["bid"] for row in rows] for rows in reported] == [[100.0], [101.0]]  # type: ignore[attr-defined]  # an object of JSON


async def test_another_asset_comes_with_a_snapshot_of_its_own(hub: LiveHub) -> None:
    hub.apply_records([record(quote(USD_MARKET, "100", "102"))])
    async with hub.broadcaster.client(base="BTC") as client:
        messages = hub.broadcaster.messages(client)
        before = orjson.loads((await anext(messages)).text)
        client.show("BTC")
        assert not client.needs_snapshot, "it is shown already"
        client.show("gone")
        after = orjson.loads((await anext(messages)).text)
    assert [(one["base"], one["quotes"] != []) for one in (before, after)] == [("BTC", True), ("gone", False)]
    markets = [[(row["symbol"], row["points"][1]) for row in one["series"]] for one in (before, after)]
    assert markets == [[("BTC/USD", [101.0]), ("BTC/EUR", [])], [("BTC/USD", []), ("BTC/EUR", [])]]


async def test_balances_have_their_worth_whatever_asset_is_shown(hub: LiveHub) -> None:
    hub.apply_settings(SETTINGS)
    hub.apply_records([record(quote(USD_MARKET, "100", "102", wall_now()))])
    ledger, amount = hub.live_state.ledger, Decimal(2)
    rows = (BalanceRow("alpha", "BTC", amount, Decimal(0)),)
    hub.live_state.ledger = replace(ledger, balances=rows, opening={"alpha": {"BTC": Decimal(1)}})
    for base in ("BTC", "gone", None):
        document = orjson.loads(hub.broadcaster.snapshot_message(base=base).text)
        assert [row["value"] for row in document["ledger"]["inventory"]["exposures"]] == ["101"]


async def test_without_news_there_is_no_second_pulse_within_a_second(hub: LiveHub) -> None:
    async with hub.broadcaster.client() as client:
        await started(client)
        for _ in range(3):
            hub.pulse()
        assert [message["type"] for message in heard(client)] == ["pulse"]


async def test_nobody_looking_costs_nothing_and_misses_nothing(hub: LiveHub) -> None:
    hub.apply_records([record(quote(USD_MARKET, "100", "102"))])
    hub.pulse()
    async with hub.broadcaster.client() as client:
        await started(client)
        (series, *_) = orjson.loads(hub.broadcaster.snapshot_message().text)["series"]
        assert series["points"][1] == [101.0]
        hub.pulse()
        (pulse,) = heard(client)
        assert pulse["points"] == {}, "it was in the snapshot"
        assert [row["bid"] for row in orjson.loads(hub.broadcaster.snapshot_message().text)["quotes"]] == ["100"]


async def test_a_page_learns_that_detection_is_starting_then_that_it_works(tmp_path: Path) -> None:
    reader = TradeReader(connect(f"mongodb://{NOWHERE}"), "unused")
    now = wall_now()
    hub = LiveHub(replace(session_of(tmp_path), started_at=now), reader)
    async with hub.broadcaster.client() as client:
        await started(client)
        hub.pulse()
        progress = QueryProgress("session-1", "opportunities", True, True, now, now, "")
        output = b'{"kind": "probe", "base": "BTC", "marker_id": "1", "offset": 6}'
        hub.apply_records(
            [
                Record(HEALTH, 0, 0, "opportunities", progress_row(progress), now),
                Record(OPPORTUNITIES, 0, 0, "BTC", output, now + 1),
            ]
        )
        hub.pulse()
        assert [pulse["detection"] for pulse in heard(client)] == ["starting", "working"]
    await reader.close()


async def test_a_bad_row_does_not_stop_the_rest(hub: LiveHub) -> None:
    bad = replace(record(quote(USD_MARKET, "1", "2")), value=b"{")
    hub.apply_records([bad, record(quote(USD_MARKET, "3", "5"))])
    assert str(hub.live_state.snapshot().tops[0].mid) == "4"


async def test_every_opportunity_of_a_backlog_is_counted_once(hub: LiveHub) -> None:
    now = wall_now()
    rows = [
        Record(
            OPPORTUNITIES, 0, n, "BTC", opportunity_row(replace(opportunity(f"id-{n % 1_500}"), event_time=now)), now
        )
        for n in range(3_000)
    ]
    for start in range(0, len(rows), 500):
        hub.apply_records(rows[start : start + 500])
    snapshot = hub.live_state.snapshot()
    assert snapshot.opportunity_count == 1_500
    assert sum(sum(counts.values()) for counts in hub.live_state.census.counted(now, None).bins.values()) == 1_500
    assert snapshot.opportunities[0].opportunity_id == "id-1499"
    shown = opportunity_of(row_of(rows[1_499].value), now)
    assert isinstance(shown, Opportunity)
    without = replace(shown, buy=replace(shown.buy, levels=()), sell=replace(shown.sell, levels=()))
    assert snapshot.opportunities[0] == without, "all but the levels, which nothing shows"


def with_fill(made: Arbitrage) -> Arbitrage:
    leg = replace(made.legs[0], state="done", fills=filled(made.legs[0]).fills)
    return replace(made, legs=(leg, *made.legs[1:]))


async def test_trades_are_reported_at_once_at_each_fill_and_at_the_end(hub: LiveHub) -> None:
    reserved = arbitrage(state="reserved")
    bought = with_fill(reserved)
    ended = replace(bought, state="closed", times=reserved.times | {"filled": 7})
    async with hub.broadcaster.client() as client:
        await started(client)
        for step in (reserved, reserved, bought, ended, ended):
            hub.apply_arbitrage_change(step)
        messages = heard(client)
    assert [(message["type"], message["state"]) for message in messages] == [
        ("trade", "reserved"),
        ("trade", "reserved"),
        ("trade", "closed"),
    ]
    assert messages[-1]["arbitrage_id"] == reserved.arbitrage_id
    assert messages[-1]["times"] == {**reserved.times, "filled": 7}
    assert messages[-1]["event_time"] == reserved.opportunity.event_time


async def test_a_client_that_does_not_read_holds_nobody_up(hub: LiveHub) -> None:
    async with hub.broadcaster.client() as slow, hub.broadcaster.client() as quick:
        await started(slow)
        await started(quick)
        for number in range(QUEUED_MESSAGES + 1):
            hub.apply_arbitrage_change(arbitrage(f"id-{number}"))
            assert quick.take().kind == "trade"
        assert slow.needs_snapshot, "what it missed comes as a snapshot"
        snapshot = orjson.loads(hub.broadcaster.snapshot_message().text)
    assert len(snapshot["arbitrages"]) == QUEUED_MESSAGES + 1


async def test_older_settings_change_nothing(hub: LiveHub) -> None:
    newest = SETTINGS.model_copy(update={"version": 3})
    hub.apply_settings(newest)
    hub.apply_settings(SETTINGS)
    assert hub.settings == newest


async def test_a_snapshot_has_charts_and_marks(hub: LiveHub) -> None:
    hub.apply_records([record(quote(USD_MARKET, "1", "3")), record(mark("withdrawn", USD_MARKET, 0))])
    snapshot = orjson.loads(hub.broadcaster.snapshot_message().text)
    assert snapshot["series"][0]["points"] == [[1_700_000_000.0], [2.0], [2.0]]
    assert snapshot["quotes"][0]["status"] == "withdrawn"
    assert (snapshot["mode"], snapshot["settlement_currency"], snapshot["regions"]) == ("paper", "USD", {})
    assert (snapshot["simulated_market"]["name"], snapshot["volatility"]) == ("busy", {})


@pytest.fixture
async def following(session: Session, store: MongoTradeStore) -> AsyncIterator[LiveHub]:
    """Run; Kafka is nowhere."""
    reader = TradeReader(connect(session.services.mongodb), session.services.database, session.session_id)
    hub = LiveHub(session, reader, totals_seconds=0.1)
    running = asyncio.create_task(hub.run())
    await until(lambda: hub.live_state.sources.mongodb)
    yield hub
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await reader.close()


async def test_it_shows_what_stood_in_the_store_before(following: LiveHub) -> None:
    assert following.live_state.settings == SETTINGS
    await until(lambda: {row.exchange for row in following.live_state.ledger.balances} == {"alpha", "beta"})
    assert not following.live_state.sources.kafka


async def test_a_trade_is_pushed_by_itself_with_its_books(following: LiveHub, store: MongoTradeStore) -> None:
    async with following.broadcaster.client() as client:
        await started(client)
        await traded(store, opportunity())
        states: list[object] = []
        while not states or states[-1] != "closed":
            await client.wait()
            message = orjson.loads(client.take().text)
            if message.get("type") == "trade":
                states.append(message["state"])
    await until(lambda: following.live_state.ledger.totals.arbitrages == {"closed": 1})
    profit = following.live_state.ledger.totals.profit
    assert (profit.currency, profit.gross, profit.net) == ("USD", Decimal("2.5"), Decimal(1))


async def test_an_episode_that_nobody_rejects_is_counted_too(following: LiveHub, store: MongoTradeStore) -> None:
    """Its opportunities alone say that there is something to count."""
    await until(lambda: following.live_state.sources.mongodb and bool(following.live_state.ledger.totals.episodes))
    seen = replace(opportunity(), event_time=wall_now())
    await store.save_episodes([episode_of(seen, EXPIRED)])
    following.apply_records([Record(OPPORTUNITIES, 0, 0, "BTC", opportunity_row(seen), wall_now())])
    await until(lambda: following.live_state.ledger.totals.episodes.get("expired") == 1)


async def test_what_follows_from_the_last_change_a_moment_later_is_counted_too(
    following: LiveHub, store: MongoTradeStore
) -> None:
    """Nothing says that a bot has rejected: its opportunity came before, and the next reading would be in a minute."""
    before = following.live_state.ledger
    following.apply_records([Record(OPPORTUNITIES, 0, 0, "BTC", opportunity_row(opportunity()), wall_now())])
    seen = replace(opportunity(), event_time=wall_now())
    following.apply_records([Record(OPPORTUNITIES, 0, 1, "BTC", opportunity_row(seen), wall_now())])
    await store.save_episodes([episode_of(seen, EXPIRED)])
    await until(lambda: following.live_state.ledger != before)
    await store.reject([rejection(seen)])
    await until(lambda: following.live_state.ledger.totals.rejections == {"too_small": 1})


async def test_a_client_finds_what_changed_while_nobody_looked(following: LiveHub, store: MongoTradeStore) -> None:
    assert '"quotes":3' not in following.broadcaster.snapshot_message().text
    await store.save_feed_states([FeedState("alpha", "us", "BTC/USD", "live", 1, 2, quotes=3)])
    await until(lambda: [feed.quotes for feed in following.live_state.ledger.feeds] == [3])
    assert '"quotes":3' in following.broadcaster.snapshot_message().text


async def test_feeds_and_settings_arrive_by_themselves(following: LiveHub, store: MongoTradeStore) -> None:
    await store.save_feed_states([FeedState("alpha", "us", "BTC/USD", "live", 1, 2, quotes=3)])
    await store.settings.change(SETTINGS.model_copy(update={"min_net_bps": 9.0}), 1, "test")
    await until(lambda: [feed.quotes for feed in following.live_state.ledger.feeds] == [3])
    await until(lambda: following.settings is not None and following.settings.min_net_bps == 9.0)


async def test_other_sessions_are_not_shown(following: LiveHub, session: Session, store: MongoTradeStore) -> None:
    client = connect(session.services.mongodb)
    async with MongoTradeStore(client, session.services.database, "another") as others:
        await traded(others, opportunity("foreign"))
    own = await traded(store, opportunity("own", 2))
    await until(lambda: bool(following.live_state.snapshot().arbitrages))
    assert [one.arbitrage_id for one in following.live_state.snapshot().arbitrages] == [own.arbitrage_id]


async def test_rows_of_other_regions_are_noted_and_members_followed_in_a_session_of_regions_alone(
    tmp_path: Path,
) -> None:
    session = replace(session_of(tmp_path), place=Placement("us", ("us", "eu")))
    reader = await open_reader(session)
    hub = LiveHub(session, reader)
    assert hub.regions is not None
    hub.apply_records([record(quote(market, "100", "102")) for market in (USD_MARKET, EUR_MARKET)])
    assert hub.regions.mirror_lags(START + 1_500_000) == {"eu": 1.5}
    following = asyncio.create_task(hub.run())
    await until(lambda: hub.regions is not None and hub.regions.primary_lost_since is not None)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    assert LiveHub(session_of(tmp_path), reader).regions is None
    await reader.close()
