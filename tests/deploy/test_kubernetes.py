"""The manifests against each other and against the product: its parser, roles, topics, addresses, paths and figures."""

import re
import shutil
import subprocess
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from exchanges.credentials import credentials_path
from launch.commands.entry_points import parser_of_commands
from launch.config.configuration import Configuration, read_configuration
from launch.setup.data_dir import bot_name, ready_file
from launch.setup.login_files import FOLDER as LOGINS
from launch.setup.login_files import own_logins
from launch.setup.login_rights import ROLES, SUPERVISOR
from session.session import Session
from store.server.database_users import ADMIN, OWNING, READING, WRITING
from store.server.embedded_mongod import ABANDONED
from streams.topic_admin import DAY_MS, RETAINED_BYTES, SEGMENT_BYTES, partitions_of
from streams.topics import ALL_TOPICS
from tests.deploy.described_session import IMAGE_HOME, assert_all_exchanges_are_called, login_by
from tests.deploy.manifests import (
    FOLDER,
    INSTANCE,
    PART,
    PART_OF,
    ROLE_OF,
    ROOT,
    Manifest,
    container_of,
    documents,
    id_of,
    kind_of_part,
    kustomization,
    manifests,
    named,
    nodes,
    of_kind,
    parts,
    pod_of,
)

NAMESPACE = kustomization()["namespace"]
Right = tuple[str, str, tuple[str, ...]]
ALONE = {"feed", "publisher", "cep", "exchanges", "ui", "apps"}
SIZES = {"m": 0.001, "Mi": 1.048576, "Gi": 1073.741824}
"""In cores, and in MB."""
each_part = pytest.mark.parametrize("part", parts(), ids=id_of)


@pytest.fixture(scope="module")
def config() -> Configuration:
    return read_configuration(FOLDER / "arbitrage.toml", {})


def command_of(part: Manifest) -> Namespace:
    words: list[str] = container_of(part)["args"]
    return parser_of_commands().parse_args(words)


def process_name(command: Namespace) -> str:
    match command.command:
        case "feed":
            return f"feed-{command.name}"
        case "bot":
            return bot_name(command.name, command.number)
        case "apart":
            assert command.work == "prepare"
            return "prepare"
        case name:
            return str(name)


def role_of(part: Manifest) -> str | None:
    return ROLE_OF[kind_of_part(part)]


def mounts(part: Manifest) -> dict[str, tuple[Manifest, Manifest]]:
    """Path → its mount and its volume; that of a claim is empty."""
    volumes = {volume["name"]: volume for volume in pod_of(part)["volumes"]}
    volumes |= {claim["metadata"]["name"]: {} for claim in part["spec"].get("volumeClaimTemplates", [])}
    found = container_of(part)["volumeMounts"]
    assert {mount["name"] for mount in found} == set(volumes)
    return {mount["mountPath"]: (mount, volumes[mount["name"]]) for mount in found}


@each_part
def test_each_command_is_ours_and_names_the_part(part: Manifest) -> None:
    command = command_of(part)
    assert part["metadata"]["name"] == process_name(command)
    assert kind_of_part(part) == ("prepare" if command.command == "apart" else command.command)
    assert container_of(part)["name"] == kind_of_part(part)


@each_part
def test_labels_select_the_part_and_no_other(part: Manifest) -> None:
    labels = part["metadata"]["labels"]
    assert labels == {PART_OF: "arbitrage", PART: kind_of_part(part), INSTANCE: part["metadata"]["name"]}
    assert part["spec"]["template"]["metadata"]["labels"] == labels
    if part["kind"] != "Job":
        assert part["spec"]["selector"]["matchLabels"] == labels
    if part["kind"] == "StatefulSet":
        assert part["spec"]["serviceName"] in named("Service")
        # else a pod that never gets ready, as of a feed whose exchange is away, is never replaced by a restart
        assert part["spec"]["podManagementPolicy"] == "Parallel"


