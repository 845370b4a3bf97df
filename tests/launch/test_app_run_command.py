"""`arbitrage app run`: over a recorded session, and what it refuses."""

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from launch.commands.main import run
from launch.sessions.app_rows import row_line
from launch.sessions.recorded_sessions import region_of
from tests.backtest.verify.made_up import SESSION_ID, START, STEP, made_up_session

QUOTES = "from quotes select exchange, bid, count() as n insert into Counted;"
JOINED = """from opportunities as o unidirectional join quotes#window.length(1) as q on o.base == q.base
select o.base as base, q.bid as bid insert into Met;"""
OPPORTUNITIES = "from opportunities[net_bps > 0.0] select base, buy_exchange, sell_exchange insert into Found;"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data folder with one recorded session."""
    home = tmp_path_factory.mktemp("home")
    folder = home / "recordings" / SESSION_ID
    folder.mkdir(parents=True)
    asyncio.run(made_up_session(folder))
    return home


def run_app_file(home: Path, tmp_path: Path, text: str, *words: str) -> int:
    file = tmp_path / "mine.app"
    file.write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARBITRAGE_HOME", str(home))
        return run(["app", "run", str(file), *words])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "count", "last"),
    [
        (QUOTES, 7, {"exchange": "alpha", "bid": 99.0, "n": 7}),
        (OPPORTUNITIES, 7, {"base": "BTC", "buy_exchange": "alpha", "sell_exchange": "beta"}),
        (JOINED, 7, {"base": "BTC", "bid": 91.5}),
        ("from trades[state == 'closed'] select base, buy_exchange, net is null as lost insert into Won;",
         2, {"base": "BTC", "buy_exchange": "alpha", "lost": False}),
        ("from fills select exchange, base, side, sum(amount) as amount group by exchange insert into Filled;",
         4, {"exchange": "beta", "base": "BTC", "side": "sell", "amount": 10.0}),
        ("from rejections select reason, count insert into Refused;", 3, {"reason": "account_rejected", "count": 1}),
    ],
)  # fmt: skip
def test_a_recorded_session_is_run_through_the_app(
    home: Path, tmp_path: Path, text: str, count: int, last: dict[str, object]
) -> None:
    out = tmp_path / "rows.jsonl"
    assert run_app_file(home, tmp_path, text, "--replay", SESSION_ID, "--json", str(out)) == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(rows) == count
    assert rows[-1]["values"] == last
    assert rows[-1]["time"] == (START + 11 * STEP) // 1_000 or text != QUOTES


@pytest.mark.parametrize(
    ("text", "words", "sentence"),
    [
        (QUOTES, ("--replay", "nobody"), "nobody is not a tick set"),
        (QUOTES.replace("bid", "bit"), ("--replay", SESSION_ID), "mine.app, line 1, column 30: there is no attribute"),
        ("from spreads select base insert into O;", ("--replay", SESSION_ID), "has no recorded 'spreads'"),
        (f"{QUOTES} from health select query insert into O;", ("--replay", SESSION_ID), "has no recorded 'health'"),
        (QUOTES, ("--replay", SESSION_ID, "--seconds", "3"), "--seconds is for a running session"),
        (QUOTES, (), "no session runs"),
        (QUOTES, ("--replay", SESSION_ID, "--var", "region"), "--var region: write NAME=VALUE"),
        (f"@sink(type = 'nats') define stream Counted (exchange string, bid double, n long); {QUOTES}",
         ("--replay", SESSION_ID), "no host runs the sink nats of Counted yet"),
        (f"@sink(type = 'http-call', publisher.url = 'http://example.com/x') "
         f"define stream Counted (exchange string, bid double, n long); {QUOTES}",
         ("--replay", SESSION_ID), "has no responses to the app's requests"),
        (f"@source(type = 'kafka', bootstrap.servers = 'example.com:9092', topic.list = 'orders') "
         f"define stream Orders (n long); from Orders select n insert into Seen; {QUOTES}",
         ("--replay", SESSION_ID), "has no rows of the app's own topics"),
        (QUOTES, ("--json", "/nowhere/rows"), "/nowhere is not a writable folder"),
    ],
)  # fmt: skip
def test_mistakes_get_one_sentence_and_2(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, words: tuple[str, ...], sentence: str
) -> None:
    assert run_app_file(home, tmp_path, text, *words) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


def test_all_mistakes_of_all_files_are_said(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / f"{number}.app" for number in range(3)]
    texts = ("from quotes[bidd > 1.0] select askk insert into O;", QUOTES, OPPORTUNITIES.replace("base", "bace"))
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARBITRAGE_HOME", str(home))
        assert run(["app", "run", *map(str, files), "--replay", SESSION_ID]) == 2
    said = capsys.readouterr().err.removeprefix("arbitrage: ").splitlines()
    assert [line.partition(": ")[0] for line in said] == [
        str(files[0]),
        f"{files[0]}, line 1, column 13",
        f"{files[0]}, line 1, column 32",
        f"{files[2]}, line 1, column 42",
    ]


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        ((QUOTES, QUOTES.replace("bid", "bit")), "1.app, line 1, column 30: there is no attribute 'bit'"),
        ((f"@App:name('one') {QUOTES}", OPPORTUNITIES, f"@App:name('one') {JOINED}"),
         "both apps are named 'one'; give one of them another name with @App:name, or leave it out."),
    ],
)  # fmt: skip
def test_one_bad_file_of_several_refuses_all(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], texts: tuple[str, ...], sentence: str
) -> None:
    files = [tmp_path / f"{number}.app" for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARBITRAGE_HOME", str(home))
        assert run(["app", "run", *map(str, files), "--replay", SESSION_ID]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1
    if "both" in sentence:
        assert f"{files[0]} and {files[2]}: " in said


@pytest.mark.slow
def test_what_an_app_logs_is_on_the_terminal(home: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Its rows are computed in processes of Spark."""
    text = "from quotes#log('WARN', 'seen', false)#log('so ', false) select bid insert into Bids;"
    assert run_app_file(home, tmp_path, text, "--replay", SESSION_ID) == 0
    lines = [line.partition(" (app_time: ")[0] for line in capfd.readouterr().err.splitlines()]
    assert [line.split()[0] for line in lines if line.endswith((": seen", ": so "))] == ["WARNING", "INFO"] * 7


