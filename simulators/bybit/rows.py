"""Rows of Bybit's answers and messages: markets, tickers, trades, candles, orders and fills."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from market.instruments.orders import Side
from market.money import ZERO, decimal_of, text_of
from simulators.market.traded_day import DayFigures
from simulators.matching.candles import Candle
from simulators.matching.engine import MatchingBook
from simulators.matching.funded_account import average_price, charged_fee, executed_cost
from simulators.matching.listings import Listing
from simulators.matching.order_records import PublicTrade, SimulatedFill, SimulatedOrder
from simulators.web.exchange_gateway import best_level
from simulators.web.request_fields import Row, milliseconds

LARGEST_LIMIT, LARGEST_AT_MARKET = Decimal(9_000_000), Decimal(4_500_000)
"""Dollars at the price at which a market began, that orders are bounded by: of bitcoin's row in the documents."""
_AVERAGE_STEP = Decimal("0.0000000001")
SIDES: Mapping[Side, str] = {"buy": "Buy", "sell": "Sell"}
_BEST: tuple[tuple[str, Side], ...] = (("bid1", "buy"), ("ask1", "sell"))


def largest_amount(listing: Listing, dollars: Decimal) -> Decimal:
    """Return a whole number of steps."""
    steps = dollars / decimal_of(listing.start_price) // listing.market.lot_step
    return steps * listing.market.lot_step


def market_row(listing: Listing) -> Row:
    """Return the market's row in instruments-info."""
    market = listing.market
    at_limit, at_market = (largest_amount(listing, worth) for worth in (LARGEST_LIMIT, LARGEST_AT_MARKET))
    return {
        "symbol": listing.market_id,
        "baseCoin": market.base,
        "quoteCoin": market.quote_currency,
        "innovation": "0",
        "status": "Trading" if listing.status == "online" else listing.status,
        "marginTrading": "none",
        "stTag": "0",
        "lotSizeFilter": {
            "basePrecision": text_of(market.lot_step),
            "quotePrecision": text_of(listing.cost_step),
            "minOrderQty": text_of(market.minimum_amount),
            "maxOrderQty": text_of(at_limit),
            "minOrderAmt": text_of(market.minimum_notional),
            "maxOrderAmt": text_of(LARGEST_LIMIT),
            "maxLimitOrderQty": text_of(at_limit),
            "maxMarketOrderQty": text_of(at_market),
            "postOnlyMaxLimitOrderSize": text_of(at_limit),
        },
        "priceFilter": {"tickSize": text_of(market.tick_size)},
        "riskParameters": {"priceLimitRatioX": "0.05", "priceLimitRatioY": "0.05"},
        "symbolType": "",
    }


def ticker_row(listing: Listing, book: MatchingBook, figures: DayFigures | None) -> Row:
    """Return REST's ticker of 24 hours."""
    row = day_row(listing, figures)
    for name, side in _BEST:
        ticks, lots = best_level(book, side)
        row[f"{name}Price"], row[f"{name}Size"] = listing.price_text(ticks), listing.amount_text(lots)
    return row


def day_row(listing: Listing, figures: DayFigures | None) -> Row:
    """Return the ticker as it is streamed: without best prices."""
    row: Row = {"symbol": listing.market_id}
    if figures is None:
        return row | dict.fromkeys(
            ("lastPrice", "prevPrice24h", "price24hPcnt", "highPrice24h", "lowPrice24h", "turnover24h", "volume24h"),
            "0",
        )
    prices = {"lastPrice": figures.last.price, "prevPrice24h": figures.open}
    prices |= {"highPrice24h": figures.high, "lowPrice24h": figures.low}
    change = (figures.last.price - figures.open) / figures.open
    return {
        **row,
        **{name: text_of(price) for name, price in prices.items()},
        "price24hPcnt": format(change.quantize(Decimal("0.0001")), "f"),
        "turnover24h": format((figures.average * figures.volume).quantize(listing.cost_step), "f"),
        "volume24h": text_of(figures.volume),
    }


def trade_row(trade: PublicTrade, market_id: str) -> Row:
    """Return a row of recent-trade."""
    return {
        "execId": str(trade.number),
        "symbol": market_id,
        "price": text_of(trade.price),
        "size": text_of(trade.amount),
        "side": SIDES[trade.side],
        "time": milliseconds(trade.traded_at),
        "isBlockTrade": False,
        "isRPITrade": False,
        "seq": str(trade.number),
    }


