"""What a region adds on Kubernetes, against what MirrorMaker is given on one machine."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from launch.setup.login_rights import MIRROR, MIRROR_READER
from runtime.logins import Address, Login
from streams.broker.mirror_maker import OWN_TOPICS, RegionKafka, mirror_properties, mirror_users
from streams.topic_admin import DAY_MS, RETAINED_BYTES, SEGMENT_BYTES
from streams.topics import QUOTES, SHARED, SHARED_IN
from tests.deploy.manifests import FOLDER, REGIONS, ROOT, Manifest, documents, id_of, named, of_kind, regional

US, EU, JP = "us", "eu", "jp"
Right = tuple[str, str, str, tuple[str, ...]]


def found(kind: str) -> list[Manifest]:
    return [one for one in regional() if one["kind"] == kind]


def mirror() -> Manifest:
    (one,) = found("KafkaMirrorMaker2")
    spec: Manifest = one["spec"]
    return spec


def ours() -> dict[str, str]:
    login = Login("any", "any")
    kafkas = {name: RegionKafka(name, Address(f"{name}.example:9092", login)) for name in (US, EU, JP)}
    lines = mirror_properties(kafkas[US], (kafkas[EU], kafkas[JP])).splitlines()
    return dict(line.split("=", 1) for line in lines)


def as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_every_flow_is_the_one_of_one_machine() -> None:
    expected = ours()
    assert [(one["sourceCluster"], one["targetCluster"]) for one in mirror()["mirrors"]] == [(EU, US), (JP, US)]
    for one in mirror()["mirrors"]:
        assert set(one) == {"sourceCluster", "targetCluster", "topicsPattern", "sourceConnector"}
        flow = f"{one['sourceCluster']}->{US}"
        assert one["topicsPattern"] == expected[f"{flow}.topics"]
        assert str(one["sourceConnector"]["tasksMax"]) == expected["tasks.max"]
        for name, value in one["sourceConnector"]["config"].items():
            if name != "replication.factor":
                place = f"{one['sourceCluster']}.{name}" if name.startswith("consumer.") else name
                assert as_text(value) == expected.get(f"{flow}.{name}", expected.get(place)), name


def test_it_writes_at_home_and_makes_no_topic_that_it_has_no_right_to() -> None:
    spec, brokers = mirror(), of_kind("KafkaNodePool")[0]["spec"]["replicas"]
    home = next(one for one in spec["clusters"] if one["alias"] == spec["connectCluster"])
    names = [value for name, value in home["config"].items() if name.endswith("storage.topic")]
    assert len(names) == 3
    assert all(name.startswith(OWN_TOPICS) for name in names)
    factors = {value for name, value in home["config"].items() if name.endswith("replication.factor")}
    factors |= {one["sourceConnector"]["config"]["replication.factor"] for one in spec["mirrors"]}
    assert factors == {brokers}
    assert home["config"]["offset.flush.interval.ms"] == int(ours()[f"{US}.offset.flush.interval.ms"])


def test_each_kafka_is_reached_over_tls_with_the_login_that_is_meant_for_it() -> None:
    (listener,) = of_kind("Kafka")[0]["spec"]["kafka"]["listeners"]
    (opened, let_in), *_ = patches("Kafka")
    assert (opened["value"]["tls"], opened["value"]["authentication"]) == (True, {"type": "scram-sha-512"})
    (resource,) = found("KafkaMirrorMaker2")
    labels = {"strimzi.io/cluster": resource["metadata"]["name"], "strimzi.io/kind": resource["kind"]}
    assert let_in["value"] == {"podSelector": {"matchLabels": labels}}
    for one in mirror()["clusters"]:
        is_home = one["alias"] == US
        assert one["tls"]["trustedCertificates"]
        assert one["authentication"]["type"] == listener["authentication"]["type"]
        assert one["authentication"]["username"] == (MIRROR if is_home else MIRROR_READER)
        port = listener["port"] if is_home else opened["value"]["port"]
        assert one["bootstrapServers"].endswith(f":{port}")


def test_users_have_the_rights_that_they_have_on_one_machine() -> None:
    users = {user.login.user: user for user in mirror_users(Login(MIRROR_READER, "r"), Login(MIRROR, "w"))}
    written = {one["metadata"]["name"]: one["spec"]["authorization"]["acls"] for one in found("KafkaUser")}
    assert set(written) == set(users)
    for name, user in users.items():
        expected: set[Right] = {
            ("topic", topic, "literal", ("Read",)) for topic in user.reads if topic not in user.writes
        }
        expected |= {("topic", topic, "literal", ("Read", "Write")) for topic in user.writes}
        expected |= {("topic", user.prefix, "prefix", ("Create", "Read", "Write"))} if user.prefix else set()
        expected |= {("group", "*", "literal", ("Read",))}
        assert {
            (one["resource"]["type"], one["resource"]["name"], one["resource"]["patternType"], tuple(one["operations"]))
            for one in written[name]
        } == expected
    (right,) = (one["value"] for patch in patches("KafkaUser") for one in patch)
    assert (right["resource"]["name"], right["operations"]) == (QUOTES, ["Read", "Write"])


def test_what_is_copied_is_kept_as_on_one_machine() -> None:
    topics = {one["metadata"]["name"]: one["spec"] for one in found("KafkaTopic")}
    assert set(topics) == {QUOTES, SHARED, SHARED_IN}
    for name, spec in topics.items():
        assert spec["partitions"] == named("KafkaTopic")["ticks"]["spec"]["partitions"]
        assert spec["config"] == {
            "retention.ms": DAY_MS,
            "retention.bytes": RETAINED_BYTES[name] // spec["partitions"],
            "segment.bytes": SEGMENT_BYTES,
        } | ({"message.timestamp.type": "LogAppendTime"} if name == SHARED_IN else {})


def test_parts_reach_outside_what_they_reach_within_one_cluster() -> None:
    """The store and the exchanges are not in every region's cluster."""
    within, outside = named("NetworkPolicy"), {one["metadata"]["name"]: one for one in found("NetworkPolicy")}
    pairs = {
        "parts-to-shared-store": "parts-to-mongodb",
        "parts-to-shared-exchanges": "parts-to-exchanges",
        "shared-exchanges": "exchanges",
    }
    assert set(outside) == set(pairs)
    for name, other in pairs.items():
        there, here = outside[name]["spec"], within[other]["spec"]
        assert (there["podSelector"], there["policyTypes"]) == (here["podSelector"], here["policyTypes"])
        way = here["policyTypes"][0].lower()
        assert there[way] == [{"ports": here[way][0]["ports"]}]


