"""The default paper markets and what the simulated exchanges say of them."""

from decimal import Decimal

from exchanges.listed_codes import listed_codes
from exchanges.simulated_markets import (
    further_markets,
    paper_markets,
    simulated_bases,
    simulated_markets,
    simulated_taker_fees,
    taker_fees,
)
from market.instruments.assets import identity_fault
from market.instruments.markets import fx_route
from market.money import decimal_of
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
        listings = listings_of(exchange, ("BTC",))
        markets = (*simulated_markets(), *further_markets())
        assert [row.market for row in listings] == [row for row in markets if row.exchange == exchange]
        assert {row.taker_rate for row in listings} == {rate}
        assert {listings[0].market.base, listings[0].market.quote_currency} <= set(opening_balances(exchange))


def test_paper_mode_leaves_out_what_is_not_quoted_in_its_currencies() -> None:
    skipped = set(simulated_markets()) - set(paper_markets())
    assert {(market.exchange, market.symbol) for market in skipped} >= {("binance", "BTC/USDT"), ("kraken", "USDT/USD")}
    # Coinbase Advanced trades in the book that Coinbase Exchange has already
    assert {market.exchange for market in skipped if "USDT" not in market.symbol} == {"coinbase"}
    assert "binance" in set(simulated_taker_fees()) - set(taker_fees())


def test_what_else_is_listed_has_no_part_in_a_session() -> None:
    assert [(row.exchange, row.symbol) for row in further_markets(simulated_bases())] == [("bitstamp", "BTC/USD")]
    assert not set(further_markets()) & set(simulated_markets(simulated_bases()))
    assert opening_balances("bitstamp").keys() - simulated_bases() == {"EUR"}


def test_every_exchange_lists_the_same_assets_with_steps_that_its_prices_fit() -> None:
    for exchange in simulated_taker_fees():
        listed = listings_of(exchange)
        assert len({row.market_id for row in listed}) == len(listed)
        rows = [row for row in listed if not row.market.is_fx and row.market not in further_markets()]
        assert tuple(row.market.base for row in rows) == simulated_bases()
        for row in rows:
            spread = row.market.tick_size / decimal_of(row.start_price)
            assert 0 < spread < Decimal("0.0015"), row.market_id
            assert opening_balances(exchange)[row.market.base] > 1_000 * row.market.minimum_amount
            assert row.market.minimum_amount % row.market.lot_step == 0, row.market_id
        assert identity_fault(listed_codes(), [row.market for row in rows]) is None
