"""Every manifest against the schemas of who reads it: the parts of them that we use, and in the long tests the whole
ones, from their packages."""

import copy
import re
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.manifests import Manifest, id_of, manifests, regional
from tests.deploy.schema_sources import SourceMissingError, kept_of, missing_programs, whole_schemas
from tests.deploy.schemas import KEPT, Key, Schema, as_text, faults, kept_schemas

POD = "spec.template.spec"
WRONG = [
    ("Deployment", "spec.replicas", "two"),
    ("Deployment", "spec.strategie", {"type": "Recreate"}),
    ("Deployment", f"{POD}.containers.0.image_name", "arbitrage"),
    ("Deployment", f"{POD}.containers.0.readinessProbe.exec.command", "test -e ready"),
    ("StatefulSet", f"{POD}.securityContext.runAsRoot", False),
    ("StatefulSet", f"{POD}.containers.0.volumeMounts.0.mountpath", "/tmp"),
    ("Job", "spec.backoffLimit", "often"),
    ("Service", "spec.port", 8000),
    ("NetworkPolicy", "spec.egres", []),
    ("PodDisruptionBudget", "spec.minimum", 1),
    ("Kafka", "spec.kafka.listeners.0.authentication.type", "scram-sha-1"),
    ("Kafka", "spec.kafka.listeners.0.port", "clients"),
    ("Kafka", "spec.zookeper", {}),
    ("KafkaNodePool", "spec.roles.0", "kontroller"),
    ("KafkaTopic", "spec.partitions", "one"),
    ("KafkaUser", "spec.authorization.acls.0.operations.0", "Reed"),
    ("KafkaUser", "spec.authorization.acls.0.resource.kind", "topic"),
    ("KafkaMirrorMaker2", "spec.clusters.0.authentication.type", "scram-sha-1"),
    ("KafkaMirrorMaker2", "spec.mirrors.0.topicPattern", "quotes"),
    ("KafkaMirrorMaker2", "spec.mirrors.0.sourceConnector.tasksMax", "one"),
    ("KafkaMirrorMaker2", "spec.connectCluster", ["us"]),
    ("MongoDBCommunity", "spec.type", "Replica"),
    ("MongoDBCommunity", "spec.users.0.roles.0.nam", "bot"),
    ("MongoDBCommunity", "spec.security.roles.0.privileges.0.actions", "find"),
]


ALL = [*manifests(), *regional()]


def first_of(kind: str) -> Manifest:
    return next(one for one in ALL if one["kind"] == kind)


def with_value(manifest: Manifest, path: str, value: Any) -> Manifest:
    """Return a copy that has another value there."""
    made = copy.deepcopy(manifest)
    *before, last = path.split(".")
    place: Any = made
    for name in before:
        place = place[int(name)] if isinstance(place, list) else place[name]
    place[int(last) if isinstance(place, list) else last] = value
    return made


@pytest.fixture(scope="module")
def kept() -> dict[Key, Schema]:
    return kept_schemas()


@pytest.fixture(scope="module")
def whole(request: pytest.FixtureRequest) -> dict[Key, Schema]:
    missing = missing_programs()
    if missing:
        pytest.skip(f"the schemas are made by {', '.join(missing)}, which are not here")
    try:
        return whole_schemas(Path(request.config.cache.mkdir("schemas")))
    except SourceMissingError as error:
        if re.search(r"dial tcp|no such host|[Cc]ould not (transfer|resolve|find)|timed? ?out", str(error)):
            pytest.skip(f"the registries cannot be reached: {error}")
        raise


@pytest.mark.parametrize("manifest", ALL, ids=id_of)
def test_each_manifest_has_only_fields_and_values_that_its_reader_knows(
    kept: dict[Key, Schema], manifest: Manifest
) -> None:
    assert faults(manifest, kept) == []


@pytest.mark.parametrize(("kind", "path", "value"), WRONG)
def test_a_wrong_field_or_value_is_refused(kept: dict[Key, Schema], kind: str, path: str, value: Any) -> None:
    (fault,) = faults(with_value(first_of(kind), path, value), kept)
    assert path.rpartition(".")[2] in fault


@pytest.mark.soak
def test_the_whole_schemas_take_what_is_written_and_refuse_the_same(whole: dict[Key, Schema]) -> None:
    assert {id_of(each): faults(each, whole) for each in ALL if faults(each, whole)} == {}
    for kind, path, value in WRONG:
        assert len(faults(with_value(first_of(kind), path, value), whole)) == 1, (kind, path)


@pytest.mark.soak
def test_what_is_kept_of_the_schemas_is_what_they_say(whole: dict[Key, Schema]) -> None:
    assert as_text(kept_of(whole)) == KEPT.read_text(), "run `python -m tests.deploy.schema_sources`"
