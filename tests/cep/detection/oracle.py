"""What must come out of the log, by a plain loop over its rows: independent of Spark and of `cep`."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from market.instruments.markets import Market, fx_route
from session.session import Session
from streams.message_format import row_of

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Spread:
    """One ordered pair at one row: everything an opportunity says, as doubles and strings of the log."""

    base: str
    offset: int
    event_time: int
    buy: Market
    sell: Market
    buy_quote: Row
    sell_quote: Row
    fx: tuple[Row, ...]
    ages: tuple[int, int]
    settings: Row
    gross_bps: float
    fee_bps: float
    net_bps: float
    expected_profit: float

    @property
    def opportunity_id(self) -> str:
        quotes = [self.buy_quote, self.sell_quote, *self.fx]
        return hashlib.sha256("|".join(_quote_id(quote) for quote in quotes).encode()).hexdigest()[:32]


@dataclass(slots=True)
class Known:
    """What one base's log has said so far."""

    quotes: dict[tuple[str, str], Row | None] = field(default_factory=dict)
    seen: dict[tuple[str, str], int] = field(default_factory=dict)
    rates: dict[str, Row | None] = field(default_factory=dict)
    rates_seen: dict[str, int] = field(default_factory=dict)
    settings: Row | None = None


def expected_output(messages: Iterable[bytes], session: Session) -> Iterator[Spread | Row]:
    """Opportunities and markers in the order of the log (list position = offset) and of the session's markets."""
    for offset, base, row, known in _steps(messages):
        if row["kind"] in ("probe", "end"):
            yield {"kind": row["kind"], "base": base, "marker_id": row["marker_id"], "offset": offset}
        for spread in spreads(offset, base, row, known, session):
            if spread.net_bps >= spread.settings["emit_net_bps"]:
                yield spread


def expected_spreads(messages: Iterable[bytes], session: Session) -> Iterator[Spread]:
    """Return the spread of every pair to look at, at every row, whatever it is."""
    for offset, base, row, known in _steps(messages):
        yield from spreads(offset, base, row, known, session)


def _steps(messages: Iterable[bytes]) -> Iterator[tuple[int, str, Row, Known]]:
    logs: dict[str, Known] = {}
    for offset, message in enumerate(messages):
        row = row_of(message)
        for base in row.get("bases") or [row["base"]]:
            known = logs.setdefault(base, Known())
            learn(known, row)
            yield offset, base, row, known


def learn(known: Known, row: Row) -> None:
    kind, received = row["kind"], row["received_time"]
    market = (row.get("exchange", ""), row.get("symbol", ""))
    if kind in ("quote", "withdrawn"):
        known.quotes[market] = row if kind == "quote" else None
    if kind in ("quote", "alive"):
        known.seen[market] = received
    if kind in ("fx", "fx_withdrawn"):
        known.rates[market[1]] = row if kind == "fx" else None
    if kind in ("fx", "fx_alive"):
        known.rates_seen[market[1]] = received
    if kind == "settings":
        known.settings = row


def spreads(offset: int, base: str, row: Row, known: Known, session: Session) -> Iterator[Spread]:
    if row["kind"] not in ("quote", "fx", "settings") or known.settings is None:
        return
    markets = [market for exchange in session.exchanges for market in session.markets_of(exchange) if not market.is_fx]
    mine = [market for market in markets if market.base == base]
    if row["kind"] == "quote" and all((m.exchange, m.symbol) != (row["exchange"], row["symbol"]) for m in mine):
        return
    for buy in mine:
        for sell in mine:
            if buy.exchange == sell.exchange:
                continue
            here = (row.get("exchange"), row.get("symbol"))
            if row["kind"] == "quote" and here not in ((buy.exchange, buy.symbol), (sell.exchange, sell.symbol)):
                continue
            spread = _spread(offset, base, row, known, session, (buy, sell))
            if spread is not None:
                yield spread


