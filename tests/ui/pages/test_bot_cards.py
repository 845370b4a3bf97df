"""What a bot's card says it does."""

from datetime import UTC

import pytest

from market.settings import TradingState
from ui.bots import BotRow, BreakerRow
from ui.pages.bot_cards import bot_card


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
        last_seen=0,
        lease=None,
        open_arbitrages=0,
        open_legs=0,
        is_unwatched=False,
        is_enabled=True,
        breaker=BreakerRow(is_paused=False, paused_until=None, failures={}, pauses=0),
    )


@pytest.mark.parametrize(
    ("activity", "trading", "state"),
    [
        ("trading", "running", '<p class="state good">Trading</p>'),
        ("trading", "reducing", '<p class="state ">Begins nothing new</p>'),
        ("trading", "halted", '<p class="state bad">Halted: sends nothing</p>'),
        ("standby", "halted", '<p class="state ">Standing by</p>'),
        ("stopped", "halted", '<p class="state bad">Stopped</p>'),
    ],
)
def test_the_kill_switch_holds_on_the_cards_too(activity: str, trading: TradingState, state: str) -> None:
    assert state in bot_card(bot(activity), UTC, trading)
