"""A wheel of the product in an environment that has nothing else of it: doctor, backtest, paper, and the package."""

import os
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from shutil import copy2

import pytest

from streams.broker.embedded_broker import free_ports
from tests.arbitrage.made_up_files import quote_files
from tests.whole.running import ROOT, new_home, ours_running

pytestmark = pytest.mark.soak

DEPENDENCIES = sysconfig.get_path("purelib")
"""Packages of others. As a plain folder of the path its own .pth files count for nothing, so nothing of our source tree
is reached by it."""


@dataclass(frozen=True, slots=True)
class Installed:
    """The environment, and a folder that has nothing of ours to work in."""

    bin: Path
    folder: Path
    home: Path

    def run(self, *words: str, seconds: float = 120) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment to its end."""
        kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYSPARK_PYTHON")}
        return subprocess.run(
            (str(self.bin / words[0]), *words[1:]),
            cwd=self.folder,
            env=kept | {"ARBITRAGE_HOME": str(self.home)},
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )


def checked(*command: str, cwd: Path) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("wheel")
    listed = subprocess.run(("git", "ls-files", "-z"), cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        # building leaves folders behind, so it is done on a copy
        target = folder / "source" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).exists():
            copy2(ROOT / name, target, follow_symlinks=False)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    checked(*pip, "wheel", "--no-deps", "--quiet", "-w", str(folder), "./source", cwd=folder)
    (wheel,) = folder.glob("*.whl")
    checked(sys.executable, "-m", "venv", "--without-pip", "env", cwd=folder)
    python = folder / "env" / "bin" / "python"
    checked(*pip, "--python", str(python), "install", "--no-deps", "--quiet", str(wheel), cwd=folder)
    (packages,) = folder.glob("env/lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(f"{DEPENDENCIES}\n")
    work = folder / "work"
    work.mkdir()
    return Installed(python.parent, work, new_home(folder / "home"))


def test_the_package_is_the_wheels(installed: Installed) -> None:
    code = "import arbitrage, launch; from remote.assistant.pages import page_names as p"
    code += "; print(arbitrage.__file__, launch.__file__, *p())"
    done = installed.run("python", "-c", code)
    assert done.returncode == 0, done.stderr
    first, second, *pages = done.stdout.split()
    assert str(installed.bin.parent) in first
    assert str(installed.bin.parent) in second
    assert {"risk", "tuning", "apps-tutorial"} <= set(pages)


def test_doctor_finds_nothing_missing(installed: Installed) -> None:
    done = installed.run("arbitrage", "doctor")
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert "no lock file to compare with" in done.stdout


def test_files_become_a_backtest(installed: Installed) -> None:
    files = map(str, quote_files(installed.folder / "files"))
    imported = installed.run("arbitrage", "import", "tardis-quotes", *files, "--set", "spring")
    assert imported.returncode == 0, imported.stderr
    done = installed.run("arbitrage", "backtest", "spring", "--fee-bps", "10", "--report", "report.html", seconds=300)
    assert done.returncode == 0, done.stderr
    assert "ledger reconciled" in done.stdout
    assert "<svg" in (installed.folder / "report.html").read_text()


def test_a_demo_trades_and_reports(installed: Installed) -> None:
    """It is `arbitrage paper` in a storm."""
    (port,) = free_ports(1)
    words = ("--seconds", "12", "--report", "demo.html", "--port", str(port), "--no-browser")
    done = installed.run("arbitrage", "demo", *words, seconds=400)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ledger reconciled" in done.stdout
    page = (installed.folder / "demo.html").read_text()
    assert "<svg" in page
    assert "equal the closing balances" in page
    assert ours_running(installed.home) == []


def test_paper_trades(installed: Installed) -> None:
    (port,) = free_ports(1)
    words = ("--seconds", "8", "--port", str(port), "--market", "storm", "--no-browser")
    done = installed.run("arbitrage", "paper", *words, seconds=400)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ledger reconciled" in done.stdout
    assert ours_running(installed.home) == []
