"""A session's report: one page that needs nothing else, with its figures."""

import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from launch.sessions.summary import Activity, Latencies
from launch.sessions.terminal.session_page import NOT_RECONCILED, PAPER, RECONCILED, session_page
from tests.backtest.made_up_result import NETS, START, arbitrage
from tests.market.samples import EUR_MARKET, USD_MARKET
from tests.ui.samples import session_of

BALANCES = {"alpha": {"USD": Decimal(1_000)}, "beta": {"BTC": Decimal(10)}}


@pytest.fixture
def activity() -> Activity:
    """Return what was traded, with balances as if nothing had been."""
    return Activity(
        quotes={"alpha": 900, "beta": 1_100},
        opportunities=20,
        arbitrages=[arbitrage(number, net) for number, net in enumerate(NETS)],
        rejections={"below_threshold": 12, "insufficient_balance": 5},
        rejected_profit={"insufficient_balance": Decimal("8.25")},
        fills=(),
        markets=(USD_MARKET, EUR_MARKET),
        before=BALANCES,
        after=BALANCES,
        currency="USD",
        latencies=Latencies(opportunity=(1.0, 2.0, 30.0)),
        seconds_to_first_opportunity=1.5,
    )


def test_it_has_the_figures_and_needs_nothing_else(activity: Activity, tmp_path: Path) -> None:
    page = session_page(session_of(tmp_path), activity, START)
    assert ">−0.25<" in page
    assert ">3</b><span>trades" in page
    assert ">2,000</b><span>quotes" in page
    assert RECONCILED in page
    assert PAPER in page
    assert page.count("<svg") == 3
    assert "from the quote until found" in page
    assert not re.search(r"<script|<link|src=|https?://(?!www\.w3\.org)|@import", page)


def test_a_ledger_that_does_not_reconcile_is_said(activity: Activity, tmp_path: Path) -> None:
    wrong = replace(activity, after={**BALANCES, "alpha": {"USD": Decimal(999)}})
    page = session_page(session_of(tmp_path), wrong, START)
    assert NOT_RECONCILED in page
    assert RECONCILED not in page


def test_a_session_without_any_trade_has_a_page(activity: Activity, tmp_path: Path) -> None:
    nothing = replace(activity, arbitrages=[], rejections={}, opportunities=0, latencies=Latencies())
    page = session_page(session_of(tmp_path), nothing, START)
    assert "No rejections." in page
    assert "Not measured." in page
    assert ">0.00<" in page
