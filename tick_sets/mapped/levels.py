"""Levels that stand in columns of their own, as the text that the log has."""

import json
from collections.abc import Iterator
from decimal import Decimal

import pyarrow as pa

from market.money import decimal_of, text_of
from tick_sets.mapped.columns import Column
from tick_sets.mapped.file import LevelColumns


def names_of_levels(levels: LevelColumns) -> list[str]:
    return [name for side in ("bid", "ask") for pair in _pairs(levels, side) for name in pair]


def level_columns(cells: pa.Table, levels: LevelColumns) -> dict[str, Column]:
    """Return the best bid and ask as they stand there; `bids` and `asks` end before the first level that is no
    price."""
    given: dict[str, Column] = {}
    for side in ("bid", "ask"):
        pairs = _pairs(levels, side)
        given[side], given[f"{side}_amount"] = cells[pairs[0][0]], cells[pairs[0][1]]
        columns = [cells[name].to_pylist() for pair in pairs for name in pair]
        texts = [_levels_text(row, is_bids=side == "bid") for row in zip(*columns, strict=True)]
        given[f"{side}s"] = pa.array(texts, pa.string())
    return given


def _pairs(levels: LevelColumns, side: str) -> list[tuple[str, str]]:
    price, amount = getattr(levels, side), getattr(levels, f"{side}_amount")
    numbers = range(levels.first, levels.first + levels.count)
    return [(price.replace("{level}", str(number)), amount.replace("{level}", str(number))) for number in numbers]


def _levels_text(cells: tuple[str, ...], *, is_bids: bool) -> str | None:
    found = [[text_of(price), text_of(amount)] for price, amount in _levels(cells, is_bids=is_bids)]
    return json.dumps(found, separators=(",", ":")) if found else None


def _levels(cells: tuple[str, ...], *, is_bids: bool) -> Iterator[tuple[Decimal, Decimal]]:
    """Return the levels; those from the first one out of order on are dropped."""
    last: Decimal | None = None
    for price_text, amount_text in zip(cells[::2], cells[1::2], strict=True):
        try:
            price, amount = decimal_of(price_text), decimal_of(amount_text)
        except ValueError:
            return
        if last is not None and (price >= last if is_bids else price <= last):
            return
        last = price
        if price <= 0 or amount <= 0:
            return
        yield price, amount
