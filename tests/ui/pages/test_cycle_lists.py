"""Cycles on the pages Trades & P&L and Opportunities as scripts (no browser)."""

import asyncio
from dataclasses import replace
from decimal import Decimal

import pytest
from streamlit.testing.v1 import AppTest

from market.instruments.cycles import CycleTerms
from market.trade.leases import UNFENCED
from store.mongo.store import open_store
from tests.market.cycle_samples import triangle
from tests.store.test_port_cycles import PLENTY, booked, reserved
from tests.ui.api.test_cycle_trade_routes import LOW
from tests.ui.clients import ANSWER_SECONDS
from tests.ui.pages.test_opportunities_page import PAGE as OPPORTUNITIES
from tests.ui.pages.test_opportunities_page import html_of
from tests.ui.pages.test_trades_page import SCRIPT as TRADES
from ui.panels.trades_list import ROWS
from ui.services.dashboard import Dashboard

TERMS = CycleTerms(3, frozenset({"alpha"}), frozenset())
watching = pytest.mark.parametrize("dashboard", [TERMS], indirect=True)


def run(script: str) -> AppTest:
    app = AppTest.from_string(script, default_timeout=30).run()
    assert not app.exception
    return app


def trade(dashboard: Dashboard) -> None:
    async def work() -> None:
        async with await open_store(dashboard.session) as store:
            wanted = triangle().rows.settings
            await store.settings.amend(lambda now: wanted.model_copy(update={"version": now.version}), "test")
            await store.balances.replace("alpha", {**PLENTY, "ETH": Decimal(0)}, "before", UNFENCED)
            await reserved(store)
            for name in ("leg1", "leg2", "leg3"):
                await booked(store, name)

    dashboard.answer(work(), ANSWER_SECONDS)


def reject(dashboard: Dashboard, count: int) -> None:
    async def work() -> None:
        async with await open_store(dashboard.session) as store:
            many = [replace(LOW, rejection_id=f"{number}", rejected_at=number) for number in range(count)]
            busy = replace(LOW, rejection_id="busy", reason="cycle_busy", value=None, limit=None, rejected_at=count)
            await asyncio.gather(store.reject_cycles(many), store.reject_cycles([busy]))

    dashboard.answer(work(), ANSWER_SECONDS)


@watching
def test_a_trade_on_a_cycle_is_listed_and_opens_its_legs(dashboard: Dashboard) -> None:
    trade(dashboard)
    app = run(TRADES)
    html = html_of(app)
    assert "Trades on cycles, newest first" in html
    assert "USD → BTC → ETH → USD" in html
    assert "Legs as planned" not in html
    choice = app.selectbox(key="cycles.chosen.id")
    [offered] = choice.options
    opened = choice.select(offered).run()
    html = html_of(opened)
    assert "Legs as planned" in html
    for words in ("BTC/USD", "ETH/BTC", "ETH/USD", "Leg 3", "after the leg before"):
        assert words in html
    # its row may be pushed off the page
    opened.multiselect(key="cycles.states").select("residual").run()
    assert "Legs as planned" in html_of(opened)


@watching
def test_a_rejected_cycle_is_listed_with_its_figures_and_filtered_by_reason(dashboard: Dashboard) -> None:
    reject(dashboard, ROWS)
    app = run(OPPORTUNITIES)
    html = html_of(app)
    assert "Rejected cycles, newest first" in html
    assert "+4.5 bps" in html
    assert "Cycle already has an open trade" in html
    app.button(key="cycle_rejections.older").click().run()
    assert "Cycle already has an open trade" not in html_of(app)
    app.selectbox(key="cycle_rejections.reason").select("cycle_busy").run()
    assert "+4.5 bps" not in html_of(app).partition("Rejected cycles, newest first")[2]


@pytest.mark.parametrize("script", [TRADES, OPPORTUNITIES])
@pytest.mark.usefixtures("dashboard")
def test_without_cycles_the_pages_say_nothing_of_them(script: str) -> None:
    app = run(script)
    assert not [one for one in app.subheader if "ycles" in one.value]
