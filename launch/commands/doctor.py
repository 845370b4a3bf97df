"""`arbitrage doctor`: checks every prerequisite, port and version; each is ok, or says what to do."""

import asyncio
import os
import platform
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from ssl import SSLCertVerificationError
from typing import Literal
from urllib.parse import urlsplit

import psutil
from packaging.requirements import Requirement

from launch.config.configuration import Configuration, read_configuration
from launch.config.expected_load import PARTITION_QUOTES, ExpectedLoad, expected_load
from launch.errors import CannotStartError
from launch.regions.clocks import Clocks, clock_lines, clocks_off, in_milliseconds
from launch.regions.network.namespaces import regions_fault
from launch.regions.network.user_network import user_network_fault
from launch.sessions.paper import check_paper, named_markets
from launch.setup.data_dir import CERTIFICATES, RUN_FILE, is_private, read_session, session_runs
from launch.setup.environment import PINS, pinned_packages
from launch.setup.jar_pins import JAR_SETS
from launch.setup.jars import jar_faults
from launch.setup.login_files import FOLDER as LOGINS
from launch.setup.login_files import with_logins
from launch.setup.login_rights import SUPERVISOR
from launch.setup.prerequisites import java_fault, java_output, python_fault
from launch.setup.service_logins import TlsServer, configured_kafka_login, tls_servers
from launch.supervisor.failure_log import last_log_lines
from launch.supervisor.ports import claim_web_port
from launch.supervisor.priorities import can_write_autogroup, has_autogroups
from runtime.clock import wall_now
from runtime.logins import Address
from session.session import Session
from store.errors import StoreError
from store.server.embedded_mongod import mongod_program
from streams.errors import StreamError
from streams.topic_admin import check_reachable

State = Literal["ok", "advice", "missing"]
MARKS: Mapping[State, str] = {"ok": "ok     ", "advice": "advice ", "missing": "MISSING"}
GIGABYTE = 1024**3
NEEDED_MEMORY = 3 * GIGABYTE
NEEDED_DISK = 5 * GIGABYTE
ANSWER_SECONDS = 2.0
LACKING = (
    "MongoDB 6 must be on the PATH or its address configured; parts start more slowly, share the CPU by their nice "
    "alone, and outlive a supervisor that is killed"
)
"""Other systems than Linux."""
RENEW = "`arbitrage certificates` renews it"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """`missing`: nothing starts without it; `advice`: it starts, but something is not as it should be."""

    state: State
    subject: str
    text: str


def doctor(home: Path, echo: Callable[[str], None]) -> int:
    """Print every check. Returns exit code 0 if all is well, 1 if there is advice, 2 if something needed is missing."""
    findings = list(all_checks(home))
    for finding in findings:
        echo(f"{MARKS[finding.state]} {finding.subject}: {finding.text}")
    return exit_code(findings)


def exit_code(findings: Iterable[CheckResult]) -> int:
    states = {finding.state for finding in findings}
    return 2 if "missing" in states else 1 if "advice" in states else 0


def all_checks(home: Path) -> Iterator[CheckResult]:
    """Return all checks, in the order in which a user would fix them."""
    yield system_finding(platform.system(), platform.machine())
    yield check_result("Python", python_fault(sys.version_info[:3]), platform.python_version())
    answer = java_output()
    yield check_result("Java", java_fault(answer), (answer or "").partition("\n")[0])
    yield packages_finding(PINS, installed_version)
    yield jars_finding(home)
    yield mongod_finding()
    yield chromium_finding(shutil.which)
    yield priorities_finding(has_autogroups(), can_write_autogroup())
    yield regions_finding(regions_fault(), user_network_fault)
    yield rights_finding(home)
    yield from own_certificate_findings(home, wall_now())
    yield room_finding("memory", psutil.virtual_memory().available, NEEDED_MEMORY)
    yield room_finding("disk", shutil.disk_usage(_existing(home)).free, NEEDED_DISK)
    try:
        config = read_configuration(None, os.environ)
        kind = checked_configuration(home, config, os.environ)
    except CannotStartError as error:
        yield CheckResult("missing", "configuration", str(error))
        return
    source = "arbitrage.toml" if Path("arbitrage.toml").exists() else "the defaults"
    yield CheckResult("ok", "configuration", f"{source}, for {kind}")
    load = expected_load(named_markets(config.session_exchanges, config))
    yield load_finding(load, config.partitions, config.bots_per_exchange)
    yield from session_findings(home, config)


