"""Orders by ccxt's unified methods at exchanges that are none of ours, played by rows as ccxt gives them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import ccxt
import pytest

from exchanges.ccxt.generic_orders import GenericOrderApi, SharedMarkets
from exchanges.errors import OutcomeUnknownError
from exchanges.ports.order_terms import EarlierPage, OrderQuirks
from exchanges.ports.orders import AnswerNotUnderstoodError
from exchanges.simulated_markets import paper_markets
from market.instruments.orders import LimitOrder
from market.money import Amount, Price
from runtime.clock import wall_now

MARKET = replace(paper_markets()[0], exchange="somewhere")
ORDER = LimitOrder("ours", "somewhere", "BTC/USD", "buy", Amount(Decimal("0.3")), Price(Decimal("100.5")), wall_now())
Row = Mapping[str, Any]


def order_row(name: str, **changes: object) -> Row:
    """Ours by its content."""
    row = {"id": name, "clientOrderId": None, "side": "buy", "price": "100.5", "amount": "0.3", "filled": "0"}
    return {**row, "status": "canceled", "timestamp": ORDER.intended_at // 1_000, "trades": [], **changes}


def trade_row(name: str, order: str = "1", **changes: object) -> Row:
    row = {"id": name, "order": order, "side": "buy", "price": "100.25", "amount": "0.1", "cost": "10.025"}
    fee = {"cost": "0.01", "currency": "USD"}
    return {**row, "timestamp": ORDER.intended_at // 1_000, "fee": fee, "fees": [], "info": {"paid": "7"}, **changes}


@dataclass
class PlayedCcxt:
    """Answers as ccxt would, by the names of its methods."""

    orders: list[Row] = field(default_factory=list)
    trades: list[Row] = field(default_factory=list)
    page: int = 1_000
    is_newest_first: bool = True
    """Which fills a full page has."""
    has: dict[str, object] = field(default_factory=lambda: {"fetchOrders": True})
    errors: list[Exception] = field(default_factory=list)
    """Raised one after another before anything is answered."""
    placed: list[tuple[object, ...]] = field(default_factory=list)
    resting: tuple[str, ...] = ()
    """Orders that can be cancelled."""
    cancelled: list[str] = field(default_factory=list)
    id: str = "somewhere"
    exchange_ahead_ms: int = 0
    exchange_uncertainty_ms: int = 0

    def market(self, _symbol: str) -> Row:
        return {"taker": 0.002}

    async def create_order(self, *arguments: object) -> Row:
        self._fail()
        self.placed.append(arguments)
        return {"id": "1"}

    async def fetch_order(self, name: str, _symbol: str, _parameters: Row) -> Row:
        self._fail()
        for row in self.orders:
            if row["id"] == name:
                return row
        raise ccxt.OrderNotFound("somewhere has none")

    async def cancel_order(self, name: str, _symbol: str) -> Row:
        self.cancelled.append(name)
        if name not in self.resting:
            raise ccxt.OrderNotFound("somewhere has none")
        self.orders = [{**row, "status": "canceled"} if row["id"] == name else row for row in self.orders]
        return {}

    async def fetch_orders(self, _symbol: str, _since: int) -> list[Row]:
        return self.orders

    async def fetch_open_orders(self, _symbol: str, _since: int | None = None) -> list[Row]:
        return [row for row in self.orders if row["status"] == "open"]

    async def fetch_closed_orders(self, _symbol: str, _since: int) -> list[Row]:
        return [row for row in self.orders if row["status"] == "closed"]

    async def fetch_canceled_orders(self, _symbol: str, _since: int) -> list[Row]:
        return [row for row in self.orders if row["status"] == "canceled"]

    async def fetch_my_trades(
        self, _symbol: str, since: int, _limit: None = None, parameters: Row | None = None
    ) -> list[Row]:
        until = (parameters or {}).get("until", since + 10**9)
        fitting = [row for row in self.trades if since <= row["timestamp"] <= until]
        return fitting[-self.page :] if self.is_newest_first else fitting[: self.page]

    def _fail(self) -> None:
        if self.errors:
            raise self.errors.pop(0)


@dataclass
class PlayedWithOffsets(PlayedCcxt):
    """Pages have fills of all symbols, as Kraken's do: ccxt leaves out those of other symbols afterwards."""

    async def fetch_my_trades(
        self, symbol: str | None, since: int, _limit: None = None, parameters: Row | None = None
    ) -> list[Row]:
        offset = (parameters or {}).get("ofs", 0)
        newest_first = sorted(
            (row for row in self.trades if row["timestamp"] >= since), key=lambda row: row["timestamp"], reverse=True
        )
        page = newest_first[offset : offset + self.page]
        return [row for row in page if symbol in (None, row["symbol"])]


def api(client: PlayedCcxt, quirks: OrderQuirks | None = None) -> GenericOrderApi:
    return GenericOrderApi(client, quirks or OrderQuirks())