def streamed_trade(trade: PublicTrade, market_id: str) -> Row:
    return {
        "i": str(trade.number),
        "T": trade.traded_at // 1_000,
        "p": text_of(trade.price),
        "v": text_of(trade.amount),
        "S": SIDES[trade.side],
        "s": market_id,
        "BT": False,
        "RPI": False,
        "seq": trade.number,
    }


def candle_row(candle: Candle) -> list[str]:
    prices = (candle.open, candle.high, candle.low, candle.close)
    return [milliseconds(candle.began), *map(text_of, (*prices, candle.volume, candle.value))]


def status_of(order: SimulatedOrder) -> str:
    if order.state == "done":
        return "Filled"
    if order.state == "cancelled":
        return "PartiallyFilledCanceled" if order.filled else "Cancelled"
    return "PartiallyFilled" if order.filled else "New"


def lifetime_of(order: SimulatedOrder) -> str:
    return "FOK" if order.whole else "IOC" if order.immediate else "GTC"


_NOT_OF_SPOT: Row = {
    "blockTradeId": "",
    "positionIdx": 0,
    "stopOrderType": "",
    "orderIv": "",
    "triggerPrice": "0",
    "takeProfit": "",
    "stopLoss": "",
    "triggerDirection": 0,
    "triggerBy": "",
    "reduceOnly": False,
    "closeOnTrigger": False,
    "smpType": "None",
    "smpGroup": 0,
    "smpOrderId": "",
}
"""Fields of an order's row that say nothing of a plain order of spot."""


def order_row(order: SimulatedOrder, fills: Sequence[SimulatedFill], market_id: str) -> Row:
    """Return a row of order/realtime and order/history; `fills` are those that it counts."""
    updated = max([order.placed_at, order.ended_at or 0, *(fill.filled_at for fill in fills)])
    return {
        "orderId": order.order_id,
        "orderLinkId": order.client_order_id or "",
        "symbol": market_id,
        "price": text_of(order.price or ZERO),
        "qty": text_of(order.amount),
        "side": SIDES[order.side],
        "isLeverage": "0",
        "timeInForce": lifetime_of(order),
        "orderType": "Market" if order.price is None else "Limit",
        "marketUnit": "baseCoin" if order.price is None else "",
        **_NOT_OF_SPOT,
        **_state(order, fills),
        "createdTime": milliseconds(order.placed_at),
        "updatedTime": milliseconds(updated),
    }


def _state(order: SimulatedOrder, fills: Sequence[SimulatedFill]) -> Row:
    left = order.remaining if order.state == "open" else ZERO
    is_by_owner = order.state == "cancelled" and not order.is_cut_short
    return {
        "orderStatus": status_of(order),
        "cancelType": "CancelByUser" if is_by_owner else "UNKNOWN",
        "rejectReason": "EC_NoImmediateQtyToFill" if order.is_cut_short and not order.filled else "EC_NoError",
        "avgPrice": text_of(average_price(fills).quantize(_AVERAGE_STEP)) if fills else "",
        "leavesQty": text_of(left),
        "leavesValue": text_of(left * (order.price or ZERO)),
        "cumExecQty": text_of(order.filled),
        "cumExecValue": text_of(executed_cost(fills)),
        "cumExecFee": text_of(charged_fee(fills)),
    }


def fill_row(fill: SimulatedFill, order: SimulatedOrder, left: Decimal, listing: Listing) -> Row:
    """Return a row of execution/list; `left`: what remains of the order after it."""
    rate = listing.taker_rate if fill.liquidity == "taker" else listing.maker_rate
    return {
        "symbol": listing.market_id,
        "orderId": fill.order_id,
        "orderLinkId": order.client_order_id or "",
        "side": SIDES[fill.side],
        "orderPrice": text_of(order.price or ZERO),
        "orderQty": text_of(order.amount),
        "leavesQty": text_of(left),
        "orderType": "Market" if order.price is None else "Limit",
        "stopOrderType": "",
        "execFee": text_of(fill.fee),
        "feeCurrency": fill.fee_currency,
        "execId": fill.fill_id,
        "execPrice": text_of(fill.price),
        "execQty": text_of(fill.amount),
        "execType": "Trade",
        "execValue": text_of(fill.cost),
        "execTime": milliseconds(fill.filled_at),
        "isMaker": fill.liquidity == "maker",
        "feeRate": text_of(rate),
        "blockTradeId": "",
        "closedSize": "",
        "extraFees": "",
        "seq": fill.number,
    }
