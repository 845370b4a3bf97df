"""The whole schemas, from the packages of those who read the manifests, by the ordinary clients of their registries."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from tests.deploy.manifests import Manifest, manifests, regional
from tests.deploy.schemas import KEPT, Key, Schema, as_text, of_resource, of_type, pruned

SECONDS = 900
MODULES = {
    "k8s.io/client-go@v0.34.2": "h1:Co6XiknN+uUZqiddlfAjT68184/37PS4QAzYvQvDR8M=",
    "github.com/mongodb/mongodb-kubernetes-operator@v0.9.0": "h1:1SBmpQznWVbUgzi+ScNCNv6z5pLBwsSe4DUDKxHzFwc=",
}
"""Go modules, each with the checksum of its content."""
STRIMZI = "0.45.0"
STRIMZI_JARS = {
    "api": "7112a02ebf29d38b2eb2ad8da90353d2a3922aea2fe2bddc2abe4e5956fdfe9a",
    "crd-generator": "f03aab1b83d29bbd340ce484a4bb651faac7685c685865a30351a636da6008ea",
}
"""With what they depend on they make the schemas; sha256 of each."""
STRIMZI_CLASSES = {
    "Kafka": "kafka.Kafka",
    "KafkaNodePool": "nodepool.KafkaNodePool",
    "KafkaTopic": "topic.KafkaTopic",
    "KafkaUser": "user.KafkaUser",
    "KafkaMirrorMaker2": "mirrormaker2.KafkaMirrorMaker2",
}
CORE_TYPES: dict[Key, str] = {
    ("v1", "Namespace"): "core.v1.Namespace",
    ("v1", "Service"): "core.v1.Service",
    ("apps/v1", "Deployment"): "apps.v1.Deployment",
    ("apps/v1", "StatefulSet"): "apps.v1.StatefulSet",
    ("batch/v1", "Job"): "batch.v1.Job",
    ("networking.k8s.io/v1", "NetworkPolicy"): "networking.v1.NetworkPolicy",
    ("policy/v1", "PodDisruptionBudget"): "policy.v1.PodDisruptionBudget",
}
POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>schemas</groupId><artifactId>schemas</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>{}</dependencies>
</project>
"""
DEPENDENCY = "<dependency><groupId>io.strimzi</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"


class SourceMissingError(Exception):
    """A package is out of reach, or not what it was."""


def missing_programs() -> list[str]:
    return [program for program in ("go", "mvn", "java") if shutil.which(program) is None]


def whole_schemas(scratch: Path) -> dict[Key, Schema]:
    """Return the schemas of all kinds that the manifests use. Raises SourceMissingError."""
    scratch.mkdir(parents=True, exist_ok=True)
    (scratch / "go.mod").write_text("module schemas\n\ngo 1.23\n")
    core, mongodb = (_module(scratch, name) for name in MODULES)
    found = {key: of_type(_core_types(core), f"io.k8s.api.{name}") for key, name in CORE_TYPES.items()}
    definitions = [*mongodb.glob("config/crd/bases/*.yaml"), *_strimzi(scratch)]
    for path in definitions:
        found |= dict(of_resource(yaml.safe_load(path.read_text())))
    return found


def kept_of(whole: dict[Key, Schema]) -> dict[Key, Schema]:
    """Return what `schemas.json` has of them."""
    ours: dict[Key, list[Manifest]] = {}
    for each in (*manifests(), *regional()):
        ours.setdefault((each["apiVersion"], each["kind"]), []).append(each)
    return {key: pruned(whole[key], values) for key, values in ours.items()}


def _module(scratch: Path, name: str) -> Path:
    answer = json.loads(_run(scratch, "go", "mod", "download", "-json", name))
    if answer["Sum"] != MODULES[name]:
        raise SourceMissingError(f"{name} is not what was pinned: {answer['Sum']}")
    return Path(answer["Dir"])


def _core_types(module: Path) -> dict[str, Schema]:
    source = (module / "applyconfigurations" / "internal" / "internal.go").read_text()
    found = re.search(r"YAMLObject\(`(.*?)`\)", source, re.DOTALL)
    if found is None:
        raise SourceMissingError(f"{module} has no schema of its types")
    return {one["name"]: one for one in yaml.safe_load(found[1])["types"]}


def _strimzi(scratch: Path) -> list[Path]:
    jars = scratch / f"strimzi-{STRIMZI}"
    if not jars.exists():
        dependencies = "".join(DEPENDENCY.format(name, STRIMZI) for name in STRIMZI_JARS)
        (scratch / "pom.xml").write_text(POM.format(dependencies))
        partial = scratch / "strimzi.partial"
        _run(scratch, "mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={partial}")
        partial.rename(jars)
    for name, digest in STRIMZI_JARS.items():
        if sha256((jars / f"{name}-{STRIMZI}.jar").read_bytes()).hexdigest() != digest:
            raise SourceMissingError(f"{name} {STRIMZI} of Strimzi is not what was pinned")
    files = {kind: scratch / f"{kind}.yaml" for kind in STRIMZI_CLASSES}
    pairs = [f"io.strimzi.api.kafka.model.{STRIMZI_CLASSES[kind]}={path}" for kind, path in files.items()]
    _run(scratch, "java", "-cp", f"{jars}/*", "io.strimzi.crdgenerator.CrdGenerator", "--yaml", *pairs)
    return list(files.values())


def _run(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode:
        raise SourceMissingError(f"{' '.join(command[:3])}: {(done.stderr or done.stdout).strip()[-400:]}")
    return done.stdout


def main(words: Sequence[str]) -> None:
    """`python -m tests.deploy.schema_sources [FOLDER]`: writes `schemas.json`; FOLDER keeps what was fetched."""
    with TemporaryDirectory() as folder:
        KEPT.write_text(as_text(kept_of(whole_schemas(Path(words[0] if words else folder).resolve()))))


if __name__ == "__main__":
    main(sys.argv[1:])
