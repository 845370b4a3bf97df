"""What a session's own count of opportunities begins with."""

from pathlib import Path

from launch.sessions.session_counters import SessionCounters
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, opportunity_of
from tests.ui.samples import session_of


def test_opportunities_of_the_warm_up_stay_counted_as_their_rejections_do(tmp_path: Path) -> None:
    meter = SessionCounters(session_of(tmp_path))
    found = opportunity_of((USD_MARKET, levels(("100", "1"))), (EUR_MARKET, levels(("100", "1"))))
    meter._record_opportunity(found)
    meter.reset()
    assert (meter.opportunities, meter.opportunity_latencies) == (1, [])
