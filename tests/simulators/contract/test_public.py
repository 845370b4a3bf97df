"""Markets, tickers, books and trades as ccxt reads them over REST are what the simulated exchange has."""

from decimal import Decimal

from market.money import decimal_of
from tests.simulators.contract.abilities import everywhere
from tests.simulators.contract.bench import Bench


@everywhere
async def test_markets_have_the_exchanges_own_sizes(bench: Bench) -> None:
    markets = await bench.client.load_markets()
    assert set(markets) == set(bench.exchange.listings)
    for symbol, listing in bench.exchange.listings.items():
        row, market = markets[symbol], listing.market
        assert (row["base"], row["quote"], row["type"]) == (market.base, market.quote_currency, "spot")
        precision = {name: row["precision"][name] for name in ("price", "amount")}
        if market.exchange == "bitflyer":
            # bitFlyer's API does not say them
            assert precision == {"price": None, "amount": None}
            continue
        assert decimal_of(precision["price"]) == market.tick_size
        if market.is_fx:
            # ccxt has a rule of its own for amounts of currencies on Kraken
            continue
        assert decimal_of(precision["amount"]) == market.lot_step
        for name, least in (("amount", market.minimum_amount), ("cost", market.minimum_notional)):
            stated = row["limits"][name]["min"]
            assert stated is None or decimal_of(stated) == least
        assert any(row["limits"][name]["min"] for name in ("amount", "cost"))


@everywhere
async def test_the_ticker_has_the_best_prices_and_the_last_one(bench: Bench) -> None:
    bench.tick_until(lambda: bool(bench.exchange.tape.newest(bench.symbol, 1)))
    ticker = await bench.client.fetch_ticker(bench.symbol)
    assert decimal_of(ticker["bid"]) == bench.best("buy")[0]
    assert decimal_of(ticker["ask"]) == bench.best("sell")[0]
    assert decimal_of(ticker["last"]) == bench.exchange.tape.newest(bench.symbol, 1)[0].price


@everywhere
async def test_the_book_is_the_one_that_stands(bench: Bench) -> None:
    for _ in range(5):
        book = await bench.client.fetch_order_book(bench.symbol)
        sides = {name: [(decimal_of(row[0]), decimal_of(row[1])) for row in book[name]] for name in ("bids", "asks")}
        assert dict(sides["bids"][:10]) == bench.standing("buy")
        assert dict(sides["asks"][:10]) == bench.standing("sell")
        assert sides["bids"] == sorted(sides["bids"], reverse=True)
        assert sides["asks"] == sorted(sides["asks"])
        assert sides["bids"][0][0] < sides["asks"][0][0]
        bench.outside.round()


@everywhere
async def test_trades_are_those_of_the_tape(bench: Bench) -> None:
    bench.tick_until(lambda: len(bench.exchange.tape.newest(bench.symbol, 5)) == 5)
    rows = await bench.client.fetch_trades(bench.symbol)
    tape = bench.exchange.tape.newest(bench.symbol, 1_000)[::-1]
    assert len({row["id"] for row in rows}) == len(rows)
    seen = [(row["side"], decimal_of(row["price"]), decimal_of(row["amount"])) for row in rows]
    assert sorted(seen) == sorted((trade.side, trade.price, trade.amount) for trade in tape[-len(rows) :])
    newest = max(row["timestamp"] for row in rows)
    assert abs(newest - tape[-1].traded_at / 1_000) <= 1_000
    assert len(rows) >= 5


@everywhere
async def test_the_account_starts_with_what_it_was_funded_with(bench: Bench) -> None:
    balance = await bench.client.fetch_balance()
    opening = {name: amount for name, amount in bench.exchange.customer.balances.items() if amount}
    assert opening
    for currency, amount in opening.items():
        assert decimal_of(balance[currency]["total"]) == decimal_of(balance[currency]["free"]) == amount
        assert decimal_of(balance[currency]["used"]) == Decimal(0)
