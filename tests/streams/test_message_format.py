"""What CEP writes is read back as it was; what an earlier version wrote is read too."""

from dataclasses import replace

import orjson
import pytest

from market.prices.opportunities import Opportunity
from streams.message_format import WireError, opportunity_of
from tests.bots.opportunity_rows import opportunity_row
from tests.market.samples import EUR_MARKET, USD_MARKET, levels
from tests.market.samples import opportunity_of as sample


def opportunity(exchange_time: int | None) -> Opportunity:
    """As CEP would find it: the buy side's exchange told its time, the other's did not."""
    made = sample((USD_MARKET, levels(("100", "1"))), (EUR_MARKET, levels(("101", "1"))))
    buy = replace(made.buy, exchange_time=exchange_time, received_time=990_000)
    return replace(made, buy=buy, sell=replace(made.sell, received_time=1_000_000))


@pytest.mark.parametrize("exchange_time", [None, 985_000])
def test_an_opportunity_is_read_as_it_was_written(exchange_time: int | None) -> None:
    written = opportunity(exchange_time)
    assert opportunity_of(orjson.loads(opportunity_row(written)), written.detected_time) == written


def test_quotes_of_an_earlier_version_have_no_times() -> None:
    row = orjson.loads(opportunity_row(opportunity(985_000)))
    for leg in (row["buy"], row["sell"]):
        del leg["exchange_time"], leg["received_time"]
    read = opportunity_of(row, 1_005_000)
    assert isinstance(read, Opportunity)
    assert [(leg.exchange_time, leg.received_time) for leg in (read.buy, read.sell)] == [(None, None)] * 2


@pytest.mark.parametrize("field", ["gross_bps", "fee_bps", "net_bps", "expected_profit"])
@pytest.mark.parametrize("reported", ["NaN", "Infinity", "-inf"])
def test_a_number_that_is_none_is_no_opportunity(field: str, reported: str) -> None:
    row = orjson.loads(opportunity_row(opportunity(None))) | {field: reported}
    with pytest.raises(WireError, match="not a finite number"):
        opportunity_of(row, 1_005_000)


@pytest.mark.parametrize("change", [{"price": "NaN"}, {"amount": "-Infinity"}, {"levels": '[["100","NaN"]]'}])
def test_a_leg_with_a_price_that_is_none_is_no_opportunity(change: dict[str, str]) -> None:
    row = orjson.loads(opportunity_row(opportunity(None)))
    with pytest.raises(WireError, match="is not a number"):
        opportunity_of(row | {"buy": row["buy"] | change}, 1_005_000)