def patches(kind: str) -> list[list[Any]]:
    (component,) = documents(REGIONS / "kustomization.yaml")
    return [yaml.safe_load(one["patch"]) for one in component["patches"] if one["target"]["kind"] == kind]


def test_secrets_are_made_of_what_the_command_writes_and_stay_out_of_git() -> None:
    (component,) = documents(REGIONS / "kustomization.yaml")
    names = {one["name"] for one in component["secretGenerator"]}
    used = {"login-mirror", "login-mirror-reader", "kafka-eu", "kafka-jp"}
    assert names == used
    for each in component["secretGenerator"]:
        for file in each["files"]:
            path = file.partition("=")[2]
            assert path.startswith("session/")
            assert path.endswith(("/passwords/mirror", "/passwords/mirror-reader", "/ca.crt"))
    for ignored in (".gitignore", ".dockerignore"):
        assert "deploy/kubernetes/regions/session" in (ROOT / ignored).read_text()


def test_kustomize_adds_them(made: Path, tmp_path: Path) -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl, which has kustomize, is not here")
    folder = tmp_path / "kubernetes"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("session"))
    shutil.copytree(made, folder / "session")
    for region, name in [
        (one, file) for one in (US, EU, JP) for file in ("passwords/mirror", "passwords/mirror-reader", "ca.crt")
    ]:
        file = folder / "regions" / "session" / region / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("any")
    overlay = tmp_path / "us"
    overlay.mkdir()
    text = {"resources": ["../kubernetes"], "components": ["../kubernetes/regions"]}
    (overlay / "kustomization.yaml").write_text(yaml.safe_dump(text))
    built = tmp_path / "built.yaml"
    with built.open("w") as output:
        subprocess.run(["kubectl", "kustomize", str(overlay)], stdout=output, check=True, timeout=60)
    all_built = {id_of(one): one for one in documents(built)}
    assert {id_of(one) for one in regional()} <= set(all_built)
    listeners = all_built["Kafka kafka"]["spec"]["kafka"]["listeners"]
    assert [one["name"] for one in listeners] == ["clients", "regions"]
    assert len(listeners[0]["networkPolicyPeers"]) == 2
    acls = all_built["KafkaUser feed"]["spec"]["authorization"]["acls"]
    assert QUOTES in {one["resource"]["name"] for one in acls}
