"""Rows of Kraken's REST answers, with its own names for assets, pairs, orders and trades."""

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal

from exchanges.kraken.symbols import kraken_asset, kraken_name, kraken_pair
from exchanges.simulated_markets import simulated_bases
from market.instruments.markets import codes_in
from market.instruments.orders import Side
from market.time_units import MICROSECONDS
from simulators.catalogue import terms_of
from simulators.exchange_terms import Tier
from simulators.matching.account_ledger import LedgerChange
from simulators.matching.candles import Candle
from simulators.matching.funded_account import average_price, charged_fee, executed_cost
from simulators.matching.listings import Listing, decimals_of, fixed_text
from simulators.matching.order_records import PublicTrade, SimulatedFill, SimulatedOrder

_CURRENCY_DECIMALS = {"USD": 4, "EUR": 4, "JPY": 2, "USDT": 8}
_COIN_DECIMALS = 10
LOT_DECIMALS = 8
_STATES = {"open": "open", "done": "closed", "cancelled": "canceled"}
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_PRICE_DECIMALS = 5
_COST_DECIMALS = 5


def transaction_name(kind: str, number: int, micros: int) -> str:
    """Return an id such as OQCLML-BW3P3-BUCMWZ: nineteen characters, of which sixteen count the number and its time."""
    value = (micros << 24) | (number & 0xFFFFFF)
    letters = ""
    for _ in range(16):
        value, digit = divmod(value, 32)
        letters = _LETTERS[digit] + letters
    return f"{kind}{letters[:5]}-{letters[5:10]}-{letters[10:]}"


def ledger_text(currency: str, amount: Decimal) -> str:
    return fixed_text(amount, _decimals(currency))


def asset_rows() -> dict[str, dict[str, object]]:
    return {
        kraken_asset(currency): {
            "aclass": "currency",
            "altname": kraken_name(currency),
            "decimals": _decimals(currency),
            "display_decimals": 2 if currency in _CURRENCY_DECIMALS else 5,
            "status": "enabled",
        }
        for currency in (*simulated_bases(), *_CURRENCY_DECIMALS)
    }


def _decimals(currency: str) -> int:
    return _CURRENCY_DECIMALS.get(currency, _COIN_DECIMALS)


def altname(listing: Listing) -> str:
    return kraken_pair(listing.market)


def wsname(listing: Listing) -> str:
    return "/".join(map(kraken_name, codes_in(listing.market.symbol)))


def pair_row(listing: Listing) -> dict[str, object]:
    market = listing.market
    tiers = terms_of(market.exchange).tiers
    return {
        "altname": altname(listing),
        "wsname": wsname(listing),
        "aclass_base": "currency",
        "base": kraken_asset(market.base),
        "aclass_quote": "currency",
        "quote": kraken_asset(market.quote_currency),
        "lot": "unit",
        "cost_decimals": 5,
        "pair_decimals": listing.price_decimals,
        "lot_decimals": LOT_DECIMALS,
        "lot_multiplier": 1,
        "leverage_buy": [],
        "leverage_sell": [],
        "fees": [[int(tier.volume), float(tier.taker * 100)] for tier in tiers],
        "fees_maker": [[int(tier.volume), float(tier.maker * 100)] for tier in tiers],
        "fee_volume_currency": "ZUSD",
        "margin_call": 80,
        "margin_stop": 40,
        "ordermin": format(market.minimum_amount, "f"),
        "costmin": format(market.minimum_notional, "f"),
        "tick_size": format(market.tick_size, "f"),
        "status": listing.status,
    }


def fee_rows(exchange: str, volume: Decimal) -> dict[str, dict[str, str | None]]:
    """Return `fees` and `fees_maker` of any pair for an account of that 30-day volume, in percent."""
    tiers = terms_of(exchange).tiers
    place = max(number for number, tier in enumerate(tiers) if tier.volume <= volume)
    following = tiers[place + 1] if place + 1 < len(tiers) else None
    rows = {}
    for name, rates in (("fees", [tier.taker for tier in tiers]), ("fees_maker", [tier.maker for tier in tiers])):
        rows[name] = {
            "fee": _percent(rates[place]),
            "minfee": _percent(min(rates)),
            "maxfee": _percent(max(rates)),
            "nextfee": None if following is None else _percent(rates[place + 1]),
            "tiervolume": _volume(tiers[place]),
            "nextvolume": None if following is None else _volume(following),
        }
    return rows


