"""The sessions of regions: their exchanges, addresses and processes."""

from dataclasses import replace
from pathlib import Path

import pytest

from exchanges.credentials import credentials_path, load_credentials
from launch.commands.main import run
from launch.commands.region import run_region
from launch.config.configuration import Configuration
from launch.config.session_options import PaperOptions
from launch.errors import CannotStartError
from launch.regions.layout import RegionLayout, RegionPlace
from launch.regions.network.links import OBSERVER
from launch.regions.region_processes import in_region, outside_parts
from launch.regions.sessions import (
    RegionSession,
    check_regions,
    make_region_home,
    markets_in,
    region_lines,
    region_sessions,
)
from launch.sessions.paper import paper_session
from launch.setup.data_dir import write_atomically
from launch.supervisor.process_groups import NOTIFIER, ProcessSpec
from launch.supervisor.process_plan import own_processes
from session.session import Session
from simulators.web.account_keys import ensure_credentials

REGIONS = ("us", "eu", "jp")
LAYOUT = RegionLayout(
    0,
    1,
    (
        RegionPlace(OBSERVER, "198.18.0.1", None),
        *(RegionPlace(name, f"198.18.0.{number}", f"/proc/1/fd/{number}") for number, name in enumerate(REGIONS, 11)),
    ),
    {},
)


def base_session(home: Path, exchanges: tuple[str, ...] = ()) -> Session:
    return paper_session(home, PaperOptions(), Configuration(exchanges=exchanges))


def sessions(home: Path, layout: RegionLayout | None = None) -> tuple[RegionSession, ...]:
    return region_sessions(base_session(home), REGIONS, layout)


@pytest.mark.parametrize(
    ("regions", "config", "sentence"),
    [
        (("us", "eu"), Configuration(), "--regions names 2; name 3 or more"),
        ((), Configuration(), "--regions names 0; name 3 or more"),
        (tuple("abcdefgh"), Configuration(), "--regions names 8; name 7 at most, since no more members can vote."),
        (("us", "eu", "us"), Configuration(), "--regions: 'us' cannot be the name of a region here"),
        (("us", "eu", "observer"), Configuration(), "--regions: 'observer' cannot be the name of a region here"),
        (REGIONS, Configuration(kafka="127.0.0.1:1"), "`kafka` is set, but each region starts its own"),
        (REGIONS, Configuration(mongodb="mongodb://127.0.0.1:1"), "`mongodb` is set, but each region starts its own"),
    ],
)
def test_regions_that_cannot_be_are_refused(regions: tuple[str, ...], config: Configuration, sentence: str) -> None:
    with pytest.raises(CannotStartError) as refused:
        check_regions(regions, config)
    assert str(refused.value).startswith(sentence)


@pytest.mark.parametrize("text", ["us,,eu", "US,eu,jp", "us eu jp", "u", ""])
def test_words_that_are_no_list_of_regions_are_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        run(["paper", "--regions", text])
    assert refused.value.code == 2
    assert "is not a list of regions; write it as in us,eu,jp" in capsys.readouterr().err


