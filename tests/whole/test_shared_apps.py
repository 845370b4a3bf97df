"""An app in three regions of a session, with a stream and tables that they share and one of each region's own: a region
is cut off, goes on by itself, and after its healing all have the same."""

import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from tests.whole.running import COMMAND, ROOT, run_command
from tests.whole.running_regions import RunningRegions, running_regions

pytestmark = [pytest.mark.whole, pytest.mark.soak]

REGIONS = ("us", "eu", "jp")
EXCHANGES = ("coinbaseexchange", "kraken", "bitstamp", "bitflyer")
BUCKET_MS = 5_000
APP = """@App:name('shared-prices')
CREATE STREAM GLOBAL Prices (exchange string, symbol string, price double, region string, at long);
@PrimaryKey('exchange', 'symbol', 'at')
CREATE TABLE GLOBAL Latest (exchange string, symbol string, price double, region string, at long);
@PrimaryKey('at') CREATE TABLE GLOBAL Last (at long, exchange string, price double, region string);
@PrimaryKey('exchange', 'symbol') CREATE TABLE LOCAL Mine (exchange string, symbol string, price double, at long);
define trigger Clock at every 5 sec;

from quotes[base == 'BTC']
select exchange, symbol, (bid + ask) / 2 as price, received_time / 5000000L * 5000L as at,
    ifThenElse(exchange == 'bitstamp', 'eu', ifThenElse(exchange == 'bitflyer', 'jp', 'us')) as region
insert into Placed;
from Placed[region == context:getVar('region')]
select exchange, symbol, price, region, at output last every 3 events insert into Prices;
from Prices[region == context:getVar('region')] select exchange, symbol, price, region, at
update or insert into Latest set Latest.price = price
on Latest.exchange == exchange and Latest.symbol == symbol and Latest.at == at;
from Prices[region == context:getVar('region')] select at, exchange, price, region
update or insert into Last set Last.exchange = exchange, Last.price = price, Last.region = region on Last.at == at;
from Prices[region == context:getVar('region')] select exchange, symbol, price, at
update or insert into Mine set Mine.price = price, Mine.at = at
on Mine.exchange == exchange and Mine.symbol == symbol;
from Prices select exchange, symbol, price, region, at insert into Heard;
from Clock join Latest select Clock.triggered_time as shown_at, Latest.exchange as exchange, Latest.symbol as symbol,
    Latest.price as price, Latest.region as region, Latest.at as at insert into ShownLatest;
from Clock join Last select Clock.triggered_time as shown_at, Last.at as at, Last.exchange as exchange,
    Last.price as price, Last.region as region insert into ShownLast;
from Clock join Mine select Clock.triggered_time as shown_at, Mine.exchange as exchange, Mine.at as at
insert into ShownMine;
"""
"""Each region writes rows of its own of `Latest`, and all write the same rows of `Last`, of 5 seconds each."""

Values = dict[str, Any]


@contextmanager
def app_running(home: Path, app: Path, out: Path) -> Iterator[subprocess.Popen[str]]:
    environment = os.environ | {"ARBITRAGE_HOME": str(home), "PYTHONPATH": str(ROOT)}
    command = (*COMMAND, "app", "run", str(app), "--regions", ",".join(REGIONS), "--json", str(out))
    said = out.with_suffix(".said")
    with (
        said.open("w") as told,
        subprocess.Popen(command, stdout=told, stderr=told, text=True, cwd=home, env=environment) as run,
    ):
        try:
            yield run
        finally:
            if run.poll() is None:
                below = psutil.Process(run.pid).children(recursive=True)
                for process in (psutil.Process(run.pid), *below):
                    process.kill()


def rows_in(path: Path) -> list[dict[str, Any]]:
    """Each id once, in its order; the last line may be half written."""
    rows: dict[str, dict[str, Any]] = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        assert rows.setdefault(row["id"], row) == row
    return list(rows.values())


def values_of(rows: list[dict[str, Any]], stream: str) -> list[Values]:
    return [row["values"] for row in rows if row["stream"] == stream]


def shown_last(rows: list[dict[str, Any]], table: str) -> Counter[tuple[Any, ...]]:
    """Return the table as it was shown last."""
    shown = values_of(rows, f"Shown{table}")
    newest = max(one["shown_at"] for one in shown)
    found = [one for one in shown if one["shown_at"] == newest]
    return Counter(tuple(sorted((name, value) for name, value in one.items() if name != "shown_at")) for one in found)


def within(table: Counter[tuple[Any, ...]], begin: int, end: int) -> Counter[tuple[Any, ...]]:
    """Rows of that time, milliseconds."""
    return Counter({row: count for row, count in table.items() if begin <= dict(row)["at"] < end})


