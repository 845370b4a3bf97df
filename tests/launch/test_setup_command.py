"""What set-up says about a step that failed."""

import ast
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from cep.errors import CepStoppedError
from launch.commands.setup import prepare
from launch.errors import CannotStartError, LaunchError
from launch.setup.data_dir import is_private
from launch.setup.environment import PINS, TOOL_PINS, make_environment, pinned_packages, requirements
from launch.supervisor.spark_archive import without_archive

LEFT_OUT = {"pydeck"}
"""Streamlit's maps: 47 MB, imported only by an app that draws one."""
OPTIONAL = {"boto3", "botocore", "grpc", "mcp", "paho", "polars"}
"""Imported only where somebody asks for it, and named in the refusal: an extra, and what a user's notebook may have."""


@pytest.mark.parametrize(
    "error", [CepStoppedError("the JVM wrote no archive of its classes"), LaunchError("not ready within 60 s: kafka.")]
)
def test_a_missing_archive_comes_with_advice(error: Exception) -> None:
    reported = without_archive(error)
    assert str(error) in reported
    assert ".." not in reported
    assert "`make setup` again" in reported


def test_the_data_folder_is_closed_to_others_before_anything_is_put_into_it(tmp_path: Path) -> None:
    home = tmp_path / "data"
    home.mkdir()
    home.chmod(0o755)
    # so that it gets only as far as the jars
    (home / "jars").write_text("no folder")
    with pytest.raises(NotADirectoryError):
        prepare(home, lambda _: None)
    assert is_private(home)


def test_an_environment_that_is_a_link_is_not_emptied(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("of another project")
    linked = tmp_path / ".venv"
    linked.symlink_to(elsewhere)
    with pytest.raises(CannotStartError, match="remove the link"):
        make_environment(linked, tmp_path, lambda _: None)
    assert (elsewhere / "kept").read_text() == "of another project"


def test_pins_are_read_without_their_checksums() -> None:
    lock = (
        "# made so\nalpha==1.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:ab\n\nbeta==2.0 --hash=sha256:ba\n"
        "gamma==3 ; sys_platform == 'linux' \\\n    --hash=sha256:ca\ndelta==4\n"
    )
    assert pinned_packages(lock) == ["alpha==1.0", "beta==2.0", "gamma==3 ; sys_platform == 'linux'", "delta==4"]


@pytest.mark.parametrize("path", [PINS, TOOL_PINS], ids=lambda path: path.name)
def test_every_pinned_package_has_checksums(path: Path) -> None:
    pins = requirements(path.read_text())
    assert len(pins) == len(pinned_packages(path.read_text()))
    assert [line for line in pins if " --hash=sha256:" not in line or "==" not in line] == []


def names_in(path: Path) -> set[str]:
    return {canonicalize_name(Requirement(one).name) for one in pinned_packages(path.read_text())}


def needed_for(wanted: Iterable[str]) -> set[str]:
    """Return the distributions that these requirements need here, by what is installed."""
    known, left = set[tuple[str, frozenset[str]]](), [Requirement(one) for one in wanted]
    while left:
        one = left.pop()
        key = (canonicalize_name(one.name), frozenset(one.extras))
        if key in known:
            continue
        known.add(key)
        for text in [] if key[0] in LEFT_OUT else requires(one.name) or []:
            further = Requirement(text)
            extras = one.extras or {""}
            if further.marker is None or any(further.marker.evaluate({"extra": extra}) for extra in extras):
                left.append(further)
    return {name for name, _ in known} - LEFT_OUT


def test_running_has_what_it_needs_and_the_tools_the_rest() -> None:
    project = tomllib.loads((PINS.parent / "pyproject.toml").read_text())["project"]
    running = needed_for(project["dependencies"])
    assert names_in(PINS) == running
    assert names_in(TOOL_PINS) == needed_for(project["optional-dependencies"]["dev"]) - running


def imported_in(folder: Path) -> set[str]:
    trees = [ast.parse(path.read_text()) for path in folder.rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    of = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    of |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    return {name.partition(".")[0] for name in of}


def test_whatever_the_product_imports_comes_with_running() -> None:
    rooms = tomllib.loads((PINS.parent / "pyproject.toml").read_text())["tool"]["importlinter"]["root_packages"]
    imported = set[str]().union(*(imported_in(PINS.parent / room) for room in rooms))
    owners = packages_distributions()
    missing = {
        name
        for name in imported - sys.stdlib_module_names - set(rooms) - OPTIONAL
        if names_in(PINS).isdisjoint(map(canonicalize_name, owners.get(name, [])))
    }
    assert missing == set()
