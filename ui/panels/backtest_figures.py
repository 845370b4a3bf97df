"""Figures of backtests as text: money, shares, ratios, missed profit, and the mark of results from bars."""

from decimal import Decimal

from store.records.backtest_requests import BacktestFigures
from ui.page_parts.dom_tables import Cell
from ui.page_parts.money_cells import money_cell
from wording.number_format import MINUS, UNKNOWN, money

BARS_WORDS = (
    "Marked (bars): such fills are at the last price of a bar, not fills of an exchange. Bars cannot tell what was "
    "quoted between them, nor what a latency below their spacing costs."
)


def share_words(share: Decimal | None) -> str:
    """Return the share in percent; – if there is none."""
    return UNKNOWN if share is None else f"{share * 100:z,.4f} %".replace("-", MINUS)


def ratio_words(ratio: float | None) -> str:
    return "n/a" if ratio is None else f"{ratio:z,.2f}".replace("-", MINUS)


def money_words(amount: Decimal | None, currency: str) -> str:
    return UNKNOWN if amount is None else money(amount, currency)


def missed_cell(figures: BacktestFigures) -> Cell:
    if figures.missed is None:
        return Cell(UNKNOWN)
    return money_cell(figures.missed, figures.currency, is_toned=False)


def trades_cell(figures: BacktestFigures) -> Cell:
    return Cell(f"{figures.trades:,} from bars" if figures.is_of_bars else f"{figures.trades:,}")
