"""The choice of an asset and an exchange as a script (no browser)."""

import pytest
from streamlit.testing.v1 import AppTest

SCRIPT = """
import streamlit
from ui.page_parts.market_choice import choose_market
from ui.services.dashboard import running
market = choose_market(running())
streamlit.write(f"{market.base} {market.exchange}")
"""


def opened(**address: str) -> AppTest:
    app = AppTest.from_string(SCRIPT, default_timeout=30)
    for name, value in address.items():
        app.query_params[name] = value
    return app.run()


def chosen(app: AppTest) -> str:
    assert not app.exception
    return app.markdown[0].value


@pytest.mark.usefixtures("dashboard")
def test_the_choice_comes_from_the_address_and_goes_into_it() -> None:
    app = opened(base="BTC", exchange="alpha")
    assert chosen(app) == "BTC alpha"
    app.selectbox(key="market.exchange").select("beta").run()
    assert (chosen(app), app.query_params) == ("BTC beta", {"base": "BTC", "exchange": "beta"})
    app.selectbox(key="market.base").set_value(None).run()
    assert (chosen(app), app.query_params) == ("None beta", {"exchange": "beta"})


@pytest.mark.usefixtures("dashboard")
def test_what_the_session_does_not_have_is_told_and_not_filtered_by() -> None:
    app = opened(base="ETH", exchange="okx")
    assert chosen(app) == "None None"
    assert [one.value for one in app.warning] == [
        "This session has no asset 'ETH'; it has BTC.",
        "This session has no exchange 'okx'; it has alpha, beta, fx.",
    ]
    assert app.query_params == {}
