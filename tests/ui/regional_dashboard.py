"""A dashboard of a session of regions with the real carrier's commands, but no network, no Kafka and no MongoDB."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from fastapi import APIRouter, FastAPI

from launch.regions.layout import RegionLayout, RegionPlace, write_layout
from launch.regions.network.links import OBSERVER
from launch.regions.sessions import region_home
from runtime.clock import wall_now
from session.session import Placement, Session
from store.errors import StoreUnavailableError
from store.operations.audit import AuditFilter, MongoAudit
from store.queries.trade_reader import TradeReader
from store.records.audit_entry import AuditEntry, AuditOutcome
from store.server.client import connect, database_of
from store.server.member_states import MemberRole, MemberState
from store.server.page_reader import Page
from tests.market.samples import MARKETS
from tests.ui.samples import NOWHERE, session_of
from ui.auth.access_service import Access
from ui.http.problems import answer_problems
from ui.services.dashboard import Dashboard
from ui.services.health import HealthService
from ui.stream.found_cycles import FoundCycles
from ui.stream.live_hub import LiveHub

REGIONS = ("us", "eu", "jp")
ROOT = Path(__file__).parents[2]
CARRIER = """
import sys
from pathlib import Path
from launch.regions.network.control_socket import listening
from launch.regions.network.carrier import RegionCarrier
from launch.regions.layout import read_layout

home = Path(sys.argv[1])
with listening(home) as listener:
    carrier = RegionCarrier(home, read_layout(home), {}, listener)
    print("ready", flush=True)
    carrier.run()
"""


class RecordedAudit(MongoAudit):
    """Entries as they ended, by their order; the same contract test as for the real one. `is_away`: nothing can be
    recorded; `may_end`: no end is, before it is set."""

    def __init__(self) -> None:
        super().__init__(database_of(connect(f"mongodb://{NOWHERE}"), "unused"))
        self.entries: dict[str, AuditEntry] = {}
        self.is_away = False
        self.may_end = asyncio.Event()
        self.may_end.set()

    async def begin(self, entry: AuditEntry) -> AuditEntry:
        if self.is_away:
            raise StoreUnavailableError("It is away.")
        kept = replace(entry, at=wall_now())
        self.entries.setdefault(entry.entry_id, kept)
        return kept

    async def page(self, wanted: AuditFilter, cursor: str | None, limit: int) -> Page[AuditEntry]:
        """Without filters and cursors, which nobody asks this one for."""
        return Page(tuple(reversed(self.entries.values()))[:limit], None)

    async def end(
        self,
        entry_id: str,
        outcome: AuditOutcome,
        before: Mapping[str, object],
        after: Mapping[str, object],
        reason: str = "",
        at: int | None = None,
    ) -> None:
        await self.may_end.wait()
        begun = self.entries[entry_id]
        done = replace(begun, outcome=outcome, before=before, after=after, reason=reason, at=at or begun.at)
        self.entries[entry_id] = done


class AuditingReader(TradeReader):
    """The reader of a MongoDB that is away, except for the audit log."""

    def __init__(self) -> None:
        super().__init__(connect(f"mongodb://{NOWHERE}", selection_ms=1), "unused")
        self.recorded = RecordedAudit()
        self.audit = self.recorded


def regional_session(home: Path, *, with_carrier: bool = True) -> Session:
    """Return the session of the page in us."""
    return replace(session_of(home), place=Placement("us", REGIONS, home if with_carrier else None), markets=MARKETS)


def dashboard_at(session: Session, reader: AuditingReader) -> Dashboard:
    """On the running loop; nothing of it follows anything."""
    hub, loop = LiveHub(session, reader), asyncio.get_running_loop()
    following = loop.create_task(asyncio.sleep(0))
    health, cycles = HealthService(session, hub, reader), FoundCycles(session)
    return Dashboard(session, hub, reader, loop, following, Access(session), health, cycles)


def seen(dashboard: Dashboard, *roles: MemberRole, now: int = 1) -> None:
    """Let the page see the members of us, eu and jp so."""
    assert dashboard.hub.regions is not None
    states = zip(REGIONS, roles, strict=True)
    members = [MemberState(f"{region}:1", role, region, 1_000_000) for region, role in states]
    dashboard.hub.regions.observe(members, now)


def application_of(dashboard: Dashboard, router: APIRouter) -> FastAPI:
    app = FastAPI()
    answer_problems(app)
    app.include_router(router, prefix="/api")
    app.state.dashboard = dashboard
    return app


@contextmanager
def carrier(home: Path) -> Iterator[None]:
    """Return the carrier of three regions, without devices: it takes commands and carries nothing."""
    places = (OBSERVER, *REGIONS)
    trips = {"us eu": 80, "us jp": 150, "eu jp": 230}
    layout = [RegionPlace(name, f"198.18.0.{number}", None) for number, name in enumerate(places, 1)]
    write_layout(home, RegionLayout(0, 1, tuple(layout), trips))
    for name in REGIONS:
        region_home(home, name).mkdir(parents=True)
    command = (sys.executable, "-c", CARRIER, str(home))
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == b"ready\n"
            yield
        finally:
            child.kill()
