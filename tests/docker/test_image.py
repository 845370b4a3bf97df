"""The image, built from docker/Dockerfile, and a session in it. It takes many minutes and some GB of disk."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docker.image_builds import BuiltContainer, ImageStore, reason_against

ADVICE = 1
"""Exit code of `arbitrage doctor` if nothing is missing."""

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def container(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BuiltContainer]:
    reason = reason_against()
    if reason is not None:
        pytest.skip(f"the image cannot be built: {reason}")
    store = ImageStore(tmp_path_factory.mktemp("image"))
    try:
        store.make_base()
        store.build()
        yield store.start()
    finally:
        # some GB, of which pytest would keep three
        store.buildah("rm", "--all")
        store.buildah("rmi", "--all", "--force")


def test_doctor_misses_nothing_in_the_image(container: BuiltContainer) -> None:
    said = container.arbitrage("doctor", codes=(0, ADVICE))
    lines = {line.split(":")[0].split()[-1]: line for line in said.splitlines() if ":" in line}
    assert {"Java", "packages", "jars", "mongod"} <= set(lines), said
    assert "17" in lines["Java"]


def test_a_session_trades_in_the_image(container: BuiltContainer, tmp_path: Path) -> None:
    words = ("paper", "--market", "storm", "--seconds", "20", "--json", "/tmp/out.json")
    said = container.arbitrage(*words)
    summary = json.loads(container.file("/tmp/out.json"))
    assert summary["balanced"] is True, said
    assert summary["fills"], said
