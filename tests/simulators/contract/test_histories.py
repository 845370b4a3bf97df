"""Deposits, withdrawals and ledgers as ccxt reads them, and lists that are longer than a page."""

import pytest

from simulators.catalogue import EXCHANGES
from tests.simulators.contract.abilities import on
from tests.simulators.contract.bench import AMOUNT, Bench

DEPOSITS = ("coinbaseexchange", "bitflyer", "kraken", "binance", "bybit", "okx")


@on(*DEPOSITS)
async def test_the_opening_deposit_is_the_only_one(bench: Bench) -> None:
    base = bench.market.base
    [row] = await bench.client.fetch_deposits(base)
    assert (row["currency"], row["status"]) == (base, "ok")
    assert row["amount"] == float(bench.exchange.customer.opening[base])
    assert row["timestamp"] == pytest.approx(bench.exchange.customer.opened_at / 1_000, abs=1_000)


# for Coinbase Advanced ccxt asks an older interface, by the currency
@on(*(name for name in EXCHANGES if name != "coinbase"))
async def test_nothing_was_withdrawn(bench: Bench) -> None:
    assert await bench.client.fetch_withdrawals() == []


@on("coinbaseexchange", "kraken")
async def test_the_ledger_adds_up_to_the_balance(bench: Bench) -> None:
    await bench.post("buy", AMOUNT, None)
    await bench.post("sell", AMOUNT, None)
    for currency, balance in bench.exchange.customer.balances.items():
        rows = await bench.client.fetch_ledger(currency)
        signed = [row["amount"] if row["direction"] == "in" else -row["amount"] for row in rows]
        fees = [(row["fee"] or {}).get("cost") or 0 for row in rows]
        assert sum(signed) - sum(fees) == pytest.approx(float(balance), rel=1e-12)
        assert float(balance) in {row["after"] for row in rows}


@on("coinbaseexchange")
async def test_coinbase_names_the_next_page_in_its_headers(bench: Bench) -> None:
    for _ in range(5):
        await bench.post("buy", AMOUNT, None)
    client, seen, after = bench.client, list[str](), ""
    while True:
        question = {"product_id": "BTC-USD", "limit": 2} | ({"after": after} if after else {})
        rows = await client.privateGetFills(question)
        if not rows:
            break
        seen += [str(row["trade_id"]) for row in rows]
        headers = {name.lower(): value for name, value in client.last_response_headers.items()}
        assert (headers["cb-before"], headers["cb-after"]) == (str(rows[0]["trade_id"]), str(rows[-1]["trade_id"]))
        after = headers["cb-after"]
    assert seen == [fill.fill_id for fill in reversed(bench.fills())]
    newer = await client.privateGetFills({"product_id": "BTC-USD", "before": seen[2]})
    assert [str(row["trade_id"]) for row in newer] == seen[:2]


@on("coinbaseexchange")
async def test_coinbase_has_tickers_of_all_products(bench: Bench) -> None:
    bench.tick_until(lambda: bool(bench.exchange.tape.newest(bench.symbol, 1)))
    tickers = await bench.client.fetch_tickers()
    assert tickers[bench.symbol]["last"] == float(bench.exchange.tape.newest(bench.symbol, 1)[0].price)


@on("binance", "kraken")
async def test_the_exchange_says_that_it_is_well(bench: Bench) -> None:
    assert (await bench.client.fetch_status())["status"] == "ok"
