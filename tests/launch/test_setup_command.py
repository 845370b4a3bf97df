"""What set-up says about a step that failed."""

from pathlib import Path

import pytest

from cep.errors import CepStoppedError
from launch.commands.setup import prepare, without_archive
from launch.errors import CannotStartError, LaunchError
from launch.setup.data_dir import is_private
from launch.setup.environment import PINS, make_environment, pinned_packages


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
        make_environment(linked, lambda _: None)
    assert (elsewhere / "kept").read_text() == "of another project"


def test_pins_are_read_without_their_checksums() -> None:
    lock = (
        "# made so\nalpha==1.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:ab\n\nbeta==2.0 --hash=sha256:ba\n"
        "gamma==3 ; sys_platform == 'linux' \\\n    --hash=sha256:ca\ndelta==4\n"
    )
    assert pinned_packages(lock) == ["alpha==1.0", "beta==2.0", "gamma==3 ; sys_platform == 'linux'", "delta==4"]


def test_every_pinned_package_has_checksums() -> None:
    lock = PINS.read_text().replace("\\\n", " ")
    pins = [line for line in lock.splitlines() if line and not line.startswith("#")]
    assert len(pins) == len(pinned_packages(PINS.read_text()))
    assert [line for line in pins if " --hash=sha256:" not in line or "==" not in line] == []
