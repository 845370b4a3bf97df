"""The default paper markets and what the simulated exchanges say of them."""

from exchanges.simulated_markets import paper_markets, simulated_markets, simulated_taker_fees, taker_fees
from market.instruments.markets import fx_route
from simulators.matching.listings import listings_of, opening_balances


def test_every_traded_currency_reaches_dollars() -> None:
    markets = simulated_markets()
    routes = {market.quote_currency: fx_route(market.quote_currency, "USD", markets) for market in markets}
    assert {currency for currency, route in routes.items() if route is None} == {"USD"}
    assert routes["EUR"] is not None
    assert not routes["EUR"].inverted
    assert routes["JPY"] is not None
    assert routes["JPY"].inverted


def test_every_market_is_listed_at_its_own_fee() -> None:
    for exchange, rate in simulated_taker_fees().items():
        listings = listings_of(exchange)
        assert [row.market for row in listings] == [row for row in simulated_markets() if row.exchange == exchange]
        assert {row.taker_rate for row in listings} == {rate}
        assert {listings[0].market.base, listings[0].market.quote_currency} <= set(opening_balances(exchange))


def test_paper_mode_leaves_out_what_is_not_quoted_in_its_currencies() -> None:
    skipped = set(simulated_markets()) - set(paper_markets())
    assert {(market.exchange, market.symbol) for market in skipped} == {
        ("binance", "BTC/USDT"),
        ("kraken", "USDT/USD"),
    }
    assert set(simulated_taker_fees()) - set(taker_fees()) == {"binance"}
