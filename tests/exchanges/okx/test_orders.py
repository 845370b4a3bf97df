"""OKX's answers about orders, fills and balances, as its documents show them, read by our order API."""

from dataclasses import replace
from decimal import Decimal

import ccxt
import pytest

from exchanges.okx.orders import ORDERS, OkxOrderApi
from exchanges.ports.orders import AnswerNotUnderstoodError, KeyRights
from market.instruments.orders import OpenOrder
from market.time_units import MICROSECONDS
from market.trade.unwinding import client_order_id
from runtime.clock import wall_now
from tests.exchanges.played_client import PlayedClient, played_client
from tests.exchanges.served import TRADED, order_on

MARKET = next(market for market in TRADED if (market.exchange, market.symbol) == ("okx", "BTC/USDT"))
OURS = client_order_id("an arbitrage", "buy")
SENT = OURS.replace("-", "")
ORDER = replace(order_on(MARKET, "buy", Decimal("0.003"), Decimal("26864.4")), client_order_id=OURS)
DAY = 86_400 * MICROSECONDS
ROW = {
    "instType": "SPOT",
    "instId": "BTC-USDT",
    "ordId": "680800019749904384",
    "clOrdId": SENT,
    "px": "26864.4",
    "sz": "0.003",
    "side": "buy",
    "ordType": "ioc",
    "state": "canceled",
    "avgPx": "26864.1",
    "accFillSz": "0.002",
    "fee": "-0.000002",
    "feeCcy": "BTC",
    "cTime": str(wall_now() // 1_000),
}
FILL = {
    "instType": "SPOT",
    "instId": "BTC-USDT",
    "tradeId": "744876980",
    "ordId": "680800019749904384",
    "clOrdId": SENT,
    "billId": "680800019754098688",
    "fillPx": "26864.2",
    "fillSz": "0.001",
    "side": "buy",
    "execType": "T",
    "feeCcy": "BTC",
    "fee": "-0.000001",
    "ts": "1684476068372",
}
OTHER = {**FILL, "tradeId": "744876981", "billId": "680800019754098687", "fillPx": "26864"}


def told(*rows: object) -> dict[str, object]:
    return {"code": "0", "msg": "", "data": list(rows)}


def api(**answers: object) -> tuple[OkxOrderApi, PlayedClient]:
    """Return the API, and the client that it asks."""
    client = played_client(**answers)
    return OkxOrderApi(client), client


async def test_an_order_is_sent_in_its_words() -> None:
    row = {"ordId": "7", "clOrdId": SENT, "tag": "", "ts": "1", "sCode": "0", "sMsg": "Order placed"}
    orders, client = api(privatePostTradeOrder=told(row))
    assert await orders.post(ORDER, MARKET) == "7"
    [(_, sent)] = client.asked
    assert sent == {
        **{"instId": "BTC-USDT", "tdMode": "cash", "side": "buy", "ordType": "ioc"},
        **{"px": "26864.4", "sz": "0.003", "clOrdId": SENT},
    }


@pytest.mark.parametrize(
    "answer",
    [told(), told({"ordId": "7"}), told({"ordId": "", "sCode": "0"}), told({"ordId": "7", "sCode": "51000"}), {}, []],
)
async def test_an_answer_that_is_neither_an_order_nor_an_error(answer: object) -> None:
    orders, _ = api(privatePostTradeOrder=[answer])
    with pytest.raises(AnswerNotUnderstoodError):
        await orders.post(ORDER, MARKET)


async def test_a_report_has_state_and_fills() -> None:
    orders, client = api(privateGetTradeOrder=told(ROW), privateGetTradeFills=told(OTHER, FILL))
    report = await orders.report(ORDER, MARKET, "680800019749904384")
    assert report is not None
    assert (report.is_final, report.filled, report.exchange_order_id) == (True, Decimal("0.002"), ROW["ordId"])
    # what is charged is negative there
    assert [(fill.fee, fill.fee_currency) for fill in report.fills] == [(Decimal("0.000001"), "BTC")] * 2
    assert [fill.cost for fill in report.fills] == [Decimal("26.864"), Decimal("26.8642")]
    assert report.stated is not None
    assert (report.stated.client_order_id, report.stated.symbol) == (OURS, "BTC/USDT")
    assert (report.stated.price, report.stated.average) == (Decimal("26864.4"), Decimal("26864.1"))
    assert {method for method, _ in client.asked} == {"privateGetTradeOrder", "privateGetTradeFills"}


@pytest.mark.parametrize(("fee", "currency"), [("-0.02", "USDT"), ("0.000001", "BTC"), ("0", "BTC")])
async def test_fees_in_the_quote_currency_and_rebates(fee: str, currency: str) -> None:
    fill = {**FILL, "fee": fee, "feeCcy": currency}
    orders, _ = api(privateGetTradeFills=told(fill))
    [one] = await orders.fills_since([MARKET], wall_now())
    assert (one.fill.fee, one.fill.fee_currency) == (-Decimal(fee), currency)


@pytest.mark.parametrize(
    ("state", "filled", "is_final"),
    [
        ("live", "0", False),
        ("partially_filled", "0.001", False),
        ("filled", "0.001", True),
        ("canceled", "0.001", True),
        ("mmp_canceled", "0.001", True),
        ("settling", "0.001", False),
        # a fill that is counted and not listed yet
        ("filled", "0.002", False),
    ],
)
async def test_it_is_final_once_it_has_ended_and_all_its_fills_are_there(
    state: str, filled: str, is_final: bool
) -> None:
    row = {**ROW, "state": state, "accFillSz": filled}
    orders, client = api(privateGetTradeOrder=told(row), privateGetTradeFills=told(FILL))
    report = await orders.find(ORDER, MARKET, ())
    assert report is not None
    assert report.is_final is is_final
    assert client.asked[0][1] == {"instId": "BTC-USDT", "clOrdId": SENT}


async def test_fills_of_an_old_order_are_in_the_history() -> None:
    old = {**ROW, "cTime": str((wall_now() - 3 * DAY) // 1_000)}
    orders, client = api(
        privateGetTradeOrder=told(old),
        privateGetTradeFills=told(),
        privateGetTradeFillsHistory=told(FILL, OTHER),
    )
    report = await orders.report(ORDER, MARKET, "680800019749904384")
    assert report is not None
    assert (report.is_final, len(report.fills)) == (True, 2)
    assert client.asked[-1][1]["ordId"] == ROW["ordId"]


@pytest.mark.parametrize("average", ["", "0"])
async def test_an_order_without_fills_has_no_average(average: str) -> None:
    row = {**ROW, "accFillSz": "0", "avgPx": average}
    orders, _ = api(privateGetTradeOrder=told(row), privateGetTradeFills=told())
    report = await orders.find(ORDER, MARKET, ())
    assert report is not None
    assert report.stated is not None
    assert (report.is_final, report.filled, report.stated.average) == (True, Decimal(0), None)


async def test_an_order_that_is_not_there() -> None:
    missing = ccxt.OrderNotFound('okx {"code":"51603","data":[],"msg":"Order does not exist"}')
    orders, _ = api(privateGetTradeOrder=missing, privateGetTradeFills=told())
    assert await orders.find(ORDER, MARKET, ()) is None
    assert await orders.report(ORDER, MARKET, "1") is None
    orders, _ = api(privateGetTradeOrder=ccxt.RateLimitExceeded("okx"), privateGetTradeFills=told())
    with pytest.raises(ccxt.RateLimitExceeded):
        await orders.find(ORDER, MARKET, ())


async def test_open_orders_of_all_pages_and_of_our_markets() -> None:
    page = [{**ROW, "ordId": str(1_000 - number)} for number in range(100)]
    last = [
        {**ROW, "ordId": "50", "px": "", "clOrdId": "another1", "cTime": "1684476068369"},
        {**ROW, "ordId": "49", "instId": "XYZ-USDT"},
    ]
    orders, client = api(privateGetTradeOrdersPending=[told(*page), told(*last)])
    found = await orders.open_orders([MARKET])
    assert [one.exchange_order_id for one in found] == [*(str(1_000 - number) for number in range(100)), "50"]
    assert found[0].client_order_id == OURS
    assert found[-1] == OpenOrder(
        exchange="okx",
        symbol="BTC/USDT",
        exchange_order_id="50",
        client_order_id="another1",
        side="buy",
        amount=ORDER.amount,
        price=None,
        placed_at=1_684_476_068_369_000,
    )
    assert [query.get("after") for _, query in client.asked] == [None, "901"]


@pytest.mark.parametrize(("days", "ids"), [(0, ["new"]), (1, ["new"]), (5, ["new", "new", "old"])])
async def test_fills_are_asked_for_where_they_are(days: int, ids: list[str]) -> None:
    new, old = ({**FILL, "tradeId": name} for name in ("new", "old"))
    orders, client = api(
        privateGetTradeFills=told(new, {**FILL, "instId": "ETH-USDT"}), privateGetTradeFillsHistory=told(new, old)
    )
    since = wall_now() - days * DAY
    found = await orders.fills_since([MARKET], since)
    assert [one.fill.fill_id for one in found] == ids
    assert {one.exchange_order_id for one in found} == {FILL["ordId"]}
    for _, query in client.asked:
        assert query["instType"] == "SPOT"
        assert int(query["begin"]) * 1_000 <= since - 60 * MICROSECONDS


async def test_balances_are_whole_also_while_orders_hold_them() -> None:
    details = [{"ccy": "BTC", "cashBal": "0.805994", "frozenBal": "0.1"}, {"ccy": "USDT", "cashBal": "-1.5"}]
    orders, _ = api(privateGetAccountBalance=told({"details": details, "totalEq": ""}))
    assert await orders.balances() == {"BTC": Decimal("0.805994"), "USDT": Decimal("-1.5")}


@pytest.mark.parametrize("answer", [{}, told(), told({}), told({"details": [{}]}), told({"details": None}), []])
async def test_balances_that_are_none_are_not_understood(answer: object) -> None:
    orders, _ = api(privateGetAccountBalance=[answer])
    with pytest.raises(AnswerNotUnderstoodError):
        await orders.balances()


@pytest.mark.parametrize(
    ("said", "rights"),
    [
        ({"perm": "read_only,trade", "ip": ""}, KeyRights(may_withdraw=False, is_bound=False)),
        ({"perm": "read_only,withdraw,trade", "ip": "1.2.3.4"}, KeyRights(may_withdraw=True, is_bound=True)),
        ({"perm": "trade"}, KeyRights(may_withdraw=False, is_bound=False)),
    ],
)
async def test_the_rights_of_a_key(said: dict[str, str], rights: KeyRights) -> None:
    _, client = api(privateGetAccountConfig=told(said))
    assert await ORDERS.key_rights(client, MARKET) == rights


def fees(*groups: tuple[str, str]) -> dict[str, object]:
    rows = [{"groupId": number, "maker": "-0.0008", "taker": taker} for number, taker in groups]
    return told({"instType": "SPOT", "maker": "-0.0008", "taker": "-0.001", "feeGroup": rows})


def in_groups(client: PlayedClient) -> PlayedClient:
    """Return it with markets, of which two share their fees."""
    groups = {"BTC/USDT": "1", "ETH/USDT": "1", "BTC/EUR": "4"}
    client.markets = {symbol: {"info": {"groupId": number}} for symbol, number in groups.items()}
    return client


async def test_the_fee_is_the_highest_of_the_groups_of_the_markets_without_its_minus() -> None:
    _, client = api(privateGetAccountTradeFee=[fees(("1", "-0.0009")), fees(("3", "-0.005"), ("4", "-0.002"))])
    markets = [replace(MARKET, symbol=symbol) for symbol in ("BTC/USDT", "ETH/USDT", "BTC/EUR")]
    assert await ORDERS.taker_rate(in_groups(client), markets) == Decimal("0.002")
    assert [query["instType"] for _, query in client.asked] == ["SPOT", "SPOT"]


@pytest.mark.parametrize("answer", [fees(), fees(("2", "-0.001")), told({"taker": "-0.001"}), told({"feeGroup": [{}]})])
async def test_a_group_without_a_fee_has_none(answer: dict[str, object]) -> None:
    _, client = api(privateGetAccountTradeFee=answer)
    with pytest.raises(AnswerNotUnderstoodError):
        await ORDERS.taker_rate(in_groups(client), [MARKET])


async def test_their_time() -> None:
    _, client = api(publicGetPublicTime=told({"ts": "1700000000123"}))
    assert await ORDERS.server_time(client) == (1_700_000_000_123, 0)
