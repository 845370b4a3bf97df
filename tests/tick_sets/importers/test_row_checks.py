from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from market.money import Amount, Price, decimal_of
from market.prices.quotes import Level, Quote, rejection_of
from tests.tick_sets.importers.read_files import market_of
from tick_sets.errors import ImportRejectedError
from tick_sets.rows.checks import Judge
from tick_sets.rows.import_format import Chunk, ReadRow, RejectedRow, chunks_of

START = 1_700_000_000_000_000
MARKETS = (("kraken", "BTC/USD"), ("kraken", "EUR/USD"))

GOOD = ("1", "1", "2", "1")
CELLS = st.sampled_from(["1", "1.0", "2", "0", "-1", "", "x", "1e-7", "nan", "30000000000000000000000.5"])


@st.composite
def read_rows(draw: st.DrawFn) -> list[ReadRow]:
    cells = st.tuples(
        st.sampled_from(MARKETS),
        st.sampled_from([0, 1, 1, 2, 3, None]),
        st.sampled_from([GOOD, GOOD, GOOD, None]).flatmap(
            lambda good: st.tuples(CELLS, CELLS, CELLS, CELLS) if good is None else st.just(good)
        ),
        st.sampled_from([0, 0, 5, 6]),
        st.sampled_from([None, None, None, None, None, "sequence_gap", "outdated"]),
    )
    return [
        ReadRow(
            line,
            *market,
            None if time is None else START + time,
            *prices,
            text=f"row {line}",
            sequence=sequence,
            fault=fault,
        )
        for line, (market, time, prices, sequence, fault) in enumerate(draw(st.lists(cells, max_size=12)), start=1)
    ]


class PlainLoop:
    """Judges one market's rows one after the other, by the function that judges live quotes."""

    def __init__(self, is_fx: bool) -> None:
        self.is_fx = is_fx
        self.last_time = 0
        self.last_sequence = 0
        self.stands = False
        self.log: list[tuple[str, int]] = []
        self.rejected: list[tuple[int, str]] = []

    def take(self, row: ReadRow) -> None:
        reason = row.fault or self.reason_of(row)
        if reason is None:
            assert row.received_time is not None
            self.last_time = row.received_time
            self.last_sequence = max(self.last_sequence, row.sequence)
            self.log.append(("quote", row.received_time))
            self.stands = True
            return
        self.rejected.append((row.line, reason))
        harmless = reason in ("backwards", "repeated", "outdated")
        if self.stands and not harmless and row.received_time is not None and row.received_time >= self.last_time:
            self.log.append(("withdrawn", row.received_time))
            self.stands = False

    def reason_of(self, row: ReadRow) -> str | None:
        if row.received_time is None:
            return "unreadable"
        if not row.bid or not row.ask:
            return "empty"
        try:
            bid, ask = self.level(row.bid, row.bid_amount), self.level(row.ask, row.ask_amount)
        except ValueError:
            return "unreadable"
        kind, times = "fx" if self.is_fx else "quote", (None, row.received_time)
        quote = Quote(kind, "", "", "", "", "", (bid,), (ask,), *times, 0)  # type: ignore[arg-type]  # both are kinds
        reason = rejection_of(quote, self.last_time)
        return "repeated" if reason is None and 0 < row.sequence <= self.last_sequence else reason

    @staticmethod
    def level(price: str, amount: str) -> Level:
        return Level(Price(decimal_of(price)), Amount(decimal_of(amount)))


def numbered(line: int, time: int, sequence: int) -> ReadRow:
    return ReadRow(line, "kraken", "BTC/USD", START + time, *GOOD, f"row {line}", sequence=sequence)


@given(read_rows(), st.integers(1, 5))
@example([numbered(1, 0, 5), numbered(2, 1, 5), numbered(3, 0, 6)], 3)  # a row that repeats a number sets no time
@settings(max_examples=60, deadline=None)
def test_columns_are_judged_as_one_row_after_the_other_however_they_are_cut(rows: list[ReadRow], size: int) -> None:
    judge = Judge(lambda key: market_of(*key, is_fx=key[1] == "EUR/USD"))
    loops = {key: PlainLoop(key[1] == "EUR/USD") for key in MARKETS}
    for row in rows:
        loops[row.exchange, row.symbol].take(row)
    logs: dict[tuple[str, str], list[tuple[str, int]]] = {key: [] for key in MARKETS}
    rejected: dict[tuple[str, str], list[tuple[int, str]]] = {key: [] for key in MARKETS}
    for chunk in chunks_of(rows, size):
        for judged in judge.judged(chunk):
            log = [("quote", row["received_time"]) for row in judged.rows.to_pylist()]
            for lost in reversed(judged.lost):
                log.insert(lost.place, ("withdrawn", lost.time))
            logs[judged.market] += log
            rejected[judged.market] += [(row.line, row.reason) for row in judged.rejected]
            assert all(row.text == f"row {row.line}" for row in judged.rejected)
    assert logs == {key: loop.log for key, loop in loops.items()}
    assert rejected == {key: loop.rejected for key, loop in loops.items()}


@pytest.mark.parametrize(
    ("text", "plain"),
    [("61837.63000000", "61837.63000000"), ("1e-7", "0.0000001"), ("1.5E+3", "1500"), ("0.1000000000000000055", None)],
)
def test_a_price_keeps_its_digits_and_its_double_is_that_of_the_string(text: str, plain: str | None) -> None:
    row = ReadRow(1, "kraken", "BTC/USD", START, text, "1", "99999999", "1", "")
    (chunk,) = chunks_of([row])
    (judged,) = Judge(lambda key: market_of(*key)).judged(chunk)
    (found,) = judged.rows.to_pylist()
    assert found["bid"] == (plain or text)
    assert found["bid_price"] == float(text)
    assert Decimal(found["bid"]) == Decimal(text)


