"""The rows of the matrix of assets and exchanges: prices in the settlement currency, bps as numbers."""

from typing_extensions import TypedDict

from ui.live.spread_table import AssetLine, AssetPrice, SpreadCell
from ui.rows.attribute import row_from

PRICE_DIGITS = 8
"""Significant digits: for display, and so that a stable price is not reported again for its last bit."""
BPS_DIGITS = 2


class MatrixPriceRow(TypedDict):
    """One market: what selling there brings and buying there costs, in the settlement currency at the FX that a trade
    would pay. `is_fresh`: young enough to trade on, its rate included."""

    exchange: str
    symbol: str
    bid: float
    ask: float
    is_fresh: bool


class BestPairRow(TypedDict):
    """`net_bps` is after both taker fees."""

    buy_exchange: str
    buy_symbol: str
    sell_exchange: str
    sell_symbol: str
    gross_bps: float
    net_bps: float


class MatrixRow(TypedDict):
    """`best`: the pair of fresh markets that would bring most now, which may be a loss; null without two of them."""

    base: str
    prices: list[MatrixPriceRow]
    best: BestPairRow | None


def matrix_row(line: AssetLine) -> MatrixRow:
    best = None if line.best is None else _best_row(line.best)
    return MatrixRow(base=line.base, prices=[_price_row(price) for price in line.prices], best=best)


def _price_row(price: AssetPrice) -> MatrixPriceRow:
    return row_from(MatrixPriceRow, price, bid=_rounded(price.bid), ask=_rounded(price.ask))


def _best_row(best: SpreadCell) -> BestPairRow:
    bps = {name: round(getattr(best, name), BPS_DIGITS) for name in ("gross_bps", "net_bps")}
    return row_from(BestPairRow, best, **bps)


def _rounded(price: float) -> float:
    return float(f"{price:.{PRICE_DIGITS}g}")