def _percent(rate: Decimal) -> str:
    return fixed_text(rate * 100, 4)


def _volume(tier: Tier) -> str:
    return fixed_text(tier.volume, 4)


def is_rising(kind: str, side: Side) -> bool:
    """Return whether a stop order of that kind waits for a higher price."""
    return (kind == "stop-loss") == (side == "buy")


def kind_of(order: SimulatedOrder) -> str:
    if order.trigger is None:
        return "market" if order.price is None else "limit"
    kind = "stop-loss" if is_rising("stop-loss", order.side) == order.trigger.rises else "take-profit"
    return kind if order.price is None else f"{kind}-limit"


def prices_of(order: SimulatedOrder, listing: Listing) -> tuple[str, str]:
    """Return `price` and `price2`: of a stop order what it waits for, and its limit."""
    first, second = (order.price, None) if order.trigger is None else (order.trigger.price, order.price)
    return _price_text(first, listing), _price_text(second, listing)


def edited_terms(order: SimulatedOrder, listing: Listing) -> dict[str, object]:
    """Return an order's own fields, as they were when it was placed."""
    price, second_price = prices_of(order, listing)
    kind = kind_of(order)
    terms: dict[str, object] = {"type": order.side, "ordertype": kind, "volume": str(order.amount)}
    if kind != "market":
        terms["price"] = price
    if order.trigger is not None and order.price is not None:
        terms["price2"] = second_price
    return terms if order.user_reference is None else {**terms, "userref": order.user_reference}


def _price_text(price: Decimal | None, listing: Listing) -> str:
    return "0" if price is None else fixed_text(price, listing.price_decimals)


def description(order: SimulatedOrder, listing: Listing) -> str:
    """Return a description such as `buy 0.01000000 XBTUSD @ limit 30000.0`, or `… @ stop loss 29000.0 -> limit
    28900.0`."""
    first, second = prices_of(order, listing)
    kind = kind_of(order).removesuffix("-limit").replace("-", " ")
    text = f"{order.side} {fixed_text(order.amount, 8)} {altname(listing)} @ {kind}"
    if kind == "market":
        return text
    limit = f" -> limit {second}" if order.trigger is not None and order.price is not None else ""
    return f"{text} {first}{limit}"


def order_row(
    order: SimulatedOrder, fills: Sequence[SimulatedFill], listing: Listing, *, with_trades: bool
) -> dict[str, object]:
    row: dict[str, object] = {
        "refid": None,
        "userref": order.user_reference,
        "status": "expired" if order.is_expired else _STATES[order.state],
        "opentm": order.placed_at / MICROSECONDS,
        "starttm": 0,
        "expiretm": (order.expires_at or 0) // MICROSECONDS,
        "descr": _terms(order, listing),
        "vol": fixed_text(order.amount, 8),
        "vol_exec": fixed_text(order.filled, 8),
        "cost": cost_text(executed_cost(fills), listing),
        "fee": cost_text(charged_fee(fills), listing),
        "price": price_text(average_price(fills), listing),
        "stopprice": "0.00000",
        "limitprice": "0.00000",
        "misc": "",
        "oflags": "fciq",
    }
    if with_trades and fills:
        row["trades"] = [fill.fill_id for fill in fills]
    if order.client_order_id:
        row["cl_ord_id"] = order.client_order_id
    if order.trigger is not None:
        row["trigger"] = "last"
    if order.ended_at is not None:
        row["closetm"] = order.ended_at / MICROSECONDS
        row["reason"] = cancel_reason(order)
    return row


