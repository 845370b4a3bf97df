"""What a bot's card says it does."""

from dataclasses import replace
from datetime import UTC
from pathlib import Path

import pytest

from market.decide.kill_switch import TradingState
from session.session import Placement
from tests.ui.samples import session_of
from ui.panels.bot_cards import bot_card
from ui.rows.risk import BreakerRow
from ui.services.bot import BotRow, with_starting_bots
from ui.services.process import ProcessRow

PROCESS = ProcessRow(
    name="supervisor",
    kind="supervisor",
    exchange=None,
    state="ready",
    reported_state="ready",
    is_stoppable=False,
    wanted="running",
    wanted_by=None,
    wanted_at=None,
    pid=100,
    since=0,
    restarts=0,
    last_end=None,
    updated=0,
)


def bot(activity: str) -> BotRow:
    return BotRow(
        name="bot-alpha",
        exchange="alpha",
        region="us",
        state="ready",
        activity=activity,
        wanted="running",
        wanted_by=None,
        wanted_at=None,
        pid=101,
        since=0,
        restarts=0,
        last_end=None,
        decides_on=[],
        last_seen=0,
        lease=None,
        open_arbitrages=0,
        open_legs=0,
        is_unwatched=False,
        is_enabled=True,
        breaker=BreakerRow(is_paused=False, paused_until=None, failures={}, pauses=0, unexplained_since=0),
    )


def test_a_bot_without_a_report_yet_has_its_card_already(tmp_path: Path) -> None:
    session, alpha = session_of(tmp_path), bot("standby")
    cards = with_starting_bots([alpha], [PROCESS], session)
    assert [(one["name"], one["activity"]) for one in cards] == [("bot-alpha", "standby"), ("bot-beta", "starting")]
    shown = bot_card(cards[1], UTC, "running")
    assert '<p class="state ">Starting</p>' in shown
    # those of another region are on its own page
    elsewhere = replace(session, markets=(session.markets[0], replace(session.markets[1], region="far")))
    here = replace(elsewhere, place=Placement(session.markets[0].region, (session.markets[0].region, "far")))
    assert with_starting_bots([alpha], [PROCESS], here) == [alpha]
    # without a supervisor nothing starts
    assert with_starting_bots([], [], session) == []


@pytest.mark.parametrize(
    ("activity", "trading", "state"),
    [
        ("trading", "running", '<p class="state good">Trading</p>'),
        ("trading", "reduce_only", '<p class="state ">Reduce-only: no new arbitrages</p>'),
        ("trading", "halted", '<p class="state bad">Halted: sends nothing</p>'),
        ("standby", "halted", '<p class="state ">Standby</p>'),
        ("stopped", "halted", '<p class="state bad">Stopped</p>'),
    ],
)
def test_the_kill_switch_holds_on_the_cards_too(activity: str, trading: TradingState, state: str) -> None:
    assert state in bot_card(bot(activity), UTC, trading)


@pytest.mark.parametrize(
    ("decides_on", "shown"), [([], "–"), ([0], "partition 0"), ([0, 2], "partition 0, partition 2")]
)
def test_a_card_shows_what_its_process_decides_on(decides_on: list[int], shown: str) -> None:
    one = bot("trading")
    one["decides_on"] = decides_on
    assert f"<dt>Decides on</dt><dd>{shown}</dd>" in bot_card(one, UTC, "running")
