"""Which rows of the topic `apps` take an exchange off, and what they cannot do."""

from dataclasses import dataclass, field

import orjson
import pytest

from market.decide.settings import Settings
from store.errors import StoreUnavailableError
from store.memory.parts import MemorySettings
from store.records.audit_entry import AuditEntry
from tests.market.samples import settings_of
from tests.store.conftest import SteppedClock
from ui.apps.app_halts import HALT_SECONDS, AppHalts, WantedHalt, halt_in

NOW = SteppedClock().now() // 1_000
ROW = {"id": "guard-1:0:7:0", "app": "guard", "stream": "Halts", "time": NOW, "values": {"exchange": "alpha", "n": 3}}


def message(**changes: object) -> bytes:
    return orjson.dumps(ROW | changes)


@dataclass
class Follower:
    """A session of two exchanges, whose operator lets `guard` halt."""

    clock: SteppedClock = field(default_factory=SteppedClock)
    told: list[Settings] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.settings = MemorySettings(self.clock)
        self.halts = AppHalts(("alpha", "beta"), ("guard",), self.settings, self.clock, self.told.append, _unheard)

    async def after(self, *messages: bytes) -> tuple[str, ...]:
        """Return the exchanges that are enabled afterwards, of alpha, beta and gamma."""
        await self.settings.create(settings_of())
        for one in messages:
            await self.halts.take(one)
        current = await self.settings.current()
        assert current is not None
        return current.enabled_exchanges


def _unheard(_: Exception) -> None:
    """Outages are no matter here."""


def test_a_row_says_what_to_halt() -> None:
    assert halt_in(message(), ("guard",)) == WantedHalt("guard-1:0:7:0", "guard", "alpha", NOW * 1_000)


@pytest.mark.parametrize(
    "row",
    [
        message(app="other"),
        message(stream="Resumes"),
        message(stream="halts"),
        message(values={"exchange": None}),
        message(values={"exchange": ["alpha"]}),
        message(values={"n": 3}),
        message(time=None),
        b"{",
        b"[]",
    ],
)
async def test_other_rows_change_nothing(row: bytes) -> None:
    assert halt_in(row, ("guard",)) is None
    assert await Follower().after(row) == ("alpha", "beta", "gamma")


async def test_an_app_that_may_halts_one_exchange() -> None:
    follower = Follower()
    assert await follower.after(message()) == ("beta", "gamma")
    assert [one.version for one in follower.told] == [2]
    (entry,) = follower.settings.audited.values()
    assert (entry.entry_id, entry.who, entry.role) == ("halt guard-1:0:7:0", "app guard", "app")
    assert (entry.action, entry.target, entry.outcome) == ("exchange.halt", "alpha", "done")


async def test_what_it_names_beside_the_exchange_is_not_read() -> None:
    values = {"exchange": "alpha", "enabled_exchanges": ["alpha"], "trading_state": "running", "state": "running"}
    follower = Follower()
    assert await follower.after(message(values=values)) == ("beta", "gamma")
    before, after = (settings for settings, _ in follower.settings.versions)
    assert after == before.model_copy(update={"version": 2, "enabled_exchanges": ("beta", "gamma")})


async def test_an_exchange_of_another_session_stays_as_it_is() -> None:
    assert await Follower().after(message(values={"exchange": "gamma"})) == ("alpha", "beta", "gamma")


@pytest.mark.parametrize(("seconds", "expected"), [(HALT_SECONDS, ("beta", "gamma")), (HALT_SECONDS + 1, None)])
async def test_a_row_of_the_past_is_over(seconds: int, expected: tuple[str, ...] | None) -> None:
    row = message(time=NOW - seconds * 1_000)
    assert await Follower().after(row) == (expected or ("alpha", "beta", "gamma"))


async def test_a_row_that_comes_again_leaves_what_an_operator_did() -> None:
    follower = Follower()
    await follower.after(message())
    await follower.settings.change(settings_of(), 2, "operator")
    assert await follower.after(message(), message()) == ("alpha", "beta", "gamma")


class LostOnce(MemorySettings):
    """Its first answer is an outage, of so many seconds."""

    outage: int | None = 0

    async def halt_exchange(self, exchange: str, entry: AuditEntry, age: int) -> Settings | None:
        if self.outage is not None:
            await self._clock.sleep(self.outage)
            self.outage = None
            raise StoreUnavailableError("no answer")
        return await super().halt_exchange(exchange, entry, age)


@pytest.mark.parametrize(("outage", "expected"), [(5, ("beta", "gamma")), (600, ("alpha", "beta", "gamma"))])
async def test_an_outage_of_the_store_delays_it_until_it_is_too_old(outage: int, expected: tuple[str, ...]) -> None:
    follower = Follower()
    follower.settings = settings = LostOnce(follower.clock)
    settings.outage = outage
    follower.halts = AppHalts(("alpha",), ("guard",), settings, follower.clock, follower.told.append, _unheard)
    assert await follower.after(message()) == expected


async def test_a_thousand_rows_are_one_change(caplog: pytest.LogCaptureFixture) -> None:
    follower = Follower()
    await follower.after(*(message(id=f"guard-1:0:{n}:0") for n in range(1_000)))
    assert len(follower.settings.audited) == len(follower.told) == 1
    assert [one.message for one in caplog.records] == ["exchange halted"]


async def test_a_row_from_before_an_operator_switched_it_on_changes_nothing() -> None:
    """Also if the row was no change when it came first."""
    follower, second = Follower(), message(id="guard-1:0:8:0")
    await follower.after(message(), second)
    await follower.clock.sleep(1)
    await follower.settings.change(settings_of(), 2, "operator")
    assert await follower.after(second) == ("alpha", "beta", "gamma")
    await follower.clock.sleep(1)
    assert await follower.after(message(id="guard-1:0:9:0", time=NOW + 2_000)) == ("beta", "gamma")
