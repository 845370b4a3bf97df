"""Opportunities as CEP writes them."""

import orjson

from market.money import text_of
from market.prices.opportunities import FxRate, Opportunity, OpportunityLeg
from streams.message_format import levels_text


def opportunity_row(opportunity: Opportunity) -> bytes:
    return orjson.dumps(
        {
            "kind": "opportunity",
            "opportunity_id": opportunity.opportunity_id,
            "base": opportunity.base,
            "buy": _leg(opportunity.buy),
            "sell": _leg(opportunity.sell),
            "fx": [_rate(rate) for rate in opportunity.fx],
            "settings_version": opportunity.settings_version,
            "gross_bps": opportunity.gross_bps,
            "fee_bps": opportunity.fee_bps,
            "net_bps": opportunity.net_bps,
            "expected_profit": opportunity.expected_profit,
            "currency": opportunity.currency,
            "event_time": opportunity.event_time,
            "expires_at": opportunity.expires_at,
            "offset": opportunity.offset,
        }
    )


def _leg(leg: OpportunityLeg) -> dict[str, object]:
    return {
        "exchange": leg.exchange,
        "symbol": leg.symbol,
        "quote_currency": leg.quote_currency,
        "price": text_of(leg.price),
        "amount": text_of(leg.amount),
        "levels": levels_text(leg.levels),
        "quote_id": leg.quote_id,
        "age": leg.age,
        "exchange_time": leg.exchange_time,
        "received_time": leg.received_time,
    }


def _rate(rate: FxRate) -> dict[str, object]:
    return {
        "currency": rate.currency,
        "symbol": rate.symbol,
        "inverted": rate.inverted,
        "bid": text_of(rate.bid),
        "ask": text_of(rate.ask),
        "quote_id": rate.quote_id,
    }
