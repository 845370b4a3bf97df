from decimal import Decimal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from datasets.rows.import_format import ReadRow, chunks_of
from datasets.rows.row_checks import Judge
from market.money import Amount, Price, decimal_of
from market.prices.quotes import Level, Quote, rejection_of
from tests.datasets.importers.read_files import market_of

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
    """One market's rows one after the other, by the function that judges live quotes."""

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
@example([numbered(1, 0, 5), numbered(2, 1, 5), numbered(3, 0, 6)], 3)  # what repeats a number sets no time
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
