"""`arbitrage certificates`: an authority of the user's own, and the certificates of the servers that Kafka and MongoDB
run on."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from launch.setup.authority_folder import AuthorityFiles, Done, issue_files
from runtime.certificate_issuing import moment_of
from runtime.clock import wall_now

_DONE: Mapping[Done, str] = {
    "made": "made, until {until}.",
    "kept": "kept as it is, until {until}.",
    "renewed": "renewed, until {until}; put it in place of the former one and restart its server.",
    "replaced": "replaced, until {until}; put it in place of the former one and restart its server.",
    "unusable": "left as it is: it is damaged, or of another authority; `--host {host}` replaces it.",
}


def run_certificates(folder: Path, hosts: Sequence[str], echo: Callable[[str], None]) -> int:
    """Make what is missing and renew what is about to end; returns the exit code. Raises CannotStartError."""
    files = AuthorityFiles(folder.absolute())
    issued = issue_files(files, [host.lower() for host in hosts], moment_of(wall_now()))
    authority = next(issued)
    done = "made" if authority.done == "made" else "was there and is kept"
    echo(f"authority: {authority.path}, {done}, until {authority.until:%Y-%m-%d}; every client needs this file.")
    for one in issued:
        sentence = _DONE[one.done].format(until=f"{one.until:%Y-%m-%d}", host=one.path.stem)
        echo(f"{one.path.stem}: {one.path}, {sentence}")
    echo(f"{files.ca_key} signs for every host: keep it on this machine alone. No server needs it.")
    return 0