@pytest.mark.parametrize("time", [1, START // 1_000, START * 1_000])
def test_a_time_in_another_unit_is_out_of_bounds(time: int) -> None:
    (chunk,) = chunks_of([ReadRow(1, "kraken", "BTC/USD", time, "1", "1", "2", "1", "")])
    (judged,) = Judge(lambda key: market_of(*key)).judged(chunk)
    assert [row.reason for row in judged.rejected] == ["out_of_bounds"]
    assert judged.lost == []


BOUNDS = {
    "1e30": True,
    "1e31": False,
    "1e300": False,
    "1e999": False,
    "1e-30": True,
    "9e-31": False,
    "1e-300": False,
    "1" + "0" * 30: True,
    "1" + "0" * 31: False,
    "0." + "1" * 38: True,
    "0." + "1" * 41: False,
    "1" * 300: False,
}


@pytest.mark.parametrize("text", BOUNDS)
@pytest.mark.parametrize("side", ["bid", "bid_amount", "ask", "ask_amount"])
def test_what_comes_in_is_what_money_can_be_made_of(text: str, side: str) -> None:
    """One bound for both: a backtest makes money of each cell that an import accepts."""
    cells = {"bid": "1e-30", "bid_amount": "1", "ask": "9e30", "ask_amount": "1"} | {side: text}
    bid, bid_amount, ask, ask_amount = cells.values()
    (chunk,) = chunks_of([ReadRow(1, "kraken", "BTC/USD", START, bid, bid_amount, ask, ask_amount, "")])
    (judged,) = Judge(lambda key: market_of(*key)).judged(chunk)
    assert BOUNDS[text] == is_money(text)
    is_crossed = (side == "bid" and not float(text) < 9e30) or (side == "ask" and float(text) <= 1e-30)
    if BOUNDS[text] and not is_crossed:
        (row,) = judged.rows.to_pylist()
        assert [decimal_of(row[name]) for name in cells] == [decimal_of(cell) for cell in cells.values()]
    else:
        assert [row.reason for row in judged.rejected] == ["out_of_bounds" if not BOUNDS[text] else "crossed"]


def is_money(text: str) -> bool:
    try:
        decimal_of(text)
    except ValueError:
        return False
    return True


def test_a_rejected_row_of_a_table_keeps_its_quotes() -> None:
    (chunk,) = chunks_of([ReadRow(1, "kraken", "BTC/USD", START, "2", "1", "1", "1", "")])
    cells: dict[str, list[str | None]] = {"name": ['a "b", c'], "bid": ["2"], "ask": ["1"], "none": [None]}
    (judged,) = Judge(lambda key: market_of(*key)).judged(Chunk(chunk.rows, pa.table(cells)))
    assert [row.text for row in judged.rejected] == ['"a ""b"", c",2,1,']


def test_a_file_of_which_most_rows_are_unreadable_is_none_of_its_format() -> None:
    """Its first three are named, also those of another form; half is not yet most."""
    good = ("1", "1", "2", "1")
    rows = [ReadRow(line, "kraken", "BTC/USD", START, *good, "") for line in (1, 2, 3)]
    rows += [
        ReadRow(4, "kraken", "BTC/USD", None, *good, ""),
        ReadRow(5, "kraken", "BTC/USD", START, "1", "x", "2", "1", ""),
    ]
    (chunk,) = chunks_of(rows)
    judge, lines = Judge(lambda key: market_of(*key)), (RejectedRow(6, "unreadable", "a,b"),)
    list(judge.judged(Chunk(chunk.rows, chunk.originals, lines)))
    judge.unreadable.check(Path("a.csv"))
    list(judge.judged(Chunk(chunk.rows.slice(3, 1), chunk.originals.slice(3, 1))))
    with pytest.raises(ImportRejectedError) as rejected:
        judge.unreadable.check(Path("a.csv"))
    assert str(rejected.value) == (
        "a.csv: 4 of its 7 rows cannot be read, so nothing of it is imported: line 6 has another form (a,b); "
        "line 4 has no time; line 5 has a bid_amount that is no number, 'x'"
    )


def checked(lines: int, other_rows: int, passed_over: int, good: int, bad: int) -> None:
    rows = [ReadRow(1, "kraken", "BTC/USD", START, "1", "1", "2", "1", "", fault="other_market")] * other_rows
    rows += [ReadRow(1, "kraken", "BTC/USD", START, "1", "1", "2", "1", "")] * good
    rows += [ReadRow(1, "kraken", "BTC/USD", None, "1", "1", "2", "1", "")] * bad
    judge = Judge(lambda key: market_of(*key))
    (chunk,) = chunks_of(rows)
    rejected = (RejectedRow(6, "unreadable", "a,b"),) * lines
    list(judge.judged(Chunk(chunk.rows, chunk.originals, rejected, passed_over)))
    judge.unreadable.check(Path("a.csv"))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        # a few bad lines of a big file, of which one small market is asked for
        ((10, 1_000, 0, 5, 0), None),
        ((10, 0, 1_000, 5, 0), None),
        ((10, 2, 3, 5, 0), None),
        ((11, 2, 3, 5, 0), "11 of its 21 rows"),
        ((0, 1_000, 0, 4, 5), "5 of its 9 rows"),
        ((3, 0, 0, 3, 1), "4 of its 7 rows"),
    ],
)
def test_lines_without_a_form_count_against_the_whole_file(
    rows: tuple[int, int, int, int, int], said: str | None
) -> None:
    if said is None:
        checked(*rows)
        return
    with pytest.raises(ImportRejectedError, match=said):
        checked(*rows)
