"""The virtual environment: made once from the pinned packages, known by its stamp the second time.

Runs on the bare interpreter (`python3 -m launch.setup.environment FOLDER`), so all it imports is the standard
library, and then has the new environment do the rest (`launch.commands.setup`). What running needs is in
`requirements.lock`; with one more word, `tools`, it adds what tests, linters and benchmarks need, of
`requirements-tools.lock`; with `quick` it leaves out what only makes later starts quicker.
"""

import hashlib
import os
import platform
import subprocess
import sys
import venv
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from launch.errors import CannotStartError, LaunchError
from launch.setup.prerequisites import checked_java, python_fault
from launch.setup.side_by_side import Job, run_jobs
from launch.setup.unused_files import remove_unused
from runtime.clock import steady_now

PROJECT = Path(__file__).resolve().parents[2]
PINS, TOOL_PINS = PROJECT / "requirements.lock", PROJECT / "requirements-tools.lock"
SPARK = ("pyspark", "py4j")
"""Installed by themselves: they are a third of all bytes, and the jars need nothing else."""
LANES = 2
"""Installers of other packages at a time: one waits for the network while another unpacks."""
PACKAGES = "lib/python*/site-packages"
Echo = Callable[[str], None]


def make_environment(folder: Path, home: Path, echo: Echo) -> None:
    """Make a virtual environment with the pinned packages that running needs, and the jars in `home`, unless its stamp
    says that it is up to date. Raises CannotStartError."""
    fault = python_fault(sys.version_info[:3])
    if fault is not None:
        raise CannotStartError(fault)
    checked_java()
    stamp = folder / "setup.stamp"
    if stamp.exists() and stamp.read_text() == _fingerprint(folder):
        return
    echo(f"[1/3] Python {platform.python_version()} and Java found; making the virtual environment {folder}")
    _create(folder)
    pins = pinned_packages(PINS.read_text())
    echo(f"[2/3] installing {len(pins)} pinned packages, and Kafka's and Spark's jars beside them")
    with TemporaryDirectory() as lists:
        _run(folder, (*_install_jobs(folder, Path(lists), PINS), _project_job(folder), _jars_job(folder, home)), echo)
    for packages in folder.glob(PACKAGES):
        remove_unused(packages)
    echo("[3/3] compiling what a session imports, and detection for backtests")
    _run(folder, _compile_jobs(folder), echo)
    stamp.write_text(_fingerprint(folder))


def add_tools(folder: Path, echo: Echo) -> None:
    """Install what tests, linters and benchmarks need, unless a stamp says that it is there. Raises
    CannotStartError."""
    stamp = folder / "tools.stamp"
    fingerprint = f"{_fingerprint(folder)} {hashlib.sha256(TOOL_PINS.read_bytes()).hexdigest()}"
    if stamp.exists() and stamp.read_text() == fingerprint:
        return
    echo(f"installing {len(pinned_packages(TOOL_PINS.read_text()))} pinned packages for tests, linters and benchmarks")
    with TemporaryDirectory() as lists:
        _run(folder, _install_jobs(folder, Path(lists), TOOL_PINS), echo)
    stamp.write_text(fingerprint)


def requirements(lock: str) -> list[str]:
    """Return the requirements of a lock file, each with its checksums on one line."""
    lines = lock.replace("\\\n", " ").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def pinned_packages(lock: str) -> list[str]:
    """Return the requirements of a lock file, without their checksums: `name==version`, with a marker if there is
    one."""
    return [one.partition(" --hash=")[0].strip() for one in requirements(lock)]


def _fingerprint(folder: Path) -> str:
    """Return a stamp that changes with the pins, the project's metadata, the interpreter and the place (scripts hold
    absolute paths)."""
    digest = hashlib.sha256()
    for content in (PINS.read_bytes(), (PROJECT / "pyproject.toml").read_bytes()):
        digest.update(content)
    digest.update(f"{sys.version}{folder.resolve()}".encode())
    return digest.hexdigest()


