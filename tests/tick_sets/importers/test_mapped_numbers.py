"""Times and numbers of mapped files as other people write them."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.tick_sets.importers.read_files import read_as, rejection
from tests.tick_sets.importers.shared_cases import case_or_skip
from tick_sets.errors import ImportRejectedError
from tick_sets.importers.import_formats import FORMATS
from tick_sets.rows.import_format import FileOptions
from tick_sets.sets.file_import import ImportRequest, import_files

MAPPING = """
exchange = "kraken"
symbol = "BTC/USD"
{more}
[time]
column = "at"
{time}
[quote]
bid = "b"
bid_amount = "bq"
ask = "a"
ask_amount = "aq"
"""
NOON = 1_725_000_000_000_000
UNITS = {
    "nanoseconds": ("ns", "1725000000000000999", NOON),
    "nanoseconds of a double": ("ns", "1725000000000000000.0", NOON),
    "microseconds with an empty end": ("us", "1725000000000000.", NOON),
    "microseconds by exponent": ("us", "1.725e15", NOON),
    "milliseconds of a double": ("ms", "1725000000000.0", NOON),
    "milliseconds with decimals": ("ms", "1725000000000.1239", NOON + 123),
    "milliseconds by exponent": ("ms", "+1.725E+12", NOON),
    "seconds by exponent": ("s", "1.7250000005e9", NOON + 500_000),
    "seconds": ("auto", "1725000000", NOON),
    "seconds with decimals": ("auto", "1725000000.25", NOON + 250_000),
    "milliseconds": ("auto", "1725000000001", NOON + 1_000),
    "microseconds": ("auto", "1725000000000002", NOON + 2),
    "nanoseconds by size": ("auto", "1725000000000003999", NOON + 3),
    "small letters": ("text", "2024-08-30t06:40:00z", NOON),
    "UTC": ("text", "2024-08-30 06:40:00 UTC", NOON),
    "GMT": ("text", "2024-08-30 06:40:00.5 gmt", NOON + 500_000),
}


def written(folder: Path, text: str, time: str, more: str = "") -> tuple[Path, FileOptions]:
    path, mapping = folder / "some.csv", folder / "mapping.toml"
    path.write_text(text)
    mapping.write_text(MAPPING.format(time=time, more=more))
    return path, FileOptions(mapping=mapping)


@pytest.mark.parametrize("case", UNITS)
def test_a_time_is_read_as_it_is_written(tmp_path: Path, case: str) -> None:
    unit, text, time = UNITS[case]
    path, options = written(tmp_path, f"at,b,bq,a,aq\n{text},1,1,2,1\n", f'unit = "{unit}"')
    assert [row["received_time"] for row in read_as("csv", path, options).usable] == [time]


@pytest.mark.parametrize(
    "text", ["9725000000000000000", "17250000000000000000", "1.7.2", "1e400", "-", "1_725_000_000"]
)
def test_what_is_no_time_makes_its_row_unreadable(tmp_path: Path, text: str) -> None:
    for unit in ("ns", "auto"):
        path, options = written(tmp_path, f"at,b,bq,a,aq\n{text},1,1,2,1\n", f'unit = "{unit}"')
        assert read_as("csv", path, options).rejected == {"unreadable": 1}


def test_a_time_of_another_unit_says_which_it_would_be(tmp_path: Path) -> None:
    path, options = written(tmp_path, "at,b,bq,a,aq\n1725000000.0,1,1,2,1\n", 'unit = "ms"')
    expected = "line 2: its time 1725000000.0 is not in milliseconds since 1970; it would be one in seconds"
    assert expected in rejection("csv", path, options)
    path, options = written(tmp_path, "at,b,bq,a,aq\n1725,1,1,2,1\n", 'unit = "auto"')
    assert "line 2: its time 1725 is in no unit since 1970 (s, ms, us, ns)" in rejection("csv", path, options)


@dataclass(frozen=True, slots=True)
class Form:
    """How a file is written, and the two quotes that it holds: (line, bid, bid amount, ask, ask amount)."""

    more: str
    text: str
    rows: tuple[tuple[int, str, str, str, str], ...]


FORMS = {
    "lines before the header": Form(
        "skip_lines = 2",
        "https://somewhere.example\nall rights, reserved\nat,b,bq,a,aq\n1,100,1,101,2\n2,99,1,101,2\n",
        ((4, "100", "1", "101", "2"), (5, "99", "1", "101", "2")),
    ),
    "decimal commas": Form(
        'decimal = ","\ndelimiter = ";"',
        "at;b;bq;a;aq\n1,0;100,5;1;101;2,25\n2,5;99;1;101;2\n",
        ((2, "100.5", "1", "101", "2.25"), (3, "99", "1", "101", "2")),
    ),
    "decimal commas in quotes": Form(
        'decimal = ","',
        'at,b,bq,a,aq\n1,"100,5",1,101,"2,25"\n2,99,1,101,2\n',
        ((2, "100.5", "1", "101", "2.25"), (3, "99", "1", "101", "2")),
    ),
    "billionths": Form(
        "price_scale = 1e-9\namount_scale = 0.001",
        "at,b,bq,a,aq\n1,100500000000,1000,101000000001,2500\n2,99000000000,1,101000000000,2\n",
        ((2, "100.5", "1", "101.000000001", "2.5"), (3, "99", "0.001", "101", "0.002")),
    ),
    "the newest first": Form(
        "newest_first = true",
        "at,b,bq,a,aq\n2,99,1,101,2\n1,100,1,101,2\n",
        ((3, "100", "1", "101", "2"), (2, "99", "1", "101", "2")),
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_mapping_says_how_a_file_is_written(tmp_path: Path, name: str) -> None:
    form = FORMS[name]
    text = form.text.replace("\n1,", "\n1725000001,").replace("\n2,", "\n1725000002,")
    text = text.replace("\n1;", "\n1725000001;").replace("\n2;", "\n1725000002;")
    path, options = written(tmp_path, text, 'unit = "s"', form.more)
    found = read_as("csv", path, options)
    assert found.rejected == {}
    assert tuple(
        (row["line"], *(row[n] for n in ("bid", "bid_amount", "ask", "ask_amount"))) for row in found.usable
    ) == (form.rows)


def test_quotes_without_amounts_have_one_for_all(tmp_path: Path) -> None:
    path, mapping = tmp_path / "rates.csv", tmp_path / "rates.toml"
    path.write_text("EUR/USD,20240830 06:40:00.123,1.1,1.2\n")
    text = 'exchange="fxcm"\nsymbol={column="1"}\nheader=false\n[time]\ncolumn="2"\nunit="text"\n'
    text += '[quote]\nbid="3"\nask="4"\n'
    mapping.write_text(f"{text}constant_amount=1000")
    (row,) = read_as("csv", path, FileOptions(mapping=mapping), fx=("EUR/USD",)).usable
    assert row["received_time"] == NOON + 123_000
    assert [row[name] for name in ("bid", "bid_amount", "ask", "ask_amount")] == ["1.1", "1000", "1.2", "1000"]
    for more in ("", 'bid_amount="1"', 'bid_amount="1"\nask_amount="1"\nconstant_amount=1'):
        mapping.write_text(f"{text}{more}")
        assert "name bid_amount and ask_amount, or constant_amount" in rejection(
            "csv", path, FileOptions(mapping=mapping)
        )


@pytest.mark.parametrize("more", ["", "price_scale = 0.1"])
@pytest.mark.parametrize("bid", ["1.000,5", "50.000", "0.5"])
def test_a_point_in_a_file_of_decimal_commas_is_not_guessed_away(tmp_path: Path, bid: str, more: str) -> None:
    """50.000 was read as 50."""
    text = f"at;b;bq;a;aq\n1725000001;{bid};1;100000;1\n1725000002;1,5;1;100000,5;1\n"
    path, options = written(tmp_path, text, 'unit = "s"', f'decimal = ","\ndelimiter = ";"\n{more}')
    found = read_as("csv", path, options)
    assert (len(found.usable), found.rejected) == (1, {"unreadable": 1})


def test_points_in_most_rows_of_decimal_commas_are_said(tmp_path: Path) -> None:
    path, options = written(
        tmp_path, "at;b;bq;a;aq\n1725000001;1,5;1.000;2,5;1\n", 'unit = "s"', 'decimal = ","\ndelimiter = ";"'
    )
    request = ImportRequest(FORMATS["csv"], (path,), options)
    with pytest.raises(ImportRejectedError, match=r"no number, '1\.000 with a point although decimals have a comma'"):
        import_files(tmp_path / "set", request, lambda *_: None)


def test_more_lines_to_skip_than_there_are_is_said(tmp_path: Path) -> None:
    path, options = written(tmp_path, "at,b,bq,a,aq\n1725000001,1,1,2,1\n", 'unit = "s"', "skip_lines = 2")
    assert "has no line behind the 2 that are to be skipped" in rejection("csv", path, options)


def test_a_row_without_a_time_in_its_unit_is_found_in_many_parts_newest_first(tmp_path: Path) -> None:
    """More rows than one block of the reader holds."""
    times = range(1_725_000_000, 1_725_000_000 + 300_000)
    text = "".join(f"{time},{1000 + time % 7},1,2000,1,{'x' * 10}\n" for time in reversed(times))
    path, options = written(tmp_path, f"at,b,bq,a,aq,note\n{text}", 'unit = "s"', "newest_first = true")
    found = read_as("csv", path, options)
    assert [row["received_time"] for row in found.usable] == [time * 1_000_000 for time in times]
    assert found.rows[0]["line"] == 300_001


def test_the_nanoseconds_of_the_shared_case_are_read() -> None:
    found = read_as("csv", case_or_skip("d4_ns.csv"), FileOptions(mapping=case_or_skip("d4_ns.toml")))
    assert [row["received_time"] for row in found.usable] == [1_609_099_225_061_045, 1_609_099_226_061_045]