async def test_an_order_has_our_id_and_rests_nowhere() -> None:
    client = PlayedCcxt()
    assert await api(client).post(ORDER, MARKET) == "1"
    assert client.placed == [("BTC/USD", "limit", "buy", 0.3, 100.5, {"timeInForce": "IOC", "clientOrderId": "ours"})]
    await api(client, OrderQuirks({"tif": 3}, client_id_parameter=None)).post(ORDER, MARKET)
    assert client.placed[-1][-1] == {"tif": 3}


FOUND: dict[str, tuple[list[Row], tuple[str, ...], str | None]] = {
    "by our id": ([order_row("1"), order_row("2", clientOrderId="ours", price="99")], (), "2"),
    "by its content": ([order_row("1", side="sell"), order_row("2", amount="0.30")], (), "2"),
    "another's id": ([order_row("1", clientOrderId="theirs")], (), None),
    "another price": ([order_row("1", price="100.49")], (), None),
    "another amount": ([order_row("1", amount="0.29")], (), None),
    "long before": ([order_row("1", timestamp=ORDER.intended_at // 1_000 - 700_000)], (), None),
    "no time": ([order_row("1", timestamp=None)], (), None),
    "known to be another": ([order_row("1"), order_row("2")], ("1",), "2"),
    "none": ([], (), None),
}


@pytest.mark.parametrize(("rows", "others", "name"), FOUND.values(), ids=FOUND)
@pytest.mark.parametrize(
    "has",
    [
        {"fetchOrders": True},
        {"fetchClosedOrders": True, "fetchCanceledOrders": True},
    ],
    ids=["all orders", "by their states"],
)
async def test_an_order_is_found_again(
    rows: list[Row], others: tuple[str, ...], name: str | None, has: dict[str, object]
) -> None:
    report = await api(PlayedCcxt(rows, has=has)).find(ORDER, MARKET, others)
    assert (None if report is None else report.exchange_order_id) == name


async def test_two_like_orders_are_for_a_person_to_tell_apart() -> None:
    with pytest.raises(OutcomeUnknownError, match="2 orders on somewhere match ours: 1, 2"):
        await api(PlayedCcxt([order_row("1"), order_row("2")])).find(ORDER, MARKET, ())


@pytest.mark.parametrize(
    ("changes", "fee", "currency"),
    [
        ({}, "0.01", "USD"),
        ({"fee": {"cost": None}, "fees": [{"cost": "0.3", "currency": "BNB"}]}, "0.3", "BNB"),
        ({"fee": {"cost": "0", "currency": None}}, "0", "USD"),
        # nobody says: a fifth of a percent of the cost
        ({"fee": None}, "0.02005", "USD"),
    ],
)
async def test_fees_are_as_reported_or_an_estimate(changes: Row, fee: str, currency: str) -> None:
    client = PlayedCcxt([order_row("1", filled="0.1", status="closed")], [trade_row("7", **changes)])
    report = await api(client).report(ORDER, MARKET, "1")
    assert report is not None
    [fill] = report.fills
    assert (fill.fee, fill.fee_currency, report.is_final) == (Decimal(fee), currency, True)


async def test_what_ccxt_leaves_out_is_read_from_the_exchanges_own_row() -> None:
    quirks = OrderQuirks(fee_field="paid", cost_steps={"USD": Decimal(1)})
    client = PlayedCcxt([order_row("1", filled="0.1")], [trade_row("7", fee=None, cost="10.025")])
    report = await api(client, quirks).report(ORDER, MARKET, "1")
    assert report is not None
    assert [(fill.fee, fill.cost) for fill in report.fills] == [(Decimal(7), Decimal(10))]


@dataclass
class ListingCcxt:
    """Lists a market whose step changes, as ccxt does: its rows are kept until they are read anew."""

    step: str = "0.001"
    reads: int = 0
    markets: dict[str, Row] = field(default_factory=dict)

    async def load_markets(self, reload: bool = False) -> dict[str, Row]:
        if reload or not self.markets:
            self.reads += 1
            self.markets = {"BTC/USD": {"precision": {"amount": self.step}}}
        return self.markets

    def set_markets_from_exchange(self, source: "ListingCcxt") -> None:
        self.markets = source.markets


async def test_markets_are_read_again_when_their_rules_have_changed_and_not_before() -> None:
    reads, orders = ListingCcxt(), ListingCcxt()
    shared, finer = SharedMarkets(reads, orders), replace(MARKET, lot_step=Decimal("0.0001"))
    for in_force, step, times in (
        (MARKET, "0.001", 1),
        (MARKET, "0.001", 1),
        (finer, "0.0001", 2),
        (finer, "0.0001", 2),
    ):
        reads.step = step
        await shared.load((in_force,))
        assert reads.reads == times
        assert orders.markets["BTC/USD"]["precision"]["amount"] == step
    assert orders.reads == 0


async def test_an_order_is_final_once_its_fills_are_all_there() -> None:
    client = PlayedCcxt([order_row("1", filled="0.2", status="closed")], [trade_row("7")])
    for names, is_final in ((("7",), False), (("7", "8"), True)):
        client.trades = [trade_row(name) for name in names]
        report = await api(client).report(ORDER, MARKET, "1")
        assert report is not None
        assert (report.is_final, report.filled) == (is_final, Decimal("0.2"))


@pytest.mark.parametrize("resting", [(), ("1",)], ids=["ended meanwhile", "rests"])
async def test_an_order_that_rests_is_cancelled(resting: tuple[str, ...]) -> None:
    client = PlayedCcxt([order_row("1", status="open")], resting=resting)
    report = await api(client).report(ORDER, MARKET, "1")
    assert report is not None
    assert (client.cancelled, report.is_final) == (["1"], bool(resting))


@pytest.mark.parametrize(("status", "is_immediate"), [("open", True), ("closed", False), ("closed", True)])
async def test_no_other_order_is_cancelled(status: str, is_immediate: bool) -> None:
    client = PlayedCcxt([order_row("1", status=status, filled="0.2")], [trade_row("7")], resting=("1",))
    report = await api(client, OrderQuirks(is_immediate=is_immediate)).report(ORDER, MARKET, "1")
    assert report is not None
    assert not report.is_final
    assert client.cancelled == []


async def test_fills_of_the_order_itself_count_where_they_have_ids() -> None:
    own = [trade_row("7", amount="0.3")]
    client = PlayedCcxt([order_row("1", filled=None, trades=own), order_row("2", filled="0.1", trades=[{"id": None}])])
    client.trades = [trade_row("9", order="2")]
    reports = [await api(client).report(ORDER, MARKET, name) for name in ("1", "2")]
    assert [[fill.fill_id for fill in report.fills] for report in reports if report] == [["7"], ["9"]]
    assert [report.filled for report in reports if report] == [Decimal("0.3"), Decimal("0.1")]


async def test_a_fill_that_is_listed_twice_counts_once() -> None:
    twice = [trade_row("7", amount="0.3"), trade_row("7", amount="0.3")]
    client = PlayedCcxt([order_row("1", filled="0.6", status="closed", trades=twice), order_row("2", filled="0.1")])
    client.trades = [trade_row("9", order="2"), trade_row("9", order="2")]
    reports = [await api(client).report(ORDER, MARKET, name) for name in ("1", "2")]
    assert [(one.filled, len(one.fills)) for one in reports if one] == [(Decimal("0.3"), 1), (Decimal("0.1"), 1)]
    assert all(report is not None and report.is_final for report in reports)


@pytest.mark.parametrize("is_newest_first", [True, False])
async def test_full_pages_are_read_on_in_both_directions(is_newest_first: bool) -> None:
    start = ORDER.intended_at // 1_000
    trades = [trade_row(str(number), timestamp=start + number) for number in range(95)]
    client = PlayedCcxt(trades=trades, page=20, is_newest_first=is_newest_first)
    listed = await api(client).fills_since([MARKET], ORDER.intended_at)
    assert sorted(int(one.fill.fill_id) for one in listed) == list(range(95))


async def test_a_nonce_that_was_overtaken_is_sent_again() -> None:
    client = PlayedCcxt(errors=[ccxt.InvalidNonce("invalid nonce")] * 3)
    assert await api(client).post(ORDER, MARKET) == "1"
    client.errors = [ccxt.InvalidNonce("invalid nonce")] * 20
    with pytest.raises(ccxt.InvalidNonce):
        await api(client).post(ORDER, MARKET)


async def test_a_timestamp_that_was_rejected_is_not_sent_again() -> None:
    client = PlayedCcxt(errors=[ccxt.InvalidNonce('{"code":-1021} outside of the recvWindow')])
    with pytest.raises(ccxt.InvalidNonce):
        await api(client).post(ORDER, MARKET)
    assert client.placed == []


@pytest.mark.parametrize("error", [KeyError("id"), TypeError("None < 1"), AssertionError("precision")])
async def test_an_answer_that_ccxt_cannot_take_says_nothing_of_the_order(error: Exception) -> None:
    with pytest.raises(AnswerNotUnderstoodError):
        await api(PlayedCcxt(errors=[error])).post(ORDER, MARKET)


@pytest.mark.parametrize("share", [2, 30])
async def test_an_offset_passes_over_fills_of_other_symbols_too(share: int) -> None:
    began = ORDER.intended_at // 1_000
    symbols = ["BTC/USD" if number % share == 0 else "ETH/USD" for number in range(400)]
    trades = [trade_row(str(number), timestamp=began + number, symbol=one) for number, one in enumerate(symbols)]
    client = PlayedWithOffsets(trades=trades, page=50)
    listed = await api(client, OrderQuirks(earlier_fills=EarlierPage("ofs", "account rows"))).fills_since(
        [MARKET], began * 1_000
    )
    assert {one.fill.fill_id for one in listed} == {row["id"] for row in trades if row["symbol"] == MARKET.symbol}
