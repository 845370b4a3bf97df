"""A quote that was old when it arrived is old in a backtest, and the report says what age counts from."""

from pathlib import Path

import pytest

from backtest.detect.batch_detection import in_force, layout_of_set
from backtest.detect.detection_pieces import pieces_of
from backtest.detect.detection_task import DetectionTask
from backtest.requested_backtest import RequestedBacktest, parameters_for
from backtest.result.quote_ages import late_words, quote_age_words
from backtest.simulate.quote_history import quote_history_of
from tests.tick_sets.importers.shared_cases import case_or_skip
from tests.tick_sets.sets.test_exchange_times import HEADER, SECOND, START, set_with
from tick_sets.errors import ImportRejectedError
from tick_sets.importers.import_formats import FORMATS
from tick_sets.sets.exchange_times import FeedDelay, feed_delays, trusted_markets
from tick_sets.sets.file_import import ImportRequest, import_files
from tick_sets.sets.tick_set import TickSet, open_tick_set


def messages_of(tick_set: TickSet, max_quote_age_ms: int) -> int:
    """Return how often a pair qualified, by a task of the batch job."""
    settings = parameters_for(tick_set, RequestedBacktest({"max_quote_age_ms": str(max_quote_age_ms)})).settings
    trusted = trusted_markets(feed_delays(tick_set))
    task = DetectionTask(tuple(pieces_of(tick_set, 1)), layout_of_set(tick_set), in_force(settings), trusted)
    return sum(counts.messages for counts in task.counts([0]))


def apart(folder: Path, delay: int) -> TickSet:
    """Return a set of two books 100 bps apart, that of kraken so many microseconds old when it arrives, three times a
    second apart."""
    files = []
    for exchange, late, bid in (("bitstamp", 1_000, 101), ("kraken", delay, 100)):
        path = folder / f"{exchange}.csv"
        times = [START + number * SECOND for number in range(3)]
        rows = (f"{exchange},SOLUSD,{at - late},{at},1,{bid + 0.01},{bid},1\n" for at in times)
        path.write_text(HEADER + "".join(rows))
        files.append(path)
    import_files(folder / "set", ImportRequest(FORMATS["tardis-quotes"], tuple(files)), lambda *_: None)
    return open_tick_set(folder / "set")


@pytest.mark.parametrize(
    ("delay", "max_age_ms", "is_found"),
    [
        (0, 2_000, True),
        (1_000_000, 2_000, True),
        (1_999_000, 2_000, True),
        (2_001_000, 2_000, False),
        (30 * SECOND, 2_000, False),
        (30 * SECOND, 30_000, True),
        # the clocks differ, so that nothing is known but the arrival
        (-240 * SECOND, 2_000, True),
    ],
)
def test_a_book_is_as_old_as_its_exchange_says(tmp_path: Path, delay: int, max_age_ms: int, is_found: bool) -> None:
    tick_set = apart(tmp_path, delay)
    assert (messages_of(tick_set, max_age_ms) > 0) == is_found
    shown = quote_history_of(tick_set).at("kraken", "SOL/USD", START + 2 * SECOND + 10)
    assert shown is not None
    assert shown.verified == START + 2 * SECOND - max(delay, 0)


def test_the_late_book_of_the_shared_case_is_never_traded(tmp_path: Path) -> None:
    files = case_or_skip("d8_sol_bitstamp.csv"), case_or_skip("d8_sol_kraken_30s_late.csv")
    import_files(tmp_path / "set", ImportRequest(FORMATS["tardis-quotes"], files), lambda *_: None)
    tick_set = open_tick_set(tmp_path / "set")
    assert messages_of(tick_set, 2_000) == 0
    assert messages_of(tick_set, 31_000) > 0


def test_what_age_counts_from_is_said() -> None:
    delays = (
        FeedDelay("a", "BTC/USD", "used", 1_000, 20_000),
        FeedDelay("b", "BTC/USD", "used", 30 * SECOND, 31 * SECOND),
        FeedDelay("c", "BTC/USD", "absent"),
        FeedDelay("d", "BTC/USD", "ahead", -240 * SECOND, 0),
        FeedDelay("e", "BTC/USD", "same", 0, 0),
    )
    assert quote_age_words(delays, 2_000) == (
        "a quote's age counts from the exchange's time: a BTC/USD (0.001 s before it arrives, 95 % within 0.02 s), "
        "b BTC/USD (30 s before it arrives, 95 % within 31 s)",
        "b BTC/USD is 30 s old when it arrives (median; 95 % within 31 s), and a quote counts for 2 s: most of it is "
        "never traded; raise max_quote_age_ms if its exchange's time is rounded, or not when the quote was true",
        "a quote's age counts from its arrival because the source has no exchange time: c BTC/USD",
        "a quote's age counts from its arrival because the exchange's time is ahead of it (the clocks differ): "
        "d BTC/USD (by 240 s)",
        "a quote's age counts from its arrival because the source has one time for both: e BTC/USD",
    )


@pytest.mark.parametrize(
    ("median", "p95", "words"),
    [
        (1_000, 2_000, None),
        (500_000, 1_000_000, None),
        # times of whole seconds take as much
        (501_000, 950_000, "half of that is over by then"),
        (100_000, 1_001_000, "some of it is never traded"),
        # a recorder whose clock is ahead
        (5_000_000, 5_000_000, "most of it is never traded"),
    ],
)
def test_a_market_that_is_late_for_the_maximum_age_is_named(median: int, p95: int, words: str | None) -> None:
    found = late_words([FeedDelay("a", "BTC/USD", "used", median, p95)], 1_000)
    assert [words in one for one in found if words] == ([] if words is None else [True])
    assert len(found) == (words is not None)
    assert late_words([FeedDelay("a", "BTC/USD", "ahead", median, p95)], 1_000) == ()


def test_orders_take_as_long_as_quotes_took_to_arrive(tmp_path: Path) -> None:
    tick_set = set_with(tmp_path, {"bitstamp": [3_000, 1_000, 2_000], "kraken": [40_000] * 3})
    latency = parameters_for(tick_set, RequestedBacktest(latency_from_feed=True)).latency
    assert {name: one.samples_ms for name, one in latency.items()} == {"bitstamp": (1, 2, 3), "kraken": (40, 40, 40)}
    request = RequestedBacktest(latency_from_feed=True, latency_ms={"kraken": 7})
    assert parameters_for(tick_set, request).latency["kraken"].constant_ms == 7


def test_an_exchange_without_recorded_latency_is_named(tmp_path: Path) -> None:
    tick_set = set_with(tmp_path, {"bitstamp": [1_000] * 3, "kraken": [-SECOND] * 3})
    with pytest.raises(
        ImportRejectedError, match=r"has no recorded latency of kraken, .* as in --latency-ms kraken=50"
    ):
        parameters_for(tick_set, RequestedBacktest(latency_from_feed=True))
    given = RequestedBacktest(latency_from_feed=True, latency_ms={"*": 9})
    assert parameters_for(tick_set, given).latency["kraken"].constant_ms == 9
