"""The library: an app in a program of one's own, which needs nothing else of the product."""

import subprocess
import sys
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cep.apps
from cep.apps import AppError, AppFailedError, AppTextError, OutputRow, RowError, SnapshotError, StreamApp
from tests.house_rules import ROOMS

QUOTES = "define stream Quotes (symbol string, price double, size int, fee decimal);"
JUMPS = f"""{QUOTES}
@PrimaryKey('symbol') define table Last (symbol string, price double);
from every a = Quotes -> b = Quotes[symbol == a.symbol and price > 1.1 * a.price] within 10 sec
select b.symbol as symbol, a.price as before, b.price as after insert into Jumps;
from Quotes select symbol, price update or insert into Last set Last.price = price on Last.symbol == symbol;"""
TIMED = """define trigger Beat at every 1 sec; define stream S (n int);
from Beat select triggered_time as at insert into Beats;
from S select n insert into Seen;"""
S = "define stream S (n int);"
TODAY = 1_700_000_000_000


def quote(price: float, symbol: str = "BTC") -> dict[str, object]:
    return {"symbol": symbol, "price": price}


def test_text_in_rows_in_rows_out() -> None:
    app = StreamApp(JUMPS)
    assert app.send("Quotes", quote(100.0), at=TODAY) == []
    assert app.send("Quotes", quote(105), at=TODAY + 1) == []
    assert app.send("Quotes", quote(120.0), at=TODAY + 2) == [
        OutputRow("Jumps", TODAY + 2, {"symbol": "BTC", "before": before, "after": 120.0}) for before in (100.0, 105.0)
    ]
    assert (app.now, app.outputs) == (TODAY + 2, ("Jumps",))
    assert [column.name for column in app.streams["Jumps"]] == ["symbol", "before", "after"]
    assert "table Last (symbol string, price double)" in app.explained()


def test_tables_are_asked_and_changed() -> None:
    app = StreamApp(JUMPS)
    for at, row in enumerate((quote(1.0), quote(2.0, "ETH"), quote(3.0))):
        app.send("Quotes", row, at)
    answer = app.ask("from Last select symbol, price order by symbol")
    assert [(one.name, one.type) for one in answer.columns] == [("symbol", "string"), ("price", "double")]
    assert answer.rows == [("BTC", 3.0), ("ETH", 2.0)]
    app.ask("delete Last on Last.symbol == 'BTC'")
    assert app.ask("from Last select symbol").rows == [("ETH",)]


def test_time_is_that_of_the_rows_and_begins_with_the_first() -> None:
    app = StreamApp(TIMED)
    assert app.due is None
    assert app.send("S", [1], at=TODAY) == [OutputRow("Seen", TODAY, {"n": 1})]
    assert app.due == TODAY + 1_000
    assert app.advance(TODAY + 999) == []
    assert [row.stream for row in app.advance(TODAY + 2_500)] == ["Beats", "Beats"]
    # a late row moves no clock
    assert app.send("S", [2], at=TODAY) == [OutputRow("Seen", TODAY, {"n": 2})]
    assert app.now == TODAY + 2_500


def test_where_time_begins_may_be_said() -> None:
    app = StreamApp(TIMED, begins_at=0)
    assert app.due == 1_000
    assert [row.stream for row in app.send("S", [1], at=2_000)] == ["Beats", "Beats", "Seen"]


@given(st.lists(st.tuples(st.floats(1, 2), st.sampled_from(["BTC", "ETH"])), max_size=12), st.integers(0, 12))
def test_from_its_snapshot_it_goes_on_as_if_it_had_not_stopped(rows: list[tuple[float, str]], cut: int) -> None:
    whole, first = StreamApp(JUMPS, begins_at=0), StreamApp(JUMPS, begins_at=0)
    given_by_whole = [whole.send("Quotes", quote(*row), at) for at, row in enumerate(rows)]
    given = [first.send("Quotes", quote(*row), at) for at, row in enumerate(rows[:cut])]
    second = StreamApp(JUMPS, snapshot=first.snapshot())
    given += [second.send("Quotes", quote(*row), at) for at, row in enumerate(rows[cut:], start=len(rows[:cut]))]
    assert given == given_by_whole
    assert second.ask("from Last select *").rows == whole.ask("from Last select *").rows


def test_a_snapshot_is_of_one_app() -> None:
    app = StreamApp(JUMPS, begins_at=0)
    with pytest.raises(SnapshotError, match="another app"):
        StreamApp(TIMED, snapshot=app.snapshot())
    with pytest.raises(SnapshotError, match="another app"):
        StreamApp(JUMPS, variables={"region": "eu"}, snapshot=app.snapshot())
    with pytest.raises(SnapshotError):
        StreamApp(JUMPS, snapshot=app.snapshot()[:-1])


def test_a_mistake_of_the_text_has_its_place() -> None:
    with pytest.raises(AppTextError) as found:
        StreamApp(f"{QUOTES}\nfrom Quotes select prise insert into Out;")
    assert (found.value.at.line, found.value.at.column) == (2, 20)
    assert found.value.problem == "there is no attribute 'prise'; did you mean 'price'?"
    app = StreamApp(JUMPS, begins_at=0)
    with pytest.raises(AppTextError, match="line 1, column 6: there is no table, window or aggregation 'Lost'"):
        app.ask("from Lost select *")
    # an app outlives a question that was none
    assert app.ask("from Last select *").rows == []