@pytest.mark.parametrize("words", [("paper",), ("app", "run", "an.app")])
def test_a_region_is_named_once(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        run([*words, "--regions", "us,eu,us"])
    assert refused.value.code == 2
    assert "'us,eu,us' names a region twice; write each once" in capsys.readouterr().err


def test_an_exchange_of_another_region_is_left_out_with_a_line(tmp_path: Path) -> None:
    lines: list[str] = []
    markets = base_session(tmp_path).markets
    kept = markets_in(markets, ("us", "eu", "sg"), (), lines.append)
    assert {market.exchange for market in kept} == {"coinbaseexchange", "kraken", "bitstamp"}
    assert lines == ["without bitflyer: it is in region jp"]


@pytest.mark.parametrize(
    ("regions", "named", "sentence"),
    [
        (("us", "eu", "sg"), ("bitflyer",), "bitflyer is in region jp, which --regions does not name: add jp"),
        (("jp", "sg", "br"), (), "fewer than two exchanges are in jp, sg, br; an arbitrage needs two."),
        (("us", "sg", "eu"), (), "region sg has no exchange, so nobody there could decide; name it last"),
    ],
)
def test_markets_that_no_session_could_trade_are_refused(
    tmp_path: Path, regions: tuple[str, ...], named: tuple[str, ...], sentence: str
) -> None:
    with pytest.raises(CannotStartError) as refused:
        markets_in(base_session(tmp_path).markets, regions, named, lambda _: None)
    assert str(refused.value).startswith(sentence)


def test_each_region_has_its_own_kafka_page_and_folder_and_shares_the_rest(tmp_path: Path) -> None:
    made = sessions(tmp_path)
    one, *others = (each.session for each in made)
    assert [each.session.place.region for each in made] == list(REGIONS)
    assert [each.session.home for each in made] == [tmp_path / "regions" / name for name in REGIONS]
    assert [each.session.page.port for each in made] == [8000, 8001, 8002]
    assert len({each.session.services.kafka for each in made} | {each.member for each in made}) == 6
    for other in others:
        assert (
            other.session_id,
            other.services.database,
            other.services.mongodb,
            other.markets,
            other.simulated.url,
        ) == (
            one.session_id,
            one.services.database,
            one.services.mongodb,
            one.markets,
            one.simulated.url,
        )
    assert all(each.member in one.services.mongodb for each in made)


def test_with_delays_each_region_listens_at_its_address_and_meets_the_exchanges_at_the_observers(
    tmp_path: Path,
) -> None:
    for number, each in enumerate(sessions(tmp_path, LAYOUT), 11):
        host = f"198.18.0.{number}"
        assert each.session.page.host == host
        assert each.session.services.kafka.startswith(f"{host}:")
        assert each.member.startswith(f"{host}:")
        assert str(each.session.simulated.url).startswith("http://198.18.0.1:")
        assert each.session.place.carrier_home == tmp_path


def test_a_region_feeds_and_trades_at_its_own_exchanges_alone(tmp_path: Path) -> None:
    of_region = {
        each.name: {
            part.name
            for part in own_processes(each.session, ("kafka", "mongodb"), fed=True)
            if part.exchange is not None or part.name == "exchanges"
        }
        for each in sessions(tmp_path)
    }
    assert of_region == {
        "us": {"feed-coinbaseexchange", "feed-kraken", "bot-coinbaseexchange", "bot-kraken"},
        "eu": {"feed-bitstamp", "bot-bitstamp"},
        "jp": {"feed-bitflyer", "bot-bitflyer"},
    }


def test_without_regions_every_exchange_is_here(tmp_path: Path) -> None:
    session = base_session(tmp_path)
    assert session.exchanges_here == session.exchanges


def test_a_region_without_exchanges_only_votes(tmp_path: Path) -> None:
    base = base_session(tmp_path, ("coinbaseexchange", "bitstamp"))
    kept = markets_in(base.markets, REGIONS, ("coinbaseexchange", "bitstamp"), lambda _: None)
    made = region_sessions(replace(base, markets=kept), REGIONS, None)
    assert [each.only_votes for each in made] == [False, False, True]
    assert list(region_lines(made))[2] == "jp: votes"


def test_outside_are_the_exchanges_and_with_delays_the_carrier_before_them(tmp_path: Path) -> None:
    assert [part.name for part in outside_parts(tmp_path, sessions(tmp_path), None)] == ["exchanges"]
    carrier, exchanges = outside_parts(tmp_path, sessions(tmp_path, LAYOUT), LAYOUT)
    assert (carrier.name, exchanges.name, exchanges.after) == ("carrier", "exchanges", ("carrier",))
    assert exchanges.command[-2:] == ("--bind", "198.18.0.1")


def test_a_part_is_started_in_the_network_of_its_region() -> None:
    part = ProcessSpec("kafka", ("java", "kafka"))
    placed = in_region(part, LAYOUT, "eu")
    assert placed.command == ("nsenter", "--net=/proc/1/fd/12", "--", "java", "kafka")
    assert placed.environment["no_proxy"] == "*"
    assert in_region(part, None, "eu") == part


def test_the_notifier_stays_where_the_world_is_reached() -> None:
    part = ProcessSpec(NOTIFIER, ("notifier",))
    assert in_region(part, LAYOUT, "us") == part


def test_the_simulated_accounts_of_all_regions_are_one_file(tmp_path: Path) -> None:
    for each in sessions(tmp_path):
        make_region_home(tmp_path, each.session)
    made = ensure_credentials(tmp_path, {"kraken": "kraken"})["kraken"]
    assert credentials_path(tmp_path / "regions" / "jp").is_symlink()
    assert load_credentials(tmp_path / "regions" / "jp", "kraken").api_key == made.api_key


def test_links_without_delays_are_not_changed_and_one_sentence_says_so(tmp_path: Path) -> None:
    first = sessions(tmp_path)[0].session
    for folder in (tmp_path, first.home):
        write_atomically(folder / "run.json", first.to_json())
        with pytest.raises(CannotStartError, match="because it was started without --wan"):
            run_region(folder, ("cut", "eu"), False, print)


def test_a_regions_own_data_folder_means_the_whole_session(tmp_path: Path) -> None:
    first = sessions(tmp_path, LAYOUT)[0].session
    for folder in (tmp_path, first.home):
        write_atomically(folder / "run.json", first.to_json())
    with pytest.raises(CannotStartError, match=f"{tmp_path}: no session with regions runs here"):
        run_region(first.home, ("cut", "eu"), False, print)


def test_above_a_region_on_a_machine_of_its_own_there_is_no_whole_session(tmp_path: Path) -> None:
    """Its folder may have the name that it has in a session on one machine."""
    first = sessions(tmp_path, LAYOUT)[0].session
    write_atomically(first.home / "run.json", first.to_json())
    with pytest.raises(CannotStartError, match=f"{first.home}: no session with regions runs here"):
        run_region(first.home, ("cut", "eu"), False, print)
