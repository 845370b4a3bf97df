"""Rows of Bitstamp's REST answers."""

from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal

from market.money import ZERO
from market.time_units import MICROSECONDS
from simulators.market.traded_day import DayFigures
from simulators.matching.candles import Candle
from simulators.matching.engine import MatchingBook
from simulators.matching.listings import Listing, decimals_of, fixed_text
from simulators.matching.order_records import PublicTrade, SimulatedFill, SimulatedOrder
from simulators.web.exchange_gateway import best_texts, iso_text

_STATES = {"open": "Open", "done": "Finished", "cancelled": "Canceled"}
_FIRST_TRADE = 400_000_000


def trade_id(number: int) -> int:
    """Return the id of a public trade, and of the account's fill in it."""
    return _FIRST_TRADE + number


def market_row(listing: Listing) -> dict[str, object]:
    market = listing.market
    return {
        "name": market.symbol,
        "market_symbol": listing.market_id,
        "base_currency": market.base,
        "counter_currency": market.quote_currency,
        "base_decimals": decimals_of(market.lot_step),
        "counter_decimals": listing.price_decimals,
        "minimum_order_value": format(market.minimum_notional, "f"),
        "maximum_order_value": "30000000.00",
        "minimum_order_amount": format(market.minimum_amount, "f"),
        "trading": "Enabled",
        "instant_order_counter_decimals": 2,
        "instant_and_market_orders": "Enabled",
        "market_type": "SPOT",
        "description": f"{market.base} / {market.quote_currency}",
    }


def pair_row(listing: Listing) -> dict[str, object]:
    """Return a row of trading-pairs-info, which says the same as /markets/ under other names."""
    market, row = listing.market, market_row(listing)
    taken = ("name", "base_decimals", "counter_decimals", "trading", "instant_and_market_orders", "description")
    return {
        **{name: row[name] for name in (*taken, "instant_order_counter_decimals")},
        "url_symbol": listing.market_id,
        "minimum_order": f"{market.minimum_notional:f} {market.quote_currency}",
    }


