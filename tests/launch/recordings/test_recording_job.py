"""What the page asks of recordings, done as its process does it: what is imported, rejected and said."""

import gzip
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from launch.commands.import_sets import ImportOptions, imported_set
from launch.commands.recordings.example_recording import NAME, write_example
from launch.commands.recordings.recording_job import WORKS, ImportBounds, answered, described, format_of
from launch.errors import CannotStartError, LaunchError
from tests.launch.tardis_rows import HEADER, TIME
from tick_sets.importers.import_formats import FORMATS
from tick_sets.rows.import_format import FileOptions
from ui.runs.recording_asks import IMPORT_FORMATS


def asked(path: Path, **changes: object) -> dict[str, Any]:
    plain = {"work": "import", "file": str(path), "set": "august", "format": "auto", "exchange": "", "symbol": ""}
    return {**plain, "half_spread_bps": "", "alike": [], "mapping": "", **changes}


def write_tops(path: Path, exchange: str) -> Path:
    """Write two quotes of one exchange as Tardis does."""
    rows = [f"{exchange},BTC/USD,{TIME + at},{TIME + at},1,60010,60000,1" for at in (0, 1_000_000)]
    path.write_bytes(gzip.compress((HEADER + "\n".join(rows) + "\n").encode()))
    return path


def test_the_formats_that_the_page_offers_are_those_that_there_are() -> None:
    assert tuple(sorted(FORMATS)) == IMPORT_FORMATS


def test_the_example_has_spreads_that_pay_and_rows_of_each_kind_that_no_import_takes(tmp_path: Path) -> None:
    found = WORKS["example"](tmp_path, {})
    assert (found["set"], found["markets"]) == (NAME, ["coinbaseexchange BTC/USD", "kraken BTC/USD"])
    assert found["rejected"] == {"backwards": 1, "crossed": 1, "unreadable": 1}
    assert sorted(row["reason"] for row in found["examples"]) == ["backwards", "crossed", "unreadable"]
    assert (found["problems"], found["quotes"]) == ([], 9_597)
    assert {row["line"] for row in found["examples"]} == {1_002, 2_002, 3_003}
    # asked for again it is the one that there is
    assert WORKS["example"](tmp_path, {}) == found


def test_a_file_is_recognised_and_imported_and_another_one_added(tmp_path: Path) -> None:
    first, second = (write_tops(tmp_path / f"{name}.csv.gz", name) for name in ("kraken", "bitstamp"))
    found = WORKS["import"](tmp_path, asked(first))
    assert found["sources"][0]["format"] == "tardis-quotes"
    assert "there is nothing to compare" in found["problems"][0]
    found = WORKS["import"](tmp_path, asked(second))
    assert (len(found["sources"]), found["problems"]) == (2, [])
    assert WORKS["look"](tmp_path, {"set": "august"}) == found


def test_an_upload_stays_until_the_result_is_written(tmp_path: Path) -> None:
    path, folder = write_tops(tmp_path / "kraken.csv.gz", "kraken"), tmp_path / "job"
    # nothing can be written in its place
    (folder / "result.json" / "other").mkdir(parents=True)
    with pytest.raises(OSError, match=r"result\.json"):
        answered(folder, asked(path, home=str(tmp_path)))
    assert path.exists()
    shutil.rmtree(folder / "result.json")
    assert answered(folder, asked(path, home=str(tmp_path), set="september")) == 0
    assert (path.exists(), (folder / "result.json").is_file()) == (False, True)


@pytest.mark.parametrize(
    ("changes", "words"), [({"most_rows": 1}, "more than 1 rows"), ({"room": 2**60}, "no room for it")]
)
def test_an_import_that_takes_too_much_ends_and_leaves_nothing(
    tmp_path: Path, changes: dict[str, int], words: str
) -> None:
    path, home = write_tops(tmp_path / "kraken.csv.gz", "kraken"), tmp_path / "home"
    home.mkdir()
    options = ImportOptions("tardis-quotes", (path,), FileOptions(), None, False, (), "august", None)
    with pytest.raises(CannotStartError, match=words):
        imported_set(home, options, lambda _: None, ImportBounds(home, **changes).watch)
    assert [one.name for one in home.rglob("*")] == ["ticks"]


@pytest.mark.parametrize(
    ("content", "changes", "words"),
    [
        ("no,table\n1,2\n", {}, "looks like no known format"),
        ("no,table\n1,2\n", {"format": "csv"}, "which needs the mapping of its columns"),
        ("no,table\n1,2\n", {"format": "kraken-trades"}, "needs the exchange (as kraken) and the market"),
        ("no,table\n1,2\n", {"format": "moon"}, "is not a format"),
        ("no,table\n1,2\n", {"format": "csv", "mapping": "exchange = ["}, "mapping"),
    ],
)
def test_what_cannot_be_imported_says_why_and_stays_for_another_attempt(
    tmp_path: Path, content: str, changes: dict[str, object], words: str
) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(content)
    with pytest.raises(LaunchError, match=re.escape(words)):
        WORKS["import"](tmp_path, asked(path, **changes))
    assert path.exists()
    with pytest.raises(LaunchError, match="there is no tick set"):
        described(tmp_path, "august")


def test_a_file_of_ones_own_is_mapped(tmp_path: Path) -> None:
    recording, mapping = write_example(tmp_path)
    shutil.copy(recording, tmp_path / "mine.csv")
    found = WORKS["import"](tmp_path, asked(tmp_path / "mine.csv", format="csv", mapping=mapping.read_text()))
    assert (found["quotes"], {one["name"] for one in found["sources"]}) == (9_597, {"mine.csv"})
    with pytest.raises(LaunchError, match="looks like no known format"):
        format_of(recording)
