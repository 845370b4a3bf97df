"""Rows of Coinbase Exchange's REST answers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from uuid import UUID, uuid5

from market.instruments.orders import opposite
from market.money import ZERO
from market.time_units import MICROSECONDS
from simulators.matching.account_ledger import LedgerChange
from simulators.matching.candles import Candle
from simulators.matching.engine import BookOrder, MatchingBook
from simulators.matching.funded_account import charged_fee, executed_cost
from simulators.matching.listings import Listing, fixed_text
from simulators.matching.order_records import PublicTrade, SelfTrade, SimulatedFill, SimulatedOrder, Trigger
from simulators.matching.venue import MAKER
from simulators.web.exchange_gateway import BOOK_SIDES, iso_text
from simulators.web.json_digits import exact, plain

IDS = UUID("6f1f4f0e-3d7c-4b52-9a55-6f2c1f6b7a10")
"""Namespace of the exchange's UUIDs; house orders, accounts and the profile have one too."""
PROFILE_ID = str(uuid5(IDS, "profile"))
USER_ID = uuid5(IDS, "user").hex[:24]
SELF_TRADES: Mapping[str, SelfTrade] = {"dc": "smaller", "co": "maker", "cn": "taker", "cb": "both"}
DEFAULT_STP = "dc"
"""https://docs.cdp.coinbase.com/exchange/concepts/matching-engine, read in November 2026"""


def order_row(order: SimulatedOrder, fills: Sequence[SimulatedFill], market_id: str) -> dict[str, object]:
    row: dict[str, object] = {
        "id": order.order_id,
        "product_id": market_id,
        "profile_id": PROFILE_ID,
        "side": order.side,
        "stp": next(word for word, manner in SELF_TRADES.items() if manner == order.self_trade),
        "type": "market" if order.price is None else "limit",
        # the part that would have traded with the account itself is taken off an order that goes on
        "size": fixed_text(order.amount - (ZERO if order.is_prevented else order.prevented), 8),
        "post_only": False,
        "created_at": iso_text(order.placed_at),
        "fill_fees": fixed_text(charged_fee(fills), 16),
        "filled_size": fixed_text(order.filled, 8),
        "executed_value": fixed_text(executed_cost(fills), 16),
        "status": status_of(order),
        "settled": order.state != "open",
    }
    if order.price is not None:
        row["price"] = fixed_text(order.price, 8)
        row["time_in_force"] = "FOK" if order.whole else "IOC" if order.immediate else "GTC"
    if order.trigger is not None:
        row |= {"stop": stop_word(order.trigger), "stop_price": fixed_text(order.trigger.price, 8)}
    if order.client_order_id:
        row["client_oid"] = order.client_order_id
    if order.ended_at is not None:
        row["done_at"] = iso_text(order.ended_at)
        row["done_reason"] = "filled" if order.state == "done" else "canceled"
    return row


def book_level_rows(listing: Listing, book: MatchingBook, depth: int) -> dict[str, list[list[object]]]:
    """Return `bids` and `asks` as [price, amount, how many orders], best first."""
    rows: dict[str, list[list[object]]] = {}
    for name, side in BOOK_SIDES:
        orders = Counter(order.ticks for order in book.orders(side))
        rows[name] = [
            [listing.price_text(ticks), listing.amount_text(lots), orders[ticks]]
            for ticks, lots in book.levels(side, depth)
        ]
    return rows


def book_order_rows(listing: Listing, book: MatchingBook) -> dict[str, list[list[object]]]:
    """Return `bids` and `asks` as [price, amount, id of the order], by price, then time."""
    return {
        name: [
            [listing.price_text(order.ticks), listing.amount_text(order.lots), _public_id(order)]
            for order in book.orders(side)
        ]
        for name, side in BOOK_SIDES
    }


def _public_id(order: BookOrder) -> str:
    return str(uuid5(IDS, order.order_id)) if order.owner == MAKER else order.order_id


def pending_row(order: SimulatedOrder, market_id: str) -> dict[str, object]:
    """Return the answer to a new order: the order as requested, because the real exchange answers before matching."""
    row = order_row(order, (), market_id)
    row |= {"status": "pending", "settled": False, "filled_size": fixed_text(Decimal(0), 8)}
    return {name: value for name, value in row.items() if not name.startswith("done")}


def status_of(order: SimulatedOrder) -> str:
    """Return the status; a stop order that waits is active."""
    if order.is_waiting:
        return "active"
    return "open" if order.state == "open" else "done"


def stop_word(trigger: Trigger) -> str:
    return "entry" if trigger.rises else "loss"


