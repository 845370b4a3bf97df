"""Rows of OKX's answers and messages: markets, tickers, trades, candles, orders and fills."""

from collections.abc import Sequence
from decimal import Decimal

from market.instruments.markets import Market
from market.instruments.orders import Side
from market.money import text_of
from simulators.market.traded_day import DayFigures
from simulators.matching.candles import Candle
from simulators.matching.engine import MatchingBook
from simulators.matching.funded_account import average_price, charged_fee
from simulators.matching.listings import Listing
from simulators.matching.order_records import PublicTrade, SimulatedFill, SimulatedOrder
from simulators.web.book_views import ViewedLevels
from simulators.web.exchange_gateway import best_level
from simulators.web.request_fields import Row, milliseconds

LARGEST_LIMIT, LARGEST_AT_MARKET = Decimal(20_000_000), Decimal(1_000_000)
"""Dollars, `maxLmtAmt` and `maxMktAmt`, taken for money of the quote currency here."""
_FIRST_BILL = 10**18
_AVERAGE_STEP = Decimal("0.0000000001")
_BEST: tuple[tuple[str, Side], ...] = (("bid", "buy"), ("ask", "sell"))
SIDES: tuple[tuple[str, Side], ...] = (("bids", "buy"), ("asks", "sell"))
_OF_COINS = "2"
_FEE_GROUPS = {"USDT": "1", "USDC": _OF_COINS, "EUR": "4", "USD": "9"}
_NOT_OF_SPOT = (
    "alias",
    "ctMult",
    "ctType",
    "ctVal",
    "ctValCcy",
    "expTime",
    "instFamily",
    "optType",
    "settleCcy",
    "stk",
)


def fee_group(market: Market) -> str:
    """Return the group of markets that share their fees: docs-v5, `groupId` of instruments, of spot."""
    return _FEE_GROUPS.get(market.quote_currency, _OF_COINS)


def market_row(listing: Listing, number: int) -> Row:
    """Return the market's row in public/instruments; `number` among the markets."""
    market = listing.market
    return {
        "instType": "SPOT",
        "instId": listing.market_id,
        "instIdCode": number,
        "baseCcy": market.base,
        "quoteCcy": market.quote_currency,
        "tradeQuoteCcyList": [market.quote_currency],
        "state": "live" if listing.status == "online" else listing.status,
        "tickSz": text_of(market.tick_size),
        "lotSz": text_of(market.lot_step),
        "minSz": text_of(market.minimum_amount),
        **dict.fromkeys(("maxLmtSz", "maxTwapSz", "maxIcebergSz", "maxTriggerSz"), "9999999999"),
        **dict.fromkeys(("maxMktSz", "maxStopSz", "uly", *_NOT_OF_SPOT), ""),
        "maxLmtAmt": text_of(LARGEST_LIMIT),
        "maxMktAmt": text_of(LARGEST_AT_MARKET),
        "category": "1",
        "instCategory": "1",
        "groupId": fee_group(market),
        "lever": "",
        "listTime": "1606468572000",
        "contTdSwTime": "1606468572000",
        "openType": "call_auction",
        "ruleType": "normal",
        "upcChg": [],
    }


def book_rows(levels: ViewedLevels) -> Row:
    """Return both sides; the third field of a level is not used any more, the fourth the number of its orders."""
    return {
        name: [[price, amount, "0", "0" if amount == "0" else "1"] for price, amount in levels[side]]
        for name, side in SIDES
    }


def ticker_row(listing: Listing, book: MatchingBook, figures: DayFigures | None, now: int) -> Row:
    """Return the ticker of 24 hours; `now` in microseconds."""
    row: Row = {"instType": "SPOT", "instId": listing.market_id, "ts": milliseconds(now)}
    for name, side in _BEST:
        ticks, lots = best_level(book, side)
        row[f"{name}Px"], row[f"{name}Sz"] = listing.price_text(ticks), listing.amount_text(lots)
    if figures is None:
        names = ("last", "lastSz", "open24h", "high24h", "low24h", "vol24h", "volCcy24h", "sodUtc0", "sodUtc8")
        return row | dict.fromkeys(names, "0")
    return {
        **row,
        "last": text_of(figures.last.price),
        "lastSz": text_of(figures.last.amount),
        "high24h": text_of(figures.high),
        "low24h": text_of(figures.low),
        # the days of UTC and of Hong Kong are taken to have begun as the last 24 hours
        **dict.fromkeys(("open24h", "sodUtc0", "sodUtc8"), text_of(figures.open)),
        "vol24h": text_of(figures.volume),
        "volCcy24h": format((figures.average * figures.volume).quantize(_AVERAGE_STEP), "f"),
    }


def trade_row(trade: PublicTrade, market_id: str) -> Row:
    return {
        "instId": market_id,
        "tradeId": str(trade.number),
        "px": text_of(trade.price),
        "sz": text_of(trade.amount),
        "side": trade.side,
        "source": "0",
        "seqId": trade.number,
        "ts": milliseconds(trade.traded_at),
    }


def candle_row(candle: Candle, *, is_over: bool) -> list[str]:
    prices = (candle.open, candle.high, candle.low, candle.close)
    numbers = map(text_of, (*prices, candle.volume, candle.value, candle.value))
    return [milliseconds(candle.began), *numbers, "1" if is_over else "0"]


