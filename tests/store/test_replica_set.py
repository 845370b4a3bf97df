"""What MongoDB is told of a replica set with a member in each region."""

from typing import Any

import pytest

from store.errors import StoreError
from store.server.replica_set import Member, ReplicaSet, regional_set

ADDRESSES = {"us": "10.0.1.1:27017", "eu": "10.0.2.1:27017", "jp": "10.0.3.1:27017"}
TEXT = "10.0.1.1:27017,10.0.2.1:27017,10.0.3.1:27017"


def known(of: ReplicaSet, **fields: object) -> dict[str, Any]:
    """As MongoDB gives it back, with what it adds."""
    told: dict[str, Any] = of.configuration()
    members = [{**one, "hidden": False, "votes": 1} for one in told["members"]]
    settings = {**told["settings"], "replicaSetId": "some", "heartbeatIntervalMillis": 2_000}
    return {**told, "members": members, "settings": settings, "term": 7, **fields}


@pytest.mark.parametrize(
    ("regions", "priorities"),
    [(["us"], [1]), (["us", "eu"], [1, 1]), (["us", "eu", "jp"], [1, 1, 0])],
)
def test_who_may_be_primary(regions: list[str], priorities: list[int]) -> None:
    members = regional_set({region: ADDRESSES[region] for region in regions}).members
    assert [(one.region, one.priority) for one in members] == list(zip(regions, priorities, strict=True))


def test_the_whole_configuration() -> None:
    members = (Member("us", "10.0.1.1:27017", priority=2), Member("eu", "10.0.2.1:27017"))
    assert ReplicaSet(members, election_ms=2_000, is_journalled=False).configuration() == {
        "_id": "rs0",
        "version": 1,
        "members": [
            {"_id": 0, "host": "10.0.1.1:27017", "priority": 2, "tags": {"region": "us"}},
            {"_id": 1, "host": "10.0.2.1:27017", "priority": 1, "tags": {"region": "eu"}},
        ],
        "settings": {"electionTimeoutMillis": 2_000, "catchUpTimeoutMillis": 500, "chainingAllowed": False},
        "writeConcernMajorityJournalDefault": False,
    }


def test_clients_are_given_all_members() -> None:
    assert regional_set(ADDRESSES).uri == f"mongodb://{TEXT}/?replicaSet=rs0&heartbeatFrequencyMS=500"


@pytest.mark.parametrize("is_told", [True, False])
def test_what_is_the_same_is_not_changed(is_told: bool) -> None:
    wanted = regional_set(ADDRESSES)
    config = known(wanted)
    if not is_told:
        # MongoDB leaves it out if it is true
        del config["writeConcernMajorityJournalDefault"]
    assert wanted.updated(config) is None


def test_what_is_new_replaces_what_was_and_leaves_the_rest() -> None:
    before = regional_set(ADDRESSES)
    wanted = ReplicaSet(
        (Member("us", "10.0.1.1:4"), *before.members[1:]), election_ms=2_000, catch_up_ms=100, is_journalled=False
    )
    changed = wanted.updated(known(before, version=5))
    assert changed == known(wanted, version=6)


@pytest.mark.parametrize("others", [["us", "eu"], ["us", "jp", "eu"], []])
def test_other_regions_are_refused(others: list[str]) -> None:
    """A single node of before is one too: its member has no region."""
    before = known(regional_set({region: ADDRESSES[region] for region in others}))
    if not others:
        before["members"] = [{"_id": 0, "host": "127.0.0.1:27017"}]
    names = ", ".join(others) or "None"
    with pytest.raises(StoreError, match=f"belongs to the regions {names}, not to us, eu, jp"):
        regional_set(ADDRESSES).updated(before)
