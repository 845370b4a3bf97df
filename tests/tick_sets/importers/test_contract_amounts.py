"""No importer can take contracts for coins: each format on inverse and linear markets, and the raw replay too."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from market.instruments.assets import Assumption
from market.instruments.contracts import Contract
from market.instruments.markets import Market
from tests.pricefeeds.samples import MARKET
from tests.tick_sets.importers.file_samples import WRITERS, Shown, imported_sample
from tests.tick_sets.importers.read_files import gzipped
from tick_sets.errors import ImportRejectedError
from tick_sets.importers.hftbacktest import TickerSource, book_tickers
from tick_sets.importers.import_formats import FORMATS
from tick_sets.importers.lean import quote_bars
from tick_sets.rows.quote_rows import Rejections
from tick_sets.sets.tick_set import batches, open_tick_set

ALIKE = tuple(
    Assumption(contract, "BTC", "a contract counts as its coin")
    for contract in ("BTC contract", "BTC contract 240628", "BTC contract 241227")
)
STEP = Decimal("0.00000001")
AWKWARD = [
    Shown((("16500.1", "1"), ("16500", "7")), (("16500.3", "3"), ("16500.7", "11"))),
    Shown((("29999.99", "12345"), ("29999.5", "1")), (("30000.01", "99999999"), ("30001", "2"))),
    Shown((("0.07", "13"), ("0.06", "1")), (("0.08", "17"), ("0.09", "19"))),
    Shown((("99999.99999", "3.5"), ("99999", "1")), (("100000.00001", "0.1"), ("100001", "1"))),
]
MARKETS = {
    "bybit BTC/USD:BTC": ("1", None),
    "binancecoinm BTC/USD:BTC": ("100", None),
    "elsewhere BTC/USD:BTC-240628": ("25", Decimal(25)),
}


def pairs_of(row: dict[str, Any], side: str) -> Iterator[tuple[Decimal, Decimal]]:
    """Return (price, amount): the best one, and all levels if there are more."""
    yield Decimal(row[side]), Decimal(row[f"{side}_amount"])
    yield from ((Decimal(price), Decimal(amount)) for price, amount in json.loads(row[f"{side}s"] or "[]"))


def rows_of(folder: Path) -> list[dict[str, Any]]:
    rows = [row for table in batches(open_tick_set(folder), "BTC") for row in table.to_pylist()]
    return [row for row in rows if row["kind"] == "quote"]


def test_there_is_a_file_of_every_format() -> None:
    assert WRITERS.keys() == FORMATS.keys()


@pytest.mark.parametrize("market", MARKETS)
@pytest.mark.parametrize("of", FORMATS)
def test_no_amount_of_an_inverse_market_exceeds_what_was_shown(tmp_path: Path, of: str, market: str) -> None:
    (size, reported), (exchange, symbol) = MARKETS[market], market.split()
    imported = imported_sample(tmp_path, of, exchange, symbol, AWKWARD, alike=ALIKE, contract_size=reported)
    rows = rows_of(tmp_path / "set")
    assert len(rows) == len(AWKWARD)
    is_print = "half_spread_bps" in FORMATS[of].needs
    for row, shown in zip(rows, AWKWARD, strict=True):
        for side, levels in (("bid", shown.asks if is_print else shown.bids), ("ask", shown.asks)):
            contracts = [Decimal(levels[0][1]), *(Decimal(amount) for _, amount in levels)]
            for (price, amount), counted in zip(pairs_of(row, side), contracts, strict=False):
                worth = counted * Decimal(size)
                assert amount * price <= worth
                assert (amount + STEP) * price > worth
    (said,) = [line for line in imported.manifest.assumptions if "contracts" in line]
    assert f"amounts of {market} count contracts of {size} USD" in said
    assert imported.manifest.markets[0].contract == Contract("inverse", Decimal(size))


@pytest.mark.parametrize("of", FORMATS)
def test_contracts_of_a_linear_market_are_so_much_base_each(tmp_path: Path, of: str) -> None:
    row = Shown((("100", "3"), ("99", "5")), (("101", "3"), ("102", "5")))
    rows = [row, row]
    for name, exchange, size in (("okx", "okx", "0.01"), ("bybit", "bybit", "1")):
        folder = tmp_path / name
        folder.mkdir()
        said = imported_sample(folder, of, exchange, "BTC/USD:USD", rows, alike=ALIKE).manifest.assumptions
        amounts = {one[f"{side}_amount"] for one in rows_of(folder / "set") for side in ("bid", "ask")}
        assert {Decimal(amount) for amount in amounts} == {3 * Decimal(size)}
        reported = "count contracts of 0.01 BTC" if name == "okx" else "are read as BTC"
        assert len([line for line in said if reported in line]) == 1


def test_spot_is_taken_as_it_stands_and_nothing_is_said(tmp_path: Path) -> None:
    row = Shown((("100", "3"),), (("101", "2"),))
    imported = imported_sample(tmp_path, "csv", "kraken", "BTC/USD", [row])
    assert [(one["bid_amount"], one["ask_amount"]) for one in rows_of(tmp_path / "set")] == [("3", "2")]
    assert imported.manifest.assumptions == ()


REJECTED = {
    "a size that nobody has said": (
        ("elsewhere", "BTC/USD:BTC", None),
        "elsewhere BTC/USD:BTC: counts contracts, and it is not known how many USD one is; set it, for example "
        "--contract-size 100",
    ),
    "of base": (("elsewhere", "BTC/USDT:USDT", None), "how many BTC one is; set it, for example --contract-size 0.01"),
    "settled in another coin": (("bitmex", "ETH/USD:BTC", None), "is settled in neither of its currencies"),
    "an option": (("deribit", "BTC/USD:BTC-241227-60000-C", Decimal(1)), "or is an option"),
    "a contract under a coin's name": (
        ("binanceusdm", "BTC/USDT", None),
        "binanceusdm trades only contracts; say what this one is settled in, as in --symbol BTC/USDT:USDT",
    ),
    "a size of spot": (
        ("kraken", "BTC/USD", Decimal(5)),
        "--contract-size is only for contracts, not for kraken BTC/USD",
    ),
}


@pytest.mark.parametrize(("asked", "sentence"), REJECTED.values(), ids=REJECTED.keys())
def test_what_has_no_size_is_rejected(tmp_path: Path, asked: tuple[str, str, Decimal | None], sentence: str) -> None:
    exchange, symbol, size = asked
    with pytest.raises(ImportRejectedError) as rejected:
        imported_sample(tmp_path, "csv", exchange, symbol, AWKWARD[:1], alike=ALIKE, contract_size=size)
    assert sentence in str(rejected.value)
    assert not (tmp_path / "set").exists()


def test_a_set_has_one_size_of_a_market(tmp_path: Path) -> None:
    imported_sample(tmp_path, "csv", "elsewhere", "BTC/USD:BTC", AWKWARD[:1], alike=ALIKE, contract_size=Decimal(10))
    later = tmp_path / "later"
    later.mkdir()
    (later / "set").symlink_to(tmp_path / "set")
    with pytest.raises(ImportRejectedError, match="its contract is 10 in this set; name another set with --set"):
        imported_sample(later, "csv", "elsewhere", "BTC/USD:BTC", AWKWARD[:2], alike=ALIKE, contract_size=Decimal(100))


def test_a_set_that_took_contracts_for_coins_is_not_read(tmp_path: Path) -> None:
    imported_sample(tmp_path, "csv", "bybit", "BTC/USD:BTC", AWKWARD, alike=ALIKE)
    path = tmp_path / "set" / "manifest.json"
    document = json.loads(path.read_bytes())
    del document["markets"][0]["contract"]
    path.write_text(json.dumps(document))
    with pytest.raises(ImportRejectedError, match="was made when contracts of bybit BTC/USD:BTC were taken for base"):
        open_tick_set(tmp_path / "set")


@pytest.mark.parametrize("size", ["1", "100"])
def test_the_raw_replay_reckons_the_same(tmp_path: Path, size: str) -> None:
    """`replay FILE` and `backtest FILE` read files without an import."""
    market: Market = replace(MARKET, symbol="BTC/USD:BTC", contract=Contract("inverse", Decimal(size)))
    tickers = WRITERS["hftbacktest"](tmp_path, "BTCUSD_PERP", AWKWARD)
    packed, rejections = gzipped(tmp_path / "raw.gz", tickers.read_text()), Counter[str]()
    bars = WRITERS["lean-quotes"](tmp_path, "BTCUSD", AWKWARD)
    for quotes in (
        list(book_tickers(packed, market, TickerSource("BTCUSD_PERP"), rejections)),
        list(quote_bars(bars, market, 0, rejections)),
    ):
        for quote, shown in zip(quotes, AWKWARD, strict=True):
            for level, (price, counted) in ((quote.bids[0], shown.bids[0]), (quote.asks[0], shown.asks[0])):
                worth = Decimal(counted) * Decimal(size)
                assert level.price == Decimal(price)
                assert level.amount * level.price <= worth < (level.amount + STEP) * level.price
    assert rejections == Rejections()


def test_the_raw_replay_has_prices_of_one_coin_too(tmp_path: Path) -> None:
    market = replace(MARKET, symbol="1000SHIB/USDT:USDT", coins_per_unit=Decimal(1000))
    bars = WRITERS["lean-quotes"](tmp_path, "BTCUSD", AWKWARD)
    for quote, shown in zip(quote_bars(bars, market, 0, Counter[str]()), AWKWARD, strict=True):
        (price, amount) = shown.bids[0]
        assert (quote.bids[0].price * 1000, quote.bids[0].amount) == (Decimal(price), Decimal(amount) * 1000)
