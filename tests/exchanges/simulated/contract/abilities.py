"""What ccxt offers on each simulated exchange: the suite's own expectation, so that no test drops out silently."""

import pytest

EXCHANGES = ("coinbaseexchange", "bitstamp", "bitflyer", "kraken")

_EVERYWHERE = (
    "fetchTicker",
    "fetchOrderBook",
    "fetchTrades",
    "fetchBalance",
    "createOrder",
    "cancelOrder",
    "fetchOrder",
    "fetchOpenOrders",
    "fetchMyTrades",
)
_STREAMS = ("watchOrderBook", "watchTrades", "watchTicker", "watchOrders", "watchMyTrades")

ABILITIES: dict[str, tuple[str, ...]] = {
    "coinbaseexchange": (*_EVERYWHERE, "fetchTradingFees", *_STREAMS),
    "bitstamp": (
        *_EVERYWHERE,
        "fetchTradingFee",
        "fetchTradingFees",
        "watchOrderBook",
        "watchTrades",
        "watchOrders",
        "watchMyTrades",
    ),
    # ccxt streams nothing of bitFlyer
    "bitflyer": (*_EVERYWHERE, "fetchTradingFee"),
    "kraken": (*_EVERYWHERE, "fetchTradingFee", *_STREAMS),
}
"""ccxt's names of what it has, of those that the suite tries."""

TRIED = tuple(dict.fromkeys(name for names in ABILITIES.values() for name in names))

CLIENT_IDS = ("coinbaseexchange", "bitstamp", "kraken")
"""Where an order can carry an id of the client's own; bitFlyer knows none."""

IMMEDIATE: dict[str, dict[str, str]] = {
    "coinbaseexchange": {"timeInForce": "IOC"},
    "bitstamp": {"ioc_order": "True"},
    "bitflyer": {"time_in_force": "IOC"},
    "kraken": {"timeInForce": "IOC"},
}
"""How ccxt is told that what does not fill at once is to be cancelled."""


UNBUILT: dict[str, tuple[str, ...]] = {
    "coinbaseexchange": (
        "test_public.py::test_the_ticker_has_the_best_prices_and_the_last_one",
        "test_public.py::test_trades_are_those_of_the_tape",
        "test_streams.py::test_trades_are_those_of_the_tape",
        "test_streams.py::test_the_ticker_follows_the_book",
        "test_streams.py::test_orders_are_told_from_opening_to_end",
        "test_streams.py::test_the_accounts_trades_are_told_as_they_are_booked",
    ),
    "bitstamp": (
        "test_public.py::test_the_ticker_has_the_best_prices_and_the_last_one",
        "test_public.py::test_trades_are_those_of_the_tape",
        "test_streams.py::test_trades_are_those_of_the_tape",
        "test_streams.py::test_orders_are_told_from_opening_to_end",
        "test_streams.py::test_the_accounts_trades_are_told_as_they_are_booked",
        "test_orders.py::test_the_fee_of_a_market_is_the_accounts_own",
        "test_orders.py::test_the_fees_are_the_accounts_own",
    ),
    "bitflyer": ("test_public.py::test_trades_are_those_of_the_tape",),
    "kraken": (),
}
"""What the simulated exchanges do not answer yet; whoever builds it takes the line out. `--runxfail` shows why."""


def on(*exchanges: str) -> pytest.MarkDecorator:
    """Run a test that takes a `bench` on each of these exchanges."""
    return pytest.mark.parametrize("bench", exchanges, indirect=True)


def having(ability: str) -> pytest.MarkDecorator:
    """Run a test that takes a `bench` on each exchange where ccxt has `ability`."""
    return on(*(exchange for exchange in EXCHANGES if ability in ABILITIES[exchange]))


everywhere = on(*EXCHANGES)
