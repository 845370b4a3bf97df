"""The manifests as they are written, before kustomize."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from launch.setup.login_rights import SUPERVISOR

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "kubernetes"
REGIONS = FOLDER / "regions"
Manifest = dict[str, Any]
PART_OF, PART, INSTANCE = (f"app.kubernetes.io/{name}" for name in ("part-of", "name", "instance"))

ROLE_OF = {
    "feed": "feed",
    "publisher": "publisher",
    "cep": "cep",
    "bot": "bot",
    "ui": "ui",
    "apps": "apps",
    "prepare": SUPERVISOR,
    "exchanges": None,
}
"""Kind of part → whose login its command reads."""


def kustomization() -> Manifest:
    (loaded,) = documents(FOLDER / "kustomization.yaml")
    return loaded


@cache
def manifests() -> list[Manifest]:
    """Return the manifests of all files that kustomize reads."""
    return [found for name in kustomization()["resources"] for found in documents(FOLDER / name)]


@cache
def regional() -> list[Manifest]:
    """Return what a region has beside them."""
    (component,) = documents(REGIONS / "kustomization.yaml")
    return [found for name in component["resources"] for found in documents(REGIONS / name)]


@cache
def documents(path: Path) -> list[Manifest]:
    return [one for one in yaml.safe_load_all(path.read_text()) if one is not None]


def of_kind(*kinds: str) -> list[Manifest]:
    return [one for one in manifests() if one["kind"] in kinds]


def named(kind: str) -> dict[str, Manifest]:
    return {one["metadata"]["name"]: one for one in of_kind(kind)}


def parts() -> list[Manifest]:
    """Return what runs a command of ours."""
    return of_kind("StatefulSet", "Deployment", "Job")


def pod_of(part: Manifest) -> Manifest:
    found: Manifest = part["spec"]["template"]["spec"]
    return found


def container_of(part: Manifest) -> Manifest:
    (container,) = pod_of(part)["containers"]
    found: Manifest = container
    return found


def kind_of_part(part: Manifest) -> str:
    return str(part["metadata"]["labels"][PART])


def id_of(manifest: Manifest) -> str:
    return f"{manifest['kind']} {manifest['metadata']['name']}"


def nodes(value: object) -> Iterator[object]:
    """Return the value and all that it contains."""
    yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in inner:
        yield from nodes(each)