def checked_configuration(home: Path, config: Configuration, environment: Mapping[str, str]) -> str:
    """Return the command that this configuration is for. Raises CannotStartError as that command would, before its
    first request."""
    if all(one.mode == "simulated" for one in config.exchange.values()):
        check_paper(config)
        return "`arbitrage paper`"
    if config.is_public:
        from launch.sessions.public_paper import check_public

        check_public(home, config)
        return "`arbitrage paper` at live prices"
    from launch.sessions.live import check_live

    return f"`arbitrage live` ({check_live(home, config, environment).mode})"


def check_result(subject: str, fault: str | None, text: str) -> CheckResult:
    """Return `missing` with the fault if there is one, else ok with `text`."""
    return CheckResult("ok", subject, text) if fault is None else CheckResult("missing", subject, fault)


def system_finding(system: str, machine: str) -> CheckResult:
    if (system, machine) == ("Linux", "x86_64"):
        return CheckResult("ok", "system", f"{system} {machine}, {os.cpu_count()} cores")
    lacks = "packages and mongod are installed" if (system, machine) == ("Linux", "aarch64") else LACKING
    return CheckResult("advice", "system", f"{system} {machine} is untested: {lacks}; docs/machines.md has the rest.")


def installed_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def packages_finding(pins: Path, installed: Callable[[str], str | None]) -> CheckResult:
    """Check that the environment has the versions that the lock file pins. A missing lock file (an installed copy) is
    ok."""
    if not pins.exists():
        return CheckResult("ok", "packages", "no lock file to compare with")
    wanted = [Requirement(one) for one in pinned_packages(pins.read_text())]
    needed = [requirement for requirement in wanted if requirement.marker is None or requirement.marker.evaluate()]
    absent = [each.name for each in needed if installed(each.name) is None]
    if absent:
        return CheckResult("missing", "packages", f"{_some(absent)} not installed; run `make setup`.")
    other = [each.name for each in needed if not each.specifier.contains(installed(each.name) or "", prereleases=True)]
    if other:
        return CheckResult("advice", "packages", f"{_some(other)} not at the pinned version; run `make setup`.")
    main = ", ".join(f"{name} {installed(name)}" for name in ("pyspark", "ccxt", "confluent-kafka", "motor"))
    return CheckResult("ok", "packages", f"{len(needed)} at their pinned versions ({main})")


def jars_finding(home: Path) -> CheckResult:
    faults = jar_faults(home)
    if faults:
        names = [f"{pin.file_name} {fault}" for pin, fault in faults.items()]
        return CheckResult("missing", "jars", f"{_some(names)} below {home / 'jars'}; run `make setup`.")
    return CheckResult("ok", "jars", f"{sum(len(jars.pins) for jars in JAR_SETS)}, checksums match (Kafka 4.3.1)")


def mongod_finding() -> CheckResult:
    try:
        program = mongod_program()
        answer = subprocess.run((program, "--version"), capture_output=True, text=True, check=False)
    except (StoreError, OSError) as error:
        return CheckResult("missing", "mongod", str(error))
    if answer.returncode != 0:
        return CheckResult("missing", "mongod", f"{program} does not run ({_some(answer.stderr.splitlines())}).")
    return CheckResult("ok", "mongod", answer.stdout.partition("\n")[0].removeprefix("db version "))


def chromium_finding(which: Callable[[str], str | None]) -> CheckResult:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        found = which(name)
        if found is not None:
            return CheckResult("ok", "Chromium", found)
    return CheckResult("ok", "Chromium", "not installed; only the browser tests of `make whole` need it")


def priorities_finding(are_sessions_grouped: bool, is_writable: bool) -> CheckResult:
    """Check that parts can get CPU by their importance: by the nice of their autogroup if the kernel divides the CPU
    between sessions first, else by their own."""
    if not are_sessions_grouped:
        return CheckResult("ok", "priorities", "each part has its own: no autogroups here, so its nice counts")
    if is_writable:
        return CheckResult("ok", "priorities", "each part has its own, by the nice of its autogroup")
    return CheckResult(
        "advice",
        "priorities",
        "parts share the CPU equally, since this system's autogroups cannot be changed; a busy machine finds "
        "opportunities later. `sysctl kernel.sched_autogroup_enabled=0`, by its administrator, lets nice count.",
    )


