"""Detection over tick sets: what a plain loop finds, in every field, however the set is cut."""

import json
import resource
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from math import floor
from pathlib import Path
from typing import Any

import pytest

from backtest.detect.batch_detection import DetectionSummary, detection_summary, layout_of_set, store_found
from backtest.detect.found_opportunities import count_of, opportunities_of
from backtest.detect.found_runs import AT_ONCE, HITS, ROWS
from backtest.detect.found_windows import windows_of
from backtest.detect.sighting_windows import Figures
from backtest.detect.workers import ThisProcess, Workers
from backtest.simulate.trade_simulation import trading_order
from cep.detection.market_layout import Layout
from market.decide.settings import Settings
from market.instruments.assets import Assumption
from market.prices.episodes import pair_of
from market.prices.opportunities import Opportunity
from market.prices.shown_sides import ShownSide
from streams.message_format import opportunity_of
from tests.backtest.detected_sets import CUTS, Cut, cut_set, messages_wanted
from tests.cep.detection.oracle import Row, expected_output
from tests.cep.detection.test_kernel import under
from tests.cep.detection.tick_tables import tick_table
from tests.cep.logs import BASES, MARKETS, LogMaker, session, settings
from tests.tick_sets.test_file_import import imported, quote
from tests.tick_sets.test_file_import import written as written_file
from tick_sets.rows.imported_markets import MarketWords
from tick_sets.sets.tick_set import TickSet, open_tick_set

PIECES = (1, 2, 7)


def log_set(folder: Path, cut: Cut, messages: list[bytes], with_levels: bool = True) -> TickSet:
    tables = {base: tick_table(messages, base, with_levels) for base in BASES}
    return cut_set(folder, cut, tables, MARKETS, "USD")


def wanted_of(messages: list[bytes]) -> dict[str, list[Row]]:
    return messages_wanted(list(expected_output(messages, session())))


def summary_of(rows: int, wanted: dict[str, list[Row]]) -> DetectionSummary:
    """Count the plain way: the first message of each id."""
    first: dict[str, Row] = {}
    for message in (message for base in sorted(wanted) for message in wanted[base]):
        first.setdefault(message["opportunity_id"], message)
    pairs = Counter((one["buy"]["exchange"], one["sell"]["exchange"]) for one in first.values())
    return DetectionSummary(
        rows=rows,
        messages=sum(map(len, wanted.values())),
        net_bits=sum(_bits(one["net_bps"]) for messages in wanted.values() for one in messages) % 2**64,
        opportunities=len(first),
        by_base={base: sum(one["base"] == base for one in first.values()) for base in BASES},
        by_pair=dict(sorted(pairs.items())),
        net_bps_counts=dict(sorted(Counter(floor(one["net_bps"]) for one in first.values()).items())),
    )


def _bits(number: float) -> int:
    return int.from_bytes(struct.pack(">d", number), "big")


def traded_rows(wanted: dict[str, list[Row]]) -> list[Opportunity]:
    """Return what readers of these messages get, in the order of trading."""
    messages = [message for one in wanted.values() for message in one]
    found = [opportunity_of(message, message["event_time"]) for message in messages]
    return sorted((one for one in found if isinstance(one, Opportunity)), key=trading_order)


def check_found(
    workers: Workers,
    tick_set: TickSet,
    own: Settings | None,
    wanted: dict[str, list[Row]],
    folder: Path,
) -> None:
    """Check what is stored and counted, for any number of pieces."""
    for pieces in PIECES:
        here = folder / str(pieces)
        counted = store_found(workers, tick_set, own, here, pieces)
        assert counted == summary_of(tick_set.manifest.rows, wanted)
        assert detection_summary(workers, tick_set, own, pieces) == counted
        assert list(opportunities_of(here, layout_of_set(tick_set))) == traded_rows(wanted)
        assert in_windows(here, layout_of_set(tick_set)) == traded_rows(wanted)
        assert count_of(here) == counted.messages


