"""Builds the image without an engine: buildah in a chroot, over a base that debootstrap makes. Needs root."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
RELEASE = "bookworm"
"""Debian's release, as in the Dockerfile."""
BASE, IMAGE = "localhost/base", "localhost/arbitrage"
PROGRAMS = ("buildah", "debootstrap", "apt-get")
PACKAGES = ("python3", "python3-pip", "python-is-python3", "ca-certificates")
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
"""The authorities that this machine trusts: behind a proxy with certificates of its own it has one more."""
CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n", re.DOTALL)
SECONDS = 3_000


class BuildFailedError(Exception):
    """A program ended with an error: its command and the end of what it said."""


def reason_against() -> str | None:
    """Why no image can be built here; None if one can."""
    if os.geteuid() != 0:
        return "debootstrap and a chroot need root"
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    return f"{', '.join(missing)} are missing here" if missing else None


def run(*command: str, seconds: float = SECONDS) -> str:
    """Return what it wrote to standard output. Raises BuildFailedError."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False, cwd=ROOT)
    if done.returncode:
        raise BuildFailedError(
            f"{' '.join(command[:9])} … ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    return done.stdout


@dataclass(frozen=True)
class ImageStore:
    """Images and containers below a folder, and nowhere else."""

    folder: Path

    def buildah(self, *words: str, seconds: float = SECONDS) -> str:
        """Raise BuildFailedError."""
        places = ("--root", str(self.folder / "images"), "--runroot", str(self.folder / "run"))
        return run("buildah", *places, "--storage-driver", "vfs", *words, seconds=seconds)

    def make_base(self) -> None:
        """Make a Debian with Python that trusts the authorities of this machine. Raises BuildFailedError."""
        container = self.buildah("from", "scratch").strip()
        root = Path(self.buildah("mount", container).strip())
        run("debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", RELEASE, str(root), *mirror())
        take_authorities(root)
        # Debian keeps pip from installing beside its own packages, which the official images do not have
        for mark in root.glob("usr/lib/python3*/EXTERNALLY-MANAGED"):
            mark.unlink()
        self.buildah("commit", "--rm", container, BASE)

    def build(self) -> None:
        """Build the image of docker/Dockerfile. Raises BuildFailedError."""
        words = ("--isolation", "chroot", "--build-arg", f"BASE={BASE}", "--tag", IMAGE)
        self.buildah("build", *words, "--file", "docker/Dockerfile", ".")

    def start(self) -> "BuiltContainer":
        return BuiltContainer(self, self.buildah("from", "--pull-never", IMAGE).strip())


@dataclass(frozen=True)
class BuiltContainer:
    """A container of the image, in which commands run one after the other, as the image's user."""

    store: ImageStore
    name: str

    def arbitrage(self, *words: str, codes: Sequence[int] = (0,)) -> str:
        """Return what the image's own command says with these words. Raises BuildFailedError if it ends with none of
        these codes."""
        entry: list[str] = json.loads(self.store.buildah("inspect", self.name))["OCIv1"]["config"]["Entrypoint"]
        inside = ("sh", "-c", '"$@"; echo "ended with $?"', "sh", *entry, *words)
        said = self.store.buildah("run", "--isolation", "chroot", self.name, "--", *inside)
        text, _, code = said.rpartition("ended with ")
        if int(code) not in codes:
            raise BuildFailedError(f"arbitrage {' '.join(words)} ended with {code}: {text}")
        return text

    def file(self, path: str) -> str:
        root = Path(self.store.buildah("mount", self.name).strip())
        return (root / path.lstrip("/")).read_text()


def mirror() -> tuple[str, ...]:
    """Where apt on this machine has that release from; elsewhere debootstrap's own choice."""
    fields = "$(REPO_URI) $(CODENAME)"
    for line in run("apt-get", "indextargets", "--format", fields, "Created-By: Packages").splitlines():
        place, _, release = line.partition(" ")
        if release == RELEASE:
            return (place,)
    return ()


def take_authorities(root: Path) -> None:
    """Those of this machine that Debian does not know."""
    known = set(CERTIFICATE.findall((root / AUTHORITIES.relative_to("/")).read_text()))
    more = [each for each in CERTIFICATE.findall(AUTHORITIES.read_text()) if each not in known]
    for number, each in enumerate(more):
        (root / "usr/local/share/ca-certificates" / f"machine-{number}.crt").write_text(each)
    if more:
        run("chroot", str(root), "update-ca-certificates")