@each_part
def test_probes_ask_what_the_part_writes_or_answers(part: Manifest) -> None:
    container = container_of(part)
    probes = {name: container[name] for name in container if name.endswith("Probe")}
    if kind_of_part(part) == "ui":
        assert {(probe["httpGet"]["path"], probe["httpGet"]["port"]) for probe in probes.values()} == {
            ("/api/health", "http")
        }
        assert set(probes) == {"startupProbe", "livenessProbe", "readinessProbe"}
    elif part["kind"] != "Job":
        path = str(ready_file(IMAGE_HOME, process_name(command_of(part))))
        assert all(probe["exec"]["command"] == ["test", "-e", path] for probe in probes.values())
        # what waits for its exchange or for Kafka is not killed for it
        assert set(probes) == {"readinessProbe"}


@each_part
def test_each_part_finds_its_session_its_login_and_its_keys(part: Manifest, session: Session) -> None:
    home, found = IMAGE_HOME, mounts(part)
    mount, volume = found[str(home / "run.json")]
    assert (mount["subPath"], volume["configMap"]["name"]) == ("run.json", "session")
    role = role_of(part)
    if role is not None:
        _, volume = found[str(home / LOGINS)]
        assert volume["secret"]["secretName"] == f"login-{role}"
        # not the plain password
        assert [(item["key"], item["path"]) for item in volume["secret"]["items"]] == [(f"{role}.json",) * 2]
    keys = str(credentials_path(home))
    assert (keys in found) == (kind_of_part(part) in ("exchanges", "feed", "bot"))
    if keys in found:
        mount, volume = found[keys]
        assert (mount["subPath"], volume["secret"]["secretName"]) == (credentials_path(home).name, "exchange-accounts")
    login = None if role is None else login_by(session, role, "kafka")
    assert ("kafka-ca" in {volume.get("name") for _, volume in found.values()}) == (login is not None)
    if login is not None:
        folder, _, file = login.ca.rpartition("/")
        _, volume = found[folder]
        assert volume["secret"]["secretName"] == f"{of_kind('Kafka')[0]['metadata']['name']}-cluster-ca-cert"
        assert [item["path"] for item in volume["secret"]["items"]] == [file]


