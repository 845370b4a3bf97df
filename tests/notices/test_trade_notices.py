"""What the history of an arbitrage has to tell."""

from dataclasses import replace
from decimal import Decimal

import pytest

from notices.trade_notices import notices_of_trade
from tests.market.cycle_samples import triangle
from tests.market.test_cycle_lifecycle import begun, trade_of
from tests.market.test_cycle_lifecycle import filled as booked_share
from tests.notices.samples import AT, arbitrage
from tests.store.reservation_requests import filled, leg_request

AT_ONCE = 0
SECOND = 1_000_000


@pytest.mark.parametrize(
    ("steps", "events"),
    [
        (["buy granted", "sell granted", "reserved"], []),
        (["reserved", "unfilled"], []),
        (["buy granted", "sell granted", "reserved", "closed"], ["trade_closed"]),
        (["reserved", "unwound"], ["trade_closed"]),
        (["reserved", "single_leg"], ["single_leg_opened"]),
        (["buy granted", "single_leg", "complete done", "closed"], ["single_leg_opened", "single_leg_resolved"]),
        (["reserved", "single_leg", "residual"], ["single_leg_opened", "single_leg_residual"]),
        (["reserved", "residual"], ["single_leg_residual"]),
        (
            ["reserved", "residual", "single_leg", "unwound"],
            ["single_leg_residual", "single_leg_opened", "single_leg_resolved"],
        ),
        (["reserved", "residual", "closed"], ["single_leg_residual", "single_leg_resolved"]),
        (["reserved", "single_leg", "unfilled"], ["single_leg_opened", "single_leg_resolved"]),
        (["reserved", "closed", "single_leg", "closed"], ["trade_closed", "single_leg_opened", "single_leg_resolved"]),
        # another reason for the same state is no news
        (["reserved", "residual", "residual", "residual"], ["single_leg_residual"]),
    ],
)  # fmt: skip
def test_each_step_that_people_care_about(steps: list[str], events: list[str]) -> None:
    reported = notices_of_trade(arbitrage(*steps), AT_ONCE)
    assert [notice.event for notice in reported] == events
    assert len({notice.notice_id for notice in reported}) == len(reported)
    assert all(notice.kind == ("trades" if notice.event == "trade_closed" else "single_legs") for notice in reported)


@pytest.mark.parametrize(
    ("steps", "seconds", "now", "events"),
    [
        # steps are a second apart
        (["single_leg", "closed"], 10, 0, ["trade_closed"]),
        (["single_leg", "unwound"], 10, 0, ["trade_closed"]),
        (["single_leg", "unfilled"], 10, 0, []),
        (["single_leg", "residual"], 10, 0, ["single_leg_residual"]),
        (["single_leg", "residual", "closed"], 10, 0, ["single_leg_residual", "single_leg_resolved"]),
        # after an end nobody expects it
        (
            ["residual", "single_leg", "unwound"],
            10,
            0,
            ["single_leg_residual", "single_leg_opened", "single_leg_resolved"],
        ),
        (["single_leg", "complete done", "reverse done", "closed"], 3, 0, ["single_leg_opened", "single_leg_resolved"]),
        (["single_leg", "complete done", "reverse done", "closed"], 4, 0, ["trade_closed"]),
        (["closed", "single_leg", "closed"], 10, 0, ["trade_closed", "single_leg_opened", "single_leg_resolved"]),
        # still open
        (["single_leg"], 10, 0, []),
        (["single_leg", "complete granted"], 10, 9, []),
        (["single_leg", "complete granted"], 10, 10, ["single_leg_opened"]),
    ],
)  # fmt: skip
def test_a_single_leg_is_an_alarm_where_it_lasts(steps: list[str], seconds: int, now: int, events: list[str]) -> None:
    of = arbitrage(*steps)
    reported = notices_of_trade(of, seconds * SECOND, now and AT + now * SECOND)
    assert [notice.event for notice in reported] == events


