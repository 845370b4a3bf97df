"""A cycle that pays is read from its message as the log had its quotes; what is no such message is an error."""

from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from market.money import Price, decimal_of
from market.prices.cycle_opportunities import CycleOpportunity, CycleOpportunityLeg
from market.prices.opportunities import LogMarker, OpportunityLeg
from market.prices.quotes import Level, Quote
from streams.cycle_messages import cycle_leg_row, cycle_opportunity_message, cycle_opportunity_of, marker_message
from streams.message_format import WireError, marker_row, quote_row, row_of
from tests.market.samples import levels

CYCLE = "kraken:BTC/USD:buy>kraken:ETH/BTC:buy>kraken:ETH/USD:sell"
FOUND = {"settings_version": 3, "net_bps": 4.25, "event_time": 1_000_500, "expires_at": 2_000_500, "offset": 77}


def quoted(symbol: str, bid: str, ask: str) -> Mapping[str, Any]:
    base, _, currency = symbol.partition("/")
    quote = Quote(
        kind="quote",
        exchange="kraken",
        region="us",
        symbol=symbol,
        base=base,
        quote_currency=currency,
        bids=levels((bid, "2"), ("0.01", "9")),
        asks=levels((ask, "1.50"), ("99999", "9")),
        exchange_time=None if symbol == "ETH/BTC" else 999_000,
        received_time=1_000_000,
        sequence=1_000_000,
    )
    return row_of(quote_row(quote))


QUOTES = (quoted("BTC/USD", "60000", "60001"), quoted("ETH/BTC", "0.05", "0.051"), quoted("ETH/USD", "3100", "3101"))


def message() -> bytes:
    sides = zip(QUOTES, ("buy", "buy", "sell"), strict=True)
    legs = [cycle_leg_row(quote, "buy" if side == "buy" else "sell", 500) for quote, side in sides]
    return cycle_opportunity_message("f00d", CYCLE, legs, FOUND)


def leg(symbol: str, price: str, amount: str, last: tuple[str, str], exchange_time: int | None) -> OpportunityLeg:
    shown = (Level(Price(decimal_of(price)), levels((price, amount))[0].amount), *levels(last))
    quote_id, currency = f"kraken:{symbol}:1000000", symbol.partition("/")[2]
    first = (Price(decimal_of(price)), decimal_of(amount))
    return OpportunityLeg("kraken", symbol, currency, *first, shown, quote_id, 500, exchange_time, 1_000_000)


def test_a_cycle_is_read_as_the_log_had_its_quotes() -> None:
    read = cycle_opportunity_of(row_of(message()), 1_005_000)
    assert read == CycleOpportunity(
        opportunity_id="f00d",
        cycle_id=CYCLE,
        legs=(
            CycleOpportunityLeg("buy", leg("BTC/USD", "60001", "1.50", ("99999", "9"), 999_000)),
            CycleOpportunityLeg("buy", leg("ETH/BTC", "0.051", "1.50", ("99999", "9"), None)),
            CycleOpportunityLeg("sell", leg("ETH/USD", "3100", "2", ("0.01", "9"), 999_000)),
        ),
        settings_version=3,
        net_bps=4.25,
        event_time=1_000_500,
        detected_time=1_005_000,
        expires_at=2_000_500,
        offset=77,
    )


@pytest.mark.parametrize("kind", ["probe", "end"])
def test_a_marker_passes_as_in_the_topic_of_pairs(kind: str) -> None:
    passed = marker_message(row_of(marker_row(kind, "BTC", "abc", 1_000_000)), 12)
    assert cycle_opportunity_of(row_of(passed), 1_005_000) == LogMarker(kind, "BTC", "abc", 12)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "opportunity"},
        {"net_bps": "NaN"},
        {"offset": None},
        {"legs": [{}]},
        {"legs": None},
        {"legs": [{**orjson.loads(message())["legs"][0], "side": "both"}]},
        {"legs": [{**orjson.loads(message())["legs"][0], "price": "NaN"}]},
    ],
)
def test_what_is_no_cycle_is_an_error(change: Mapping[str, object]) -> None:
    with pytest.raises(WireError, match="not a cycle that pays"):
        cycle_opportunity_of({**row_of(message()), **change}, 1_005_000)