def regions_finding(fault: str | None, fault_without_root: Callable[[], str | None]) -> CheckResult:
    """Check whether links between regions can have real delays here, and how."""
    possible = "links with real delays, losses and cuts are possible: --regions with --wan"
    if fault is None:
        return CheckResult("ok", "regions", possible)
    fault = fault_without_root()
    if fault is None:
        return CheckResult("ok", "regions", f"{possible}, in a user namespace")
    return CheckResult("ok", "regions", f"--regions without --wan alone, since links have no real delays here: {fault}")


def rights_finding(home: Path) -> CheckResult:
    """Check that no other user of this machine can read the data folder."""
    if not home.exists():
        return CheckResult("ok", "data folder", f"{home} will be created at the first start, private to this user")
    open_to_others = [one for one in (home, home / LOGINS) if one.exists() and not is_private(one)]
    if open_to_others:
        return CheckResult(
            "advice",
            "data folder",
            f"{open_to_others[0]} is readable by others; `chmod 700 {open_to_others[0]}`, or let the next start do it.",
        )
    return CheckResult("ok", "data folder", f"{home}, private to this user")


def own_certificate_findings(home: Path, now: int) -> Iterator[CheckResult]:
    """Return when the certificates end that `arbitrage certificates` made in the data folder; nothing if it
    made none."""
    if not (home / CERTIFICATES).exists():
        return
    # imported here, because it takes a library that nothing else here needs
    from launch.setup.authority_folder import AuthorityFiles, ends_at
    from runtime.certificate_issuing import RENEWED_BEFORE, moment_of

    files = AuthorityFiles(home / CERTIFICATES)
    for path in (files.ca, *map(files.server, files.hosts())):
        try:
            until = ends_at(path)
        except OSError as error:
            yield CheckResult("advice", "certificate", f"{path} cannot be read ({error.strerror}); restore it.")
            continue
        if until is None:
            yield CheckResult("advice", "certificate", f"{path} holds no certificate; restore it.")
        elif until - RENEWED_BEFORE <= moment_of(now):
            work = "`arbitrage certificates --out FOLDER` makes another" if path == files.ca else RENEW
            yield CheckResult("advice", "certificate", f"{path} ends on {until:%Y-%m-%d}; {work}.")
        else:
            yield CheckResult("ok", "certificate", f"{path}, until {until:%Y-%m-%d}")


def load_finding(load: ExpectedLoad, partitions: int, bots_per_exchange: int) -> CheckResult:
    """Check that the log has as many partitions as the markets need, and say how many bots trade on it."""
    assets = "1 asset" if load.assets == 1 else f"{load.assets} assets"
    text = (
        f"{load.markets} markets of {assets} on {load.exchanges} exchanges, {load.pairs} pairs, some "
        f"{load.quotes:,} quotes a second; {load.exchanges * bots_per_exchange} bot processes, {bots_per_exchange} per "
        "exchange"
    )
    if partitions < load.partitions:
        carried = "one partition of the log carries" if partitions == 1 else f"{partitions} partitions carry"
        return CheckResult(
            "advice",
            "load",
            f"{text}; {carried} some {partitions * PARTITION_QUOTES:,}: set partitions = {load.partitions}.",
        )
    if partitions > load.assets:
        return CheckResult(
            "advice",
            "load",
            f"{text}; {partitions} partitions, but {load.assets} assets, each of which lives in one: set partitions = "
            f"{load.partitions}.",
        )
    carry = "1 partition of the log carries" if partitions == 1 else f"{partitions} partitions of the log carry"
    return CheckResult("ok", "load", f"{text}; {carry} some {partitions * PARTITION_QUOTES:,}")


def room_finding(subject: str, free: int, needed: int) -> CheckResult:
    text = f"{free / GIGABYTE:.1f} GB free"
    if free >= needed:
        return CheckResult("ok", subject, text)
    return CheckResult(
        "advice", subject, f"{text}; {needed / GIGABYTE:.0f} GB are recommended: free some, or it may be slow."
    )


def session_findings(home: Path, config: Configuration) -> Iterator[CheckResult]:
    """Return the running session's addresses, or whether the next session can have its ports."""
    if session_runs(home):
        session_homes = (home, home / "replay", home / "public", home / "live", home / "sandbox")
        session_home = next((one for one in session_homes if (one / RUN_FILE).exists()), None)
        if session_home is None:
            yield CheckResult("ok", "session", "starting")
        else:
            session = read_session(session_home)
            logs = session_home / "logs" if config.kafka is None else None
            yield from running_findings(with_logins(session, SUPERVISOR), logs)
            yield from clock_findings(clocks_off(home, session.place.regions))
        return
    yield CheckResult("ok", "session", "none running")
    try:
        claim_web_port(config.bind, config.port)
    except CannotStartError as error:
        yield CheckResult("missing", "web port", str(error))
    else:
        yield CheckResult("ok", "web port", f"{config.port} is free; all other ports are picked automatically")
    yield from configured_findings(config, os.environ)


