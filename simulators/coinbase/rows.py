"""Rows of Coinbase's answers and messages: products, books, trades, candles, orders, fills and accounts."""

from collections.abc import Sequence
from decimal import Decimal
from uuid import UUID, uuid5

from market.instruments.orders import Side
from market.money import text_of
from market.time_units import MICROSECONDS
from simulators.coinbase.endpoints import Row
from simulators.market.traded_day import DayFigures
from simulators.matching.candles import Candle
from simulators.matching.engine import MatchingBook
from simulators.matching.funded_account import average_price, charged_fee, executed_cost
from simulators.matching.listings import Listing
from simulators.matching.order_records import PublicTrade, SimulatedFill, SimulatedOrder
from simulators.web.exchange_gateway import Change, best_texts, iso_text

IDS = UUID("3c1d0d7e-52b7-4d5a-9a41-7f0c6e5d2b18")
"""Namespace of the exchange's UUIDs."""
USER_ID, PORTFOLIO_ID = str(uuid5(IDS, "user")), str(uuid5(IDS, "portfolio"))
FIAT = ("USD", "EUR", "GBP")
LARGEST_BASE, LARGEST_QUOTE = "3400", "150000000"
_AVERAGE_STEP = Decimal("0.0000000000000001")
_SIDES: tuple[tuple[str, Side], ...] = (("bids", "buy"), ("asks", "sell"))
_WORDS: dict[Side, str] = {"buy": "bid", "sell": "offer"}


def product_row(listing: Listing, figures: DayFigures | None) -> Row:
    market, is_online = listing.market, listing.status == "online"
    return {
        "product_id": listing.market_id,
        "price": "" if figures is None else text_of(figures.last.price),
        "price_percentage_change_24h": "" if figures is None else _percent(figures),
        "volume_24h": "0" if figures is None else text_of(figures.volume),
        "volume_percentage_change_24h": "",
        "base_increment": text_of(market.lot_step),
        "quote_increment": text_of(market.tick_size),
        "price_increment": text_of(market.tick_size),
        "quote_min_size": text_of(market.minimum_notional),
        "quote_max_size": LARGEST_QUOTE,
        "base_min_size": text_of(market.minimum_amount),
        "base_max_size": LARGEST_BASE,
        **{"base_name": market.base, "quote_name": market.quote_currency},
        **{"base_currency_id": listing.market_id.split("-")[0], "quote_currency_id": market.quote_currency},
        **{"base_display_symbol": market.base, "quote_display_symbol": market.quote_currency},
        "status": "online" if is_online else listing.status,
        "cancel_only": listing.status == "cancel_only",
        "trading_disabled": listing.status not in ("online", "cancel_only"),
        **dict.fromkeys(
            ("watched", "is_disabled", "new", "limit_only", "post_only", "auction_mode", "view_only"), False
        ),
        "product_type": "SPOT",
        "product_venue": "CBE",
        **{"alias": "", "alias_to": [], "display_name": listing.market_id, "mid_market_price": ""},
        "fcm_trading_session_details": None,
        "approximate_quote_24h_volume": "0" if figures is None else text_of(_quote_volume(figures)),
    }


def _percent(figures: DayFigures) -> str:
    return text_of(((figures.last.price - figures.open) * 100 / figures.open).quantize(_AVERAGE_STEP))


def _quote_volume(figures: DayFigures) -> Decimal:
    return (figures.average * figures.volume).quantize(Decimal("0.01"))


def book_row(listing: Listing, book: MatchingBook, depth: int, now: int) -> Row:
    """Return a price book; `now` in microseconds."""
    sides = {
        name: [
            {"price": listing.price_text(ticks), "size": listing.amount_text(lots)}
            for ticks, lots in book.levels(side, depth)
        ]
        for name, side in _SIDES
    }
    return {"product_id": listing.market_id, **sides, "time": iso_text(now)}


def level_rows(listing: Listing, changes: Sequence[Change], event_time: str) -> list[Row]:
    """Return rows of a message about the book; a level that is gone has no amount."""
    return [
        {
            "side": _WORDS[side],
            "event_time": event_time,
            "price_level": listing.price_text(ticks),
            "new_quantity": listing.amount_text(lots) if lots else "0",
        }
        for side, ticks, lots in changes
    ]


def trade_row(trade: PublicTrade, listing: Listing) -> Row:
    return {
        "trade_id": str(trade.number),
        "product_id": listing.market_id,
        "price": text_of(trade.price),
        "size": text_of(trade.amount),
        "time": iso_text(trade.traded_at),
        "side": trade.side.upper(),
    }


