"""The product on aarch64 as far as emulation goes: a Debian of that architecture in a chroot, whose programs qemu runs.
It takes most of an hour, and the network."""

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.docker.image_builds import RELEASE, ROOT, mirror, reason_against, run, take_authorities

EMULATOR = Path("/proc/sys/fs/binfmt_misc/qemu-aarch64")
"""There if the kernel gives such programs to qemu (Debian: qemu-user-static, binfmt-support)."""
PACKAGES = "python3,python3-venv,python3-pip,ca-certificates,openjdk-17-jre-headless,libcurl4,procps,make"
HOME = ".data"
QUOTES = "exchange,symbol,timestamp,local_timestamp,ask_amount,ask_price,bid_price,bid_amount\n"
ADVICE = 1
"""Exit code of `arbitrage doctor` if nothing is missing."""

pytestmark = pytest.mark.soak


@dataclass(frozen=True)
class Emulated:
    """A Debian for aarch64 in which the product is set up in /srv."""

    root: Path

    def shell(self, command: str, seconds: float = 3_000) -> tuple[int, str]:
        """Return the exit code and all that was said."""
        chroot = ("chroot", str(self.root), "env", "PATH=/usr/bin:/bin", "HOME=/root")
        words = (*chroot, "sh", "-c", f"cd /srv && {command}")
        done = subprocess.run(words, capture_output=True, text=True, timeout=seconds, check=False)
        return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulated]:
    reason = reason_against() if EMULATOR.exists() else f"no emulator of aarch64: {EMULATOR} is missing"
    if reason is not None:
        pytest.skip(reason)
    root = tmp_path_factory.mktemp("aarch64")
    run("debootstrap", "--arch=arm64", "--variant=minbase", f"--include={PACKAGES}", RELEASE, str(root), *mirror())
    take_authorities(root)
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    for settings in (Path("/etc/pip.conf"), Path.home() / ".config/pip/pip.conf"):
        if settings.exists():
            shutil.copy(settings, root / "etc/pip.conf")
    archive = root / "srv.tar"
    run("git", "archive", "--output", str(archive), "HEAD")
    run("tar", "--extract", "--file", str(archive), "--directory", str(root / "srv"))
    # jars are the same on each architecture, and their checksums are verified
    shutil.copytree(ROOT / HOME / "jars", root / "srv" / HOME / "jars")
    run("mount", "-t", "proc", "proc", str(root / "proc"))
    try:
        made = Emulated(root)
        code, said = made.shell("make setup QUICK=quick", 4_000)
        assert code == 0, said
        yield made
    finally:
        run("umount", str(root / "proc"))
        shutil.rmtree(root)


def test_doctor_misses_nothing(emulated: Emulated) -> None:
    code, said = emulated.shell(".venv/bin/arbitrage doctor")
    assert code in (0, ADVICE), said
    assert "aarch64" in said


def test_mongod_answers(emulated: Emulated) -> None:
    code, said = emulated.shell(".venv/lib/python3*/site-packages/fiftyone/db/bin/mongod --version")
    assert (code, "aarch64" in said) == (0, True), said


def test_a_stream_app_passes_its_tests(emulated: Emulated) -> None:
    code, said = emulated.shell(".venv/bin/arbitrage app test apps/moving-average.app")
    assert code == 0, said


def test_a_backtest_trades(emulated: Emulated) -> None:
    for exchange, price in (("bitstamp", 60_000), ("kraken", 60_500)):
        row = f"{exchange},BTC-USD,1725000000000000,1725000000000000,1,{price + 10},{price},1\n"
        (emulated.root / f"srv/{exchange}.csv").write_text(QUOTES + row)
    arbitrage = ".venv/bin/arbitrage"
    code, said = emulated.shell(
        f"{arbitrage} import tardis-quotes bitstamp.csv kraken.csv --set two && {arbitrage} backtest two --fee-bps 0"
    )
    assert code == 0, said
    assert "ledger reconciled" in said
