"""Rows of Binance's REST answers about markets, orders and fills."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from market.instruments.orders import Side
from market.money import ZERO
from simulators.binance.endpoints import eight_decimals, timestamp
from simulators.matching.funded_account import executed_cost
from simulators.matching.listings import Listing
from simulators.matching.order_records import PreventedTrade, PublicTrade, SelfTrade, SimulatedFill, SimulatedOrder

Row = dict[str, object]
ORDER_TYPES = (
    *("LIMIT", "LIMIT_MAKER", "MARKET"),
    *("STOP_LOSS", "STOP_LOSS_LIMIT", "TAKE_PROFIT", "TAKE_PROFIT_LIMIT"),
)
LARGEST_PRICE = Decimal(1_000_000)
LARGEST_AMOUNT = Decimal(9_000)
LARGEST_NOTIONAL = Decimal(9_000_000)
"""Fields that only limit orders have."""
SELF_TRADES: Mapping[str, SelfTrade] = {
    "EXPIRE_TAKER": "taker",
    "EXPIRE_MAKER": "maker",
    "EXPIRE_BOTH": "both",
    "DECREMENT": "smaller",
}
"""https://developers.binance.com/docs/binance-spot-api-docs/faqs/stp_faq: each market allows its own choice of these.
Real ones never allow NONE; TRANSFER is between accounts of one group, and there are none here."""
DEFAULT_SELF_TRADE = "EXPIRE_MAKER"
_MODES = {kind: name for name, kind in SELF_TRADES.items()}
NEAR: Mapping[Side, tuple[str, str]] = {"buy": ("0.2", "5"), "sell": ("0.2", "5")}
"""Least and greatest multiple of the average price that a limit may be."""
MOST_ORDERS, MOST_STOPS = 200, 5
"""Most open orders of a market, all and those that wait."""


def market_row(listing: Listing) -> Row:
    """Return the market's row in exchangeInfo."""
    market = listing.market
    return {
        "symbol": listing.market_id,
        "status": "TRADING",
        "baseAsset": market.base,
        "baseAssetPrecision": 8,
        "quoteAsset": market.quote_currency,
        "quotePrecision": 8,
        "quoteAssetPrecision": 8,
        "baseCommissionPrecision": 8,
        "quoteCommissionPrecision": 8,
        "orderTypes": list(ORDER_TYPES),
        "icebergAllowed": False,
        "ocoAllowed": False,
        "otoAllowed": False,
        "quoteOrderQtyMarketAllowed": True,
        "allowTrailingStop": False,
        "cancelReplaceAllowed": True,
        "amendAllowed": False,
        "isSpotTradingAllowed": True,
        "isMarginTradingAllowed": False,
        "filters": _filters(listing),
        "permissions": [],
        "permissionSets": [["SPOT"]],
        "defaultSelfTradePreventionMode": DEFAULT_SELF_TRADE,
        "allowedSelfTradePreventionModes": list(SELF_TRADES),
    }


def _filters(listing: Listing) -> list[Row]:
    market = listing.market
    sizes = {
        "minQty": eight_decimals(market.minimum_amount),
        "maxQty": eight_decimals(LARGEST_AMOUNT),
        "stepSize": eight_decimals(market.lot_step),
    }
    tick = eight_decimals(market.tick_size)
    return [
        {"filterType": "PRICE_FILTER", "minPrice": tick, "maxPrice": eight_decimals(LARGEST_PRICE), "tickSize": tick},
        {"filterType": "LOT_SIZE", **sizes},
        {
            "filterType": "NOTIONAL",
            "minNotional": eight_decimals(market.minimum_notional),
            "applyMinToMarket": True,
            "maxNotional": eight_decimals(LARGEST_NOTIONAL),
            "applyMaxToMarket": False,
            "avgPriceMins": 5,
        },
        {
            "filterType": "PERCENT_PRICE_BY_SIDE",
            "bidMultiplierUp": NEAR["buy"][1],
            "bidMultiplierDown": NEAR["buy"][0],
            "askMultiplierUp": NEAR["sell"][1],
            "askMultiplierDown": NEAR["sell"][0],
            "avgPriceMins": 5,
        },
        {"filterType": "MAX_NUM_ORDERS", "maxNumOrders": MOST_ORDERS},
        {"filterType": "MAX_NUM_ALGO_ORDERS", "maxNumAlgoOrders": MOST_STOPS},
    ]


def status_of(order: SimulatedOrder) -> str:
    """Return the status: an order ended by the exchange is expired, one ended by the customer is cancelled."""
    if order.state == "done":
        return "FILLED"
    if order.is_prevented or (order.state == "open" and not order.remaining):
        return "EXPIRED_IN_MATCH"
    if order.state == "cancelled":
        return "EXPIRED" if order.is_cut_short else "CANCELED"
    return "PARTIALLY_FILLED" if order.filled else "NEW"


def terms_of(order: SimulatedOrder) -> Row:
    """Return the terms of the order as requested."""
    lifetime = "FOK" if order.whole else "IOC" if order.immediate else "GTC"
    return {
        "price": eight_decimals(order.price or ZERO),
        "origQty": eight_decimals(order.amount),
        "timeInForce": "GTC" if order.price is None else lifetime,
        "type": type_of(order),
        "side": order.side.upper(),
    }


def is_rising(kind: str, side: Side) -> bool:
    """Return whether a stop order of that type waits for a higher price."""
    return kind.startswith("STOP_LOSS") == (side == "buy")


def type_of(order: SimulatedOrder) -> str:
    if order.trigger is None:
        return "MARKET" if order.price is None else "LIMIT"
    kind = "STOP_LOSS" if is_rising("STOP_LOSS", order.side) == order.trigger.rises else "TAKE_PROFIT"
    return kind if order.price is None else f"{kind}_LIMIT"