def _create(folder: Path) -> None:
    if _answers(_python(folder)):
        return
    if folder.is_symlink():
        raise CannotStartError(
            f"{folder} is a link to {folder.resolve()}, which would be emptied; "
            "remove the link, or name another folder: make setup VENV=/path/to/folder."
        )
    try:
        venv.create(folder, with_pip=True, clear=folder.exists())
    except (subprocess.CalledProcessError, OSError) as error:
        raise CannotStartError(
            f"Python could not make the environment {folder} ({error}); on Debian, install python3-venv."
        ) from error


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"


def _answers(python: Path) -> bool:
    """Return whether an environment is there whose interpreter is this one and has pip, and that was made in this
    place."""
    try:
        if not (python.parent / "pip").read_text().startswith(f"#!{python.absolute()}\n"):
            return False
    except OSError:
        return False
    command = (str(python), "-c", "import pip, sys; print(sys.version)")
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return False
    return answer.returncode == 0 and answer.stdout.strip() == sys.version.strip()


def _run(folder: Path, jobs: Sequence[Job], echo: Echo) -> None:
    began = steady_now()

    def progress(names: tuple[str, ...]) -> None:
        there = len(list(folder.glob(f"{PACKAGES}/*.dist-info")))
        echo(f"      {(steady_now() - began) // 1_000_000} s: {there} packages are there; at work: {', '.join(names)}")

    run_jobs(jobs, progress)


def _install_jobs(folder: Path, lists: Path, pins: Path) -> tuple[Job, ...]:
    """Return installers of a lock's packages. Each has packages of its own, whose requirements are all in a lock, so
    that none has to know what another does."""
    wanted = requirements(pins.read_text())
    spark = [one for one in wanted if one.partition("==")[0] in SPARK]
    others = [one for one in wanted if one not in spark]
    lanes = {f"packages, part {lane + 1} of {LANES}": others[lane::LANES] for lane in range(LANES)}
    named = {"Spark": spark, **lanes} if spark else lanes
    jobs = []
    for name, lines in named.items():
        path = lists / f"{name}.txt"
        path.write_text("\n".join(lines))
        # what is downloaded must have one of the lock's checksums
        jobs.append(Job(name, _pip(folder, "--no-deps", "--require-hashes", "-r", str(path))))
    return tuple(jobs)


def _project_job(folder: Path) -> Job:
    return Job("this project", _pip(folder, "--no-deps", "-e", str(PROJECT)))


def _jars_job(folder: Path, home: Path) -> Job:
    return Job("jars", (str(_python(folder)), "-m", "launch.setup.jars", str(home)), after=("Spark",))


def _compile_jobs(folder: Path) -> tuple[Job, ...]:
    ahead = (str(_python(folder)), "-m", "launch.setup.compile_ahead")
    advice = "its last lines:"
    return Job("imports", (*ahead, "imports"), advice=advice), Job("detection", (*ahead, "kernel"), advice=advice)


def _pip(folder: Path, *what: str) -> tuple[str, ...]:
    # byte code of what is imported comes with the first import
    options = ("--quiet", "--disable-pip-version-check", "--no-compile", "--root-user-action=ignore")
    return (str(_python(folder)), "-m", "pip", "install", *options, *what)


def main(words: list[str]) -> int:
    folder = Path(words[0] if words else ".venv").absolute()
    # as `home_folder` has it, which needs packages
    home = Path(os.environ.get("ARBITRAGE_HOME") or ".data").resolve()
    os.chdir(PROJECT)
    try:
        if "tools" in words[1:]:
            add_tools(folder, _say)
            return 0
        make_environment(folder, home, _say)
    except LaunchError as error:
        sys.stderr.write(f"setup: {error}\n")
        return error.exit_code
    return subprocess.run((str(_python(folder)), "-m", "launch.commands.setup", *words[1:]), check=False).returncode


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
