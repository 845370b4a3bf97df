"""Amounts that count contracts, and prices of many coins at once, as amounts in base and prices of one coin: once for
all formats, after a format has read its rows."""

import json
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from market.instruments.contracts import Contract
from market.instruments.markets import Market
from market.money import EXACT, ZERO, Amount, Price, decimal_of, text_of
from market.prices.quotes import Level
from tick_sets.rows.arrow_columns import with_column, words_of

_SIDES = ("bid", "ask")


def in_base(rows: pa.Table, market: Market) -> pa.Table:
    """`rows` of READ_SCHEMA, all of `market`: prices of one coin, and each amount at its own price, rounded down to the
    market's lot.

    Invalid numbers stay as they are and are rejected later.
    """
    contract = market.contract
    if market.coins_per_unit != 1:
        rows = _of_one_coin(rows, market)
    if contract is None or contract.counts_base:
        return rows
    for side in _SIDES:
        prices, amounts = words_of(rows, side).to_pylist(), words_of(rows, f"{side}_amount").to_pylist()
        pairs = zip(map(str, amounts), map(str, prices), strict=True)
        texts = [_amount_text(contract, amount, price, market.lot_step) for amount, price in pairs]
        rows = with_column(rows, f"{side}_amount", pa.array(texts, pa.string()))
        books = [_levels_text(contract, text, market.lot_step) for text in rows[f"{side}s"].to_pylist()]
        rows = with_column(rows, f"{side}s", pa.array(books, pa.string()))
    return rows


def counts_base(market: Market) -> bool:
    """Return whether the market's source counts single coins of the base, so that `level_in_base` changes nothing."""
    return market.coins_per_unit == 1 and (market.contract is None or market.contract.counts_base)


def level_in_base(level: Level, market: Market) -> Level:
    """Return the same of one level of a quote. Raises ValueError for a price of 0 or less."""
    if market.coins_per_unit != 1:
        price, amount = _one_coin(level.price, level.amount, market)
        level = Level(Price(price), Amount(amount))
    if market.contract is None or market.contract.counts_base:
        return level
    return Level(level.price, Amount(market.contract.base_amount(level.amount, level.price, market.lot_step)))


def amount_note(market: Market) -> str | None:
    """Return the note in a report about a market's amounts; None for spot."""
    contract, place = market.contract, f"{market.exchange} {market.symbol}"
    if contract is None:
        return None
    base, _, quote = market.symbol.partition(":")[0].partition("/")
    if contract.counts_base:
        return f"amounts of {place} are read as {base}"
    currency, at = (quote, " at each row's own price") if contract.kind == "inverse" else (base, "")
    return (
        f"amounts of {place} count contracts of {text_of(contract.size)} {currency}: they became base amounts{at}, "
        f"rounded down to {text_of(market.lot_step)}"
    )


def _of_one_coin(rows: pa.Table, market: Market) -> pa.Table:
    for side in _SIDES:
        prices, amounts = words_of(rows, side).to_pylist(), words_of(rows, f"{side}_amount").to_pylist()
        pairs = [
            _one_coin_texts(str(price), str(amount), market) for price, amount in zip(prices, amounts, strict=True)
        ]
        for place, name in enumerate((side, f"{side}_amount")):
            rows = with_column(rows, name, pa.array([pair[place] for pair in pairs], pa.string()))
        books = [_one_coin_levels(text, market) for text in rows[f"{side}s"].to_pylist()]
        rows = with_column(rows, f"{side}s", pa.array(books, pa.string()))
    return rows


def _one_coin_levels(text: str | None, market: Market) -> str | None:
    if text is None:
        return None
    levels: Iterable[tuple[Any, Any]] = json.loads(text)
    pairs = [_one_coin_texts(str(price), str(amount), market) for price, amount in levels]
    return json.dumps(pairs, separators=(",", ":"))


def _one_coin_texts(price: str, amount: str, market: Market) -> tuple[str, str]:
    """Return both in one coin, as they are if one of them is no number."""
    try:
        one_price, one_amount = _one_coin(decimal_of(price), decimal_of(amount), market)
    except ValueError:
        return price, amount
    return text_of(one_price), text_of(one_amount)


def _one_coin(price: Decimal, amount: Decimal, market: Market) -> tuple[Decimal, Decimal]:
    """Return both in one coin, exactly: a unit is a power of ten. The amount of an inverse contract counts contracts,
    whatever its price is of."""
    unit = market.coins_per_unit
    is_of_quote = market.contract is not None and market.contract.kind == "inverse"
    return EXACT.divide(price, unit), amount if is_of_quote else EXACT.multiply(amount, unit)


def _amount_text(contract: Contract, amount: str, price: str, step: Decimal) -> str:
    try:
        return text_of(contract.base_amount(decimal_of(amount), decimal_of(price), step))
    except ValueError:
        return amount


def _levels_text(contract: Contract, text: str | None, step: Decimal) -> str | None:
    if text is None:
        return None
    levels: Iterable[tuple[Any, Any]] = json.loads(text)
    amounts = [(str(price), _amount_text(contract, str(amount), str(price), step)) for price, amount in levels]
    # a level worth less than the least that counts is no level
    left = [[price, amount] for price, amount in amounts if amount != text_of(ZERO)]
    return json.dumps(left, separators=(",", ":")) if left else None
