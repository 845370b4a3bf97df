"""Since when the days of a session count."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from market.accounting.profit_groups import ProfitGroup, profit_from
from runtime.clock import wall_now
from session.session import ReplayTime, Session, Upkeep
from tests.ui.samples import START, session_of
from ui.services.trading_days import DAY, trading_days

HOUR = DAY // 24
BEGAN = START - START % DAY + HOUR
"""An hour after midnight."""


def group(day: str) -> ProfitGroup:
    return ProfitGroup("alpha", "BTC", day, 1, 1, profit_from("USD", {"net": Decimal(5)}))


def replayed(home: Path, seconds: int) -> Session:
    """Return a session whose clock stands so many seconds after `BEGAN`, give or take what the test takes."""
    return replace(session_of(home), replay=ReplayTime(BEGAN, wall_now() - seconds * 1_000_000, 1.0))


def test_a_replay_began_with_its_recording(tmp_path: Path) -> None:
    days = trading_days(replayed(tmp_path, 3 * 86_400), ())
    assert [one.is_whole for one in days] == [False, True, True, False]
    assert {one.net for one in days} == {Decimal(0)}


def test_a_session_began_when_it_was_started(tmp_path: Path) -> None:
    began = wall_now() // DAY * DAY - 2 * DAY
    days = trading_days(replace(session_of(tmp_path), started_at=began), ())
    assert sum(one.is_whole for one in days) == len(days) - 1 >= 2


def test_days_whose_trades_were_removed_are_no_days_without_a_trade(tmp_path: Path) -> None:
    session = replace(replayed(tmp_path, 100 * 86_400), upkeep=Upkeep(keep_trades_days=2))
    days = trading_days(session, [group("2024-01")])
    assert [one.is_whole for one in days] == [False, True, False]
