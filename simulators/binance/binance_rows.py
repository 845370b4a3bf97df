"""Rows of Binance's REST answers about markets, orders and fills."""

from collections.abc import Sequence
from decimal import Decimal

from market.instruments.orders import Side
from market.money import ZERO
from simulators.binance.binance_endpoints import eight, milliseconds
from simulators.matching.funded_account import executed_cost
from simulators.matching.listings import Listing
from simulators.matching.order_records import PublicTrade, SimulatedFill, SimulatedOrder

Row = dict[str, object]
ORDER_TYPES = (
    *("LIMIT", "LIMIT_MAKER", "MARKET"),
    *("STOP_LOSS", "STOP_LOSS_LIMIT", "TAKE_PROFIT", "TAKE_PROFIT_LIMIT"),
)
LARGEST_PRICE = Decimal(1_000_000)
LARGEST_AMOUNT = Decimal(9_000)
LARGEST_NOTIONAL = Decimal(9_000_000)
"""Fields that only limit orders have."""
SELF_TRADE = "EXPIRE_TAKER"
"""Self-trade prevention: the taker order is cancelled and the resting one stays."""


def market_row(listing: Listing) -> Row:
    """The market's row in exchangeInfo."""
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
        "defaultSelfTradePreventionMode": SELF_TRADE,
        "allowedSelfTradePreventionModes": [SELF_TRADE],
    }


def _filters(listing: Listing) -> list[Row]:
    market = listing.market
    sizes = {
        "minQty": eight(market.minimum_amount),
        "maxQty": eight(LARGEST_AMOUNT),
        "stepSize": eight(market.lot_step),
    }
    tick = eight(market.tick_size)
    return [
        {"filterType": "PRICE_FILTER", "minPrice": tick, "maxPrice": eight(LARGEST_PRICE), "tickSize": tick},
        {"filterType": "LOT_SIZE", **sizes},
        {
            "filterType": "NOTIONAL",
            "minNotional": eight(market.minimum_notional),
            "applyMinToMarket": True,
            "maxNotional": eight(LARGEST_NOTIONAL),
            "applyMaxToMarket": False,
            "avgPriceMins": 5,
        },
    ]


def status_of(order: SimulatedOrder) -> str:
    """An order ended by the exchange is expired, one ended by the customer is cancelled."""
    if order.state == "done":
        return "FILLED"
    if order.state == "cancelled":
        return "EXPIRED" if order.is_cut_short else "CANCELED"
    return "PARTIALLY_FILLED" if order.filled else "NEW"


def terms_of(order: SimulatedOrder) -> Row:
    """The terms of the order as requested."""
    lifetime = "FOK" if order.whole else "IOC" if order.immediate else "GTC"
    return {
        "price": eight(order.price or ZERO),
        "origQty": eight(order.amount),
        "timeInForce": "GTC" if order.price is None else lifetime,
        "type": type_of(order),
        "side": order.side.upper(),
    }


def is_rising(kind: str, side: Side) -> bool:
    """Whether a stop order of that type waits for a higher price."""
    return kind.startswith("STOP_LOSS") == (side == "buy")


def type_of(order: SimulatedOrder) -> str:
    if order.trigger is None:
        return "MARKET" if order.price is None else "LIMIT"
    kind = "STOP_LOSS" if is_rising("STOP_LOSS", order.side) == order.trigger.rises else "TAKE_PROFIT"
    return kind if order.price is None else f"{kind}_LIMIT"


def stop_text(order: SimulatedOrder) -> str:
    return eight(ZERO if order.trigger is None else order.trigger.price)


def order_row(order: SimulatedOrder, fills: Sequence[SimulatedFill], market_id: str) -> Row:
    updated = max([order.placed_at, order.ended_at or 0, *(fill.filled_at for fill in fills)])
    return {
        **_names(order, market_id),
        **_state(order, fills),
        **terms_of(order),
        "stopPrice": stop_text(order),
        "icebergQty": eight(ZERO),
        "time": milliseconds(order.placed_at),
        "updateTime": milliseconds(updated),
        "isWorking": not order.is_waiting,
        "workingTime": _working_time(order),
        "origQuoteOrderQty": eight(ZERO),
        "selfTradePreventionMode": SELF_TRADE,
    }


def placed_row(order: SimulatedOrder, fills: Sequence[SimulatedFill], market_id: str, kind: str) -> Row:
    """The answer to a new order: ACK, RESULT or FULL, each with more than the one before."""
    row = {**_names(order, market_id), "transactTime": milliseconds(order.placed_at)}
    if kind == "ACK":
        return row
    row |= {
        **_state(order, fills),
        **terms_of(order),
        "origQuoteOrderQty": eight(ZERO),
        "workingTime": _working_time(order),
        "selfTradePreventionMode": SELF_TRADE,
    }
    if kind == "FULL":
        row["fills"] = [_part_row(fill) for fill in fills]
    return row


def cancelled_row(order: SimulatedOrder, fills: Sequence[SimulatedFill], market_id: str, cancel_id: str) -> Row:
    """The cancel has its own client id; the order's is the original one."""
    return {
        **_names(order, market_id),
        "origClientOrderId": order.client_order_id,
        "clientOrderId": cancel_id,
        "transactTime": milliseconds(order.ended_at or order.placed_at),
        **_state(order, fills),
        **terms_of(order),
        "origQuoteOrderQty": eight(ZERO),
        "selfTradePreventionMode": SELF_TRADE,
    }


def fill_row(fill: SimulatedFill, market_id: str) -> Row:
    """A row of myTrades."""
    return {
        "symbol": market_id,
        "id": fill.number,
        "orderId": int(fill.order_id),
        "orderListId": -1,
        "price": eight(fill.price),
        "qty": eight(fill.amount),
        "quoteQty": eight(fill.cost),
        "commission": eight(fill.fee),
        "commissionAsset": fill.fee_currency,
        "time": milliseconds(fill.filled_at),
        "isBuyer": fill.side == "buy",
        "isMaker": fill.liquidity == "maker",
        "isBestMatch": True,
    }


def trade_row(trade: PublicTrade) -> Row:
    return {
        "id": trade.number,
        "price": eight(trade.price),
        "qty": eight(trade.amount),
        "quoteQty": eight(trade.price * trade.amount),
        "time": milliseconds(trade.traded_at),
        "isBuyerMaker": trade.side == "sell",
        "isBestMatch": True,
    }


def rates_row(maker: Decimal, taker: Decimal) -> Row:
    return {"maker": eight(maker), "taker": eight(taker), "buyer": eight(ZERO), "seller": eight(ZERO)}


def _names(order: SimulatedOrder, market_id: str) -> Row:
    return {
        "symbol": market_id,
        "orderId": int(order.order_id),
        "orderListId": -1,
        "clientOrderId": order.client_order_id,
    }


def _working_time(order: SimulatedOrder) -> int:
    """When it came into the book, -1 where it still waits."""
    return -1 if order.is_waiting else milliseconds(order.triggered_at or order.placed_at)


def _state(order: SimulatedOrder, fills: Sequence[SimulatedFill]) -> Row:
    return {
        "executedQty": eight(order.filled),
        # with two m, as the exchange spells it
        "cummulativeQuoteQty": eight(executed_cost(fills)),
        "status": status_of(order),
    }


def _part_row(fill: SimulatedFill) -> Row:
    return {
        "price": eight(fill.price),
        "qty": eight(fill.amount),
        "commission": eight(fill.fee),
        "commissionAsset": fill.fee_currency,
        "tradeId": fill.number,
    }