@pytest.mark.parametrize(
    ("stream", "values", "at", "problem"),
    [
        ("Quote", {}, 0, "the app has no stream 'Quote'; did you mean 'Quotes'?"),
        ("Quotes", {"prise": 1.0}, 0, "the row of 'Quotes' at 0 has no column 'prise'; did you mean 'price'?"),
        ("Quotes", {"price": "1"}, 0, "the row of 'Quotes' at 0 has '1' in 'price', which is double"),
        ("Quotes", {"price": True}, 0, "the row of 'Quotes' at 0 has True in 'price', which is double"),
        ("Quotes", {"price": 10**400}, 0, "the row of 'Quotes' at 0 has a number in 'price' that no double holds"),
        ("Quotes", {"size": 2**31}, 0, "the row of 'Quotes' at 0 has a number of more than 32 bits in 'size'"),
        ("Quotes", {"fee": 0.1}, 0, "the row of 'Quotes' at 0 has 0.1 in 'fee', which is decimal"),
        ("Quotes", {"fee": "1e99"}, 0, "the row of 'Quotes' at 0 has no decimal in 'fee': '1e99' is out of bounds"),
        ("Quotes", ["BTC"], 0, "the row of 'Quotes' at 0 has 1 values for 4 columns"),
        ("Quotes", {}, 0.5, "the time 0.5 is not in whole milliseconds"),
        ("Beat", {}, 0, "'Beat' is a trigger, whose rows come by the clock; advance it"),
    ],
)
def test_what_is_no_row_is_told_and_the_app_goes_on(
    stream: str, values: Mapping[str, object] | list[object], at: int, problem: str
) -> None:
    app = StreamApp(f"{QUOTES} define trigger Beat at every 1 sec; from Quotes select symbol insert into Out;")
    with pytest.raises(RowError) as refused:
        app.send(stream, values, at)
    assert str(refused.value).startswith(problem)
    assert app.send("Quotes", {"symbol": "BTC"}, at=5) == [OutputRow("Out", 5, {"symbol": "BTC"})]


def test_values_are_what_the_columns_say() -> None:
    app = StreamApp(f"{QUOTES} from Quotes select price / 2 as half, size, fee * 2 as fee insert into Out;")
    assert [row.values for row in app.send("Quotes", {"price": 5, "fee": "0.10"}, at=0)] == [
        {"half": 2.5, "size": None, "fee": Decimal("0.20")}
    ]
    assert app.send("Quotes", ["BTC", 1.0, 2, Decimal("0.1")], at=0)[0].values["fee"] == Decimal("0.2")


def test_before_it_begins_there_is_nothing_to_ask_or_to_keep() -> None:
    app = StreamApp(JUMPS)
    for attempt in (lambda: app.ask("from Last select *"), app.snapshot):
        with pytest.raises(AppError, match="has not begun: send a row"):
            attempt()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"{S} from S select n insert into S;", "the stream 'S' feeds itself without end"),
        (
            f"@App:limits(window.rows = '1') {S} from S#window.time(1 min) select n insert into O;",
            "keeps 1,000 rows, and 1",
        ),
    ],
)
def test_an_app_that_cannot_go_on_is_ended_and_stays_so(text: str, problem: str) -> None:
    app = StreamApp(text)
    with pytest.raises(AppFailedError, match=problem):
        send_many(app)
    for attempt in (lambda: app.send("S", [1], 5_000), lambda: app.advance(5_000), app.snapshot):
        with pytest.raises(AppFailedError, match="has ended before"):
            attempt()


def send_many(app: StreamApp) -> None:
    for at in range(1_000):
        app.send("S", [at], at)


ALONE = """
import sys
from cep.apps import StreamApp
text = "define stream S (n int); define table T (n int); from S[n > 1] select n insert into O; from S insert into T;"
app = StreamApp(text)
assert [row.values for at in (1, 2) for row in app.send("S", {"n": at}, at)] == [{"n": 2}]
assert StreamApp(text, snapshot=app.snapshot()).ask("from T select n").rows == [(1,), (2,)]
print(*sys.modules, sep="\\n")
"""
"""A program that has nothing but the library."""
ENGINE = ("errors", "language", "parts", "functions", "compiler", "engine", "stream_app")


def test_nothing_else_of_the_product_is_imported() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALONE], cwd=Path(__file__).parents[3], capture_output=True, text=True, check=True
    )
    names = done.stdout.split()
    assert "cep.apps.stream_app" in names
    others = {*ROOMS, "tests", "pyspark", "py4j", "pymongo", "aiokafka", "ccxt"}
    rooms = {name for name in names if name.partition(".")[0] in others}
    assert {name for name in rooms if not name.startswith("cep.apps.")} == {"cep", "cep.apps"}
    assert {name.split(".")[2] for name in rooms if name.startswith("cep.apps.")} <= set(ENGINE)


def test_the_package_has_what_it_names_and_no_more() -> None:
    assert {getattr(cep.apps, name).__name__ for name in cep.apps.LIBRARY} == set(cep.apps.LIBRARY)
    assert not hasattr(cep.apps, "StreamApps")
