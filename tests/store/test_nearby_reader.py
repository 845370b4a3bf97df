"""Where the dashboard of a region reads: no MongoDB is needed to see that."""

from dataclasses import replace
from pathlib import Path

from pymongo import ReadPreference
from pymongo.read_preferences import Nearest

from session.session import Placement
from store.queries.trade_reader import open_reader
from store.server.member_states import MemberState
from tests.ui.samples import NOWHERE, session_of


async def test_a_regions_page_reads_beside_itself_and_what_can_be_changed_at_the_primary(tmp_path: Path) -> None:
    reader = await open_reader(replace(session_of(tmp_path), place=Placement("us", ("us", "eu"))))
    assert reader.place is not None
    assert reader.place.region == "us"
    assert reader.place.primary.members == (MemberState(NOWHERE, "unheard"),)
    beside = Nearest(tag_sets=[{"region": "us"}, {}])
    read = (reader, reader.balances, reader.settings_nearby, reader.processes, reader.leases)
    assert [one._database.read_preference for one in read] == [beside] * 5
    changed = (reader.settings, reader.audit, reader.process_orders, reader.backtests)
    assert [one._database.read_preference for one in changed] == [ReadPreference.PRIMARY] * 4
    await reader.close()


async def test_without_regions_everything_is_read_at_the_primary(tmp_path: Path) -> None:
    reader = await open_reader(session_of(tmp_path))
    assert reader.place is None
    assert reader._database.read_preference == ReadPreference.PRIMARY
    await reader.close()
