"""Rows of REST: two runs side by side. Decimals are strings, times microseconds UTC."""

from typing_extensions import TypedDict

from ui.rows.equity import EquityPointRow


class ComparedRunRow(TypedDict):
    """A backtest, or the session (`run_id` "session"). `since` and `until`: the time that it has ticks of. `is_cut`: it
    has more trades than are compared, and the later ones are left out."""

    run_id: str
    title: str
    tick_set: str
    since: int
    until: int
    currency: str
    is_of_bars: bool
    is_cut: bool


class ComparedFigureRow(TypedDict):
    """`unit`: a currency, or empty for a number. `difference`: second less first; null if one is not known, or they are
    in two currencies."""

    name: str
    unit: str
    first: str | None
    second: str | None
    difference: str | None


class DifferingSettingRow(TypedDict):
    """A setting or parameter with two values; null: one run has no such entry."""

    name: str
    label: str
    first: str | None
    second: str | None


class ComparedTradeRow(TypedDict):
    """`trade_id`: the arbitrage's id in the session, the number in a backtest. `why_not`: the reason for which the
    session rejected an opportunity of that route then, if only the backtest has the trade; null if it is not known."""

    trade_id: str
    event_time: int
    base: str
    bought_on: str
    sold_on: str
    amount: str
    state: str
    net: str | None
    why_not: str | None


class TradePairRow(TypedDict):
    """One trade that both have. `difference`: net of the second less that of the first."""

    first: ComparedTradeRow
    second: ComparedTradeRow
    difference: str | None


class ComparisonRow(TypedDict):
    """`since` ≤ time < `until`: what both have ticks of, and all figures and trades are of; null if their times do not
    overlap: then each run's figures are of all its trades. `both`, `only_first`, `only_second` count trades; of each
    the lists hold the first hundred by time, of the pairs those whose nets differ most. `first_equity`,
    `second_equity`: the net of those trades by their ends, summed; of many the peaks and falls. `remarks`: what to know
    before reading it."""

    first: ComparedRunRow
    second: ComparedRunRow
    since: int | None
    until: int | None
    figures: list[ComparedFigureRow]
    settings: list[DifferingSettingRow]
    both: int
    only_first: int
    only_second: int
    pairs: list[TradePairRow]
    first_alone: list[ComparedTradeRow]
    second_alone: list[ComparedTradeRow]
    first_equity: list[EquityPointRow]
    second_equity: list[EquityPointRow]
    remarks: list[str]
