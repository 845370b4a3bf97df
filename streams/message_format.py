"""The schema of all topics, shared by writers and readers. JSON, decimal strings, microseconds.

Rows of `ticks` are flat objects with a `kind`:

* `quote`, `fx`: kind, exchange, region, symbol, base, quote_currency, bid, bid_amount, ask, ask_amount, bids, asks,
  exchange_time, received_time, sequence; `fx` also `bases`. `bids` and `asks` are JSON *strings* holding
  `[["price","amount"],…]`, so that Spark carries them through unparsed.
* `alive`, `withdrawn`, `fx_alive`, `fx_withdrawn`: kind, exchange, region, symbol, base, quote_currency,
  received_time, sequence; the fx ones also `bases`.
* `settings`: kind, bases, settings_version, received_time, emit_net_bps, min_net_bps, max_quote_age,
  opportunity_lifetime (microseconds), enabled_exchanges, taker_fees (exchange → decimal string); and, unless empty,
  asset_thresholds and pair_thresholds (name → bps), disabled_assets.
* `probe`, `end`: kind, base, marker_id, received_time.

`bases` lists the bases of this partition that the row is for.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from math import isfinite
from typing import Any, get_args

import orjson

from market.decide.settings import Settings
from market.money import Amount, Price, decimal_of, text_of
from market.prices.opportunities import FxRate, LogMarker, Opportunity, OpportunityLeg
from market.prices.quotes import FeedMark, Level, MarkKind, Quote
from market.prices.spread_statistics import SpreadWindow

MARK_KINDS: tuple[str, ...] = get_args(MarkKind)


class WireError(ValueError):
    """A message that does not match the schema; reading it again changes nothing."""


def levels_text(levels: Iterable[Level]) -> str:
    # digits need no escapes: joining them makes what a JSON library would, several times as fast
    rows = [f'["{text_of(price)}","{text_of(amount)}"]' for price, amount in levels]
    return f"[{','.join(rows)}]"


def levels_of(text: str) -> tuple[Level, ...]:
    return tuple(Level(Price(decimal_of(price)), Amount(decimal_of(amount))) for price, amount in orjson.loads(text))


@lru_cache(maxsize=256)
def _same_levels(text: str) -> tuple[Level, ...]:
    """Return what `levels_of` does, read once: a quote is in the messages of all cycles that it opens, dozens."""
    return levels_of(text)


def quote_row(quote: Quote, bases: tuple[str, ...] = ()) -> bytes:
    row: dict[str, object] = {
        "kind": quote.kind,
        "exchange": quote.exchange,
        "region": quote.region,
        "symbol": quote.symbol,
        "base": quote.base,
        "quote_currency": quote.quote_currency,
        "bid": text_of(quote.bids[0].price),
        "bid_amount": text_of(quote.bids[0].amount),
        "ask": text_of(quote.asks[0].price),
        "ask_amount": text_of(quote.asks[0].amount),
        "bids": levels_text(quote.bids),
        "asks": levels_text(quote.asks),
        "exchange_time": quote.exchange_time,
        "received_time": quote.received_time,
        "sequence": quote.sequence,
    }
    return _encoded(row, bases)


def mark_row(mark: FeedMark, bases: tuple[str, ...] = ()) -> bytes:
    row: dict[str, object] = {
        "kind": mark.kind,
        "exchange": mark.exchange,
        "region": mark.region,
        "symbol": mark.symbol,
        "base": mark.base,
        "quote_currency": mark.quote_currency,
        "received_time": mark.received_time,
        "sequence": mark.sequence,
    }
    return _encoded(row, bases)


def settings_row(settings: Settings, received_time: int, bases: tuple[str, ...]) -> bytes:
    row: dict[str, object] = {
        "kind": "settings",
        "settings_version": settings.version,
        "received_time": received_time,
        "emit_net_bps": settings.emit_net_bps,
        "min_net_bps": settings.min_net_bps,
        "max_quote_age": settings.max_quote_age_ms * 1_000,
        "opportunity_lifetime": settings.opportunity_lifetime_ms * 1_000,
        "enabled_exchanges": list(settings.enabled_exchanges),
        "taker_fees": {exchange: text_of(rate) for exchange, rate in settings.taker_fees.items()},
    }
    # left out while empty, so that rows are as those of earlier versions
    own = {
        "asset_thresholds": settings.asset_thresholds,
        "pair_thresholds": settings.pair_thresholds,
        "disabled_assets": list(settings.disabled_assets),
    }
    row |= {name: value for name, value in own.items() if value}
    return _encoded(row, bases)


def marker_row(kind: str, base: str, marker_id: str, received_time: int) -> bytes:
    return orjson.dumps({"kind": kind, "base": base, "marker_id": marker_id, "received_time": received_time})


def reject_row(quote: Quote, reason: str) -> bytes:
    row = {
        "exchange": quote.exchange,
        "symbol": quote.symbol,
        "reason": reason,
        "received_time": quote.received_time,
        "bids": levels_text(quote.bids),
        "asks": levels_text(quote.asks),
    }
    return orjson.dumps(row)


def row_of(message: bytes) -> dict[str, Any]:
    """Return a row of any topic, as a mapping. Raises WireError."""
    try:
        row = orjson.loads(message)
    except orjson.JSONDecodeError as error:
        raise WireError(f"not JSON: {error}") from error
    if not isinstance(row, dict):
        raise WireError(f"a row must be an object, not {type(row).__name__}")
    return row


def quote_of(row: Mapping[str, Any]) -> Quote:
    """Return a `quote` or `fx` row. Raises WireError."""
    try:
        return Quote(
            kind=row["kind"],
            exchange=row["exchange"],
            region=row["region"],
            symbol=row["symbol"],
            base=row["base"],
            quote_currency=row["quote_currency"],
            bids=levels_of(row["bids"]),
            asks=levels_of(row["asks"]),
            exchange_time=row.get("exchange_time"),
            received_time=row["received_time"],
            sequence=row["sequence"],
        )
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise WireError(f"not a quote: {error!r}") from error


def mark_of(row: Mapping[str, Any]) -> FeedMark:
    """Return an `alive`, `withdrawn`, `fx_alive` or `fx_withdrawn` row. Raises WireError."""
    try:
        if row["kind"] not in MARK_KINDS:
            raise ValueError(f"no kind of mark: {row['kind']!r}")
        return FeedMark(
            kind=row["kind"],
            exchange=row["exchange"],
            region=row["region"],
            symbol=row["symbol"],
            base=row["base"],
            quote_currency=row["quote_currency"],
            received_time=int(row["received_time"]),
            sequence=int(row["sequence"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise WireError(f"not a mark: {error!r}") from error


def opportunity_of(row: Mapping[str, Any], detected_time: int, *, with_levels: bool = True) -> Opportunity | LogMarker:
    """Return a message of CEP: an opportunity, or a marker that passed through it. Raises WireError.

    `detected_time` is when CEP produced the message (the record's own timestamp, microseconds). `with_levels` False:
    the levels of both books stay empty and unread, which is most of the work; what shows opportunities needs none.
    """
    try:
        if row["kind"] != "opportunity":
            return LogMarker(row["kind"], row["base"], row["marker_id"], int(row["offset"]))
        return Opportunity(
            opportunity_id=row["opportunity_id"],
            base=row["base"],
            buy=leg_of(row["buy"], with_levels),
            sell=leg_of(row["sell"], with_levels),
            fx=tuple(_rate_of(rate) for rate in row.get("fx") or ()),
            settings_version=int(row["settings_version"]),
            gross_bps=finite_of(row["gross_bps"]),
            fee_bps=finite_of(row["fee_bps"]),
            net_bps=finite_of(row["net_bps"]),
            expected_profit=finite_of(row["expected_profit"]),
            currency=row["currency"],
            event_time=int(row["event_time"]),
            detected_time=detected_time,
            expires_at=int(row["expires_at"]),
            offset=int(row["offset"]),
        )
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise WireError(f"not an opportunity: {error!r}") from error


def spread_window_message(window: SpreadWindow) -> bytes:
    """Return a row of `spreads`."""
    return orjson.dumps(window)


def spread_window_of(row: Mapping[str, Any]) -> SpreadWindow:
    """Return a row of `spreads`. Raises WireError."""
    try:
        return SpreadWindow(
            base=row["base"],
            buy_exchange=row["buy_exchange"],
            sell_exchange=row["sell_exchange"],
            start=int(row["start"]),
            end=int(row["end"]),
            mean_bps=finite_of(row["mean_bps"]),
            deviation=finite_of(row.get("deviation") or 0.0),
            max_bps=finite_of(row["max_bps"]),
            share_above=finite_of(row["share_above"]),
            rows=int(row["rows"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise WireError(f"not a spread window: {error!r}") from error


def _encoded(row: dict[str, object], bases: tuple[str, ...]) -> bytes:
    if bases:
        row["bases"] = list(bases)
    return orjson.dumps(row)


def finite_of(value: Any) -> float:
    """Spark writes NaN as text, which `float` would accept. Raises ValueError."""
    number = float(value)
    if not isfinite(number):
        raise ValueError(f"{value!r} is not a finite number")
    return number


def leg_of(row: Mapping[str, Any], with_levels: bool) -> OpportunityLeg:
    """Raise KeyError, TypeError, ValueError or ArithmeticError if it is none."""
    return OpportunityLeg(
        exchange=row["exchange"],
        symbol=row["symbol"],
        quote_currency=row["quote_currency"],
        price=Price(decimal_of(row["price"])),
        amount=decimal_of(row["amount"]),
        levels=_same_levels(row["levels"]) if with_levels else (),
        quote_id=row["quote_id"],
        age=int(row["age"]),
        exchange_time=row.get("exchange_time"),
        received_time=row.get("received_time"),
    )


def _rate_of(row: Mapping[str, Any]) -> FxRate:
    return FxRate(
        currency=row["currency"],
        symbol=row["symbol"],
        inverted=bool(row["inverted"]),
        bid=decimal_of(row["bid"]),
        ask=decimal_of(row["ask"]),
        quote_id=row["quote_id"],
    )
