"""Rows of Kraken's REST answers, with its own names for assets, pairs, orders and trades."""

from collections.abc import Sequence
from decimal import Decimal

from exchanges.simulated.customer import charged_fee, executed_cost
from exchanges.simulated.listings import Listing, fixed_text
from exchanges.simulated.records import CustomerFill, CustomerOrder
from exchanges.simulated.tiers import tiers_of
from market.clock import MICROSECONDS

ASSET_IDS = {"BTC": "XXBT", "USD": "ZUSD", "EUR": "ZEUR", "JPY": "ZJPY"}
_DECIMALS = {"BTC": 10, "USD": 4, "EUR": 4, "JPY": 2}
_ALTNAMES = {"BTC": "XBT"}
_STATES = {"open": "open", "done": "closed", "cancelled": "canceled"}
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


def transaction_name(kind: str, number: int, micros: int) -> str:
    """Such as OQCLML-BW3P3-BUCMWZ: nineteen characters, of which sixteen count the number and its time."""
    value = (micros << 24) | (number & 0xFFFFFF)
    letters = ""
    for _ in range(16):
        value, digit = divmod(value, 32)
        letters = _LETTERS[digit] + letters
    return f"{kind}{letters[:5]}-{letters[5:10]}-{letters[10:]}"


def ledger_text(currency: str, amount: Decimal) -> str:
    return fixed_text(amount, _DECIMALS[currency])


def asset_rows() -> dict[str, object]:
    return {
        asset_id: {
            "aclass": "currency",
            "altname": _ALTNAMES.get(currency, currency),
            "decimals": _DECIMALS[currency],
            "display_decimals": 5 if currency == "BTC" else 2,
            "status": "enabled",
        }
        for currency, asset_id in ASSET_IDS.items()
    }


def pair_row(listing: Listing) -> dict[str, object]:
    market = listing.market
    tiers = tiers_of(market.exchange)
    base, quote = (_ALTNAMES.get(name, name) for name in (market.base, market.quote_currency))
    return {
        "altname": f"{base}{quote}",
        "wsname": f"{base}/{quote}",
        "aclass_base": "currency",
        "base": ASSET_IDS[market.base],
        "aclass_quote": "currency",
        "quote": ASSET_IDS[market.quote_currency],
        "lot": "unit",
        "cost_decimals": 5,
        "pair_decimals": listing.price_decimals,
        "lot_decimals": 8,
        "lot_multiplier": 1,
        "leverage_buy": [],
        "leverage_sell": [],
        "fees": [[int(tier.volume), float(tier.taker * 100)] for tier in tiers],
        "fees_maker": [[int(tier.volume), float(tier.maker * 100)] for tier in tiers],
        "fee_volume_currency": "ZUSD",
        "ordermin": format(market.minimum_amount, "f"),
        "costmin": format(market.minimum_notional, "f"),
        "tick_size": format(market.tick_size, "f"),
        "status": "online",
    }


def order_row(order: CustomerOrder, fills: Sequence[CustomerFill], listing: Listing) -> dict[str, object]:
    cost = executed_cost(fills)
    altname = str(pair_row(listing)["altname"])
    price = "0" if order.price is None else fixed_text(order.price, listing.price_decimals)
    kind = "market" if order.price is None else "limit"
    average = (cost / order.filled).quantize(Decimal("0.00001")) if order.filled else Decimal(0)
    row: dict[str, object] = {
        "refid": None,
        "userref": None,
        "status": _STATES[order.state],
        "opentm": order.placed_at / MICROSECONDS,
        "starttm": 0,
        "expiretm": 0,
        "descr": {
            "pair": altname,
            "type": order.side,
            "ordertype": kind,
            "price": price,
            "price2": "0",
            "leverage": "none",
            "order": f"{order.side} {order.amount:.8f} {altname} @ {kind} {price}",
            "close": "",
        },
        "vol": fixed_text(order.amount, 8),
        "vol_exec": fixed_text(order.filled, 8),
        "cost": fixed_text(cost, 5),
        "fee": fixed_text(charged_fee(fills), 5),
        "price": format(average, "f"),
        "stopprice": "0.00000",
        "limitprice": "0.00000",
        "misc": "",
        "oflags": "fciq",
        "trades": [fill.fill_id for fill in fills],
    }
    if order.client_order_id:
        row["cl_ord_id"] = order.client_order_id
    if order.ended_at is not None:
        row["closetm"] = order.ended_at / MICROSECONDS
        row["reason"] = None if order.state == "done" else "User requested"
    return row


def trade_row(fill: CustomerFill, listing: Listing) -> dict[str, object]:
    return {
        "ordertxid": fill.order_id,
        "postxid": "TKH2SE-M7IF5-CFI7LT",
        "pair": listing.market_id,
        "time": fill.filled_at / MICROSECONDS,
        "type": fill.side,
        "ordertype": "limit",
        "price": fixed_text(fill.price, 5),
        "cost": fixed_text(fill.cost, 5),
        "fee": fixed_text(fill.fee, 5),
        "vol": fixed_text(fill.amount, 8),
        "margin": "0.00000",
        "misc": "",
        "maker": fill.liquidity == "maker",
        "trade_id": fill.number,
    }
