"""Who may call whom on the cluster: each policy whole, so that one rule more or one selector less is seen."""

from urllib.parse import urlsplit

from session.session import Session
from tests.deploy.described_session import Service, login_by
from tests.deploy.manifests import PART, PART_OF, ROLE_OF, Manifest, named, of_kind

PARTS = {"matchLabels": {PART_OF: "arbitrage"}}
TRADERS = {"feed", "bot"}


def test_parts_call_names_and_what_they_log_in_to_and_nothing_else(session: Session) -> None:
    kafka, mongodb = (of_kind(kind)[0]["metadata"]["name"] for kind in ("Kafka", "MongoDBCommunity"))
    names = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}},
        "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
    }
    policies = {name: policy["spec"] for name, policy in named("NetworkPolicy").items()}
    assert policies.pop("parts-nothing") == {"podSelector": PARTS, "policyTypes": ["Ingress", "Egress"]}
    ports = [{"port": 53, "protocol": protocol} for protocol in ("UDP", "TCP")]
    assert policies.pop("parts-names") == egress(PARTS, names, ports)
    peer = {"podSelector": {"matchLabels": {"strimzi.io/cluster": kafka}}}
    to_kafka = kinds(with_a_login(session, "kafka"))
    assert unordered(policies.pop("parts-to-kafka")) == unordered(
        egress(to_kafka, peer, tcp(port_of(session.services.kafka)))
    )
    peer = {"podSelector": {"matchLabels": {"app": f"{mongodb}-svc"}}}
    to_mongodb = kinds(with_a_login(session, "mongodb"))
    assert unordered(policies.pop("parts-to-mongodb")) == unordered(egress(to_mongodb, peer, tcp(27017)))
    assert unordered(policies.pop("mongodb")) == unordered(
        ingress(peer["podSelector"], tcp(27017), to_mongodb, *peer.values())
    )
    exchanges, port = kinds({"exchanges"}), tcp(urlsplit(session.simulated.url or "").port)
    called = egress(kinds(TRADERS), {"podSelector": exchanges}, port)
    assert unordered(policies.pop("parts-to-exchanges")) == unordered(called)
    assert unordered(policies.pop("exchanges")) == unordered(ingress(exchanges, port, kinds(TRADERS)))
    assert policies == {}


def test_kafka_takes_parts_alone_and_only_with_rights() -> None:
    kafka = of_kind("Kafka")[0]["spec"]["kafka"]
    (listener,) = kafka["listeners"]
    assert (listener["type"], listener["networkPolicyPeers"]) == ("internal", [{"podSelector": PARTS}])
    # no owner whom no list holds
    assert kafka["authorization"] == {"type": "simple"}
    assert kafka["config"]["auto.create.topics.enable"] is False


def with_a_login(session: Session, service: Service) -> set[str]:
    """Kinds of parts."""
    return {kind for kind, role in ROLE_OF.items() if role and login_by(session, role, service)}


def kinds(of: set[str]) -> Manifest:
    return PARTS | {"matchExpressions": [{"key": PART, "operator": "In", "values": sorted(of)}]}


def tcp(port: int | None) -> list[Manifest]:
    return [{"port": port, "protocol": "TCP"}]


def port_of(address: str) -> int:
    return int(address.rpartition(":")[2])


def egress(who: Manifest, to: Manifest, ports: list[Manifest]) -> Manifest:
    return {"podSelector": who, "policyTypes": ["Egress"], "egress": [{"to": [to], "ports": ports}]}


def ingress(who: Manifest, ports: list[Manifest], *of: Manifest) -> Manifest:
    peers = [{"podSelector": each} for each in of]
    return {"podSelector": who, "policyTypes": ["Ingress"], "ingress": [{"from": peers, "ports": ports}]}


def unordered(value: object) -> object:
    """Return the same, with the values of an expression in no order."""
    if isinstance(value, dict):
        return {name: sorted(each) if name == "values" else unordered(each) for name, each in value.items()}
    return [unordered(each) for each in value] if isinstance(value, list) else value