def _terms(order: SimulatedOrder, listing: Listing) -> dict[str, str]:
    price, second_price = prices_of(order, listing)
    return {
        "pair": altname(listing),
        "type": order.side,
        "ordertype": kind_of(order),
        "price": price,
        "price2": second_price,
        "leverage": "none",
        "order": description(order, listing),
        "close": "",
    }


def cancel_reason(order: SimulatedOrder) -> str | None:
    """Return the reason: the remainder of an immediate order is cancelled without one; a resting order was cancelled by
    its owner."""
    if order.is_expired:
        return "Order expired"
    return "User requested" if order.state == "cancelled" and not order.is_cut_short else None


def trade_row(fill: SimulatedFill, order: SimulatedOrder, listing: Listing) -> dict[str, object]:
    return {
        "ordertxid": fill.order_id,
        "postxid": "TKH2SE-M7IF5-CFI7LT",
        "pair": listing.market_id,
        "time": fill.filled_at / MICROSECONDS,
        "type": fill.side,
        "ordertype": kind_of(order),
        "price": price_text(fill.price, listing),
        "cost": cost_text(fill.cost, listing),
        "fee": cost_text(fill.fee, listing),
        "vol": fixed_text(fill.amount, 8),
        "margin": "0.00000",
        "leverage": "0",
        "misc": "",
        "trade_id": fill.number,
        "maker": fill.liquidity == "maker",
    }


def cost_text(cost: Decimal, listing: Listing) -> str:
    """Return a cost or a fee: five decimals, more if the pair has more."""
    return fixed_text(cost, max(_COST_DECIMALS, decimals_of(listing.cost_step)))


def price_step(listing: Listing) -> Decimal:
    """Return the step of a traded or an average price: five decimals, more if the pair has more."""
    return Decimal(1).scaleb(-max(_PRICE_DECIMALS, listing.price_decimals))


def price_text(price: Decimal, listing: Listing) -> str:
    step = price_step(listing)
    return fixed_text(price.quantize(step), decimals_of(step))


def public_trade_row(trade: PublicTrade, listing: Listing) -> list[object]:
    """Return [price, amount, seconds, b or s, m or l, misc, id]; the crowd takes at the market."""
    price, amount = fixed_text(trade.price, listing.price_decimals), fixed_text(trade.amount, 8)
    return [price, amount, trade.traded_at / MICROSECONDS, trade.side[0], "m", "", trade.number]


def candle_row(candle: Candle, listing: Listing) -> list[object]:
    """Return [seconds, open, high, low, close, average, volume, trades]."""
    prices = (candle.open, candle.high, candle.low, candle.close, candle_average(candle, listing))
    texts = [fixed_text(price, listing.price_decimals) for price in prices]
    return [candle.began // MICROSECONDS, *texts, fixed_text(candle.volume, 8), candle.count]


def candle_average(candle: Candle, listing: Listing) -> Decimal:
    return candle.average.quantize(listing.market.tick_size, rounding=ROUND_HALF_UP)


def ledger_row(row: LedgerChange) -> tuple[str, dict[str, object]]:
    """Return its id, and the row."""
    name = transaction_name("L", row.number, row.at)
    return name, {
        "aclass": "currency",
        "amount": ledger_text(row.currency, row.amount),
        "asset": kraken_asset(row.currency),
        "balance": ledger_text(row.currency, row.balance),
        "fee": ledger_text(row.currency, row.fee),
        "refid": _reference(row),
        "subtype": "",
        "time": row.at / MICROSECONDS,
        "type": ledger_kind(row),
    }


def _reference(row: LedgerChange) -> str:
    """Return the id that the lists of trades, deposits or withdrawals have for it."""
    if row.fill is not None:
        return row.fill.fill_id
    return row.withdrawal_id if row.deposit_number is None else deposit_name(row.deposit_number, row.at)


def deposit_name(number: int, micros: int) -> str:
    return transaction_name("Q", number, micros)


def ledger_kind(row: LedgerChange) -> str:
    if row.fill is not None:
        return "trade"
    return "withdrawal" if row.is_withdrawal else "deposit"
