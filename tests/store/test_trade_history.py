"""What was traded: filtered pages, everything in order, and an equity that sums to the profit to the last digit."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from market.accounting.profit_groups import profit_from
from market.decide.settings import Settings
from market.trade.arbitrages import Arbitrage
from market.trade.leases import UNFENCED
from store.errors import CursorError
from store.mongo.store import MongoTradeStore
from store.queries.sorted_pages import Order
from store.queries.sorted_trades import ARBITRAGE_COLUMNS, FILL_COLUMNS
from store.queries.trade_history import TradeFilter, TradeSums
from store.queries.trade_reader import ALL, TradeReader
from store.server.documents import ARBITRAGES, FILLS
from tests.store.booking import finish_leg
from tests.store.reservation_requests import filled, granted, opportunity, reserved

START = 1_700_000_000_000_000
MINUTE = 60_000_000


async def close_one(store: MongoTradeStore, number: int, net: str, state: str = "closed") -> None:
    """Reserved and ended `number` minutes after START by the server's clock, which no test can set: written over."""

    def close(arbitrage: Arbitrage, _: Settings, now: int) -> Arbitrage:
        profit = profit_from("USD", {"gross": Decimal(net), "net": Decimal(net)})
        return replace(arbitrage, state=state, profit=profit)  # type: ignore[arg-type]  # of tables of cases

    identity, at = str(number), START + number * MINUTE
    await reserved(store, opportunity(identity, sequence=number), "0.01")
    for leg in (await granted(store, identity, "buy"), await granted(store, identity, "sell")):
        await finish_leg(store, identity, leg.role, filled(leg), close, UNFENCED)
    changes = {"times.ended": at, "at": at}
    await store._database[ARBITRAGES].update_one({"_id": identity}, {"$set": changes})
    await store._database[FILLS].update_many({"arbitrage_id": identity}, {"$set": {"at": at, "filled_at": at}})


async def completed(store: MongoTradeStore, number: int, unwinding: str) -> None:
    """As if a third order had made up for its sell leg."""
    arbitrages = store._database[ARBITRAGES]
    document: Any = await arbitrages.find_one({"_id": str(number)})
    leg = {**document["legs"][1], "role": "complete"}
    await arbitrages.update_one({"_id": str(number)}, {"$push": {"legs": leg}, "$set": {"profit.unwinding": unwinding}})


async def sorted_ids(reader: TradeReader, sort: str, limit: int) -> list[str]:
    """Return the ids of all pages of arbitrages."""
    found, cursor = list[str](), None
    while True:
        page = await reader.history.arbitrages(TradeFilter(), cursor, limit, Order.of(sort))
        found += [one.arbitrage_id for one in page.items]
        if (cursor := page.next_cursor) is None:
            return found


async def sorted_fills(reader: TradeReader, sort: str, limit: int) -> list[tuple[str, str]]:
    """Return arbitrage and id of the fills of all pages."""
    found, cursor = list[tuple[str, str]](), None
    while True:
        page = await reader.history.fills(TradeFilter(), cursor, limit, Order.of(sort))
        found += [(one.arbitrage_id, one.fill.fill_id) for one in page.items]
        if (cursor := page.next_cursor) is None:
            return found


async def ids(reader: TradeReader, wanted: TradeFilter) -> list[str]:
    return [one.arbitrage_id for one in (await reader.history.arbitrages(wanted, None, 500)).items]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (TradeFilter(), ["3", "2", "1"]),
        (TradeFilter(exchange="alpha"), ["3", "2", "1"]),
        (TradeFilter(exchange="gamma"), []),
        (TradeFilter(base="BTC", states=("unwound", "residual")), ["2"]),
        (TradeFilter(base="ETH"), []),
        (TradeFilter(strategy="arbitrage"), ["2", "1"]),
        (TradeFilter(strategy="ma"), ["3"]),
        (TradeFilter(since=START + 2 * MINUTE), ["3", "2"]),
        (TradeFilter(since=START + MINUTE, until=START + 2 * MINUTE), ["1"]),
    ],
)
async def test_a_filter_holds_for_arbitrages_and_fills_paged_and_whole(
    reader: TradeReader, mongo_store: MongoTradeStore, wanted: TradeFilter, found: list[str]
) -> None:
    await close_one(mongo_store, 1, "1")
    await close_one(mongo_store, 2, "-1", "unwound")
    await close_one(mongo_store, 3, "0")
    # as an earlier version left it: no strategy; and one of the other strategy
    await mongo_store._database[ARBITRAGES].update_one({"_id": "1"}, {"$unset": {"strategy": ""}})
    await mongo_store._database[ARBITRAGES].update_one({"_id": "3"}, {"$set": {"strategy": "ma"}})
    assert await ids(reader, wanted) == found
    assert [row.arbitrage_id async for rows in reader.history.all_arbitrages(wanted) for row in rows] == found[::-1]
    page = (await reader.history.fills(wanted, None, 500)).items
    whole = [fill async for rows in reader.history.all_fills(wanted) for fill in rows]
    sides = 1 if wanted.exchange else 2
    assert [one.arbitrage_id for one in page] == [one for one in found for _ in range(sides)]
    assert whole == list(reversed(page))
    assert {(one.role, one.fill.side) for one in page} <= {("buy", "buy"), ("sell", "sell")}


