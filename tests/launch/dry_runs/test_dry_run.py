"""A dry run gives the rows of the app over the same log, with their ids, and says what only one of two texts gave."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from backtest.apps.replay import replayed
from cep.apps.functions.operator_terms import OperatorTerms
from launch.apps.published_texts import PublishedTexts
from launch.dry_runs.dry_run import MOST_ROWS, Ran, only_in, ran_over, result_of
from launch.dry_runs.recorded_app_log import recorded_partitions
from launch.setup.data_dir import write_atomically
from streams.message_format import row_of
from tests.backtest.verify.made_up import SESSION_ID, made_up_session
from tests.cep.logs import LogMaker
from tests.ui.samples import session_of

ROOT = Path(__file__).parents[3]
QUOTES = "from quotes select exchange, bid, count() as n insert into Counted;"
TEXTS = (
    QUOTES,
    "from opportunities[net_bps > 0.0] select base, buy_exchange, sell_exchange insert into Found;",
    "from trades[state == 'closed'] select base, buy_exchange insert into Won;",
    "from fills select exchange, sum(amount) as amount group by exchange insert into Filled;",
    """from opportunities as o unidirectional join quotes#window.length(1) as q on o.base == q.base
    select o.base as base, q.bid as bid insert into Met;""",
    """define stream Marks (text string); from Marks select text insert into Marked;
    from quotes select exchange, bid insert into Seen;""",
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the data folder of a session, with a recorded one."""
    home = tmp_path_factory.mktemp("home")
    folder = home / "recordings" / SESSION_ID
    folder.mkdir(parents=True)
    asyncio.run(made_up_session(folder))
    write_atomically(home / "run.json", session_of(home, "mongodb://127.0.0.1:1", "nothing").to_json())
    return home


def ran(home: Path, folder: Path, request: dict[str, Any]) -> tuple[int, str, dict[str, Any], list[dict[str, Any]]]:
    """Return the exit code, the sentence, the result and all rows."""
    folder.mkdir()
    (folder / "request.json").write_bytes(orjson.dumps({"name": "app", "against": None} | request))
    command = (sys.executable, "-m", "launch.dry_runs.dry_run", str(folder))
    environment = os.environ | {"ARBITRAGE_HOME": str(home)}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        code = process.wait(120)
        reported = process.stderr.read() if process.stderr is not None else ""
    if code:
        return code, reported, {}, []
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
    return code, reported, json.loads((folder / "result.json").read_text()), rows


@pytest.mark.parametrize("text", TEXTS)
def test_its_rows_are_those_of_the_app_over_the_same_log(home: Path, tmp_path: Path, text: str) -> None:
    code, reported, result, rows = ran(home, tmp_path / "run", {"text": text, "source": {"session": SESSION_ID}})
    assert (code, reported) == (0, "")
    source = PublishedTexts(OperatorTerms(), "paper").source(text, "app")
    partitions = recorded_partitions(home, source, SESSION_ID)
    expected = [orjson.loads(message) for one in partitions for message in replayed(source, one)]
    assert [(one["id"], one["time"], one["values"]) for one in rows] == [
        (one["id"], one["time"] * 1_000, one["values"]) for one in expected
    ]
    assert rows
    assert result["row_count"] == len(rows) == sum(one["rows"] for one in result["minutes"])
    assert result["events"] >= len(rows)
    assert result["state_bytes"] > 0


def test_two_texts_are_compared_row_by_row(home: Path, tmp_path: Path) -> None:
    narrower = QUOTES.replace("from quotes", "from quotes[exchange == 'alpha']").replace("count()", "1")
    request = {"text": QUOTES.replace("count()", "1"), "against": narrower, "source": {"session": SESSION_ID}}
    _, _, result, _ = ran(home, tmp_path / "run", request)
    assert {row["values"]["exchange"] for row in result["only_here"]} == {"beta"}
    assert (result["only_here_count"] > 0, result["only_there"], result["only_there_count"]) == (True, [], 0)


@pytest.mark.parametrize(
    ("text", "source", "sentence"),
    [
        ("from spreads select base insert into O;", {"session": SESSION_ID}, "has no recorded 'spreads'"),
        (QUOTES, {"session": "nothing"}, "nothing is not a tick set"),
        (QUOTES.replace("bid", "bit"), {"session": SESSION_ID}, "there is no attribute 'bit'"),
    ],
)
def test_what_cannot_be_run_is_said_in_a_sentence(
    home: Path, tmp_path: Path, text: str, source: dict[str, Any], sentence: str
) -> None:
    code, reported, _, _ = ran(home, tmp_path / "run", {"text": text, "source": source})
    assert (code, sentence in reported, "Traceback" in reported) == (1, True, False)


@pytest.mark.parametrize(("region", "expected"), [(None, [1, 2, 3]), ("us", [1, 2])])
def test_a_mirrored_row_that_comes_again_counts_in_no_region(region: str | None, expected: list[int]) -> None:
    source = PublishedTexts(OperatorTerms(), "paper", region).source(QUOTES, "app")
    rows = [row for row in map(row_of, LogMaker(3).write(50)) if row["kind"] == "quote"][:2]
    log = [(0, number, 0, row) for number, row in enumerate((*rows, rows[0]))]
    found = ran_over(source, iter(log), lambda _, __: None)
    assert [row["values"]["n"] for row in found.rows] == expected


def test_a_comparison_is_cut_if_either_text_gives_too_much() -> None:
    little, much = Ran(), Ran()
    much.by_stream["S"] = MOST_ROWS + 1
    assert [result_of(one, other)["is_cut"] for one, other in ((little, much), (much, little), (little, little))] == [
        True,
        True,
        False,
    ]


def test_a_row_that_comes_twice_is_compared_twice() -> None:
    one, other = Ran(), Ran()
    for number, ran_ in enumerate((one, one, other)):
        ran_.add(orjson.dumps({"id": f"a:{number}", "stream": "S", "time": 60_000, "values": {"x": 1}}))
    assert [row["id"] for row in only_in(one, other)] == ["a:1"]
    result = result_of(one, other)
    assert (result["only_here_count"], result["only_there_count"]) == (1, 0)
    assert result["minutes"] == [{"at": 60_000_000, "rows": 2}]