def candle_row(candle: Candle, listing: Listing) -> dict[str, object]:
    prices = {"open": candle.open, "high": candle.high, "low": candle.low, "close": candle.close}
    return {
        "timestamp": str(candle.began // MICROSECONDS),
        **{name: fixed_text(price, listing.price_decimals) for name, price in prices.items()},
        "volume": fixed_text(candle.volume, 8),
    }


def ticker_row(listing: Listing, book: MatchingBook, figures: DayFigures | None, now: int) -> dict[str, object]:
    """Return the ticker. `now` in microseconds; before the first trade of a day, prices are the best bid."""
    bid, ask = best_texts(listing, book)
    row = {"timestamp": str(now // MICROSECONDS), "bid": bid, "ask": ask, "pair": listing.market.symbol}
    if figures is None:
        flat = dict.fromkeys(("last", "open", "open_24", "high", "low", "vwap"), bid)
        return {**row, **flat, "volume": "0", "percent_change_24": "0.00"}
    last = figures.last
    prices = {"last": last.price, "open": figures.open, "high": figures.high, "low": figures.low}
    texts = {name: fixed_text(price, listing.price_decimals) for name, price in prices.items()}
    change = (last.price - figures.open) * 100 / figures.open
    return {
        **row,
        **texts,
        "open_24": texts["open"],
        "vwap": format(round(figures.average, listing.price_decimals), "f"),
        "volume": fixed_text(figures.volume, 8),
        "percent_change_24": format(round(change, 2), "f"),
        "side": _kind(last.side),
    }


def trade_row(trade: PublicTrade) -> dict[str, object]:
    """Return the trade; `type` is the taker's side."""
    return {
        "date": str(trade.traded_at // MICROSECONDS),
        "tid": str(trade_id(trade.number)),
        "amount": fixed_text(trade.amount, 8),
        "type": _kind(trade.side),
        "price": format(trade.price, "f"),
    }


def order_row(order: SimulatedOrder, listing: Listing) -> dict[str, object]:
    """Return the order; the price of a market order is zero."""
    row: dict[str, object] = {
        "id": order.order_id,
        "market": order.symbol,
        "datetime": _datetime(order.placed_at),
        "type": _kind(order.side),
        "price": "0" if order.price is None else fixed_text(order.price, listing.price_decimals),
        "amount": fixed_text(order.amount, 8),
    }
    if order.client_order_id:
        row["client_order_id"] = order.client_order_id
    return row


def open_order_row(order: SimulatedOrder, listing: Listing) -> dict[str, object]:
    amounts = {"amount": fixed_text(order.remaining, 8), "amount_at_create": fixed_text(order.amount, 8)}
    return {**order_row(order, listing), **amounts, "currency_pair": order.symbol}


def cancelled_row(order: SimulatedOrder, listing: Listing) -> dict[str, object]:
    row = {**order_row(order, listing), "amount": fixed_text(order.remaining, 8), "status": "Canceled"}
    return {**row, "id": int(order.order_id), "type": int(_kind(order.side))}


def status_row(order: SimulatedOrder, fills: Sequence[SimulatedFill], listing: Listing) -> dict[str, object]:
    """Return the state and all fills."""
    row: dict[str, object] = {
        "status": _STATES[order.state],
        "id": int(order.order_id),
        "market": order.symbol,
        "datetime": _datetime(order.placed_at),
        "type": _kind(order.side),
        "subtype": "MARKET" if order.price is None else "LIMIT",
        "amount_remaining": fixed_text(order.remaining, 8),
        "transactions": [_fill_row(fill, listing) for fill in fills],
    }
    if order.client_order_id:
        row["client_order_id"] = order.client_order_id
    return row


def balance_row(
    balances: Mapping[str, Decimal], held: Mapping[str, Decimal], names: Collection[str]
) -> dict[str, object]:
    """Return the old form of balances: three fields for each currency."""
    row: dict[str, object] = {}
    for name in names:
        total, reserved = balances.get(name, ZERO), held.get(name, ZERO)
        texts = {"balance": total, "available": total - reserved, "reserved": reserved}
        row |= {f"{name.lower()}_{kind}": fixed_text(amount, 8) for kind, amount in texts.items()}
    return row


def old_fees(listings: Sequence[Listing], *, is_one: bool) -> dict[str, object]:
    """Return the taker's fee in percent: of one market under `fee`, of several under their names."""
    return {
        "fee" if is_one else f"{listing.market_id}_fee": fixed_text(listing.taker_rate * 100, 3) for listing in listings
    }


def transaction_row(fill: SimulatedFill, listing: Listing) -> dict[str, object]:
    """Return a row of the account's ledger; amounts are signed, positive if they were received."""
    base, quote = _names(listing)
    sign = 1 if fill.side == "buy" else -1
    return {
        "id": int(fill.fill_id),
        "datetime": _datetime(fill.filled_at),
        "type": "2",
        "order_id": int(fill.order_id),
        "fee": fixed_text(fill.fee, decimals_of(listing.fee_step)),
        base: fixed_text(sign * fill.amount, 8),
        quote: fixed_text(-sign * fill.cost, decimals_of(listing.cost_step)),
        f"{base}_{quote}": fixed_text(fill.price, listing.price_decimals),
    }


def _fill_row(fill: SimulatedFill, listing: Listing) -> dict[str, object]:
    base, quote = _names(listing)
    return {
        "tid": int(fill.fill_id),
        "price": fixed_text(fill.price, 8),
        base: fixed_text(fill.amount, 8),
        quote: fixed_text(fill.cost, 8),
        "fee": fixed_text(fill.fee, 8),
        "datetime": _datetime(fill.filled_at),
        "type": 2,
    }


def _kind(side: str) -> str:
    return "0" if side == "buy" else "1"


def _datetime(time: int) -> str:
    return iso_text(time, " ", "")


def _names(listing: Listing) -> tuple[str, str]:
    return listing.market.base.lower(), listing.market.quote_currency.lower()