async def test_fills_come_page_by_page_without_gap_or_repeat(reader: TradeReader, mongo_store: MongoTradeStore) -> None:
    for number in range(1, 4):
        await close_one(mongo_store, number, "1")
    wanted, seen, cursor = TradeFilter(base="BTC"), list[str](), None
    while True:
        page = await reader.history.fills(wanted, cursor, 4)
        seen += [one.fill.fill_id for one in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == 6
    with pytest.raises(CursorError):
        await reader.history.fills(wanted, "nonsense", 4)


NETS = ("1", "-2.5", "10", "-2.5", "3")
"""By number, from 1; the last one's is taken away again."""


async def close_five(store: MongoTradeStore) -> None:
    for number, net in enumerate(NETS, 1):
        await close_one(store, number, net)
    await store._database[ARBITRAGES].update_one({"_id": "5"}, {"$set": {"profit": None}})


async def test_a_list_comes_by_value_the_same_ones_newest_first_and_those_without_one_last(
    reader: TradeReader, mongo_store: MongoTradeStore
) -> None:
    await close_five(mongo_store)
    for sort, expected in (("net", "42135"), ("-net", "31425"), ("time", "12345"), ("arbitrage_id", "12345")):
        assert "".join(await sorted_ids(reader, sort, 500)) == expected
        of_fills = [one for one, _ in await sorted_fills(reader, sort, 500)]
        assert "".join(dict.fromkeys(of_fills)) == expected
        assert len(of_fills) == 10


@pytest.mark.parametrize("sign", ["", "-"])
async def test_sorted_by_any_column_the_pages_have_every_row_once(
    reader: TradeReader, mongo_store: MongoTradeStore, sign: str
) -> None:
    await close_five(mongo_store)
    await completed(mongo_store, 2, "-3")
    for column in ARBITRAGE_COLUMNS:
        whole = await sorted_ids(reader, sign + column, 500)
        assert sorted(whole) == list("12345")
        assert await sorted_ids(reader, sign + column, 2) == whole, column
    for column in FILL_COLUMNS:
        fills = await sorted_fills(reader, sign + column, 500)
        assert len(set(fills)) == 10
        assert await sorted_fills(reader, sign + column, 3) == fills, column


async def test_every_order_has_the_session_s_fills_of_an_earlier_one_s_arbitrages(
    reader: TradeReader, mongo_store: MongoTradeStore
) -> None:
    await close_five(mongo_store)
    earlier = {"$set": {"session_id": "session-0"}}
    await mongo_store._database[ARBITRAGES].update_many({"_id": {"$in": ["1", "2"]}}, earlier)
    # the first is of the earlier session alone, the second went on: its buy leg was filled in that one
    await mongo_store._database[FILLS].update_many({"arbitrage_id": "1"}, earlier)
    await mongo_store._database[FILLS].update_one({"arbitrage_id": "2", "side": "buy"}, earlier)
    unsorted = (await reader.history.fills(TradeFilter(), None, 500)).items
    assert sorted(one.arbitrage_id for one in unsorted) == list("2334455")
    expected = {(one.arbitrage_id, one.fill.fill_id) for one in unsorted}
    for column in FILL_COLUMNS:
        for limit in (2, 500):
            found = await sorted_fills(reader, column, limit)
            assert (set(found), len(found)) == (expected, 7), column
    only = await reader.history.fills(TradeFilter(exchange="beta", base="BTC"), None, 500, Order("net"))
    assert [one.arbitrage_id for one in only.items] == list("4235")
    assert not (await reader.history.fills(TradeFilter(base="ETH"), None, 500, Order("net"))).items


async def test_what_is_added_meanwhile_neither_repeats_nor_hides_a_row(
    reader: TradeReader, mongo_store: MongoTradeStore
) -> None:
    await close_five(mongo_store)
    first = await reader.history.arbitrages(TradeFilter(), None, 2, Order("net"))
    await close_one(mongo_store, 6, "-9")
    rest = await reader.history.arbitrages(TradeFilter(), first.next_cursor, 500, Order("net"))
    assert [one.arbitrage_id for one in (*first.items, *rest.items)] == ["4", "2", "1", "3", "5"]


async def test_a_cursor_is_of_its_order_alone(reader: TradeReader, mongo_store: MongoTradeStore) -> None:
    await close_five(mongo_store)
    history, wanted = reader.history, TradeFilter()
    by_time = (await history.arbitrages(wanted, None, 2)).next_cursor
    by_net = (await history.arbitrages(wanted, None, 2, Order("net"))).next_cursor
    for cursor, order in (
        (by_time, Order("net")),
        (by_net, Order("net", is_descending=True)),
        ("nonsense", Order("net")),
    ):
        with pytest.raises(CursorError):
            await history.arbitrages(wanted, cursor, 2, order)
    for cursor, order in ((by_time, Order("net")), (by_net, Order("net")), (by_net, Order("price"))):
        with pytest.raises(CursorError):
            await history.fills(wanted, cursor, 2, order)


async def test_what_a_third_order_ended_is_told_apart_found_and_summed(
    reader: TradeReader, mongo_store: MongoTradeStore
) -> None:
    await close_five(mongo_store)
    await completed(mongo_store, 2, "-3.20000001")
    found = await reader.history.arbitrages(TradeFilter(has_third_order=True), None, 500)
    assert [(one.arbitrage_id, one.state, one.outcome) for one in found.items] == [
        ("2", "closed", "closed_by_third_order")
    ]
    assert await ids(reader, TradeFilter(has_third_order=False)) == ["5", "4", "3", "1"]
    fills = await reader.history.fills(TradeFilter(has_third_order=True), None, 500)
    assert {(one.arbitrage_id, one.outcome, one.net) for one in fills.items} == {
        ("2", "closed_by_third_order", Decimal("-2.5"))
    }
    whole = TradeSums(5, 0, 1, Decimal("6.0"), Decimal("-3.20000001"), Decimal(0))
    assert await reader.history.sums(TradeFilter()) == whole
    of_third_orders = await reader.history.sums(TradeFilter(has_third_order=True))
    assert (of_third_orders.arbitrages, of_third_orders.net) == (1, Decimal("-2.5"))
    assert await reader.history.sums(TradeFilter(base="ETH")) == TradeSums(0, 0, 0, *[Decimal(0)] * 3)


async def test_a_download_goes_on_where_its_last_rows_ended(reader: TradeReader, mongo_store: MongoTradeStore) -> None:
    for number in range(1, 6):
        await close_one(mongo_store, number, "1")
    # several of one time
    await mongo_store._database[ARBITRAGES].update_many({}, {"$set": {"at": START}})
    lists = [[row.arbitrage_id for row in rows] async for rows in reader.history.all_arbitrages(TradeFilter(), 2)]
    assert lists == [["1", "2"], ["3", "4"], ["5"]]


async def test_the_equity_is_the_profit_to_the_last_digit_read_by_read(
    reader: TradeReader, mongo_store: MongoTradeStore
) -> None:
    assert (await reader.history.equity("USD")).points == ()
    nets = ["1.00000001", "-2.5", "0.12345678", "3"]
    for number, net in enumerate(nets, 1):
        await close_one(mongo_store, number, net, "residual" if net == "3" else "closed")
        equity = await reader.history.equity("USD")
        assert [point.net for point in equity.points] == [
            sum(map(Decimal, nets[:place]), Decimal(0)) for place in range(1, number + 1)
        ]
        assert equity.net == (await reader.profit("USD")).net
    assert (equity.wins, equity.losses, len(equity.marks)) == (3, 1, 1)
    assert (equity.deepest.depth, equity.deepest.start) == (Decimal("2.5"), START + MINUTE)
    assert (await reader.history.equity("EUR")).endings == 0
    assert await reader.history.equity("USD") == equity


async def test_the_moving_average_s_orders_are_summed_by_market(
    reader: TradeReader, mongo_store: MongoTradeStore
) -> None:
    for number in (1, 2):
        await close_one(mongo_store, number, "0")
    assert await reader.history.average_sums() == ()
    await mongo_store._database[ARBITRAGES].update_many({}, {"$set": {"strategy": "ma"}})
    other = TradeReader(reader._client, mongo_store._database.name, ALL)
    buy, sell = await other.history.average_sums()
    assert (buy.exchange, buy.side, buy.fills, buy.amount, buy.cost) == ("alpha", "buy", 2, Decimal("0.02"), Decimal(2))
    assert (sell.exchange, sell.side, sell.fee_currency, sell.fee) == ("beta", "sell", "EUR", Decimal("0.00202"))
