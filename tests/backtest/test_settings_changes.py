"""Settings that changed while a session was recorded are in force from then on, if a backtest follows them."""

from decimal import Decimal
from pathlib import Path

import orjson
import pyarrow as pa
import pytest

from backtest.parameters import FeeTier
from backtest.simulate.quote_history import QuoteHistory, quote_history_of
from backtest.simulate.trade_simulation import trade
from market.decide.settings import Settings
from streams.message_format import settings_row
from tests.backtest.trading_samples import (
    EASY,
    MARKETS,
    SECOND,
    START,
    counts,
    offered,
    parameters_of,
    refilled,
    steady_quotes,
)
from tests.market.samples import settings_of
from tick_sets.sets.builder import TickSetBuilder
from tick_sets.sets.manifest import Manifest
from tick_sets.sets.schema import SOURCE_SCHEMA, TICK_SCHEMA
from tick_sets.sets.tick_set import open_tick_set

CHANGE = START + 5 * SECOND
FIRST = settings_of(**EASY)
RAISED = FIRST.model_copy(update={"version": 2, "min_net_bps": 60.0})


def _row(settings: Settings, time: int) -> dict[str, object]:
    row: dict[str, object] = dict.fromkeys(TICK_SCHEMA.names)
    return row | {
        "kind": "settings",
        "received_time": time,
        "document": settings_row(settings, time, ("BTC",)).decode(),
    }


def _tape(folder: Path, rows: list[dict[str, object]]) -> QuoteHistory:
    source = [row | {"base": "BTC", "rank": 0, "offset": offset} for offset, row in enumerate(rows)]
    with TickSetBuilder(folder / "set", ("BTC",)) as builder:
        builder.add(pa.Table.from_pylist(source, SOURCE_SCHEMA))
        builder.finish(Manifest("set", "set", "session", "USD", MARKETS, (), (), 2))
    return quote_history_of(open_tick_set(folder / "set"))


@pytest.fixture
def tape(tmp_path: Path) -> QuoteHistory:
    return _tape(tmp_path, [_row(FIRST, START - 1), *steady_quotes([START]), _row(RAISED, CHANGE)])


@pytest.mark.parametrize(
    ("follow", "rejected"), [(True, {"below_threshold": 1}), (False, {})], ids=["followed", "left alone"]
)
def test_a_raised_threshold_rejects_from_then_on(tape: QuoteHistory, *, follow: bool, rejected: dict[str, int]) -> None:
    opportunities = [offered(CHANGE - 2 * SECOND, "before"), offered(CHANGE + 1, "after")]
    outcome = trade(opportunities, tape, MARKETS, parameters_of(FIRST, follow_logged_settings=follow))
    assert counts(outcome) == rejected
    assert outcome.arbitrages[0].arbitrage_id == "before"


@pytest.mark.parametrize(
    ("changes", "rejected"),
    [
        ({"asset_thresholds": {"BTC": 60.0}}, {"below_threshold": 1}),
        ({"asset_thresholds": {"ETH": 60.0}}, {}),
        ({"pair_thresholds": {"alpha>beta": 60.0}}, {"below_threshold": 1}),
        ({"pair_thresholds": {"beta>alpha": 60.0}}, {}),
        ({"disabled_assets": ("BTC",)}, {"asset_disabled": 1}),
    ],
)
def test_what_apps_change_counts_from_then_on_and_ends_with_the_log(
    tmp_path: Path, changes: dict[str, object], rejected: dict[str, int]
) -> None:
    changed = settings_of(**{**EASY, **changes, "version": 2})
    third = FIRST.model_copy(update={"version": 3})
    rows = [_row(FIRST, START - 1), *steady_quotes([START]), _row(changed, CHANGE), _row(third, CHANGE + 2 * SECOND)]
    later = refilled([offered(CHANGE + 3 * SECOND)])
    opportunities = [offered(START + SECOND, "before"), offered(CHANGE + 1, "under it")]
    opportunities.append(offered(CHANGE + 3 * SECOND, "after"))
    tape = _tape(tmp_path, [*rows, *later])
    outcome = trade(opportunities, tape, MARKETS, parameters_of(FIRST, follow_logged_settings=True))
    assert counts(outcome) == rejected
    assert [one.applied(FIRST) for one in tape.settings_changes][-1] == FIRST


def test_a_change_leaves_the_fees_of_tiers_alone(tmp_path: Path) -> None:
    other = FIRST.model_copy(update={"version": 2, "opportunity_lifetime_ms": 400})
    rows = [_row(FIRST, START - 1), *steady_quotes([START]), _row(other, CHANGE)]
    later = refilled([offered(CHANGE + 1)])
    tiers = {"alpha": (FeeTier(Decimal(0), Decimal("0.0005")),)}
    opportunities = [offered(START + SECOND, "before"), offered(CHANGE + 1, "after")]
    parameters = parameters_of(FIRST, follow_logged_settings=True, fee_tiers=tiers)
    outcome = trade(opportunities, _tape(tmp_path, [*rows, *later]), MARKETS, parameters)
    rates = [fill.fee / fill.cost for fill in outcome.fills if fill.exchange == "alpha"]
    assert rates == [Decimal("0.0005"), Decimal("0.0005")]


def test_a_cut_tape_does_not_know_of_a_later_change(tape: QuoteHistory) -> None:
    assert [change.time for change in tape.settings_changes] == [START - 1, CHANGE]
    assert [change.time for change in tape.until(CHANGE).settings_changes] == [START - 1]


def test_a_change_leaves_what_the_log_does_not_report_as_it_was(tape: QuoteHistory) -> None:
    raised = tape.settings_changes[-1].applied(FIRST)
    assert raised == FIRST.model_copy(update={"min_net_bps": 60.0})
    assert orjson.loads(settings_row(RAISED, CHANGE, ()))["max_quote_age"] == raised.max_quote_age_ms * 1_000