def until_heard(
    regions: RunningRegions, out: Path, seconds: float, otherwise: str, *wanted: tuple[str, str, int]
) -> None:
    """Until each region has rows of the other that are of that time or later, milliseconds."""

    def is_there() -> bool:
        heard = {region: values_of(rows_in(out.with_stem(f"rows-{region}")), "Heard") for region in REGIONS}
        return all(
            any(one["region"] == other and one["at"] >= since for one in heard[region])
            for region, other, since in wanted
        )

    regions.until(is_there, seconds, otherwise)


def is_level(out: Path, begin: int, end: int) -> bool:
    """Whether all regions have come past that time, and show the same tables of until then."""
    rows = {region: rows_in(out.with_stem(f"rows-{region}")) for region in REGIONS}
    shown = [[shown_last(rows[region], table) for region in REGIONS] for table in ("Latest", "Last")]
    is_past = all(any(dict(row)["at"] > end for row in table) for tables in shown for table in tables)
    return is_past and all(len({frozenset(within(one, begin, end)) for one in tables}) == 1 for tables in shown)


def now_ms() -> int:
    return wall_now() // 1_000


def test_regions_share_and_have_the_same_after_a_cut(tmp_path: Path) -> None:
    app, out = tmp_path / "prices.app", tmp_path / "rows.jsonl"
    app.write_text(APP)
    pairs = [(region, other) for region in REGIONS for other in REGIONS if region != other]
    with running_regions(tmp_path, EXCHANGES, "--record", "--market", "busy") as regions:
        session = regions.session.session_id
        with app_running(regions.home, app, out) as run:
            until_heard(regions, out, 600, "not all heard all", *((*pair, 0) for pair in pairs))
            begin = now_ms()
            regions.pause(20)
            regions.region("cut", "jp")
            cut_at = now_ms()
            regions.pause(45)
            healed_at = now_ms()
            regions.region("heal")
            until_heard(regions, out, 600, "it was not heard again", *((*pair, healed_at) for pair in pairs))
            end = now_ms() - 2 * BUCKET_MS
            regions.until(lambda: is_level(out, begin, end), 300, "tables are not equal")
            run.send_signal(signal.SIGINT)
            assert run.wait(timeout=300) == 0, out.with_suffix(".said").read_text()
        assert regions.stop(300) == 0, regions.said
    rows = {region: rows_in(out.with_stem(f"rows-{region}")) for region in REGIONS}
    check_shared_tables(rows, begin, end)
    check_stream(rows, begin, end)
    check_cut(rows["jp"], cut_at, healed_at)
    again = tmp_path / "again.jsonl"
    words = ("--replay", session, "--var", "region=jp", "--json", str(again))
    done = run_command(tmp_path, "app", "run", str(app), *words, seconds=300)
    assert done.returncode == 0, done.stdout + done.stderr
    replayed = {row["id"]: row for row in rows_in(again)}
    assert [replayed.get(row["id"]) for row in rows["jp"]] == rows["jp"]


def check_shared_tables(rows: dict[str, list[dict[str, Any]]], begin: int, end: int) -> None:
    for table in ("Latest", "Last"):
        us, eu, jp = (within(shown_last(rows[region], table), begin, end) for region in REGIONS)
        assert us == eu == jp
        assert len(us) > (end - begin) / BUCKET_MS / 2
        assert {dict(row)["region"] for row in us} >= ({"us", "eu", "jp"} if table == "Latest" else {"us"})


def check_stream(rows: dict[str, list[dict[str, Any]]], begin: int, end: int) -> None:
    """All have the same rows, and what a region computed once is there once."""
    heard = {
        region: Counter(tuple(sorted(one.items())) for one in values_of(rows[region], "Heard")) for region in REGIONS
    }
    us, eu, jp = (within(heard[region], begin, end) for region in REGIONS)
    assert us == eu == jp
    for region in REGIONS:
        own = Counter(tuple(sorted(one.items())) for one in values_of(rows[region], "Prices"))
        here = within(own, begin, end)
        assert here == Counter({row: count for row, count in us.items() if dict(row)["region"] == region})
        assert here.total() > 0


def check_cut(jp: list[dict[str, Any]], cut_at: int, healed_at: int) -> None:
    """Its own went on meanwhile, and nothing came of the others."""
    settled = cut_at + 3 * MICROSECONDS // 1_000
    meanwhile = [row for row in jp if settled < row["time"] < healed_at]
    assert {one["region"] for one in values_of(meanwhile, "Heard")} == {"jp"}
    assert max(one["at"] for one in values_of(meanwhile, "ShownMine")) > settled