def fill_row(fill: SimulatedFill, market_id: str) -> dict[str, object]:
    return {
        "trade_id": fill.number,
        "order_id": fill.order_id,
        "product_id": market_id,
        "user_id": USER_ID,
        "profile_id": PROFILE_ID,
        "side": fill.side,
        "price": fixed_text(fill.price, 8),
        "size": fixed_text(fill.amount, 8),
        "fee": fixed_text(fill.fee, 16),
        "usd_volume": fixed_text(fill.cost, 16),
        "liquidity": "T" if fill.liquidity == "taker" else "M",
        "settled": True,
        "created_at": iso_text(fill.filled_at),
    }


def account_id(currency: str) -> str:
    return str(uuid5(IDS, currency))


def ledger_rows(row: LedgerChange, listings: Mapping[str, Listing]) -> list[dict[str, object]]:
    """Return one row of a deposit; of a fill the match, and its fee if there is one in that currency."""
    fill = row.fill
    if fill is None:
        return [_ledger_row(row, "transfer", row.amount, row.balance, {"transfer_type": "deposit"})]
    details = {
        "order_id": fill.order_id,
        "product_id": listings[fill.symbol].market_id,
        "trade_id": str(fill.number),
    }
    rows = [_ledger_row(row, "match", row.amount, row.balance + row.fee, details)]
    return [*rows, _ledger_row(row, "fee", -row.fee, row.balance, details)] if row.fee else rows


def _ledger_row(
    row: LedgerChange, kind: str, amount: Decimal, balance: Decimal, details: Mapping[str, str]
) -> dict[str, object]:
    return {
        "amount": fixed_text(amount, 16),
        "balance": fixed_text(balance, 16),
        "created_at": iso_text(row.at),
        "type": kind,
        "details": details,
    }


def transfer_row(row: LedgerChange) -> dict[str, object]:
    return {
        "id": str(uuid5(IDS, f"transfer:{row.number}")),
        "type": "deposit",
        "created_at": iso_text(row.at),
        "completed_at": iso_text(row.at),
        "processed_at": iso_text(row.at),
        "canceled_at": None,
        "account_id": account_id(row.currency),
        "user_id": USER_ID,
        "amount": fixed_text(row.amount, 16),
        "currency": row.currency,
        "details": {},
    }


def account_row(currency: str, total: Decimal, held: Decimal) -> dict[str, object]:
    return {
        "id": account_id(currency),
        "currency": currency,
        "balance": fixed_text(total, 16),
        "hold": fixed_text(held, 16),
        "available": fixed_text(total - held, 16),
        "profile_id": PROFILE_ID,
        "trading_enabled": True,
    }


def trade_row(trade: PublicTrade) -> dict[str, object]:
    """Return the trade; `side` is the maker's, as on the stream."""
    return {
        "trade_id": trade.number,
        "side": opposite(trade.side),
        "size": fixed_text(trade.amount, 8),
        "price": fixed_text(trade.price, 8),
        "time": iso_text(trade.traded_at),
    }


def candle_row(candle: Candle, listing: Listing) -> list[object]:
    """Return [seconds, low, high, open, close, volume], as numbers."""
    prices = (candle.low, candle.high, candle.open, candle.close)
    texts = [fixed_text(price, listing.price_decimals) for price in prices]
    return [candle.began // MICROSECONDS, *(exact(text) for text in texts), plain(candle.volume)]


def currency_row(currency: str) -> dict[str, object]:
    is_fiat = currency in ("USD", "EUR", "GBP")
    return {
        "id": currency,
        "name": {"BTC": "Bitcoin", "USD": "United States Dollar"}.get(currency, currency),
        "min_size": "0.01" if is_fiat else "0.00000001",
        "status": "online",
        "message": "",
        "max_precision": "0.01" if is_fiat else "0.00000001",
        "convertible_to": [],
        "details": {"type": "fiat" if is_fiat else "crypto"},
        "default_network": "",
        "supported_networks": [],
        "display_name": currency,
    }


def product_row(listing: Listing) -> dict[str, object]:
    market = listing.market
    return {
        "id": listing.market_id,
        "base_currency": market.base,
        "quote_currency": market.quote_currency,
        "base_min_size": format(market.minimum_amount, "f"),
        "quote_increment": format(market.tick_size, "f"),
        "base_increment": format(market.lot_step, "f"),
        "display_name": f"{market.base}/{market.quote_currency}",
        "min_market_funds": format(market.minimum_notional, "f"),
        "margin_enabled": False,
        "fx_stablecoin": False,
        "max_slippage_percentage": "0.02000000",
        "post_only": False,
        "limit_only": False,
        "cancel_only": False,
        "trading_disabled": False,
        "status": "online",
        "status_message": "",
        "auction_mode": False,
    }