def in_windows(folder: Path, layout: Layout) -> list[Opportunity]:
    """Return what the windows have, with each figure and book held against the opportunity that it is of."""
    found: list[Opportunity] = []
    for window in windows_of(folder, layout):
        asks, bids = window.books
        for place, row in enumerate(zip(*window.figures, strict=True)):
            figures: Any = Figures(*row)
            one = window.sighting(place)
            whole = one.opportunity
            assert window.pairs[figures.codes] == one.pair == pair_of(whole)
            assert (figures.times, figures.expires, figures.net_bps) == (one.event_time, one.expires_at, one.net_bps)
            assert (figures.profits, figures.has_rates) == (one.expected_profit, bool(whole.fx))
            assert (figures.buy_ages, figures.sell_ages) == (whole.buy.age, whole.sell.age)
            sides = (ShownSide(*(column[place] for column in side)) for side in (asks, bids))
            assert tuple(sides) == (one.source.asks(one.number), one.source.bids(one.number))
            found.append(whole)
        assert window.uses(one.source.quote_ids(one.number))[place]
        assert not window.uses(()).any()
    return found


@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_any_cut_and_any_number_of_pieces_give_what_a_plain_loop_gives(tmp_path: Path, cut: Cut) -> None:
    messages = LogMaker(31).write(1_200)
    tick_set, wanted = log_set(tmp_path / "set", cut, messages), wanted_of(messages)
    assert sum(map(len, wanted.values())) > 300
    assert any(one.fx for one in traded_rows(wanted))
    check_found(ThisProcess(), tick_set, None, wanted, tmp_path / "found")
    counted = detection_summary(ThisProcess(), tick_set, None)
    assert counted.opportunities < counted.messages, "settings and FX rows let pairs be looked at again"


def test_given_settings_hold_and_those_of_the_log_say_nothing(tmp_path: Path) -> None:
    messages = LogMaker(33).write(500)
    own = settings(7, emit_net_bps=-10.0, max_quote_age_ms=900, opportunity_lifetime_ms=77)
    tick_set = log_set(tmp_path / "set", CUTS[2], messages)
    check_found(ThisProcess(), tick_set, own, wanted_of(under(own, messages)), tmp_path / "found")


def test_where_no_levels_are_recorded_the_best_one_is_all_there_is(tmp_path: Path) -> None:
    messages = LogMaker(34).write(300)
    tick_set, wanted = log_set(tmp_path / "set", CUTS[1], messages, with_levels=False), wanted_of(messages)
    for message in (message for base in wanted.values() for message in base):
        for leg in (message["buy"], message["sell"]):
            leg["levels"] = json.dumps([[leg["price"], leg["amount"]]], separators=(",", ":"))
    check_found(ThisProcess(), tick_set, None, wanted, tmp_path / "found")


def test_ids_are_counted_once_where_sequences_go_back(tmp_path: Path) -> None:
    messages = [renumbered(message) for message in LogMaker(35).write(600)]
    tick_set, wanted = log_set(tmp_path / "set", CUTS[2], messages), wanted_of(messages)
    check_found(ThisProcess(), tick_set, None, wanted, tmp_path / "found")
    counted = detection_summary(ThisProcess(), tick_set, None)
    assert counted.opportunities < counted.messages


def test_what_a_log_says_later_of_earlier_times_is_traded_in_its_place(tmp_path: Path) -> None:
    """A clock that is set back now and then: the log's own order is not that of time any more."""
    messages = [set_back(message, number) for number, message in enumerate(LogMaker(37).write(900))]
    tick_set, wanted = log_set(tmp_path / "set", CUTS[2], messages), wanted_of(messages)
    times = [message["event_time"] for message in wanted[BASES[0]]]
    assert times != sorted(times)
    check_found(ThisProcess(), tick_set, None, wanted, tmp_path / "found")


