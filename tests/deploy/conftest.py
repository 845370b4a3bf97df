"""The session of the manifests, as the command on the page makes it."""

from pathlib import Path

import pytest

from launch.setup.data_dir import read_session
from session.session import Session
from tests.deploy.described_session import made_by_page


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return what the command on the page writes."""
    return made_by_page("deploy/kubernetes/session", tmp_path_factory.mktemp("made") / "session")


@pytest.fixture(scope="module")
def session(made: Path) -> Session:
    return read_session(made)