def candle_row(candle: Candle) -> Row:
    prices = {name: text_of(getattr(candle, name)) for name in ("low", "high", "open", "close")}
    return {"start": str(candle.began // MICROSECONDS), **prices, "volume": text_of(candle.volume)}


def ticker_row(listing: Listing, book: MatchingBook, figures: DayFigures) -> Row:
    """Return a row of the channel `ticker`."""
    bid, ask = best_texts(listing, book)
    sizes = [lots for side in ("buy", "sell") for _, lots in book.levels("buy" if side == "buy" else "sell", 1)]
    bid_lots, ask_lots = sizes if len(sizes) == len(_SIDES) else (0, 0)
    return {
        "type": "ticker",
        "product_id": listing.market_id,
        "price": text_of(figures.last.price),
        "volume_24_h": text_of(figures.volume),
        **{"low_24_h": text_of(figures.low), "high_24_h": text_of(figures.high)},
        # the simulated market is never older than its trades
        **{"low_52_w": text_of(figures.low), "high_52_w": text_of(figures.high)},
        "price_percent_chg_24_h": _percent(figures),
        **{"best_bid": bid, "best_bid_quantity": listing.amount_text(bid_lots)},
        **{"best_ask": ask, "best_ask_quantity": listing.amount_text(ask_lots)},
    }


def status_of(order: SimulatedOrder) -> str:
    if order.state == "open":
        return "OPEN"
    return "FILLED" if order.state == "done" else "CANCELLED"


def configuration_of(order: SimulatedOrder, *, is_maker: bool = False) -> Row:
    """Return size and price under the name of the order's kind."""
    size: Row = {"base_size": text_of(order.amount)}
    if order.price is None:
        return {"market_market_ioc": size}
    size["limit_price"] = text_of(order.price)
    if order.immediate:
        return {"limit_limit_fok" if order.whole else "sor_limit_ioc": size}
    return {"limit_limit_gtc": {**size, "post_only": is_maker}}


def _lifetime_of(order: SimulatedOrder) -> str:
    if not order.immediate:
        return "GOOD_UNTIL_CANCELLED"
    return "FILL_OR_KILL" if order.whole else "IMMEDIATE_OR_CANCEL"


def order_row(order: SimulatedOrder, fills: Sequence[SimulatedFill], listing: Listing) -> Row:
    fee, cost = charged_fee(fills), executed_cost(fills)
    return {
        "order_id": order.order_id,
        "product_id": listing.market_id,
        "user_id": USER_ID,
        "order_configuration": configuration_of(order),
        "side": order.side.upper(),
        "client_order_id": order.client_order_id or "",
        "status": status_of(order),
        "time_in_force": _lifetime_of(order),
        "created_time": iso_text(order.placed_at),
        "completion_percentage": text_of((order.filled * 100 / order.amount).quantize(Decimal("0.01"))),
        "filled_size": text_of(order.filled),
        "average_filled_price": text_of(average_price(fills).quantize(_AVERAGE_STEP)) if fills else "0",
        "fee": "",
        "number_of_fills": str(len(fills)),
        "filled_value": text_of(cost),
        "pending_cancel": False,
        "size_in_quote": False,
        "total_fees": text_of(fee),
        "size_inclusive_of_fees": False,
        "total_value_after_fees": text_of(cost + fee if order.side == "buy" else cost - fee),
        "trigger_status": "INVALID_ORDER_TYPE",
        "order_type": "MARKET" if order.price is None else "LIMIT",
        "reject_reason": "REJECT_REASON_UNSPECIFIED",
        "settled": order.state != "open",
        "product_type": "SPOT",
        **{"reject_message": "", "cancel_message": "User requested cancel" if order.state == "cancelled" else ""},
        "order_placement_source": "RETAIL_ADVANCED",
        "outstanding_hold_amount": "0",
        "is_liquidation": False,
        "last_fill_time": iso_text(fills[-1].filled_at) if fills else None,
        **{"leverage": "", "margin_type": "UNKNOWN_MARGIN_TYPE", "retail_portfolio_id": PORTFOLIO_ID},
        **{"originating_order_id": "", "attached_order_id": "", "attached_order_configuration": None},
    }


def streamed_order(order: SimulatedOrder, fills: Sequence[SimulatedFill], listing: Listing) -> Row:
    """Return a row of the channel `user`."""
    row = order_row(order, fills, listing)
    same = ("order_id", "client_order_id", "product_id", "status", "total_fees", "filled_value", "time_in_force")
    return {
        **{
            name: row[name]
            for name in (*same, "number_of_fills", "product_type", "trigger_status", "retail_portfolio_id")
        },
        "cumulative_quantity": row["filled_size"],
        "leaves_quantity": text_of(order.remaining if order.state == "open" else Decimal(0)),
        "avg_price": row["average_filled_price"],
        "creation_time": row["created_time"],
        "order_side": row["side"],
        "order_type": "Market" if order.price is None else "Limit",
        "limit_price": "" if order.price is None else text_of(order.price),
        **dict.fromkeys(("cancel_reason", "reject_Reason", "stop_price", "end_time", "start_time"), ""),
        "post_only": "false",
    }


def fill_row(fill: SimulatedFill, listing: Listing) -> Row:
    return {
        "entry_id": str(uuid5(IDS, f"fill:{fill.number}")),
        "trade_id": fill.fill_id,
        "order_id": fill.order_id,
        "trade_time": iso_text(fill.filled_at),
        "trade_type": "FILL",
        "price": text_of(fill.price),
        "size": text_of(fill.amount),
        "commission": text_of(fill.fee),
        "product_id": listing.market_id,
        "sequence_timestamp": iso_text(fill.filled_at),
        "liquidity_indicator": fill.liquidity.upper(),
        "size_in_quote": False,
        "user_id": USER_ID,
        "side": fill.side.upper(),
        "retail_portfolio_id": PORTFOLIO_ID,
        "fillSource": "FILL_SOURCE_CLOB",
    }


def account_row(currency: str, total: Decimal, held: Decimal, opened_at: int) -> Row:
    code = "CGLD" if currency == "CELO" else currency
    opened = iso_text(opened_at)
    return {
        "uuid": str(uuid5(IDS, f"account:{currency}")),
        "name": f"{code} Wallet",
        "currency": code,
        "available_balance": {"value": text_of(total - held), "currency": code},
        "default": True,
        "active": True,
        **{"created_at": opened, "updated_at": opened, "deleted_at": None},
        "type": "ACCOUNT_TYPE_FIAT" if currency in FIAT else "ACCOUNT_TYPE_CRYPTO",
        "ready": True,
        "hold": {"value": text_of(held), "currency": code},
        "retail_portfolio_id": PORTFOLIO_ID,
        "platform": "ACCOUNT_PLATFORM_CONSUMER",
    }