def test_published_apps_stand_beside_the_dashboard_and_detection_and_share_their_volumes() -> None:
    apps, ui, cep = (named("StatefulSet")[name] for name in ("apps", "ui", "cep"))
    home, checkpoints = str(IMAGE_HOME), str(IMAGE_HOME / "checkpoints")
    for path, owner, owned, is_read_only in ((home, ui, home, False), (checkpoints, cep, checkpoints, True)):
        mount, volume = mounts(apps)[path]
        (claim,) = owner["spec"]["volumeClaimTemplates"]
        assert mounts(owner)[owned][0]["name"] == claim["metadata"]["name"]
        assert volume["persistentVolumeClaim"] == {
            "claimName": f"{claim['metadata']['name']}-{id_of(owner).split()[1]}-0"
        }
        assert mount.get("readOnly", False) is is_read_only
    beside = {
        id_of(part).split()[1]: [
            (term["topologyKey"], term["labelSelector"]["matchLabels"][PART])
            for term in pod_of(part)["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        ]
        for part in (apps, ui)
    }
    node = "kubernetes.io/hostname"
    assert beside == {"apps": [(node, "ui"), (node, "cep")], "ui": [(node, "cep")]}


def test_who_runs_apps_and_who_checks_them_read_the_configuration() -> None:
    for name in ("apps", "ui"):
        part = named("StatefulSet")[name]
        mount, volume = mounts(part)[str(command_of(part).config)]
        assert (mount["subPath"], volume["configMap"]["name"]) == ("arbitrage.toml", "configuration")


@each_part
def test_what_a_part_writes_to_is_a_volume(part: Manifest) -> None:
    def writable() -> Iterator[str]:
        for path, (mount, volume) in mounts(part).items():
            if not mount.get("readOnly"):
                assert not {"secret", "configMap"} & set(volume), path
                yield path

    home = str(IMAGE_HOME)
    if kind_of_part(part) == "cep":
        # the jars beside them are the image's
        assert set(writable()) == {"/tmp", *(f"{home}/{name}" for name in ("ready", "locks", "spark", "checkpoints"))}
    else:
        assert set(writable()) == {"/tmp", home}


@each_part
def test_no_part_is_root_or_can_become_it(part: Manifest) -> None:
    pod, container = pod_of(part), container_of(part)
    uid = re.findall(r"useradd .*--uid (\d+) --gid (\d+)", (ROOT / "docker" / "Dockerfile").read_text())
    context = pod["securityContext"]
    assert context["runAsNonRoot"] is True
    assert [(str(context["runAsUser"]), str(context["runAsGroup"]))] == uid
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod["automountServiceAccountToken"] is False
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
    # secrets are files, and addresses are the session's
    assert [variable["name"] for variable in container["env"]] == ["HOME"]


def test_what_must_be_alone_is_and_bots_have_a_standby(session: Session) -> None:
    for part in parts():
        if part["kind"] != "Job":
            is_alone = kind_of_part(part) in ALONE
            expected = ("StatefulSet", 1) if is_alone else ("Deployment", 2)
            assert (part["kind"], part["spec"]["replicas"]) == expected, id_of(part)
    by_kind = {
        kind: [command_of(part).name for part in parts() if kind_of_part(part) == kind] for kind in ("feed", "bot")
    }
    assert by_kind == {"feed": list(session.exchanges), "bot": list(session.exchanges)}
    budgets = {one["spec"]["selector"]["matchLabels"][INSTANCE] for one in of_kind("PodDisruptionBudget")}
    assert budgets == {part["metadata"]["name"] for part in parts() if kind_of_part(part) == "bot"}


def test_services_lead_to_one_part_at_a_port_that_it_listens_on(session: Session) -> None:
    listening = {"exchanges": urlsplit(session.simulated.url or "").port, "ui": session.page.port}
    for name, port in listening.items():
        service, part = named("Service")[name], named("StatefulSet")[name]
        assert service["spec"]["selector"].items() <= part["metadata"]["labels"].items()
        (open_port,) = container_of(part)["ports"]
        (served,) = service["spec"]["ports"]
        assert (served["port"], served["targetPort"]) == (port, open_port["name"])
        assert open_port["containerPort"] == port
    assert urlsplit(session.simulated.url or "").hostname == "exchanges"
    # else nobody outside the container would reach them
    assert (session.page.host, command_of(named("StatefulSet")["exchanges"]).bind) == ("0.0.0.0", "0.0.0.0")


def test_kafka_is_where_the_session_says_and_takes_its_logins(session: Session) -> None:
    (kafka,) = of_kind("Kafka")
    (listener,) = kafka["spec"]["kafka"]["listeners"]
    assert session.services.kafka == f"{kafka['metadata']['name']}-kafka-bootstrap:{listener['port']}"
    for role in filter(None, ROLE_OF.values()):
        login = login_by(session, role, "kafka")
        assert login is not None
        assert login.mechanism.lower() == listener["authentication"]["type"]
        assert login.protocol == ("SASL_SSL" if listener["tls"] else "SASL_PLAINTEXT")
    belonging = [*of_kind("KafkaNodePool"), *of_kind("KafkaTopic"), *of_kind("KafkaUser")]
    assert {one["metadata"]["labels"]["strimzi.io/cluster"] for one in belonging} == {kafka["metadata"]["name"]}


def test_topics_are_those_of_the_product(config: Configuration) -> None:
    brokers = of_kind("KafkaNodePool")[0]["spec"]["replicas"]
    assert list(named("KafkaTopic")) == list(ALL_TOPICS)
    for name, topic in named("KafkaTopic").items():
        partitions = partitions_of(name, config.partitions)
        assert topic["spec"] == {
            "partitions": partitions,
            "replicas": brokers,
            "config": {
                "retention.ms": DAY_MS,
                "retention.bytes": RETAINED_BYTES[name] // partitions,
                "segment.bytes": SEGMENT_BYTES,
            },
        }


def test_users_of_kafka_have_the_rights_of_their_roles(made: Path) -> None:
    users = named("KafkaUser")
    assert set(users) == set(filter(None, ROLE_OF.values()))
    for user in own_logins(made).topic_users():
        if user.login.user in users:
            expected: set[Right] = {("topic", topic, ("Read",)) for topic in user.reads if topic not in user.writes}
            expected |= {("topic", topic, ("Read", "Write")) for topic in user.writes} | {("group", "*", ("Read",))}
            if user.prefix is not None:
                expected.add(("prefix of topics", user.prefix, ("Create", "Read", "Write")))
            assert set(rights_of(users[user.login.user])) == expected, user.login.user
    # it makes nothing there: it looks whether the operator has made it
    assert rights_of(users[SUPERVISOR]) == [("topic", "*", ("Describe",))]
    for name, each in users.items():
        secret = each["spec"]["authentication"]["password"]["valueFrom"]["secretKeyRef"]
        assert secret == {"name": f"login-{name}", "key": "password"}


def rights_of(user: Manifest) -> list[Right]:
    kinds = {("topic", "literal"): "topic", ("topic", "prefix"): "prefix of topics", ("group", "literal"): "group"}
    return [
        (kinds[of["type"], of["patternType"]], of["name"], tuple(one["operations"]))
        for one in user["spec"]["authorization"]["acls"]
        for of in (one["resource"],)
    ]


def test_mongodb_is_where_the_session_says(session: Session) -> None:
    (mongodb,) = of_kind("MongoDBCommunity")
    name, spec = mongodb["metadata"]["name"], mongodb["spec"]
    address = urlsplit(session.services.mongodb)
    service = f"{name}-svc.{NAMESPACE}.svc.cluster.local:27017"
    assert address.netloc.split(",") == [f"{name}-{number}.{service}" for number in range(spec["members"])]
    assert parse_qs(address.query) == {"replicaSet": [name]}
    setting, _, value = ABANDONED[1].partition("=")
    assert spec["additionalMongodConfig"][f"setParameter.{setting}"] == int(value)


def test_users_of_mongodb_have_the_rights_of_their_roles(session: Session) -> None:
    spec, database = of_kind("MongoDBCommunity")[0]["spec"], session.services.database
    users = {user["name"]: user for user in spec["users"]}
    roles = {role["role"]: role for role in spec["security"]["roles"]}
    deployed = [role for role in filter(None, ROLE_OF.values()) if login_by(session, role, "mongodb")]
    assert set(users) == set(deployed)
    assert set(roles) == set(deployed) - {SUPERVISOR}
    for name, user in users.items():
        assert (user["db"], user["passwordSecretRef"]) == (ADMIN, {"name": f"login-{name}", "key": "password"})
        owning = [{"name": right, "db": database} for right in OWNING]
        assert user["roles"] == (owning if name == SUPERVISOR else [{"name": name, "db": ADMIN}])
    for name, role in roles.items():
        reading = {"resource": {"db": database, "collection": ""}, "actions": list(READING)}
        writing = [
            {"resource": {"db": database, "collection": collection}, "actions": list(WRITING)}
            for collection in ROLES[name].collections or ()
        ]
        assert (role["db"], role["roles"], role["privileges"]) == (ADMIN, [], [reading, *writing])


def test_secrets_are_made_of_the_files_that_the_command_writes(made: Path) -> None:
    pieces = kustomization()
    generated: dict[str, list[str]] = {}
    for each in (*pieces["configMapGenerator"], *pieces["secretGenerator"]):
        generated[each["name"]] = []
        for file in each["files"]:
            key, _, path = file.rpartition("=")
            assert (made / Path(path).relative_to("session") if path.startswith("session/") else FOLDER / path).exists()
            generated[each["name"]].append(key or Path(path).name)
    used = {"session", "configuration", "exchange-accounts"} | {
        f"login-{role}" for role in filter(None, ROLE_OF.values())
    }
    assert set(generated) == used
    for role in filter(None, ROLE_OF.values()):
        assert generated[f"login-{role}"] == [f"{role}.json", "password"]
    referred = {one["secretName"] for one in nodes(manifests()) if isinstance(one, dict) and "secretName" in one}
    assert referred - set(generated) == {"kafka-cluster-ca-cert"}
    # operators take names as they are written
    assert pieces["generatorOptions"]["disableNameSuffixHash"] is True
    for ignored in (".gitignore", ".dockerignore"):
        assert "deploy/kubernetes/session" in (ROOT / ignored).read_text()


def test_requests_are_at_least_what_was_measured() -> None:
    measured = figures()
    assert set(measured) == ALONE | {"bot"}
    for part in parts():
        if kind_of_part(part) in measured:
            cores, megabytes = measured[kind_of_part(part)]
            resources = container_of(part)["resources"]
            assert size(resources["requests"]["cpu"]) >= cores, id_of(part)
            assert megabytes <= size(resources["requests"]["memory"]) < 2 * megabytes, id_of(part)
            assert size(resources["limits"]["memory"]) > size(resources["requests"]["memory"])
            # a part that is held back is late: all together are little, and the largest limit is memory
            assert "cpu" not in resources["limits"]


def figures() -> dict[str, tuple[float, float]]:
    """Kind of part → the most cores and MB of the two tables of docs/benchmarks.md."""
    page = (ROOT / "docs" / "benchmarks.md").read_text()
    of_path = {
        name: (float(cores), float(size))
        for name, cores, size in re.findall(r"^(\S.*?)  +(0\.\d+) +(\d+)$", page, re.MULTILINE)
    }
    hour = {
        name: (max(map(float, row.split("|")[:2])), max(map(float, row.split("|")[2:])))
        for name, row in re.findall(r"^\| ([^|]+) \| (0\.\d\d \| 0\.\d\d \| \d+ \| \d+) \|$", page, re.MULTILINE)
    }
    feeds = of_path["all four feeds"]
    return {
        "feed": most((feeds[0] / 4, feeds[1] / 4), hour["a feed"]),
        "bot": most(*(of_path[name] for name in of_path if name.startswith("bot-")), hour["bot that decides"]),
        "cep": (of_path["cep"][0] + of_path["cep, child 1"][0], of_path["cep"][1] + of_path["cep, child 1"][1]),
        "publisher": of_path["publisher"],
        "exchanges": most(of_path["exchanges"], hour["exchanges"]),
        "ui": most(of_path["ui"], hour["ui"]),
        "apps": of_ten_apps(),
    }


def of_ten_apps() -> tuple[float, float]:
    """Return what the part takes with ten apps, after ADR 79."""
    (page,) = (ROOT / "docs" / "adr").glob("0079-*.md")
    found = re.search(r"With ten apps .*? and (0\.\d+) of a core.*?, (\d+) MB after", page.read_text(), re.DOTALL)
    assert found is not None
    return float(found[1]), float(found[2])


def most(*rows: tuple[float, float]) -> tuple[float, float]:
    return max(row[0] for row in rows), max(row[1] for row in rows)


def size(text: str) -> float:
    number, unit = re.fullmatch(r"(\d+)(m|Mi|Gi)", text).groups()  # type: ignore[union-attr]
    return int(number) * SIZES[unit]


def test_every_file_is_read_and_every_name_is_there_once() -> None:
    files = {path.name for path in FOLDER.glob("*.yaml")} - {"kustomization.yaml"}
    assert set(kustomization()["resources"]) == files
    names = [id_of(one) for one in manifests()]
    assert len(names) == len(set(names))
    assert named("Namespace").keys() == {NAMESPACE}
    (image,) = kustomization()["images"]
    assert {container_of(part)["image"] for part in parts()} == {image["name"]}


def test_kustomize_builds_them(made: Path, tmp_path: Path) -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl, which has kustomize, is not here")
    folder = tmp_path / "kubernetes"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("session"))
    shutil.copytree(made, folder / "session")
    built = tmp_path / "built.yaml"
    with built.open("w") as output:
        subprocess.run(["kubectl", "kustomize", str(folder)], stdout=output, check=True, timeout=60)
    found = documents(built)
    written = [one for one in found if one["kind"] not in ("Secret", "ConfigMap")]
    assert sorted(map(id_of, written)) == sorted(map(id_of, manifests()))
    assert {one["metadata"]["namespace"] for one in found if one["kind"] != "Namespace"} == {NAMESPACE}


async def test_bots_and_feeds_may_call_the_exchanges_where_the_session_has_them(session: Session) -> None:
    await assert_all_exchanges_are_called(session)