def clock_findings(clocks: Clocks) -> Iterator[CheckResult]:
    """Return findings about regions whose clock a command has set off."""
    for line in clock_lines(in_milliseconds(clocks)):
        yield CheckResult("advice", "clock", f"{line}, as ordered; `arbitrage region heal` takes it back.")


def configured_findings(config: Configuration, environment: Mapping[str, str]) -> Iterator[CheckResult]:
    """Check that the configured services can be reached with their logins, and until when their certificates
    are valid."""
    try:
        kafka = configured_kafka_login(config, environment)
        secured = tuple(tls_servers(config, environment))
    except CannotStartError as error:
        yield CheckResult("missing", "services", str(error))
        return
    if config.kafka is not None:
        yield kafka_finding(Address(config.kafka, kafka))
    if config.mongodb is not None:
        yield port_finding("MongoDB", config.mongodb)
    yield from (served_finding(server, wall_now()) for server in secured)


def served_finding(server: TlsServer, now: int) -> CheckResult:
    """Check a server's certificate."""
    # imported here, because it takes a library that nothing else here needs
    from runtime.certificate_issuing import RENEWED_BEFORE, moment_of

    subject, place = f"{server.service}'s certificate", f"{server.host}:{server.port}"
    try:
        until = server.certificate_until(ANSWER_SECONDS)
    except SSLCertVerificationError as error:
        return CheckResult("missing", subject, f"{place} shows one that is not trusted: {error.verify_message}.")
    except OSError as error:
        return CheckResult("missing", subject, f"{place} shows none ({error.strerror or error}).")
    if until - RENEWED_BEFORE <= moment_of(now):
        return CheckResult("advice", subject, f"{place} has one until {until:%Y-%m-%d}; renew it there.")
    return CheckResult("ok", subject, f"{place} has one until {until:%Y-%m-%d}")


def running_findings(session: Session, logs: Path | None) -> Iterator[CheckResult]:
    """Return whether its services are reached; `logs`: if it has a Kafka of its own."""
    yield CheckResult("ok", "session", f"{session.session_id} running ({session.mode})")
    yield kafka_finding(session.services.kafka, logs)
    yield port_finding("MongoDB", session.services.mongodb)
    # where it listens: from within a session's own network the page's address leads nowhere
    yield port_finding("dashboard", f"http://{session.page.host}:{session.page.port}")
    if session.simulated.url is not None:
        yield port_finding("simulated exchanges", session.simulated.url)


def kafka_finding(address: str, logs: Path | None = None) -> CheckResult:
    """Check that Kafka answers. `logs`: those of a running session whose own it is, which starts it again if it
    ends."""
    try:
        asyncio.run(check_reachable(address, ANSWER_SECONDS))
    except StreamError as error:
        if logs is None:
            return CheckResult("missing", "Kafka", str(error))
        last = last_log_lines(logs, ("kafka",), 0)
        return CheckResult(
            "advice", "Kafka", f"{str(error).rstrip('.')}. The session starts it again if it ends; {last}."
        )
    return CheckResult("ok", "Kafka", f"reachable at {address}")


def port_finding(subject: str, url: str) -> CheckResult:
    """Check whether something listens at the URL's address. Sends nothing and shows no password."""
    place = _host_and_port(url)
    if place is None:
        return CheckResult("ok", subject, "configured; the address is checked at the start")
    try:
        socket.create_connection(place, ANSWER_SECONDS).close()
    except OSError as error:
        return CheckResult("missing", subject, f"nothing listens on {place[0]}:{place[1]} ({error.strerror or error}).")
    return CheckResult("ok", subject, f"listens on {place[0]}:{place[1]}")


def _host_and_port(url: str) -> tuple[str, int] | None:
    """Return host and port; None if the URL has several hosts or no port."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    return None if host is None or port is None else (host, port)


def _existing(folder: Path) -> Path:
    return next(each for each in (folder, *folder.parents) if each.exists())


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