@pytest.mark.slow
def test_several_apps_are_run_over_a_recorded_session(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files, out = [tmp_path / "quotes.app", tmp_path / "found.app"], tmp_path / "rows.jsonl"
    files[0].write_text(QUOTES)
    files[1].write_text(OPPORTUNITIES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARBITRAGE_HOME", str(home))
        assert run(["app", "run", *map(str, files), "--replay", SESSION_ID, "--json", str(out)]) == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["app"] for row in rows] == ["quotes"] * 7 + ["found"] * 7
    assert capsys.readouterr().out.splitlines() == ["quotes: 7 rows (Counted 7)", "found: 7 rows (Found 7)"]


def test_what_was_written_before_stays_where_the_app_cannot_start(home: Path, tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    out.write_text("of an earlier run")
    assert run_app_file(home, tmp_path, QUOTES, "--replay", "nobody", "--json", str(out)) == 2
    assert out.read_text() == "of an earlier run"


def test_a_row_is_a_line_for_people() -> None:
    row: dict[str, object] = {
        "id": "a:0:1:0",
        "app": "busy one",
        "stream": "Busy",
        "time": 1_700_000_000_123,
        "values": {"n": 3, "x": None},
    }
    assert row_line(row) == "22:13:20.123 Busy n=3 x=None"
    assert row_line(row, is_shared=True) == "22:13:20.123 busy one Busy n=3 x=None"


SHARING = """CREATE STREAM GLOBAL News (exchange string);
from quotes select exchange insert into News; from News select exchange insert into Heard;"""


def test_over_the_log_of_a_region_what_is_shared_needs_the_rows_that_came(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    regional = tmp_path / "regional"
    folder = regional / "regions" / "us" / "recordings" / SESSION_ID
    shutil.copytree(home / "recordings" / SESSION_ID, folder)
    assert region_of(folder) == "us"
    assert region_of(home / "recordings" / SESSION_ID) is None
    for words in ((), ("--var", "region=us")):
        assert run_app_file(regional, tmp_path, SHARING, "--replay", SESSION_ID, *words) == 2
        assert f"{SESSION_ID}: has no rows that the app got of other regions; they" in capsys.readouterr().err
    assert run_app_file(regional, tmp_path, SHARING, "--replay", SESSION_ID, "--var", "region=eu") == 2
    assert "has no log of region eu, only of us" in capsys.readouterr().err