def _spread(
    offset: int, base: str, row: Row, known: Known, session: Session, pair: tuple[Market, Market]
) -> Spread | None:
    settings, now = known.settings, row["received_time"]
    assert settings is not None
    legs = [_leg(market, known, settings, session, now) for market in pair]
    if legs[0] is None or legs[1] is None:
        return None
    (buy_quote, buy_rate, inverted, buy_age), (sell_quote, sell_rate, sell_inverted, sell_age) = legs[0], legs[1]
    buy_price, sell_price = float(buy_quote["ask"]), float(sell_quote["bid"])
    if buy_rate is not None:
        buy_price = buy_price / float(buy_rate["bid"]) if inverted else buy_price * float(buy_rate["ask"])
    if sell_rate is not None:
        sell_price = sell_price / float(sell_rate["ask"]) if sell_inverted else sell_price * float(sell_rate["bid"])
    buy_fee, sell_fee = (float(settings["taker_fees"][market.exchange]) for market in pair)
    gross = (sell_price - buy_price) * 10000.0 / buy_price
    fee = (buy_price * buy_fee + sell_price * sell_fee) * 10000.0 / buy_price
    amount = min(float(buy_quote["ask_amount"]), float(sell_quote["bid_amount"]))
    return Spread(
        base=base,
        offset=offset,
        event_time=now,
        buy=pair[0],
        sell=pair[1],
        buy_quote=buy_quote,
        sell_quote=sell_quote,
        fx=tuple(rate for rate in (buy_rate, sell_rate) if rate is not None),
        ages=(buy_age, sell_age),
        settings=settings,
        gross_bps=gross,
        fee_bps=fee,
        net_bps=gross - fee,
        expected_profit=(sell_price - buy_price - (buy_price * buy_fee + sell_price * sell_fee)) * amount,
    )


def _leg(
    market: Market, known: Known, settings: Row, session: Session, now: int
) -> tuple[Row, Row | None, bool, int] | None:
    """Quote, rate, whether that is inverted, age; None if the quote does not count."""
    place = (market.exchange, market.symbol)
    quote = known.quotes.get(place)
    oldest = settings["max_quote_age"]
    if quote is None or market.exchange not in settings["enabled_exchanges"] or now - known.seen[place] > oldest:
        return None
    route = fx_route(market.quote_currency, session.settlement_currency, session.markets)
    if route is None:
        return quote, None, False, now - known.seen[place]
    rate = known.rates.get(route.symbol)
    if rate is None or now - known.rates_seen[route.symbol] > oldest:
        return None
    return quote, rate, route.inverted, now - known.seen[place]


def as_written(spread: Spread, currency: str = "USD") -> Row:
    """Return the message that `cep` must write for an opportunity, field by field; settled in `currency`."""
    fx = [_rate(rate, market, currency) for rate, market in _rates(spread, currency)]
    return {
        "kind": "opportunity",
        "opportunity_id": spread.opportunity_id,
        "base": spread.base,
        "buy": _written_leg(spread.buy, spread.buy_quote, "ask", spread.ages[0]),
        "sell": _written_leg(spread.sell, spread.sell_quote, "bid", spread.ages[1]),
        "fx": [rate for number, rate in enumerate(fx) if rate not in fx[:number]],
        "settings_version": spread.settings["settings_version"],
        "gross_bps": spread.gross_bps,
        "fee_bps": spread.fee_bps,
        "net_bps": spread.net_bps,
        "expected_profit": spread.expected_profit,
        "currency": currency,
        "event_time": spread.event_time,
        "expires_at": spread.event_time + spread.settings["opportunity_lifetime"],
        "offset": spread.offset,
    }


def written(message: str | bytes) -> Row:
    row: Row = json.loads(message)
    return row


def _rates(spread: Spread, currency: str) -> list[tuple[Row, Market]]:
    converted = [market for market in (spread.buy, spread.sell) if market.quote_currency != currency]
    return list(zip(spread.fx, converted, strict=True))


def _rate(rate: Row, market: Market, currency: str) -> Row:
    return {
        "currency": market.quote_currency,
        "symbol": rate["symbol"],
        "inverted": rate["symbol"].startswith(f"{currency}/"),
        "bid": rate["bid"],
        "ask": rate["ask"],
        "quote_id": _quote_id(rate),
    }


def _written_leg(market: Market, quote: Row, side: str, age: int) -> Row:
    reported = {} if quote.get("exchange_time") is None else {"exchange_time": quote["exchange_time"]}
    return reported | {
        "exchange": market.exchange,
        "symbol": market.symbol,
        "quote_currency": market.quote_currency,
        "price": quote[side],
        "amount": quote[f"{side}_amount"],
        "levels": quote[f"{side}s"],
        "quote_id": _quote_id(quote),
        "age": age,
        "received_time": quote["received_time"],
    }


def _quote_id(quote: Row) -> str:
    return f"{quote['exchange']}:{quote['symbol']}:{quote['sequence']}"