def stop_text(order: SimulatedOrder) -> str:
    return eight_decimals(ZERO if order.trigger is None else order.trigger.price)


def mode_of(self_trade: SelfTrade) -> str:
    return _MODES[self_trade]


def order_row(order: SimulatedOrder, fills: Sequence[SimulatedFill], market_id: str) -> Row:
    updated = max([order.placed_at, order.ended_at or 0, *(fill.filled_at for fill in fills)])
    return {
        **_names(order, market_id),
        **_state(order, fills),
        **terms_of(order),
        "stopPrice": stop_text(order),
        "icebergQty": eight_decimals(ZERO),
        "time": timestamp(order.placed_at),
        "updateTime": timestamp(updated),
        "isWorking": not order.is_waiting,
        "workingTime": _working_time(order),
        "origQuoteOrderQty": eight_decimals(ZERO),
        **_self_trade(order),
    }


def placed_row(
    order: SimulatedOrder,
    fills: Sequence[SimulatedFill],
    prevented: Sequence[PreventedTrade],
    market_id: str,
    kind: str,
) -> Row:
    """Return the answer to a new order: ACK, RESULT or FULL, each with more than the one before."""
    row = {**_names(order, market_id), "transactTime": timestamp(order.placed_at)}
    if kind == "ACK":
        return row
    row |= {
        **_state(order, fills),
        **terms_of(order),
        "origQuoteOrderQty": eight_decimals(ZERO),
        "workingTime": _working_time(order),
        **_self_trade(order),
    }
    if prevented:
        row["preventedMatches"] = [_prevented_part(trade) for trade in prevented]
    if kind == "FULL":
        row["fills"] = [_part_row(fill) for fill in fills]
    return row


def cancelled_row(order: SimulatedOrder, fills: Sequence[SimulatedFill], market_id: str, cancel_id: str) -> Row:
    """Return the row of a cancellation: it has its own client id; the order's is the original one."""
    return {
        **_names(order, market_id),
        "origClientOrderId": order.client_order_id,
        "clientOrderId": cancel_id,
        "transactTime": timestamp(order.ended_at or order.placed_at),
        **_state(order, fills),
        **terms_of(order),
        "origQuoteOrderQty": eight_decimals(ZERO),
        **_self_trade(order),
    }


def _self_trade(order: SimulatedOrder) -> Row:
    row: Row = {"selfTradePreventionMode": mode_of(order.self_trade)}
    return row | ({"preventedQuantity": eight_decimals(order.prevented)} if order.prevented else {})


def _prevented_part(trade: PreventedTrade) -> Row:
    amounts = {"takerPreventedQuantity": trade.taker_amount, "makerPreventedQuantity": trade.maker_amount}
    return {
        "preventedMatchId": trade.number,
        "makerOrderId": int(trade.maker_id),
        "price": eight_decimals(trade.price),
        **{name: eight_decimals(amount) for name, amount in amounts.items() if amount},
    }


def prevented_row(trade: PreventedTrade, market_id: str) -> Row:
    """Return a row of myPreventedMatches."""
    return {
        "symbol": market_id,
        "takerOrderId": int(trade.taker_id),
        "makerSymbol": market_id,
        "tradeGroupId": -1,
        "selfTradePreventionMode": mode_of(trade.self_trade),
        "transactTime": timestamp(trade.at),
        **_prevented_part(trade),
    }


def fill_row(fill: SimulatedFill, market_id: str) -> Row:
    """Return a row of myTrades."""
    return {
        "symbol": market_id,
        "id": fill.number,
        "orderId": int(fill.order_id),
        "orderListId": -1,
        "price": eight_decimals(fill.price),
        "qty": eight_decimals(fill.amount),
        "quoteQty": eight_decimals(fill.cost),
        "commission": eight_decimals(fill.fee),
        "commissionAsset": fill.fee_currency,
        "time": timestamp(fill.filled_at),
        "isBuyer": fill.side == "buy",
        "isMaker": fill.liquidity == "maker",
        "isBestMatch": True,
    }


def trade_row(trade: PublicTrade) -> Row:
    return {
        "id": trade.number,
        "price": eight_decimals(trade.price),
        "qty": eight_decimals(trade.amount),
        "quoteQty": eight_decimals(trade.price * trade.amount),
        "time": timestamp(trade.traded_at),
        "isBuyerMaker": trade.side == "sell",
        "isBestMatch": True,
    }


def rates_row(maker: Decimal, taker: Decimal) -> Row:
    return {
        "maker": eight_decimals(maker),
        "taker": eight_decimals(taker),
        "buyer": eight_decimals(ZERO),
        "seller": eight_decimals(ZERO),
    }


def _names(order: SimulatedOrder, market_id: str) -> Row:
    return {
        "symbol": market_id,
        "orderId": int(order.order_id),
        "orderListId": -1,
        "clientOrderId": order.client_order_id,
    }


def _working_time(order: SimulatedOrder) -> int:
    """Return when it came into the book, -1 if it still waits."""
    return -1 if order.is_waiting else timestamp(order.triggered_at or order.placed_at)


def _state(order: SimulatedOrder, fills: Sequence[SimulatedFill]) -> Row:
    return {
        "executedQty": eight_decimals(order.filled),
        # with two m, as the exchange spells it
        "cummulativeQuoteQty": eight_decimals(executed_cost(fills)),
        "status": status_of(order),
    }


def _part_row(fill: SimulatedFill) -> Row:
    return {
        "price": eight_decimals(fill.price),
        "qty": eight_decimals(fill.amount),
        "commission": eight_decimals(fill.fee),
        "commissionAsset": fill.fee_currency,
        "tradeId": fill.number,
    }