@pytest.mark.parametrize("rows", [1, 37], ids=["mirrored rows", "a jitter at each row group"])
def test_a_piece_has_one_pair_of_files_whatever_the_order_of_its_log(rows: int, tmp_path: Path) -> None:
    messages = [set_back(message, number, rows) for number, message in enumerate(LogMaker(38).write(900))]
    tick_set, wanted = log_set(tmp_path / "set", CUTS[2], messages), wanted_of(messages)
    times = [message["event_time"] for message in wanted[BASES[0]]]
    assert sum(later < earlier for earlier, later in pairwise(times)) > AT_ONCE
    check_found(ThisProcess(), tick_set, None, wanted, tmp_path / "found")
    for pieces in PIECES:
        names = sorted(path.name for path in (tmp_path / "found" / str(pieces)).iterdir())
        assert names == sorted(f"piece-{piece:05}{suffix}" for piece in range(pieces) for suffix in (HITS, ROWS))


def test_what_many_files_hold_is_read_with_few_descriptors(tmp_path: Path) -> None:
    messages = LogMaker(39).write(900)
    tick_set, wanted = log_set(tmp_path / "set", CUTS[2], messages), wanted_of(messages)
    store_found(ThisProcess(), tick_set, None, tmp_path / "found", 60)
    assert len(list((tmp_path / "found").iterdir())) > 60
    with few_descriptors(30):
        assert list(opportunities_of(tmp_path / "found", layout_of_set(tick_set))) == traded_rows(wanted)
        assert in_windows(tmp_path / "found", layout_of_set(tick_set)) == traded_rows(wanted)


@contextmanager
def few_descriptors(more: int) -> Iterator[None]:
    """Allow this process only so many descriptors more than it has."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    newest = max(int(path.name) for path in Path("/proc/self/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (newest + more, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def set_back(message: bytes, number: int, rows: int = 150) -> bytes:
    row = json.loads(message)
    return json.dumps(row | {"received_time": row["received_time"] - 700_000 * (number // rows % 2)}).encode()


def renumbered(message: bytes) -> bytes:
    """Return it with sequences from 0 to 6, over and over: ids come again long after others."""
    row = json.loads(message)
    return json.dumps(row | {"sequence": row["sequence"] % 7}).encode() if "sequence" in row else message


def test_a_log_without_settings_gives_nothing_by_itself(tmp_path: Path) -> None:
    messages = under(settings(), LogMaker(36).write(300))[1:]
    tick_set = log_set(tmp_path / "set", CUTS[1], messages)
    own: Settings = settings(1, emit_net_bps=-30.0)
    assert detection_summary(ThisProcess(), tick_set, None).messages == 0
    assert detection_summary(ThisProcess(), tick_set, own).messages > 0


def test_markets_whose_code_is_another_than_their_asset_are_compared(tmp_path: Path) -> None:
    """MATIC/USDT counts as POL: three quotes a market, a millisecond apart."""
    binance = [quote(second * 10**6, "binance", "MATICUSDT", "0.4", "0.40004") for second in range(3)]
    kraken = [quote(second * 10**6 + 1_000, "kraken", "POL/USD", "0.41", "0.410041") for second in range(3)]
    files = written_file(tmp_path, "a.csv", *binance), written_file(tmp_path, "b.csv", *kraken)
    alike = (Assumption("USDT", "USD", ""), Assumption("MATIC", "POL", ""))
    folder = tmp_path / "ticks" / "pol"
    imported(folder, *files, words=MarketWords(alike=alike))
    own = settings(enabled_exchanges=("binance", "kraken"), taker_fees={"binance": "0.001", "kraken": "0.001"})
    tick_set = open_tick_set(folder)
    store_found(ThisProcess(), tick_set, own, tmp_path / "found")
    found = list(opportunities_of(tmp_path / "found", layout_of_set(tick_set)))
    assert in_windows(tmp_path / "found", layout_of_set(tick_set)) == found
    seen = [(one.base, one.buy.exchange, one.buy.symbol, one.sell.exchange) for one in found]
    assert seen == [("POL", "binance", "MATIC/USDT", "kraken")] * 5
    assert [round(one.net_bps, 2) for one in found] == [228.73] * 5
