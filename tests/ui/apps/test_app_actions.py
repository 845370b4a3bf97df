"""Which rows of the topic `apps` change a setting or tell people, and what they cannot do."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import orjson
import pytest

from cep.apps.hosts.app_messages import AppRow, app_message
from market.decide.settings import Settings
from session.access_terms import AccessTerms
from session.app_actions import AppActionTerms
from session.session import PageTerms, Services, Session
from store.app_actions import AppAction, AppActionOutcome
from store.errors import StoreUnavailableError
from store.memory.parts import MemorySettings
from store.records.audit_entry import AuditEntry
from tests.market.samples import MARKETS, settings_of
from tests.store.conftest import SteppedClock
from ui.apps.app_actions import ACTION_SECONDS, MOST_CHARACTERS, AppActions
from ui.apps.left_out_actions import MOST_REASONS, OTHER_REASONS, LeftOutActions

NOW = SteppedClock().now() // 1_000
ALL = AppActionTerms("guard", pause=True, asset_thresholds=(4, 40), pair_thresholds=(6, 60), notices=True)
NONE = AppActionTerms("guard")


def message(stream: str, number: int = 7, at: int = NOW, app: str = "guard", **values: object) -> bytes:
    return with_values(values, stream, number, at, app)


def with_values(values: dict[str, object], stream: str, number: int, at: int, app: str = "guard") -> bytes:
    row = {"id": f"{app}-1:0:{number}:0", "app": app, "stream": stream, "time": at, "values": values}
    return orjson.dumps(row)


@dataclass
class Follower:
    """A session of BTC on alpha, beta and gamma."""

    terms: AppActionTerms = ALL
    clock: SteppedClock = field(default_factory=SteppedClock)
    told: list[Settings] = field(default_factory=list)
    waited: list[Exception] = field(default_factory=list)
    first: Settings = field(default_factory=settings_of)
    left_out: LeftOutActions = field(default_factory=LeftOutActions)

    def __post_init__(self) -> None:
        self.follow(MemorySettings(self.clock))

    @property
    def reasons(self) -> dict[str, int]:
        return {one.reason: one.actions for one in self.left_out.of("guard")}

    def follow(self, settings: MemorySettings) -> None:
        access = AccessTerms(acting_apps=(self.terms,))
        services, page = Services("nowhere:1", "", ""), PageTerms(access=access)
        session = Session("s", "paper", Path(), services, MARKETS, "USD", page=page)
        self.settings = settings
        self.actions = AppActions(
            session, settings, self.clock, self.told.append, self.waited.append, self.left_out, self.clock.now()
        )

    async def after(self, *messages: bytes) -> Settings:
        """Return the settings in force afterwards."""
        await self.settings.create(self.first)
        for one in messages:
            await self.actions.take(one)
        await self.actions.settle()
        return self.settings.in_force()


PAUSE = message("AssetPauses", asset="BTC", note="more columns are not read", trading_state="halted")
RAISE = message("AssetThresholds", asset="BTC", min_net_bps=12.5)
PAIR = message("PairThresholds", buy_exchange="alpha", sell_exchange="beta", min_net_bps="7.5")
NOTICE = message("OperatorNotices", text="  spreads of\nBTC are\twide ")


@pytest.mark.parametrize(
    ("row", "changes", "action", "target"),
    [
        (PAUSE, {"disabled_assets": ("BTC",)}, "app.pause", "disabled_assets BTC"),
        (RAISE, {"asset_thresholds": {"BTC": 12.5}}, "app.threshold", "asset_thresholds BTC"),
        (PAIR, {"pair_thresholds": {"alpha>beta": 7.5}}, "app.threshold", "pair_thresholds alpha>beta"),
    ],
)
async def test_a_row_is_one_version_with_the_app_as_its_author(
    row: bytes, changes: dict[str, object], action: str, target: str
) -> None:
    follower = Follower()
    assert await follower.after(row, row) == follower.first.model_copy(update={"version": 2, **changes})
    assert [one.version for one in follower.told] == [2]
    assert follower.settings.versions[-1][1] == "app guard"
    (entry,) = follower.settings.audited.values()
    assert (entry.entry_id, entry.who, entry.role) == ("action guard-1:0:7:0", "app guard", "app")
    assert (entry.action, entry.target, entry.outcome) == (action, target, "done")
    assert (entry.before["version"], entry.after["version"], entry.after["row_time"]) == (1, 2, NOW * 1_000)


async def test_what_an_app_set_it_takes_back() -> None:
    follower = Follower()
    rows = [PAUSE, RAISE, message("AssetResumes", 8, asset="BTC")]
    rows.append(message("AssetThresholds", 9, asset="BTC", min_net_bps=None))
    after = await follower.after(*(row.replace(b":7:", f":{n}:".encode()) for n, row in enumerate(rows)))
    assert (after.version, after.disabled_assets, after.asset_thresholds) == (5, (), {})


async def test_a_notice_is_kept_for_those_who_send_it_and_changes_nothing() -> None:
    follower = Follower()
    long = message("OperatorNotices", 8, text="x" * 9_000)
    assert await follower.after(NOTICE, NOTICE, long) == follower.first
    first, second = follower.settings.audited.values()
    assert (first.action, first.target, first.after["text"]) == ("app.notice", "notice", "spreads of BTC are wide")
    assert len(str(second.after["text"])) == MOST_CHARACTERS


@pytest.mark.parametrize("row", [PAUSE, RAISE, PAIR, NOTICE])
async def test_without_the_operators_word_nothing_happens(row: bytes) -> None:
    follower = Follower(NONE)
    assert await follower.after(row) == follower.first
    assert await follower.after(row.replace(b"guard", b"other")) == follower.first
    assert not follower.settings.audited


@pytest.mark.parametrize(
    "row",
    [
        message("AssetThresholds", asset="BTC", min_net_bps=3.99),
        message("AssetThresholds", asset="BTC", min_net_bps=40.01),
        message("AssetThresholds", asset="BTC", min_net_bps="much"),
        message("AssetThresholds", asset="BTC"),
        message("AssetThresholds", asset="NONE", min_net_bps=12),
        message("PairThresholds", buy_exchange="alpha", sell_exchange="beta", min_net_bps=5.99),
        message("PairThresholds", buy_exchange="alpha", sell_exchange="alpha", min_net_bps=12),
        message("PairThresholds", buy_exchange="alpha", sell_exchange="nowhere", min_net_bps=12),
        message("PairThresholds", buy_exchange="alpha>beta", sell_exchange="beta", min_net_bps=12),
        message("AssetPauses", asset="NONE"),
        message("AssetPauses", asset=["BTC"]),
        message("AssetPauses", exchange="alpha"),
        message("OperatorNotices", text="   "),
        message("Pauses", asset="BTC"),
        message("AssetPauses", at=NOW - ACTION_SECONDS * 1_000 - 1, asset="BTC"),
        b"{",
        b"[]",
    ],
)
async def test_what_is_outside_the_bounds_or_the_session_changes_nothing(row: bytes) -> None:
    follower = Follower()
    assert await follower.after(row) == follower.first
    assert not follower.settings.audited


async def test_a_threshold_below_what_is_shown_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    follower = Follower(replace(ALL, asset_thresholds=(-50, 50)), first=settings_of(emit_net_bps=2.0))
    assert await follower.after(message("AssetThresholds", asset="BTC", min_net_bps=1.0)) == follower.first
    assert "emit_net_bps" in vars(caplog.records[-1])["reason"]


async def test_more_than_the_limit_is_counted_and_said_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    follower = Follower(replace(ALL, per_minute=2))
    rows = [message("OperatorNotices", number, text=f"number {number}") for number in range(50)]
    await follower.after(*rows)
    assert len(follower.settings.audited) == 2
    assert [one.message for one in caplog.records].count("action of an app left out") == 1
    await follower.clock.sleep(61)
    late = follower.clock.now() // 1_000
    await follower.after(message("OperatorNotices", 99, late, text="later"))
    assert len(follower.settings.audited) == 3
    (told,) = [vars(one) for one in caplog.records if one.message == "more actions of an app left out"]
    assert (told["app"], told["actions"]) == ("guard", 47)


class LostOnce(MemorySettings):
    """Its first answer is an outage, of so many seconds."""

    outage: int | None = 0

    async def act(self, action: AppAction, entry: AuditEntry) -> AppActionOutcome:
        if self.outage is not None:
            await self._clock.sleep(self.outage)
            self.outage = None
            raise StoreUnavailableError("no answer")
        return await super().act(action, entry)


@pytest.mark.parametrize(("outage", "expected"), [(5, ("BTC",)), (600, ())])
async def test_an_outage_of_the_store_delays_it_until_it_is_too_old(outage: int, expected: tuple[str, ...]) -> None:
    follower = Follower()
    settings = LostOnce(follower.clock)
    settings.outage = outage
    follower.follow(settings)
    assert (await follower.after(PAUSE)).disabled_assets == expected
    assert len(follower.waited) == 1


async def test_what_a_person_decides_wins(caplog: pytest.LogCaptureFixture) -> None:
    follower = Follower()
    await follower.after(PAUSE)
    await follower.clock.sleep(1)
    await follower.settings.amend(lambda now: now.model_copy(update={"disabled_assets": ()}), "ada")
    again = message("AssetPauses", 8, follower.clock.now() // 1_000, asset="BTC")
    assert (await follower.after(again)).disabled_assets == ()
    assert "a person removed it" in vars(caplog.records[-1])["reason"]


class Counted(MemorySettings):
    """Counts how often it is asked."""

    asked = 0

    async def act(self, action: AppAction, entry: AuditEntry) -> AppActionOutcome:
        self.asked += 1
        return await super().act(action, entry)


def each_tick(stream: str, **values: object) -> list[bytes]:
    """Return a row for each hundredth of ten seconds; a number in the values is another in each."""
    rows = []
    for number in range(1_000):
        each = {name: value + number / 1_000 if isinstance(value, float) else value for name, value in values.items()}
        rows.append(with_values(each, stream, number, NOW - 10_000 + 10 * number))
    return rows


@pytest.mark.parametrize(
    ("rows", "first", "most"),
    [
        (each_tick("AssetThresholds", asset="BTC", min_net_bps=12.0), {}, 6),
        (each_tick("AssetThresholds", asset="BTC", min_net_bps=12.0), {"asset_thresholds": {"BTC": 9.0}}, 3),
        (each_tick("AssetPauses", asset="BTC"), {}, 4),
        (each_tick("OperatorNotices", text="spreads are wide"), {}, 6),
    ],
)
async def test_a_row_for_each_tick_asks_the_store_a_few_times(
    rows: list[bytes], first: dict[str, object], most: int
) -> None:
    follower = Follower(first=settings_of(**first))
    settings = Counted(follower.clock)
    follower.follow(settings)
    await follower.after(*rows)
    assert 0 < settings.asked <= most


async def test_what_the_store_answered_holds_for_that_alone() -> None:
    follower = Follower()
    rows = each_tick("AssetPauses", asset="BTC")[:20]
    at = NOW - 9_000
    rows += [message("AssetResumes", 2_000, at, asset="BTC"), message("AssetPauses", 2_001, at + 1, asset="BTC")]
    for n, value in enumerate((9, 9, 8, 9), start=2_002):
        rows.append(message("AssetThresholds", n, at + n, asset="BTC", min_net_bps=value))
    after = await follower.after(*rows)
    assert (after.disabled_assets, after.asset_thresholds, after.version) == (("BTC",), {"BTC": 9}, 7)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("stream", ["AssetThresholds", "PairThresholds"])
async def test_what_could_not_be_computed_removes_no_threshold(
    stream: str, value: float, caplog: pytest.LogCaptureFixture
) -> None:
    follower = Follower()
    place: dict[str, object] = {"asset": "BTC", "buy_exchange": "alpha", "sell_exchange": "beta"}
    before = await follower.after(with_values({**place, "min_net_bps": 12.0}, stream, 1, NOW))
    rows = [
        app_message(AppRow(f"guard-1:0:{n}:0", "guard", stream, NOW, {**place, "min_net_bps": value}))
        for n in range(2, 5)
    ]
    for row in rows:
        await follower.actions.take(row)
    assert follower.settings.in_force() == before
    assert (before.asset_thresholds or before.pair_thresholds) != {}
    said = [vars(one) for one in caplog.records if one.message == "action of an app left out"]
    assert [one["reason"] for one in said] == ["its min_net_bps is NaN or infinite; only null removes"]


async def test_rows_that_were_too_many_are_so_for_the_next_process_too() -> None:
    follower = Follower(replace(ALL, per_minute=2))
    rows = [message("OperatorNotices", n, NOW + n, text=f"number {n}") for n in range(5)]
    await follower.after(*rows)
    done = dict(follower.settings.audited)
    # the store no longer counts these two by their own time, but the rows are young enough to act
    await follower.clock.sleep(60)
    follower.follow(follower.settings)
    for row in rows:
        await follower.actions.take(row)
    assert follower.settings.audited == done
    assert len(done) == 2


async def test_notices_use_up_no_pauses_and_nothing_that_takes_back_is_too_many() -> None:
    follower = Follower(replace(ALL, per_minute=1))
    notices = [message("OperatorNotices", n, NOW + n, text=f"number {n}") for n in range(7)]
    pauses = [message("AssetPauses", 10, NOW + 10, asset="BTC"), message("AssetPauses", 12, NOW + 12, asset="BTC")]
    resumes = [message("AssetResumes", n, NOW + n, asset="BTC") for n in (11, 13)]
    before = await follower.after(*notices, pauses[0])
    assert before.disabled_assets == ("BTC",)
    assert (await follower.after(resumes[0], pauses[1], resumes[1])).disabled_assets == ()
    raised = [message("AssetThresholds", n, NOW + n, asset="BTC", min_net_bps=float(n)) for n in (20, 21)]
    removed = message("AssetThresholds", 22, NOW + 22, asset="BTC", min_net_bps=None)
    assert (await follower.after(*raised)).asset_thresholds == {"BTC": 20.0}
    assert (await follower.after(removed)).asset_thresholds == {}
    assert follower.reasons == {"more actions of its kind within a minute than per_minute allows": 6 + 1 + 1}


LONG_AGO = NOW - 10 * ACTION_SECONDS * 1_000


@pytest.mark.parametrize(
    ("later", "stands"),
    [
        ((), False),
        ((message("OperatorNotices", 8, NOW, text="of something else"),), False),
        # it made the entry again, and was too old itself
        ((message("AssetThresholds", 8, LONG_AGO + 1, asset="BTC", min_net_bps=15.0),), True),
        # what asks for nothing that can be done says nothing of what is wanted
        ((message("AssetThresholds", 8, LONG_AGO + 1, asset="BTC", min_net_bps=1_500.0),), False),
        (
            (
                message("AssetThresholds", 8, LONG_AGO + 1, asset="BTC", min_net_bps=15.0),
                message("AssetThresholds", 9, LONG_AGO + 2, asset="BTC", min_net_bps=None),
            ),
            False,
        ),
    ],
)
async def test_what_takes_back_is_done_however_old_it_is_unless_a_later_row_makes_it_again(
    later: tuple[bytes, ...], stands: bool
) -> None:
    follower = Follower()
    made = message("AssetThresholds", 6, LONG_AGO - 1, asset="BTC", min_net_bps=12.0)
    await follower.settings.create(follower.first)
    # an earlier process, when that was young
    follower.clock.time -= 10 * ACTION_SECONDS * 1_000_000
    follower.follow(follower.settings)
    assert (await follower.after(made)).asset_thresholds == {"BTC": 12.0}
    follower.clock.time += 10 * ACTION_SECONDS * 1_000_000
    follower.follow(follower.settings)
    removed = message("AssetThresholds", 7, LONG_AGO, asset="BTC", min_net_bps=None)
    after = await follower.after(made, removed, *later)
    assert after.asset_thresholds == ({"BTC": 12.0} if stands else {})
    # what an earlier process has left out, or done, is not counted again
    assert follower.reasons == {}


@pytest.mark.parametrize(
    ("rows", "stands"),
    [
        # the newest is read first, and what lies behind it later
        ((message("AssetPauses", 9, NOW, asset="BTC"), message("AssetResumes", 7, LONG_AGO, asset="BTC")), True),
        ((message("AssetResumes", 7, LONG_AGO, asset="BTC"), message("AssetPauses", 9, NOW, asset="BTC")), True),
        (
            (
                message("AssetResumes", 8, LONG_AGO, asset="BTC"),
                message("AssetPauses", 7, LONG_AGO - 1, asset="BTC"),
            ),
            False,
        ),
        ((message("OperatorNotices", 9, NOW, text="more"), message("AssetResumes", 7, LONG_AGO, asset="BTC")), False),
    ],
)
async def test_of_what_is_asked_for_one_entry_the_newest_counts_in_whatever_order_it_is_read(
    rows: tuple[bytes, ...], stands: bool
) -> None:
    follower = Follower()
    await follower.settings.create(follower.first)
    follower.clock.time -= 11 * ACTION_SECONDS * 1_000_000
    follower.follow(follower.settings)
    made = message("AssetPauses", 1, LONG_AGO - ACTION_SECONDS * 1_000, asset="BTC")
    assert (await follower.after(made)).disabled_assets == ("BTC",)
    follower.clock.time += 11 * ACTION_SECONDS * 1_000_000
    follower.follow(follower.settings)
    assert (await follower.after(*rows)).disabled_assets == (("BTC",) if stands else ())


async def test_a_resume_that_waited_for_the_store_is_done_once_the_rows_behind_it_are_known() -> None:
    follower = Follower()
    settings = LostOnce(follower.clock)
    settings.outage = None
    follower.follow(settings)
    await follower.after(PAUSE)
    settings.outage = ACTION_SECONDS + 1
    resume = message("AssetResumes", 8, NOW + 1, asset="BTC")
    await follower.actions.take(resume)
    assert follower.actions.has_late
    assert settings.in_force().disabled_assets == ("BTC",)
    await follower.actions.settle()
    assert settings.in_force().disabled_assets == ()
    assert not follower.actions.has_late


async def test_what_is_left_out_is_counted_by_reason_and_in_all() -> None:
    follower = Follower()
    await follower.after(*(message("AssetPauses", n, NOW + n, asset=f"COIN{n}") for n in range(2 * MOST_REASONS)))
    counted = follower.left_out.of("guard")
    assert len(counted) == MOST_REASONS + 1
    assert follower.reasons[OTHER_REASONS] == MOST_REASONS
    assert follower.left_out.of("other") == ()
