"""Where a session's own count of opportunities begins."""

from array import array
from dataclasses import replace
from pathlib import Path

from launch.sessions.counters import SessionCounters
from runtime.clock import wall_now
from streams.cycle_messages import cycle_opportunity_message, marker_message
from streams.records import Record
from streams.topics import CYCLE_OPPORTUNITIES
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, opportunity_of
from tests.ui.samples import session_of


def test_opportunities_of_the_warm_up_stay_counted_as_their_rejections_do(tmp_path: Path) -> None:
    meter = SessionCounters(session_of(tmp_path))
    found = opportunity_of((USD_MARKET, levels(("100", "1"))), (EUR_MARKET, levels(("100", "1"))))
    meter._record_opportunity(found)
    meter.reset()
    assert (meter.opportunities, meter.opportunity_latencies) == (1, array("d"))


def test_what_waited_for_detection_to_be_ready_says_nothing_of_its_latency(tmp_path: Path) -> None:
    """Its tick arrived before, and it is read after."""
    meter = SessionCounters(session_of(tmp_path))
    found = opportunity_of((USD_MARKET, levels(("100", "1"))), (EUR_MARKET, levels(("100", "1"))))
    before = wall_now()
    meter.reset()
    meter._record_opportunity(replace(found, opportunity_id="early", event_time=before - 1))
    meter._record_opportunity(replace(found, opportunity_id="late", event_time=wall_now()))
    assert (meter.opportunities, len(meter.opportunity_latencies)) == (2, 1)


def test_each_cycle_at_the_same_quotes_is_counted_once(tmp_path: Path) -> None:
    meter = SessionCounters(session_of(tmp_path))
    probe = marker_message({"kind": "probe", "base": "BTC", "marker_id": "x"}, 3)
    messages = [cycle_opportunity_message(one, "cycle", (), {}) for one in ("first", "second", "first")]
    for offset, value in enumerate((*messages, probe)):
        meter._count(Record(CYCLE_OPPORTUNITIES, 0, offset, None, value, 0))
    assert (meter.cycle_opportunities, meter.opportunities) == (2, 0)


def test_a_trade_is_shown_once_both_legs_have_ended_and_not_when_further_orders_close_it(tmp_path: Path) -> None:
    meter = SessionCounters(session_of(tmp_path))

    def show(state: str, *steps: str) -> None:
        times = dict.fromkeys(("event", *steps), wall_now())
        message = {"type": "trade", "arbitrage_id": "one", "state": state, "event_time": 0, "times": times}
        meter._record_shown(message)

    show("reserved", "sent")
    assert meter.shown_latencies == {}
    show("single_leg", "sent", "filled")
    [shown] = meter.shown_latencies.values()
    show("closed", "sent", "filled", "ended")
    assert meter.shown_latencies == {"one": shown}