def bill_number(fill: SimulatedFill) -> int:
    return _FIRST_BILL + fill.number


def state_of(order: SimulatedOrder) -> str:
    if order.state == "done":
        return "filled"
    if order.state == "cancelled":
        return "canceled"
    return "partially_filled" if order.filled else "live"


def type_of(order: SimulatedOrder) -> str:
    if order.price is None:
        return "market"
    return "fok" if order.whole else "ioc" if order.immediate else "limit"


_UNUSED = (
    *(
        "algoClOrdId",
        "algoId",
        "attachAlgoClOrdId",
        "ccy",
        "lever",
        "pxType",
        "pxUsd",
        "pxVol",
        "quickMgnType",
        "source",
    ),
    *("slOrdPx", "slTriggerPx", "slTriggerPxType", "stpId", "tpOrdPx", "tpTriggerPx", "tpTriggerPxType", "tag"),
)
"""Fields of an order's row that say nothing of a plain order of spot."""


def order_row(order: SimulatedOrder, fills: Sequence[SimulatedFill], listing: Listing) -> Row:
    """Return a row about an order; `fills` are those that it counts. A fee is negative."""
    return {
        "instType": "SPOT",
        "instId": listing.market_id,
        "ordId": order.order_id,
        "clOrdId": order.client_order_id or "",
        "side": order.side,
        "ordType": type_of(order),
        "tdMode": "cash",
        "tgtCcy": "base_ccy" if order.price is None else "",
        "px": "" if order.price is None else text_of(order.price),
        "sz": text_of(order.amount),
        **_state(order, fills, listing),
        "category": "normal",
        "posSide": "net",
        "pnl": "0",
        "reduceOnly": "false",
        "isTpLimit": "false",
        "stpMode": "cancel_maker",
        "cancelSource": _cancel_source(order),
        "cancelSourceReason": "",
        "attachAlgoOrds": [],
        "linkedAlgoOrd": {"algoId": ""},
        **dict.fromkeys(_UNUSED, ""),
        "cTime": milliseconds(order.placed_at),
    }


def _state(order: SimulatedOrder, fills: Sequence[SimulatedFill], listing: Listing) -> Row:
    base, quote = listing.market.base, listing.market.quote_currency
    updated = max([order.placed_at, order.ended_at or 0, *(fill.filled_at for fill in fills)])
    last = fills[-1] if fills else None
    return {
        "state": state_of(order),
        "accFillSz": text_of(order.filled),
        "avgPx": text_of(average_price(fills).quantize(_AVERAGE_STEP)) if fills else "",
        "fee": text_of(-charged_fee(fills)),
        "feeCcy": base if order.side == "buy" else quote,
        "rebate": "0",
        "rebateCcy": quote if order.side == "buy" else base,
        "fillPx": "" if last is None else text_of(last.price),
        "fillSz": "0" if last is None else text_of(last.amount),
        "fillTime": "" if last is None else milliseconds(last.filled_at),
        "tradeId": "" if last is None else last.fill_id,
        "uTime": milliseconds(updated),
    }


def _cancel_source(order: SimulatedOrder) -> str:
    """Return who cancelled it: 1 its owner, 14 the exchange, since an immediate order did not fill."""
    if order.state != "cancelled":
        return ""
    return "14" if order.is_cut_short else "1"


def fill_row(fill: SimulatedFill, order: SimulatedOrder, listing: Listing) -> Row:
    """Return a row of trade/fills."""
    rate = listing.taker_rate if fill.liquidity == "taker" else listing.maker_rate
    return {
        "instType": "SPOT",
        "instId": listing.market_id,
        "tradeId": fill.fill_id,
        "ordId": fill.order_id,
        "clOrdId": order.client_order_id or "",
        "billId": str(bill_number(fill)),
        "subType": "1" if fill.side == "buy" else "2",
        "side": fill.side,
        "posSide": "net",
        "fillPx": text_of(fill.price),
        "fillSz": text_of(fill.amount),
        "fee": text_of(-fill.fee),
        "feeCcy": fill.fee_currency,
        "feeRate": text_of(-rate),
        "execType": "T" if fill.liquidity == "taker" else "M",
        "fillPnl": "0",
        "tag": "",
        "ts": milliseconds(fill.filled_at),
        "fillTime": milliseconds(fill.filled_at),
    }


def streamed_order(
    order: SimulatedOrder, fills: Sequence[SimulatedFill], fill: SimulatedFill | None, of: Listing
) -> Row:
    """Return a row of the channel `orders`; `fill` if it is about one, otherwise it names none."""
    row = {**order_row(order, fills, of), "reqId": "", "amendResult": "", "code": "0", "msg": ""}
    if fill is None:
        return {
            **row,
            **dict.fromkeys(("fillPx", "fillTime", "tradeId", "fillFee", "fillFeeCcy", "execType"), ""),
            "fillSz": "0",
        }
    shown = fill_row(fill, order, of)
    same = {name: shown[name] for name in ("fillPx", "fillSz", "fillTime", "tradeId", "execType")}
    return {**row, **same, "fillFee": shown["fee"], "fillFeeCcy": fill.fee_currency}
