"""What the settings forbid, whatever the size."""

from dataclasses import replace

import pytest

from market.opportunities import Opportunity
from market.permission import forbidden
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, opportunity_of, settings_of

BOOK = levels(("100", "5"))
ARBITRAGE = opportunity_of((USD_MARKET, BOOK), (EUR_MARKET, BOOK), net_bps=4.0)
SOLO = replace(ARBITRAGE, sell=ARBITRAGE.buy, net_bps=-20.0)


@pytest.mark.parametrize(
    ("opportunity", "changes", "expected"),
    [
        (ARBITRAGE, {"min_net_bps": 4.0}, None),
        (ARBITRAGE, {"min_net_bps": 4.1}, "below_threshold"),
        (ARBITRAGE, {"min_net_bps": 4.1, "enabled_exchanges": ("alpha",)}, "exchange_disabled"),
        (ARBITRAGE, {"min_net_bps": 4.1, "enabled_exchanges": (), "trading_state": "reducing"}, "reducing"),
        (ARBITRAGE, {"trading_state": "halted"}, "halted"),
        (SOLO, {"min_net_bps": 50.0}, None),
        (SOLO, {"enabled_exchanges": ("beta",)}, "exchange_disabled"),
        (SOLO, {"trading_state": "halted"}, "halted"),
    ],
)
def test_the_first_reason_is_given(opportunity: Opportunity, changes: dict[str, object], expected: str | None) -> None:
    assert forbidden(opportunity, settings_of(**changes)) == expected