def test_a_later_document_gives_the_same_ids() -> None:
    early = notices_of_trade(arbitrage("reserved", "single_leg"), AT_ONCE)
    late = notices_of_trade(arbitrage("reserved", "single_leg", "closed"), AT_ONCE)
    assert late[0].notice_id == early[0].notice_id
    assert late[0].at == AT + 1_000_000


def test_a_trade_in_one_line() -> None:
    (notice,) = notices_of_trade(arbitrage("reserved", "closed"), AT_ONCE)
    assert notice.line == "Closed BTC bitFlyer → Kraken 0.05: +3.21 USD net, 10.7 bps"
    assert (notice.facts["net"], notice.facts["currency"], notice.facts["amount"]) == ("3.214", "USD", "0.05")


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"net": "-0.5"}, "Closed BTC bitFlyer → Kraken 0.05: -0.50 USD net, -1.7 bps"),
        ({"notional": "0"}, "Closed BTC bitFlyer → Kraken 0.05: +3.21 USD net"),
        ({"net": None}, "Closed BTC bitFlyer → Kraken 0.05"),
        (
            {"strategy": "ma", "legs": (replace(leg_request("sell").leg, exchange="kraken"),)},
            "Sold BTC on Kraken 0.05 (moving average)",
        ),
    ],
)
def test_other_trades(changes: dict[str, object], line: str) -> None:
    (notice,) = notices_of_trade(arbitrage("reserved", "closed", **changes), AT_ONCE)  # type: ignore[arg-type]  # a table
    assert notice.line == line


def test_a_single_leg_says_what_was_filled_where() -> None:
    leg = leg_request("buy").leg
    bought = replace(leg, exchange="bitflyer", fills=filled(leg, Decimal("0.05")).fills)
    begun, held = notices_of_trade(arbitrage("single_leg", "residual", legs=(bought, leg_request("sell").leg)), AT_ONCE)
    assert begun.line == "SINGLE LEG BTC bitFlyer → Kraken: bought 0.05 on bitFlyer; it is being unwound"
    assert held.line == "RESIDUAL BTC bitFlyer → Kraken 0.05: late; needs attention"
    assert held.facts["reason"] == "late"
    (_, resolved) = notices_of_trade(arbitrage("single_leg", "unwound", net="-1.5", notional="0"), AT_ONCE)
    assert resolved.line == "Single leg resolved BTC bitFlyer → Kraken: unwound: -1.50 USD net"


def test_a_trade_on_a_cycle_is_reported_as_one_of_a_pair() -> None:
    rows = begun(triangle(single_leg_policy="hold"))
    for name, share in (("leg1", "1"), ("leg2", "1"), ("leg3", "0")):
        rows = booked_share(rows, name, share)
    [residual] = notices_of_trade(trade_of(rows), AT_ONCE)
    assert (residual.event, residual.kind) == ("single_leg_residual", "single_legs")
    assert residual.line == (
        "RESIDUAL cycle BTC/USD, ETH/BTC, ETH/USD alpha of 12000 USD: single_leg_left; needs attention"
    )
    assert residual.facts["cycle"] == trade_of(rows).cycle.cycle_id
    rows = begun(triangle())
    for name in ("leg1", "leg2", "leg3"):
        rows = booked_share(rows, name)
    [closed] = notices_of_trade(trade_of(rows), AT_ONCE)
    assert closed.line.startswith("Closed cycle BTC/USD, ETH/BTC, ETH/USD alpha of 12000 USD: +120.00 USD net")
    rows = begun(triangle())
    for name, share in (("leg1", "1"), ("leg2", "1"), ("leg3", "0")):
        rows = booked_share(rows, name, share)
    [opened] = notices_of_trade(trade_of(rows), AT_ONCE)
    assert opened.line == (
        "SINGLE LEG cycle BTC/USD, ETH/BTC, ETH/USD alpha: bought 0.3 BTC on alpha and bought 6 ETH on alpha; "
        "it is being unwound"
    )
